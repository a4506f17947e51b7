//! From options to the filter: rules read and understood before anything is written.

use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::ffi::OsStrExt,
    sync::Arc,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use super::{
    Budget,
    profile::{self, refused, setter},
    purpose::Purpose,
};
use crate::{
    filter::{
        Binary, Fallback, Filter, Limit, PlaceholderContent, Policy, TreeRules, WITHIN_ALL,
        access::AccessRules,
        exclude::{self, Exclude},
        ignore::Ignore,
        large::LargeFiles,
        rule::Rule,
    },
    output::report::Channel,
};
use sluice_base::{
    buffer::Buffer,
    error::{ByteMessage, Error, Result, format_bytes, strerror},
    io::print_line,
    working_directory::{NamedFile, WorkingDirectory},
};
use sluice_cli::{
    ExcludeGrammar, Filters, Large, Lfs, OnBinary, OnMissing, Submodules, Symlinks, word,
};
use sluice_git::{
    environment::Environment,
    lfs::LfsFiles,
    objects::{Failure, reader::Reader, wanted::Role},
    repository::{Repository, host::Host, lfs, treeish::Treeish},
    tree::{Mount, directory_at, look_up},
};

/// The filters of a request, for any tree. The rules of exclude files in a tree are read for each tree.
pub(super) struct FilterRules<'a> {
    pub(super) given: &'a Filters,
    pub(super) purpose: Purpose,
    /// With those of the profile.
    pub(super) settings: Filters,
    pub(super) access: Option<Arc<AccessRules>>,
    /// The text of the access rules.
    pub(super) access_text: Option<Vec<u8>>,
    /// The texts of the files of `--exclude-from`.
    pub(super) exclude_texts: Vec<Vec<u8>>,
    pub(super) policy: Policy,
    /// The exclude files that the user has named, without those that were in a tree so far.
    pub(super) absent: RefCell<Vec<BString>>,
}

impl<'a> FilterRules<'a> {
    /// Reads the filters that the options in `given` ask for, with files that are named in `directory`.
    pub(super) fn new(
        given: &'a Filters,
        purpose: Purpose,
        directory: &WorkingDirectory,
    ) -> Result<Self> {
        let profile = profile::filters(given.profile.unwrap_or_default());
        given
            .exclude_from_tree
            .iter()
            .try_for_each(|path| fit_tree(path))?;
        fit_paths(&given.exclude)?;
        let access = given.access_rules.as_deref();
        let (access, access_text) = access
            .map(|rules| access_rules(rules, directory))
            .transpose()?
            .unzip();
        let settings = given.clone().or(profile);
        fit_together(&settings, given)?;
        if purpose == Purpose::Publish && settings.lfs == Some(Lfs::ContentPresent) {
            let refused = "'publish' and '--lfs=content-present' cannot be used together";
            return Err(Error::usage(refused)
                .caused_by("this value does not record which objects the base archive contains"));
        }
        let named = given.exclude_from_tree.iter();
        let named = named.map(|path| path.as_bytes().into());
        Ok(Self {
            given,
            purpose,
            absent: RefCell::new(named.collect()),
            policy: policy(&settings),
            settings,
            access: access.map(Arc::new),
            access_text,
            exclude_texts: given
                .exclude_from
                .iter()
                .map(|file| exclude_text(&directory.file(file)))
                .collect::<Result<_>>()?,
        })
    }

    /// Whether the trees `one` and `other` have different exclude rules.
    pub(super) fn differ(&self, reader: &mut Reader, one: ObjectId, other: ObjectId) -> bool {
        let mut blob = |root, path| blob_at(reader, root, path).ok();
        self.ignore_files()
            .any(|path| blob(one, path) != blob(other, path))
    }

    fn ignore_files(&self) -> impl Iterator<Item = &[u8]> {
        let files = self.settings.exclude_from_tree.iter();
        files.map(|path| path.as_bytes())
    }

    /// Whether every file keeps its stored bytes (`--no-attributes`).
    pub(super) fn is_raw(&self) -> bool {
        self.settings.no_attributes
    }

    /// Whether no filter keeps a selected file back.
    pub(super) fn send_all_files(&self) -> bool {
        let settings = &self.settings;
        settings.max_size.is_none()
            && self.access.is_none()
            && self.given.exclude.is_empty()
            && self.given.exclude_from.is_empty()
            && self.ignore_files().next().is_none()
    }

    /// Whether the contents of submodules are archived.
    pub(super) fn enters_submodules(&self) -> bool {
        matches!(
            self.submodules(),
            Submodules::Recurse | Submodules::RecursePresent
        )
    }

