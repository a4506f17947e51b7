//! The steps from arguments to a request, in the order in which git notices that something is wrong.

use std::{
    cell::RefCell,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};

use super::{
    Access, Budget, Content, Request, Run,
    archived::{ArchivedRepository, command_context},
    clock,
    configuration::Config,
    delta, filter,
    format::{Format, Formats, NamedFormat},
    gzip,
    key::KeyInputs,
    purpose::Purpose,
    scope::Scope,
    sharing,
    view_builder::{Fetching, ViewBuilder},
};
use crate::{
    base::{
        error::{Error, ExitKind, Result, format_bytes},
        working_directory::WorkingDirectory,
    },
    cache::Key,
    cli::{self, Args, ByteRange, CommandName, ExtraContent, Submodules},
    filter::access::AccessRules,
    format::{MemberKind, zip::Times},
    git::{
        attributes::{AttributeSettings, AttributeSource},
        convert::Shareable,
        environment::Environment,
        objects::{
            reader::Reader,
            wanted::{Missing, MissingObjects},
        },
        odb::Odb,
        pathspec::Top,
        repository::{
            Repository, attr_source, date,
            promisor::FetchAccount,
            promisors::{self, Fetched, Lazy, Promisors},
            settings::{self, Umask},
            treeish::{self, Treeish},
        },
        tree::{TreeRules, directory_at},
    },
    plan::{
        BlobPolicy,
        extra::{Extra, ExtraSource},
        read_ahead_if_cold,
    },
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

impl Request {
    /// Works out what `inputs` ask of `repository`; warnings go to `diagnostics`. A missing repository is
    /// an error only after the options that git checks before.
    pub fn resolve(
        inputs: Inputs<'_>,
        repository: Result<Repository>,
        diagnostics: &mut dyn Write,
    ) -> Result<Self> {
        let known = inputs.known(repository)?;
        match inputs.promisors(&known) {
            Some(promisors) => inputs.fetched_request(&known, promisors, diagnostics),
            None => {
                let reader = Reader::new(known.repository.odb());
                inputs.request(&known, reader, None, diagnostics)
            }
        }
    }
}

/// The request for which a repository may lack objects, to be resolved as often as they are looked for.
pub struct PartialRequest<'a> {
    inputs: Inputs<'a>,
    known: Preflight<'a>,
}

impl<'a> PartialRequest<'a> {
    /// Checks the options in `inputs` that git checks before it reads an object of `repository`.
    pub fn new(inputs: Inputs<'a>, repository: Result<Repository>) -> Result<Self> {
        let known = inputs.known(repository)?;
        Ok(Self { inputs, known })
    }

    /// The request as far as it can be worked out, with missing objects noted in `wanted`. Warnings go to `diagnostics`.
    pub fn resolve(&self, wanted: &MissingObjects, diagnostics: &mut dyn Write) -> Result<Request> {
        let reader = Reader::new(self.odb()).recording_missing(wanted);
        self.inputs.request(&self.known, reader, None, diagnostics)
    }

    /// The failure of the system to open what may hold an object that seems `missing`, if it fails.
    pub fn refusal(&self, missing: &[Missing]) -> Option<Error> {
        let mut odb = self.odb();
        let objects = missing.iter().filter(|it| it.submodule.is_empty());
        objects.for_each(|object| {
            odb.find(&object.id);
        });
        odb.refusal()
    }

    fn odb(&self) -> Odb {
        self.known.repository.odb()
    }

    /// Room for the missing objects that are held at once.
    pub fn wanted(&self) -> MissingObjects {
        self.inputs.wanted()
    }

    /// The access rules of the reader.
    pub fn access(&self) -> Option<&AccessRules> {
        self.known.filters.access.as_deref()
    }
}

/// The facts that are known before an object is read.
struct Preflight<'a> {
    format: &'a NamedFormat,
    filters: filter::FilterRules<'a>,
    repository: Repository,
}

