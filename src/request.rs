//! What the arguments mean, settled once: revision resolved, pathspecs parsed, limits fixed.
//!
//! Made from arguments and an environment that are handed in; after this nobody looks at a flag.

use std::{ffi::OsStr, io::Write, os::unix::ffi::OsStrExt};

use gix::bstr::{BString, ByteSlice};

use crate::{
    cli::Args,
    convert::Surroundings,
    decode::reader::Reader,
    error::{Error, Result},
    odb::Odb,
    plan::{
        select::{Selection, attributes::Attributes, pathspec::Pathspecs},
        trees::Rules,
    },
    repository::{
        Repository,
        environment::Environment,
        settings::Umask,
        treeish::{self, Treeish},
    },
};

/// Less memory than this is not worth refusing over.
const MIN_MEMORY: u64 = 1 << 20;
/// The formats git knows, as far as they are not tar.
const OTHER_FORMATS: [&str; 3] = ["tgz", "tar.gz", "zip"];

/// One archive to be made.
pub struct Request {
    /// What to archive.
    pub treeish: Treeish,
    /// Put in front of every name.
    pub prefix: BString,
    /// What of it.
    pub selection: Selection,
    /// How trees are read.
    pub rules: Rules,
    /// Permission bits that are withheld.
    pub umask: Umask,
    /// Files above this many bytes are not converted.
    pub big_file: u64,
    /// Threads, the calling one included; by default as many as there are cores to run on.
    pub threads: Option<usize>,
    /// Ceiling for buffers and caches, in bytes.
    pub memory: usize,
    /// Where filters run.
    pub surroundings: Surroundings,
    /// Whether the names of entries are told.
    pub verbose: bool,
    /// Reads the objects of the repository.
    pub reader: Reader,
}

impl Request {
    /// Work out what `args` ask of `repository`; what is to be said about it goes to `diagnostics`.
    pub fn resolve(
        args: &Args,
        environment: &Environment,
        repository: Repository,
        diagnostics: &mut dyn Write,
    ) -> Result<Self> {
        let Repository {
            gix,
            settings,
            objects,
            prefix: below,
        } = repository;
        let mut reader = Reader::new(Odb::open(objects));
        let name = args.treeish.as_bytes().as_bstr();
        let treeish = treeish::resolve(&gix, &mut reader, name, diagnostics)?;
        let rules = Rules {
            hash: gix.object_hash(),
            protect: settings.protect,
            max_depth: settings.max_tree_depth,
        };
        let top = gix.workdir().unwrap_or(gix.git_dir()).to_string_lossy();
        let pathspecs: Vec<BString> = args
            .paths
            .iter()
            .map(|path| path.as_bytes().into())
            .collect();
        let surroundings = Surroundings {
            directory: (!below.is_empty())
                .then(|| gix.workdir().map(ToOwned::to_owned))
                .flatten(),
            prefix: below.clone(),
        };
        let selection = Selection {
            pathspecs: Pathspecs::parse(&pathspecs, below.as_bstr(), &top, environment.pathspecs)?,
            relative: (!below.is_empty()).then(|| Attributes::new(settings.attributes.clone())),
            below,
            attributes: Attributes::new(settings.attributes),
        };
        selection.check(treeish.tree, rules, &mut reader)?;
        Ok(Self {
            treeish,
            prefix: args
                .prefix
                .as_deref()
                .map(OsStr::as_bytes)
                .unwrap_or_default()
                .into(),
            selection,
            rules,
            umask: settings.umask,
            big_file: settings.big_file,
            threads: args.threads.map(usize::from),
            memory: args.memory.max(MIN_MEMORY) as usize,
            surroundings,
            verbose: args.verbose % 2 == 1,
            reader,
        })
    }
}

/// The format by its name, else by that of the output file; only tar so far.
pub fn check_format(args: &Args) -> Result<()> {
    let output = args.output.as_ref().map(|path| path.as_os_str().as_bytes());
    let by_file = |format: &&&str| {
        let stem = output.and_then(|name| name.strip_suffix(format.as_bytes()));
        stem.and_then(|stem| stem.strip_suffix(b"."))
            .is_some_and(|stem| !stem.is_empty())
    };
    let format = match &args.format {
        Some(format) => Some(format.as_str()),
        None => OTHER_FORMATS.iter().find(by_file).copied(),
    };
    match format {
        None | Some("tar") => match args.level {
            None => Ok(()),
            Some(level) => Err(Error::fatal(format!(
                "Argument not supported for format 'tar': -{level}"
            ))),
        },
        Some(format) if OTHER_FORMATS.contains(&format) => Err(Error::fatal(format!(
            "archive format '{format}' is not supported yet"
        ))
        .hinted("use 'git archive' for it, or compress the tar")),
        Some(format) => Err(Error::fatal(format!("Unknown archive format '{format}'"))),
    }
}