    /// Whether copies take the place of links.
    pub(super) fn copies_links(&self) -> bool {
        self.settings.symlinks == Some(Symlinks::Copy)
    }

    /// What is archived of submodules.
    pub(super) fn submodules(&self) -> Submodules {
        self.settings.submodules.unwrap_or(Submodules::Dir)
    }

    /// What is sent of the LFS files of `repository`, within `budget`.
    pub(super) fn lfs_files(
        &self,
        repository: &Repository,
        environment: &Environment,
        budget: Budget,
    ) -> Result<LfsFiles> {
        Ok(match self.settings.lfs {
            None => LfsFiles::Filtered,
            Some(Lfs::Pointer) => LfsFiles::Pointers,
            Some(Lfs::Content | Lfs::ContentPresent) => {
                let of_host = Host::read(environment)?.lfs_store();
                let store = lfs::local_store(repository, of_host, budget.read_ahead());
                LfsFiles::Contents(Arc::new(store))
            }
        })
    }

    /// Whether the archive skips files that `repository` lacks.
    pub(super) fn does_without(&self, repository: &Repository) -> bool {
        self.policy.missing.is_some() && repository.objects.is_partial
    }

    /// Whether an archive fetches missing objects.
    pub(super) fn fetches(&self) -> bool {
        self.settings.missing.unwrap_or(OnMissing::Fetch) == OnMissing::Fetch
    }

    /// Why the archive may be without files that the repository lacks, if it may.
    pub(super) fn incompleteness(&self) -> Option<String> {
        self.policy.missing?;
        let option = || {
            format!(
                "--missing={}",
                self.settings.missing.map_or_else(String::new, word)
            )
        };
        let setter = setter(self.given, self.given.missing.is_some()).unwrap_or_else(option);
        Some(format!(
            "{setter} skips files that the repository lacks; add --missing=fetch"
        ))
    }

    /// Refuses a tree-ish `name` whose failure could tell whether a hidden path exists.
    pub(super) fn fit_name(&self, name: &[u8]) -> Result<()> {
        if self.access.is_some() && name.contains(&b':') {
            Err(Error::fatal("cannot apply access rules to a path")
                .hinted("name a commit, and paths after it"))
        } else {
            Ok(())
        }
    }

    /// Warns that no attributes tell which files of the `treeish` are those of Git LFS, if it is called by a path (`name`)
    /// whose upper directories are not read.
    pub(super) fn warn_of_pointers(
        &self,
        name: &BStr,
        treeish: &Treeish,
        diagnostics: &mut dyn Write,
    ) {
        let path = name
            .split_once_str(":")
            .filter(|(_, path)| !path.is_empty());
        if let (Some(how), None, Some((commit, path))) =
            (sent_content(&self.settings), treeish.commit, path)
        {
            let template = "--lfs={} ignores the attributes above '{}', so its files may be sent as LFS pointers; \
                            name '{}' and the path '{}' instead of '{}'";
            let values: [&[u8]; 5] = [how.as_bytes(), path, commit, path, name];
            print_line(diagnostics, "warning: ", &format_bytes(template, &values));
        }
    }

    /// Refuses access rules that have the path of a directory of the tree `root`, which `reader` reads. An object that cannot be
    /// read is for the archive to report.
    pub(super) fn fit_access(&self, reader: &Reader, root: ObjectId) -> Result<()> {
        let (Some(access), Some(name)) = (&self.access, &self.given.access_rules) else {
            return Ok(());
        };
        let mut reader = reader.clone().failing_on_missing();
        let is_directory = |path: &[u8]| {
            let found = directory_at(&mut reader, root, root.kind(), path);
            matches!(found, Ok(Some(_)))
        };
        match access.rule_for_directory(is_directory) {
            Some(bad) => Err(unusable_access(name).caused_by(bad)),
            None => Ok(()),
        }
    }

    /// Refuses options that a zip cannot carry out.
    pub(super) fn fit_zip(&self) -> Result<()> {
        let has_holes = self.settings.large == Some(Large::Placeholder);
        if self.settings.max_size.is_some() && has_holes {
            let is_given = self.given.large.is_some();
            let option = "--large=placeholder";
            return Err(refused(self.given, is_given, option, "{} needs a tar")
                .hinted("--large=empty sends empty files, in a zip too"));
        }
        if self.given.pax_notes {
            return Err(Error::usage("--pax-notes needs a tar"));
        }
        Ok(())
    }

