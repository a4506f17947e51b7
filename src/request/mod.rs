//! What the arguments mean, settled once: revision resolved, pathspecs parsed, limits fixed.
//!
//! Made from arguments and an environment that are handed in; after this nobody looks at a flag.

pub mod format;
mod clock;
mod delta;
mod filter;
mod profile;
mod viewing;

pub use delta::Delta;
pub use profile::printed as printed_profile;
pub use viewing::Scope;

use std::{
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::bstr::{BString, ByteSlice};

use crate::{
    cli::{self, Args, ExtraContent, GzipDialect},
    decode::reader::Reader,
    deflate::Dialect,
    emit::{Kind, zip::Times},
    error::Result,
    odb::Odb,
    pathspec::Top,
    plan::{
        BlobPolicy, Naming,
        extra::{Content, Extra},
    },
    process::command::CommandContext,
    report::Subject,
    repository::{
        Repository, attr_source, date,
        environment::Environment,
        settings::{self, Umask},
        treeish::{self, Treeish},
    },
    tree::Rules,
};
use format::{Format, Formats};
use viewing::Viewing;

/// Less memory than this is not worth refusing over.
const MIN_MEMORY: u64 = 1 << 20;
/// How much of the memory, one part in so many, is for the trees on the way from the root.
const TREES_PART: usize = 16;

/// For whom an archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Somebody who can read the repository anyway.
    Local,
    /// The client of a server: refs and what they name, in the formats that the configuration allows.
    Remote,
}

/// One archive to be made.
pub struct Request {
    /// Its format.
    pub format: Format,
    /// What to archive.
    pub treeish: Treeish,
    /// Where commands run.
    pub command_context: CommandContext,
    /// What of it, as what, and under which names.
    pub scope: Scope,
    /// What is wanted of the blobs.
    pub blob_policy: Arc<BlobPolicy>,
    /// Whether size, reason and id of entries are noted in the archive.
    pub pax_notes: bool,
    /// Whose bytes a tar.gz has.
    pub gzip_dialect: Dialect,
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
    /// What is archived, as reports have it.
    pub fn subject(&self) -> Subject {
        Subject {
            commit: self.treeish.commit.map(|id| id.to_hex().to_string()),
            tree: self.treeish.tree.to_hex().to_string(),
            base: match &self.scope {
                Scope::Whole(_) => None,
                Scope::Delta(delta) => Some(delta.base.to_hex().to_string()),
            },
        }
    }

