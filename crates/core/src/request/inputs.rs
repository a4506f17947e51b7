//! The inputs of a request, and what follows from them without reading an object of the archived tree.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{
    Access, Budget,
    archived::command_context,
    configuration::Config,
    delta, filter,
    format::{Format, Formats, NamedFormat},
    gzip,
    key::KeyInputs,
    purpose::Purpose,
};
use crate::cache::Key;
use sluice_base::error::Result;
use sluice_cli::{Args, ByteRange};
use sluice_git::{
    attributes::{AttributeSettings, AttributeSource},
    convert::Shareable,
    environment::Environment,
    objects::reader::Reader,
    repository::{Repository, attr_source, promisor::FetchAccount, settings},
    tree::{TreeRules, directory_at},
};

/// The inputs of a request, without the repository.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The arguments.
    pub args: &'a Args,
    /// What the request is for.
    pub purpose: Purpose,
    /// The formats that may be asked for.
    pub formats: &'a Formats,
    /// Variables and the current directory.
    pub environment: &'a Environment,
    /// For whom the archive is made.
    pub access: Access,
    /// Counts the fetches of missing objects.
    pub fetches: &'a FetchAccount,
}

/// The facts that are known before an object is read.
pub(super) struct Preflight<'a> {
    pub format: &'a NamedFormat,
    pub filters: filter::FilterRules<'a>,
    pub repository: Repository,
}