    /// The exclude files that the user has named and no tree had so far. Whether there is a file that the reader may not
    /// know is not reported.
    pub(super) fn absent(&self) -> Vec<BString> {
        let access = self.access.as_ref();
        let mut absent = self.absent.borrow().clone();
        absent.retain(|path| access.is_none_or(|access| access.allows(path)));
        absent
    }

    /// The rules in files of the user that can match no path.
    pub(super) fn dead_rules(&self) -> Vec<Rule> {
        let mut rules = self.rules_of_files();
        rules.retain(|rule| exclude::matching_spelling(&rule.pattern).is_some());
        rules
    }

    /// The policy for files whose size or content decides.
    pub(super) fn policy(&self) -> Policy {
        self.policy.clone()
    }

    /// The filter for the tree `root`. Warnings about its rules go to `diagnostics`.
    pub(super) fn filter(
        &self,
        reader: &mut Reader,
        root: ObjectId,
        diagnostics: &mut dyn Write,
    ) -> Result<Filter> {
        let (in_tree, has_secret_rules) =
            self.own_rules(reader, root, &Mount::default(), diagnostics)?;
        Ok(Filter {
            access: self.access.clone(),
            in_tree,
            given: Arc::new(self.given_rules()),
            has_secret_rules,
            policy: self.policy.clone(),
            mount: Mount::default(),
            enters_submodules: self.enters_submodules(),
        })
    }

    /// The filter for the tree `root` of a submodule at `mount`, below a tree with the filter `above`.
    pub(super) fn filter_below(
        &self,
        above: &Filter,
        mount: Mount,
        reader: &mut Reader,
        root: ObjectId,
        diagnostics: &mut dyn Write,
    ) -> Result<Filter> {
        let (in_tree, has_secret_rules) = self.own_rules(reader, root, &mount, diagnostics)?;
        Ok(Filter {
            access: self.access.clone(),
            in_tree,
            given: Arc::clone(&above.given),
            has_secret_rules: above.has_secret_rules || has_secret_rules,
            policy: self.policy.clone(),
            mount,
            enters_submodules: above.enters_submodules,
        })
    }

    /// The rules of the files in the tree `root`, which is at `mount`, and whether the reader must not see some of them.
    fn own_rules(
        &self,
        reader: &mut Reader,
        root: ObjectId,
        mount: &Mount,
        diagnostics: &mut dyn Write,
    ) -> Result<(TreeRules, bool)> {
        let mut sources = Sources {
            rules: Vec::new(),
            ignore: Ignore::new(),
            explains: self.purpose.explains_rules(),
            diagnostics,
        };
        let grammar = self.settings.exclude_grammar;
        let mut has_secret_rules = false;
        for path in self.ignore_files() {
            let Some(text) = in_tree(reader, root, path)? else {
                continue;
            };
            self.absent.borrow_mut().retain(|absent| *absent != path);
            let path = mount.path(path);
            let access = self.access.as_ref();
            let is_secret = access.is_some_and(|access| !access.allows(&path));
            has_secret_rules |= is_secret;
            match grammar {
                ExcludeGrammar::Gitignore => sources.rules.extend(exclude::rules(&path, &text)),
                ExcludeGrammar::Sourcegraph if is_secret => {
                    sources.add_secret(path.as_bstr(), &text)?
                }
                ExcludeGrammar::Sourcegraph => sources.add(path.as_bstr(), &text)?,
            }
        }
        let rules = match grammar {
            ExcludeGrammar::Gitignore => TreeRules::Gitignore(Exclude::new(sources.rules)),
            ExcludeGrammar::Sourcegraph => TreeRules::Sourcegraph(sources.ignore),
        };
        Ok((rules, has_secret_rules))
    }

    fn rules_of_files(&self) -> Vec<Rule> {
        let files = self.given.exclude_from.iter().zip(&self.exclude_texts);
        let of_file = |(file, text): (&OsString, &Vec<u8>)| exclude::rules(file.as_bytes(), text);
        files.flat_map(of_file).collect()
    }

    /// The rules that the options give, in the order of git: what the command line says comes last and so decides.
    fn given_rules(&self) -> Exclude {
        let mut rules = self.rules_of_files();
        let origin = Arc::new(BString::from("--exclude"));
        rules.extend(self.given.exclude.iter().map(|pattern| Rule {
            origin: Arc::clone(&origin),
            line: None,
            pattern: pattern.as_bytes().into(),
        }));
        Exclude::new(rules)
    }
}