    /// Work out what `args` ask of `repository`; what is to be said about it goes to `diagnostics`.
    pub fn resolve(
        args: &Args,
        formats: &Formats,
        environment: &Environment,
        repository: Result<Repository>,
        access: Access,
        diagnostics: &mut dyn Write,
    ) -> Result<Self> {
        let output = args.output.as_ref().map(|path| path.as_os_str().as_bytes());
        let format = formats.choose(args.format.as_deref(), output)?;
        format.check_level(args.level)?;
        let filters = filter::Rules::new(&args.filters)?;
        if format.is_zip() {
            filters.fit_zip()?;
            delta::fit_zip(&args.delta)?;
        }
        let Repository {
            gix,
            mut settings,
            objects,
            prefix: below,
            work_tree,
            is_bare,
        } = repository?;
        let mut reader = Reader::new(Odb::open(objects));
        let name = args.treeish.as_deref().unwrap_or_default();
        let name = name.as_bytes().as_bstr();
        if access == Access::Remote && !settings.allow_unreachable {
            treeish::require_ref(&gix, name)?;
        }
        filters.fit_name(name)?;
        let mut treeish = treeish::resolve(&gix, &mut reader, name, diagnostics)?;
        if let Some(time) = &args.mtime {
            treeish.time = date::mtime(time)?;
        }
        let memory = args.ours.memory.max(MIN_MEMORY);
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let rules = Rules {
            hash: gix.object_hash(),
            protect: (!args.worktree_attributes).then_some(settings.protect),
            max_depth: settings.max_tree_depth,
            max_held: memory / TREES_PART,
            discreet: args.filters.access_rules.is_some(),
        };
        // A server sees no work tree, and runs in the git directory.
        let work_tree = work_tree.filter(|_| access == Access::Local);
        let is_work_tree = work_tree.is_some();
        let top = work_tree.unwrap_or_else(|| match (access, &environment.git_dir) {
            (Access::Remote, _) => environment.cwd.join("."),
            (Access::Local, Some(_)) => gix.git_dir().to_owned(),
            (Access::Local, None) => git_directory(&environment.cwd, gix.git_dir()),
        });
        // Has to name a tree even where it is not used.
        let attribute_tree = attr_source::tree(&gix, &mut reader, environment)?;
        if args.worktree_attributes {
            let directory = match access {
                Access::Local => settings.attributes.top.clone(),
                Access::Remote => top.clone(),
            };
            settings.attributes.source =
                attr_source::of_work_tree(directory, is_bare, attribute_tree);
        }
        if format.is_zip() {
            settings.attributes.diff_binary = settings::diff_binary(&gix)?;
        }
        let policy = filters.policy();
        let view = Viewing {
            args,
            filters,
            attributes: settings.attributes,
            below: &below,
            top: Top {
                path: top.as_os_str().as_bytes().as_bstr(),
                is_work_tree,
            },
            environment,
            text: format.is_zip(),
            rules,
        };
        let scope = view.scope(&gix, &mut reader, &treeish, diagnostics);
        let scope = scope.map_err(|error| reader.odb.refusal().unwrap_or(error))?;
        let times = Times {
            dos: match format.is_zip() {
                true => clock::dos(treeish.time)?,
                false => [0; 2],
            },
            unix: treeish.time as u32,
        };
        let extras = args.extras.iter();
        let prefix = args.prefix.as_deref().unwrap_or_default();
        Ok(Self {
            format: format.at_level(args.level)?,
            gzip_dialect: match args.ours.gzip_dialect {
                GzipDialect::Git => Dialect::Zlib,
                GzipDialect::Gnu => Dialect::Gzip,
            },
            extras: extras.map(|extra| planned(extra, &below)).collect(),
            times,
            treeish,
            command_context: command_context(&gix, below.clone()),
            scope,
            blob_policy: Arc::new(BlobPolicy {
                policy,
                naming: Naming {
                    below,
                    prefix_len: prefix.len(),
                },
            }),
            pax_notes: args.filters.pax_notes,
            rules,
            umask: settings.umask,
            big_file: settings.big_file,
            threads: args.ours.threads.map(usize::from),
            memory,
            verbose: args.verbose % 2 == 1,
            reader,
        })
    }
}

/// The git directory `found`, as git names it that was found from `cwd`.
fn git_directory(cwd: &Path, found: &Path) -> PathBuf {
    match found.canonicalize().is_ok_and(|found| found == cwd) {
        true => cwd.join("."),
        false => found.to_owned(),
    }
}

/// As git does, which changes to the top of the work tree if it is elsewhere in it.
fn command_context(gix: &gix::Repository, below: BString) -> CommandContext {
    CommandContext {
        directory: (!below.is_empty())
            .then(|| gix.workdir().map(ToOwned::to_owned))
            .flatten(),
        prefix: below,
    }
}

/// An extra file as it is planned, given in the directory `below` of the work tree.
fn planned(extra: &cli::Extra, below: &BString) -> Extra {
    let kind = match extra.executable {
        true => Kind::Executable,
        false => Kind::File,
    };
    let from_top = |path: &[u8]| match path.starts_with(b"/") {
        true => path.into(),
        false => [below.as_bytes(), path].concat().into(),
    };
    let (name, content) = match &extra.content {
        ExtraContent::Virtual(bytes) => (from_top(&extra.name), Content::Bytes(bytes.to_vec())),
        ExtraContent::File(path) => {
            let shown = from_top(path.as_os_str().as_bytes());
            let path = path.clone();
            (extra.name.clone(), Content::File { path, shown })
        }
    };
    Extra {
        name,
        kind,
        content,
    }
}