impl<'a> Inputs<'a> {
    pub(super) fn known(self, repository: Result<Repository>) -> Result<Preflight<'a>> {
        let format = self.format()?;
        let filters = self.filters(format)?;
        let mut repository = repository?;
        // Not that of another request.
        repository.settings.attributes.shareable = Shareable::default();
        Ok(Preflight {
            format,
            filters,
            repository,
        })
    }

    fn format(self) -> Result<&'a NamedFormat> {
        let output = self.args.output.as_ref();
        let output = output.map(|path| path.as_os_str().as_bytes());
        let format = self
            .formats
            .choose(self.args.encoding.format.as_deref(), output)?;
        format.check_level(self.args.encoding.level.level)?;
        if let (None, Some(output)) = (&self.args.encoding.format, output) {
            self.formats.fit_name(format, output)?;
        }
        Ok(format)
    }

    fn filters(self, format: &NamedFormat) -> Result<filter::FilterRules<'a>> {
        let directory = self.environment.directory();
        let filters = filter::FilterRules::new(&self.args.filters, self.purpose, directory)?;
        if format.is_zip() {
            filters.fit_zip()?;
            delta::fit_zip(&self.args.delta)?;
        }
        if self.purpose == Purpose::Archive {
            delta::fit_reader(self.args)?;
        }
        Ok(filters)
    }

    /// Whether the request seems to need most files of a commit.
    pub(super) fn is_about_all_files(self, repository: &Repository) -> bool {
        let content = &self.args.content;
        let name = content.treeish.as_deref().unwrap_or_default();
        matches!(self.purpose, Purpose::Archive | Purpose::Publish)
            && self.args.delta.base.is_none()
            && content.paths.is_empty()
            && repository.prefix.is_empty()
            && !name.as_bytes().contains(&b':')
    }

    pub(super) fn tree_rules(self, repository: &Repository, budget: Budget) -> TreeRules {
        let settings = &repository.settings;
        TreeRules {
            hash: repository.hash(),
            protect: (!self.args.content.worktree_attributes).then_some(settings.protect),
            max_depth: settings.max_tree_depth,
            max_held: budget.trees(),
            redacted: self.args.filters.access_rules.is_some(),
        }
    }

    /// The directory against which absolute pathspecs are read.
    pub(super) fn top(self, repository: &Repository) -> PathBuf {
        let (cwd, git_dir) = (&self.environment.cwd, &repository.git_dir);
        match (&repository.work_tree, self.access) {
            (Some(top), _) => top.clone(),
            // A server runs in the git directory.
            (None, Access::Remote) => cwd.join("."),
            (None, Access::Local) if self.environment.discovery.git_dir.is_some() => {
                git_dir.clone()
            }
            (None, Access::Local) => git_directory(cwd, git_dir),
        }
    }

    /// The settings of attributes.
    pub(super) fn attributes(
        self,
        repository: &Repository,
        (top, tree): (&Path, ObjectId),
        format: &NamedFormat,
        reader: &mut Reader,
    ) -> Result<AttributeSettings> {
        let mut attributes = repository.settings.attributes.clone();
        if self.args.content.worktree_attributes {
            let directory = match self.access {
                Access::Local => attributes.top.clone(),
                Access::Remote => top.to_owned(),
            };
            attributes.modes_of = Some(directory.clone());
            attributes.source = attr_source::of_work_tree(directory, repository.is_bare);
        }
        if self.environment.is_stable {
            return Ok(attributes);
        }
        match attr_source::named(repository, reader, self.environment)? {
            // As in git, the tree has to exist even where it is not used, but only once something is looked up.
            Some(AttributeSource::Unknown) => {
                attributes.source = if has_entries_at(tree, &repository.prefix, reader) {
                    AttributeSource::Unknown
                } else {
                    AttributeSource::Nowhere
                };
            }
            Some(named) if self.args.content.worktree_attributes => attributes.source = named,
            Some(_) | None => {}
        }
        attributes.drivers = settings::drivers(&repository.config, &repository.directory)?;
        if format.is_zip() {
            attributes.diff_binary =
                settings::diff_binary(&repository.config, &repository.directory)?;
        }
        Ok(attributes)
    }

    /// Whether the key matters without a cache.
    pub(super) fn asks_for_key(self) -> bool {
        let args = self.args;
        self.purpose == Purpose::Info
            || args.condition.if_none_match.is_some()
            || args.range.if_range.is_some()
    }

    /// Whether the archive says with which filters it was made. Other archives have git's bytes.
    pub(super) fn notes_filters(self) -> bool {
        self.args.delta.base.is_some() || self.args.filters.pax_notes
    }

    /// The hash of the filters, if it is asked for.
    pub(super) fn filters_hash(self, decisive: &mut KeyInputs<'_>) -> Result<Key, String> {
        let args = self.args;
        match self.purpose {
            // No later run could find out which files were present.
            Purpose::Publish => decisive.refuse_incomplete()?,
            Purpose::Info => {}
            _ if args.has_manifest || args.delta.base_filters.is_some() => {}
            _ if self.notes_filters() => {}
            _ => return Err("nothing asks for the filters".to_owned()),
        }
        decisive.filters()
    }

    /// The range of the archive with this `key` that is wanted, unless all of the archive is.
    pub(super) fn range(self, key: Option<&Key>) -> Option<ByteRange> {
        let range = &self.args.range;
        let is_known = |tag: &String| key.is_some_and(|key| key.is(tag));
        range
            .byte_range
            .filter(|_| range.if_range.as_ref().is_none_or(is_known))
    }

    /// The format of the archive, at its level.
    pub(super) fn encoding(self, format: &NamedFormat, repository: &Repository) -> Result<Format> {
        let encoding = &self.args.encoding;
        let level = encoding.level.level;
        let config = Config {
            repository,
            environment: self.environment,
        };
        let own = format.command().and_then(|command| {
            let context = command_context(repository, repository.prefix.clone());
            gzip::without_command(command, level, &context)
        });
        match own {
            Some(own) => Ok(own),
            None => format.at_level(level, || gzip::dialect(encoding.gzip_compat, config)),
        }
    }
}

/// Whether `tree` has entries, in the directory `below` (empty, or with a slash at its end) or above it.
fn has_entries_at(tree: ObjectId, below: &BString, reader: &mut Reader) -> bool {
    let first = below.split_str("/").next().unwrap_or_default();
    if first.is_empty() {
        tree != ObjectId::empty_tree(tree.kind())
    } else {
        let found = directory_at(reader, tree, tree.kind(), first);
        !found.is_ok_and(|directory| directory.is_none())
    }
}

/// The git directory `found`, as git names it that was found from `cwd`.
fn git_directory(cwd: &Path, found: &Path) -> PathBuf {
    if found.canonicalize().is_ok_and(|found| found == cwd) {
        cwd.join(".")
    } else {
        found.to_owned()
    }
}
