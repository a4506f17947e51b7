//! What the arguments mean, settled once: revision resolved, pathspecs parsed, limits fixed.
//!
//! Made from arguments and an environment that are handed in; after this nobody looks at a flag.

pub mod format;
mod clock;

use std::{ffi::OsStr, io::Write, os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

use gix::bstr::{BString, ByteSlice};

use crate::{
    cli::Args,
    decode::reader::Reader,
    emit::zip::Times,
    error::Result,
    odb::Odb,
    plan::{
        extra::Extra,
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
use format::{Format, Named};

/// Less memory than this is not worth refusing over.
const MIN_MEMORY: u64 = 1 << 20;

/// One archive to be made.
pub struct Request {
    /// Its format.
    pub format: Format,
    /// What to archive.
    pub treeish: Treeish,
    /// Where commands are run: the top of the work tree.
    pub directory: PathBuf,
    /// The current directory, from there.
    pub below: BString,
    /// Put in front of every name.
    pub prefix: BString,
    /// What of it.
    pub selection: Selection,
    /// Files that come behind the tree's.
    pub extras: Arc<[Extra]>,
    /// The archive's time as zip tells it.
    pub times: Times,
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
    /// Whether the names of entries are told.
    pub verbose: bool,
    /// Reads the objects of the repository.
    pub reader: Reader,
}

impl Request {
    /// Work out what `args` ask of `repository`; what is to be said about it goes to `diagnostics`.
    pub fn resolve(
        args: &Args,
        format: &Named,
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
        let directory = gix.workdir().unwrap_or(gix.git_dir()).to_owned();
        let top = directory.to_string_lossy();
        let pathspecs: Vec<BString> = args
            .paths
            .iter()
            .map(|path| path.as_bytes().into())
            .collect();
        let selection = Selection {
            pathspecs: Pathspecs::parse(&pathspecs, below.as_bstr(), &top, environment.pathspecs)?,
            relative: (!below.is_empty())
                .then(|| Attributes::new(settings.attributes.clone(), false)),
            below: below.clone(),
            attributes: Attributes::new(settings.attributes, treeish.commit.is_some()),
        };
        selection.check(treeish.tree, rules, &mut reader)?;
        let times = Times {
            dos: match format.is_zip() {
                true => clock::dos(treeish.time)?,
                false => [0; 2],
            },
            unix: treeish.time as u32,
        };
        Ok(Self {
            format: format.at_level(args.level)?,
            extras: Arc::default(),
            times,
            below,
            directory,
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
            verbose: args.verbose % 2 == 1,
            reader,
        })
    }
}