/// The policy that `settings` make together.
fn policy(settings: &Filters) -> Policy {
    let limit = settings.max_size.and_then(|bytes| limit(bytes, settings));
    let binary = match settings.binary.unwrap_or(OnBinary::Keep) {
        OnBinary::Keep => None,
        OnBinary::Omit => Some(Fallback::Omit),
        OnBinary::Empty => Some(Fallback::Replace(PlaceholderContent::Empty)),
        OnBinary::Placeholder => Some(Fallback::Replace(PlaceholderContent::Nuls)),
    };
    Policy {
        missing: match settings.missing {
            None | Some(OnMissing::Fetch | OnMissing::Error) => None,
            Some(OnMissing::Omit) => Some(Fallback::Omit),
            Some(OnMissing::Placeholder) => Some(match &limit {
                Some(limit) => limit.remedy,
                None => Fallback::Replace(PlaceholderContent::Empty),
            }),
        },
        missing_lfs_object: match (settings.missing, settings.lfs) {
            (Some(OnMissing::Omit), _) => Some(Fallback::Omit),
            (Some(OnMissing::Placeholder), _) | (_, Some(Lfs::ContentPresent)) => {
                Some(Fallback::Replace(PlaceholderContent::Pointer))
            }
            (None | Some(OnMissing::Fetch | OnMissing::Error), _) => None,
        },
        limit,
        binary: binary.map(|remedy| Binary {
            within: settings.binary_within.unwrap_or(WITHIN_ALL),
            remedy,
        }),
        links_as_files: settings.symlinks == Some(Symlinks::File),
        no_submodules: settings.submodules == Some(Submodules::Omit),
    }
}

fn limit(bytes: u64, settings: &Filters) -> Option<Limit> {
    let remedy = match settings.large.unwrap_or(Large::Omit) {
        Large::Keep => return None,
        Large::Omit => Fallback::Omit,
        Large::Empty => Fallback::Replace(PlaceholderContent::Empty),
        // The true size is left out: a reader may set memory aside for it.
        Large::Placeholder => {
            Fallback::Replace(PlaceholderContent::Sparse(bytes.saturating_add(1)))
        }
    };
    let globs = settings.size_exempt.iter().map(|glob| glob.as_bytes());
    Some(Limit {
        bytes,
        exceptions: LargeFiles::new(globs),
        remedy,
    })
}

/// The value of `--lfs`, if it sends the content of LFS files.
fn sent_content(settings: &Filters) -> Option<String> {
    settings.lfs.filter(|how| *how != Lfs::Pointer).map(word)
}

/// Refuses an option in `given` that depends on another option which neither the profile nor the user has set.
fn fit_together(settings: &Filters, given: &Filters) -> Result<()> {
    if let (true, Some(how)) = (settings.no_attributes, sent_content(settings)) {
        let template = format!("options '{{}}' and '--lfs={how}' cannot be used together");
        return Err(refused(
            given,
            given.no_attributes,
            "--no-attributes",
            &template,
        ));
    }
    let limited = (settings.max_size.is_some(), "max-size");
    let entered = [Submodules::Recurse, Submodules::RecursePresent].map(Some);
    let is_entered = entered.contains(&settings.submodules);
    let entered = (is_entered, "submodules=recurse");
    for (option, is_given, (is_set, other)) in [
        ("size-exempt", !given.size_exempt.is_empty(), limited),
        ("large", given.large.is_some(), limited),
        (
            "submodule-git-dir",
            !given.submodule_git_dir.is_empty(),
            entered,
        ),
    ] {
        if is_given && !is_set {
            return Err(Error::usage(format!(
                "the option '--{option}' requires '--{other}'"
            )));
        }
    }
    Ok(())
}

/// Refuses the path of an exclude file that no tree can have: the rules would silently be empty.
fn fit_tree(path: &OsStr) -> Result<()> {
    let odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
    if !path.as_bytes().split_str("/").any(odd) {
        return Ok(());
    }
    let odd = format_bytes(
        "--exclude-from-tree='{}' is no path of a tree",
        &[path.as_bytes()],
    );
    Err(Error::fatal(odd).hinted("it starts at the root, without '/' or './'"))
}

/// Refuses exclude `patterns` that no path can match: they would have no effect, and nobody would notice.
fn fit_paths(patterns: &[OsString]) -> Result<()> {
    for pattern in patterns.iter().map(|pattern| pattern.as_bytes()) {
        if let Some(spelling) = exclude::matching_spelling(pattern) {
            let refused = format_bytes("--exclude='{}' matches no path", &[pattern]);
            let cause = "a pattern with '/' starts at the root of the tree, without './' or '../'";
            let refused = Error::usage(refused).caused_by(cause);
            return Err(refused.hinted_command("--exclude={}", &[&spelling]));
        }
    }
    Ok(())
}