impl<'a> Inputs<'a> {
    fn known(self, repository: Result<Repository>) -> Result<Preflight<'a>> {
        let format = self.format()?;
        let filters = self.filters(format)?;
        let repository = repository?;
        Ok(Preflight {
            format,
            filters,
            repository,
        })
    }

    /// Room for the missing objects that are held at once.
    fn wanted(self) -> MissingObjects {
        MissingObjects::within(Budget::new(self.args.run.memory).wanted())
    }

    /// The sources of missing objects, if they are fetched: those of submodules are found with the submodules.
    fn promisors(self, known: &Preflight<'_>) -> Option<Promisors> {
        if !self.purpose.fetches() || !known.filters.fetches() {
            return None;
        }
        let lazy = if self.environment.no_lazy_fetch {
            Lazy::Forbidden
        } else {
            Lazy::Allowed
        };
        let promisors = Promisors::new(lazy, self.fetches.clone());
        promisors.add(BStr::new(""), &known.repository);
        let may_find_more = known.filters.submodules() != Submodules::Dir;
        (may_find_more || !promisors.is_empty()).then_some(promisors)
    }

    /// The request, with the trees and other objects that its meaning depends on fetched from `promisors`: each attempt
    /// finds what is missing for the next one.
    fn fetched_request(
        self,
        known: &Preflight<'a>,
        promisors: Promisors,
        diagnostics: &mut dyn Write,
    ) -> Result<Request> {
        let is_redacted = self.args.filters.access_rules.is_some();
        let wanted = self.wanted().redacted(is_redacted);
        let noted = promisors.noted(BStr::new(""), &known.repository.location, &wanted);
        let fetching = Fetching {
            promisors: &promisors,
            wanted: &wanted,
        };
        let reader = || Reader::new(known.repository.odb());
        loop {
            let noting = match &noted {
                Some(noted) => reader().recording_missing(noted),
                None => reader(),
            };
            let mut told = Vec::new();
            let request = self.request(known, noting, Some(fetching), &mut told);
            let missing = wanted.take();
            if missing.is_empty() {
                let _ = diagnostics.write_all(&told);
                let mut request = request?;
                let repositories = std::mem::take(&mut request.content.repositories).into_iter();
                let repositories = repositories.map(ArchivedRepository::failing_on_missing);
                request.content.repositories = repositories.collect();
                request.run.promisors = (!promisors.is_empty()).then_some(promisors);
                return Ok(request);
            }
            match promisors.fetch(missing, diagnostics)? {
                Fetched::All => {}
                Fetched::Unpromised => return self.request(known, reader(), None, diagnostics),
                // What is missing may be the base, which the caller can do without.
                Fetched::Lost(lost) => {
                    let failure = self.request(known, reader(), None, &mut io::sink()).err();
                    let failure = failure.filter(|it| it.kind() == ExitKind::NoBase);
                    return Err(match failure {
                        Some(failure) => promisors::without_base(failure, &lost),
                        None => promisors.could_not_fetch(&lost),
                    });
                }
            }
        }
    }

    /// The request, as `reader` finds the objects. With `fetching`, what submodules lack is noted.
    fn request(
        self,
        known: &Preflight<'_>,
        mut reader: Reader,
        fetching: Option<Fetching<'_>>,
        diagnostics: &mut dyn Write,
    ) -> Result<Request> {
        let Inputs { args, .. } = self;
        let repository = &known.repository;
        let budget = Budget::new(args.run.memory);
        if self.is_about_all_files(repository) {
            reader.odb.expect_most(budget.index_ahead());
        }
        let treeish = self.treeish(repository, &known.filters, &mut reader, diagnostics)?;
        known.filters.fit_access(&reader, treeish.tree)?;
        self.fit_relative(known, treeish.tree, &mut reader)?;
        read_ahead_if_cold(&mut reader, treeish.tree, budget.read_ahead());
        let top = self.top(repository);
        let view = self.view_builder(known, (&top, treeish.tree), fetching, &mut reader)?;
        let mut content = self.content(known, &view, treeish, reader, diagnostics)?;
        let cache = sharing::settings(args, self.environment, repository)?;
        let mut decisive = KeyInputs {
            content: &mut content,
            view: &view,
        };
        if let Some(reason) = decisive.variation().filter(|_| args.fail_if_varies) {
            return Err(Error::varies("the archive may vary").caused_by(reason));
        }
        let key = if cache.is_some() || self.asks_for_key() {
            decisive.key()
        } else {
            Err("nothing asks for the key".to_owned())
        };
        let family = cache
            .as_ref()
            .and_then(|_| decisive.family(&repository.common_dir).ok());
        let filters_hash = self.filters_hash(&mut decisive);
        delta::fit_filters(&args.delta, filters_hash.as_ref())?;
        if self.notes_filters() {
            content.filters = filters_hash.as_ref().ok().map(Key::hex);
        }
        Ok(Request {
            content,
            run: Run {
                threads: args.run.threads.map(usize::from),
                budget,
                verbose: args.verbosity.is_verbose(),
                range: self.range(key.as_ref().ok()),
                shareable: Shareable::default(),
                cache,
                promisors: None,
                read_ahead: view.read_ahead.into_inner().into(),
                absent_rules: known.filters.absent(),
            },
            key,
            family,
            filters_hash,
        })
    }

    /// How trees are seen. `top` is the directory against which absolute pathspecs are read, and `tree` is archived.
    fn view_builder<'b>(
        self,
        known: &'b Preflight<'_>,
        (top, tree): (&'b Path, ObjectId),
        fetching: Option<Fetching<'b>>,
        reader: &mut Reader,
    ) -> Result<ViewBuilder<'b>>
    where
        'a: 'b,
    {
        let Preflight {
            format,
            filters,
            repository,
        } = known;
        let budget = Budget::new(self.args.run.memory);
        let rules = self.tree_rules(repository, budget);
        let mut attributes = self.attributes(repository, (top, tree), format, reader)?;
        attributes.lfs = filters.lfs_files(repository, self.environment, budget)?;
        attributes.needs_files = filters.does_without(repository);
        Ok(ViewBuilder {
            args: self.args,
            purpose: self.purpose,
            filters,
            attributes,
            below: &repository.prefix,
            top: Top {
                path: top.as_os_str().as_bytes().as_bstr(),
                is_work_tree: repository.work_tree.is_some(),
            },
            environment: self.environment,
            text: format.is_zip(),
            rules,
            budget,
            fetching,
            read_ahead: RefCell::default(),
            made: Arc::default(),
        })
    }

    /// What is archived of `treeish`, whose objects `reader` reads.
    fn content(
        self,
        known: &Preflight<'_>,
        view: &ViewBuilder<'_>,
        treeish: Treeish,
        mut reader: Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<Content> {
        let Preflight {
            format,
            filters,
            repository,
        } = known;
        let args = self.args;
        let below = &repository.prefix;
        let scope = view.scope(repository, &mut reader, &treeish, diagnostics);
        let scope = scope.map_err(|error| reader.odb.refusal().unwrap_or(error))?;
        let Scope {
            mut repositories,
            delta,
        } = scope;
        let naming = repositories[0].tree.view.naming.clone();
        // It has found objects already, and knows of those that the system refused.
        repositories[0].tree.reader = reader;
        let mtime = self.mtime(&treeish)?;
        let times = times(format, mtime, self.environment.is_stable)?;
        let directory = self.environment.directory();
        let extras = args.content.extras.iter();
        let extras = extras.map(|extra| planned(extra, directory, below));
        Ok(Content {
            format: self.encoding(format, repository)?,
            format_name: format.name().to_owned(),
            repositories,
            delta,
            blob_policy: Arc::new(BlobPolicy {
                policy: filters.policy(),
                naming,
            }),
            pax_notes: args.filters.pax_notes,
            filters: None,
            extras: extras.collect(),
            mtime,
            times,
            umask: args
                .content
                .umask
                .map_or(repository.settings.umask, Umask::Bits),
        })
    }
}