/// Reads a file of exclude rules.
fn exclude_text(file: &NamedFile) -> Result<Vec<u8>> {
    if file.name.as_os_str() == "-" {
        let why = "use /dev/stdin for the standard input, or './-' for a file named '-'";
        let message = format!("invalid value '-' for '--exclude-from': {why}");
        return Err(Error::usage(message));
    }
    std::fs::read(&file.path).map_err(|error| {
        let why = strerror(&error);
        let values = [file.name.as_os_str().as_bytes(), why.as_bytes()];
        Error::fatal(format_bytes("could not open '{}' for reading: {}", &values))
    })
}

/// Reads access rules, and returns their text with them. Fails closed: rules that cannot be read or parsed end the
/// run.
fn access_rules(name: &OsStr, directory: &WorkingDirectory) -> Result<(AccessRules, Vec<u8>)> {
    let failed = || unusable_access(name);
    let channel = Channel::parse(name, directory).map_err(|error| failed().caused_by(error))?;
    let text = channel.read_to_end()?;
    let rules = AccessRules::parse(&text).map_err(|error| failed().caused_by(error))?;
    if rules.is_empty() {
        // A reader who may see nothing would ask for no archive, so empty rules were lost on the way.
        return Err(failed().caused_by("the file is empty"));
    }
    Ok((rules, text))
}

fn unusable_access(name: &OsStr) -> Error {
    Error::fatal(format_bytes(
        "cannot use access rules '{}'",
        &[name.as_bytes()],
    ))
}

/// Collects the rules of files in a tree, in either grammar.
struct Sources<'a> {
    rules: Vec<Rule>,
    ignore: Ignore,
    /// Whether hints about rules are printed.
    explains: bool,
    diagnostics: &'a mut dyn Write,
}

impl Sources<'_> {
    /// Adds rules that the reader must not see: no message quotes them.
    fn add_secret(&mut self, origin: &BStr, text: &[u8]) -> Result<()> {
        let added = self.ignore.add(origin, text);
        added.map_err(|_| Error::fatal(format_bytes("cannot use exclude rules of '{}'", &[origin])))
    }

    fn add(&mut self, origin: &BStr, text: &[u8]) -> Result<()> {
        let hints = self.ignore.hints().len();
        let added = self.ignore.add(origin, text);
        added.map_err(|line| {
            let failed = format_bytes("cannot use exclude rules of '{}'", &[origin]);
            Error::fatal(failed).caused_by(ByteMessage(line.words()))
        })?;
        for hint in &self.ignore.hints()[hints..] {
            if hint.diverges {
                print_line(self.diagnostics, "warning: ", &hint.words());
            } else if self.explains {
                print_line(self.diagnostics, "hint: ", &hint.words());
            }
        }
        Ok(())
    }
}

/// The text of the file or link at `path` of the tree `root`; empty if the tree has neither there. A blob that
/// the repository lacks ends the run: its rules might keep files back.
fn in_tree(reader: &mut Reader, root: ObjectId, path: &[u8]) -> Result<Option<Buffer>> {
    let mut text = Buffer::default();
    let kind = blob_at(reader, root, path).and_then(|id| match id {
        Some(id) => {
            let kind = reader.read(&id, &mut text)?;
            if kind.is_none() {
                reader.note_missing(&id, || Role::Rules(path.into()));
            }
            Ok(Some(kind.ok_or(Failure::Absent)?))
        }
        None => Ok(None),
    });
    match kind {
        Ok(kind) => Ok((kind == Some(ObjectKind::Blob)).then_some(text)),
        Err(failure) => {
            let error = Error::fatal(format_bytes("cannot read exclude rules of '{}'", &[path]));
            let error = match failure {
                Failure::Absent => {
                    let hint = "in a partial clone, 'git cat-file -p <tree-ish>:{}' fetches them";
                    error.hinted(format_bytes(hint, &[path]))
                }
                _ => error,
            };
            Err(failure.explain(error))
        }
    }
}

/// The entry at `path` of the tree `root`, unless the entry is a tree.
fn blob_at(reader: &mut Reader, root: ObjectId, path: &[u8]) -> Result<Option<ObjectId>, Failure> {
    let (directory, name) = match path.rfind_byte(b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&b""[..], path),
    };
    look_up(reader, root, root.kind(), directory, name)
}