impl<'a> Inputs<'a> {
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
    fn is_about_all_files(self, repository: &Repository) -> bool {
        let content = &self.args.content;
        let name = content.treeish.as_deref().unwrap_or_default();
        matches!(self.purpose, Purpose::Archive | Purpose::Publish)
            && self.args.delta.base.is_none()
            && content.paths.is_empty()
            && repository.prefix.is_empty()
            && !name.as_bytes().contains(&b':')
    }

    fn treeish(
        self,
        repository: &Repository,
        filters: &filter::FilterRules<'_>,
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<Treeish> {
        let name = self.args.content.treeish.as_deref().unwrap_or_default();
        let name = name.as_bytes().as_bstr();
        let must_be_ref = self.access == Access::Remote && !repository.settings.allow_unreachable;
        let required = must_be_ref.then(|| treeish::required_ref(repository, name));
        let required = required.transpose()?;
        filters.fit_name(name)?;
        let mut treeish = treeish::resolve(repository, reader, name, diagnostics)
            .map_err(|error| self.hint_at_meaning(name, error))?;
        // As in git, a filter is told of this ref even if a path in its tree is archived.
        if let Some(full_name) = required {
            treeish.reference = treeish::known_reference(full_name);
        }
        filters.warn_of_pointers(name, &treeish, diagnostics);
        Ok(treeish)
    }

    /// The time of the entries of an archive of `treeish`.
    fn mtime(self, treeish: &Treeish) -> Result<u64> {
        let Environment {
            is_stable,
            ref source_date_epoch,
            ..
        } = *self.environment;
        match &self.args.content.mtime {
            Some(time) if is_stable => date::fixed_mtime(time),
            Some(time) => date::mtime(time),
            None if is_stable && treeish.commit.is_none() => {
                clock::of_tree(source_date_epoch.as_deref())
            }
            None => Ok(treeish.time),
        }
    }

    /// Refuses a `--relative` that is no directory of the `tree`, unless that is for somebody who may not know.
    fn fit_relative(
        self,
        known: &Preflight<'_>,
        tree: ObjectId,
        reader: &mut Reader,
    ) -> Result<()> {
        let content = &self.args.content;
        let (Some(directory), None) = (&content.relative, &known.filters.access) else {
            return Ok(());
        };
        // What cannot be read is for the archive to report.
        let found = directory_at(reader, tree, tree.kind(), &known.repository.prefix);
        if !matches!(found, Ok(None)) {
            return Ok(());
        }
        let name = content.treeish.as_deref().unwrap_or_default().as_bytes();
        let values = [directory.as_bytes(), name];
        Err(
            Error::fatal(format_bytes("'{}' is no directory of '{}'", &values))
                .hinted(format_bytes("'git ls-tree -d -r {}' lists them", &[name])),
        )
    }

    /// `error` about `name`, with a hint if `name` is a range of commits or nearly a command. Clients and callers of git know
    /// none of these.
    fn hint_at_meaning(self, name: &BStr, error: Error) -> Error {
        let is_unknown = error.kind() == ExitKind::UnknownName;
        if self.access != Access::Local || !is_unknown || name.contains(&b':') {
            return error;
        }
        match name.split_once_str("..") {
            Some((base, target)) if !base.is_empty() && !target.is_empty() => {
                let target = target.trim_start_with(|letter| letter == '.');
                error.hinted(format_bytes("git sluice --base={} {}", &[base, target]))
            }
            _ => match name.to_str().ok().and_then(CommandName::meant_by) {
                Some(command)
                    if self.purpose == Purpose::Archive && !self.environment.sluice.stands_in =>
                {
                    let command = command.as_str();
                    error.hinted(format!("did you mean 'git sluice {command}'?"))
                }
                _ => error,
            },
        }
    }

    fn tree_rules(self, repository: &Repository, budget: Budget) -> TreeRules {
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
    fn top(self, repository: &Repository) -> PathBuf {
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
    fn attributes(
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
        attributes.drivers = settings::drivers(&repository.config)?;
        if format.is_zip() {
            attributes.diff_binary = settings::diff_binary(&repository.config)?;
        }
        Ok(attributes)
    }

    /// Whether the key matters without a cache.
    fn asks_for_key(self) -> bool {
        let args = self.args;
        self.purpose == Purpose::Info
            || args.condition.if_none_match.is_some()
            || args.range.if_range.is_some()
    }

    /// Whether the archive says with which filters it was made. Other archives have git's bytes.
    fn notes_filters(self) -> bool {
        self.args.delta.base.is_some() || self.args.filters.pax_notes
    }

    /// The hash of the filters, if it is asked for.
    fn filters_hash(self, decisive: &mut KeyInputs<'_>) -> Result<Key, String> {
        let args = self.args;
        match self.purpose {
            // Nobody could tell later which files were there.
            Purpose::Publish => decisive.refuse_incomplete()?,
            Purpose::Info => {}
            _ if args.has_manifest || args.delta.base_filters.is_some() => {}
            _ if self.notes_filters() => {}
            _ => return Err("nothing asks for the filters".to_owned()),
        }
        decisive.filters()
    }

    /// The range of the archive with this `key` that is wanted, unless all of the archive is.
    fn range(self, key: Option<&Key>) -> Option<ByteRange> {
        let range = &self.args.range;
        let is_known = |tag: &String| key.is_some_and(|key| key.is(tag));
        range
            .byte_range
            .filter(|_| range.if_range.as_ref().is_none_or(is_known))
    }

    /// The format of the archive, at its level.
    fn encoding(self, format: &NamedFormat, repository: &Repository) -> Result<Format> {
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

/// The archive's time as zip tells it; only a zip needs the local time, which is UTC if `in_utc`.
fn times(format: &NamedFormat, seconds: u64, in_utc: bool) -> Result<Times> {
    Ok(Times {
        dos: if format.is_zip() {
            clock::dos(seconds, in_utc)?
        } else {
            [0; 2]
        },
        unix: seconds as u32,
    })
}

/// The git directory `found`, as git names it that was found from `cwd`.
fn git_directory(cwd: &Path, found: &Path) -> PathBuf {
    if found.canonicalize().is_ok_and(|found| found == cwd) {
        cwd.join(".")
    } else {
        found.to_owned()
    }
}

/// An extra file as it is planned, given in `directory`, which is the directory `below` of the work tree.
fn planned(extra: &cli::Extra, directory: &WorkingDirectory, below: &BString) -> Extra {
    let kind = match extra.content {
        ExtraContent::Link(_) => MemberKind::Symlink,
        ExtraContent::Directory => MemberKind::Directory,
        _ if extra.executable => MemberKind::Executable,
        _ => MemberKind::File,
    };
    let from_top = |path: &[u8]| {
        if path.starts_with(b"/") {
            path.into()
        } else {
            [below.as_bytes(), path].concat().into()
        }
    };
    let (name, content) = match &extra.content {
        ExtraContent::Virtual(bytes) => (from_top(&extra.name), ExtraSource::Bytes(bytes.to_vec())),
        ExtraContent::File(path) => {
            let shown = from_top(path.as_os_str().as_bytes());
            let path = directory.file(path).path;
            (extra.name.clone(), ExtraSource::File { path, shown })
        }
        ExtraContent::Link(target) => (extra.name.clone(), ExtraSource::Bytes(target.to_vec())),
        ExtraContent::Directory => (extra.name.clone(), ExtraSource::Bytes(Vec::new())),
    };
    Extra {
        name,
        kind,
        content,
    }
}
