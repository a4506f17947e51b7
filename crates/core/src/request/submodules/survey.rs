//! Finds the submodules of a tree and theirs, and opens their repositories.

use std::{
    collections::HashMap,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use super::place::Place;
use crate::{
    cache,
    filter::Filter,
    plan::{
        PlannedTree, StoreId,
        outer::Entered,
        read_ahead_if_cold,
        select::{Findings, Selection},
        submodules::{Gitlink, Gitlinks},
        view::View,
    },
    request::{
        archived::{ArchivedRepository, ResolvedTree},
        purpose::Purpose,
        sharing,
        view_builder::{Fetching, ViewBuilder},
    },
};
use sluice_base::{
    error::{Error, Result, format_bytes},
    io::print_line,
};
use sluice_cli::{SubmoduleMapping, Submodules as How, word};
use sluice_git::{
    command::CommandContext,
    objects::{
        reader::Reader,
        wanted::{MissingObjects, Role},
    },
    repository::{
        Repository,
        gitmodules::Gitmodules,
        host::Host,
        reach::{self, ReachMemory},
        submodules::{candidates, is_git_directory},
        treeish::{self, Treeish},
    },
    tree::{Mount, TreeRules},
};

/// The most submodules of an archive: a few commits that hold each other would make any number.
const MAX_SUBMODULES: usize = 1 << 14;

/// A tree whose submodules are looked for.
struct Superproject<'a> {
    repository: &'a Repository,
    tree: ObjectId,
    view: &'a View,
    rules: TreeRules,
    /// The tree with `.gitmodules`, and the path from there to the tree.
    named_in: (ObjectId, BString),
}

/// A repository in which a submodule may be.
struct Candidate {
    directory: PathBuf,
    /// Whether the host shares it, which the superproject cannot know.
    of_host: bool,
}

/// Finds submodules.
struct Survey<'a> {
    viewing: &'a ViewBuilder<'a>,
    mappings: &'a [SubmoduleMapping],
    host: Host,
    /// Where answers about refs are kept.
    memory: Option<cache::Settings>,
    /// Whether refs of repositories of the host lead to these commits.
    is_shown: HashMap<(PathBuf, ObjectId), bool>,
    /// Whether a submodule that is not here stays empty.
    may_lack: bool,
    findings: Findings,
    /// Element `n` is store `n + 1`.
    all: Vec<ArchivedRepository>,
    /// Which mappings have led to a submodule, or could have.
    used: Vec<bool>,
    diagnostics: &'a mut dyn Write,
}

impl ViewBuilder<'_> {
    /// `treeish`, which the user calls `name`, and its submodules, through `selection` and `filter`.
    pub(in crate::request) fn seen_with_submodules(
        &self,
        repository: &Repository,
        (name, treeish, tree): (&BStr, &Treeish, ObjectId),
        (mut selection, filter): (Selection, Filter),
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<ResolvedTree> {
        self.fit_submodules()?;
        let mut findings = Findings::new(&selection.pathspecs);
        selection.search(
            (tree, self.rules),
            &filter,
            reader,
            &mut findings,
            diagnostics,
        )?;
        let pathspecs = Arc::clone(&selection.pathspecs);
        let view = self.view(selection, filter);
        let mappings = &self.args.filters.submodule_git_dir[..];
        let mut survey = Survey {
            viewing: self,
            mappings,
            host: Host::read(self.environment)?,
            // A setting that is wrong is reported later.
            memory: sharing::settings(self.args, self.environment, repository).unwrap_or(None),
            is_shown: HashMap::new(),
            may_lack: self.filters.submodules() == How::RecursePresent
                || self.environment.is_for_git(),
            findings,
            all: Vec::new(),
            used: vec![false; mappings.len()],
            diagnostics,
        };
        let archived = Superproject {
            repository,
            tree,
            view: &view,
            rules: self.rules,
            named_in: named_in(repository, (name, treeish), reader)?,
        };
        let (entered, _) = survey.enter(&archived, reader)?;
        survey.refuse_unused()?;
        let Survey { findings, all, .. } = survey;
        let matched = findings.verdict(&pathspecs, diagnostics);
        let archived = self.archived((repository, reader), (treeish, tree), view, entered);
        Ok(ResolvedTree {
            repositories: std::iter::once(archived).chain(all).collect(),
            matched,
        })
    }

    /// Refuses options that cannot be combined with the contents of submodules.
    fn fit_submodules(&self) -> Result<()> {
        let how = self.filters.submodules();
        let how_word = word(how);
        let together = |option: &str| {
            Error::usage(format!(
                "{option} and '--submodules={how_word}' cannot be used together"
            ))
        };
        let unknown_base = "this value does not record which submodules the base archive contains";
        let is_vague = how == How::RecursePresent;
        if is_vague && self.purpose == Purpose::Publish {
            // A publication makes deltas, whose base it chooses.
            Err(together("'publish'").caused_by(unknown_base))
        } else if is_vague && self.args.delta.base.is_some() {
            Err(together("options '--base'").caused_by(unknown_base))
        } else if self.args.content.worktree_attributes {
            Err(together("options '--worktree-attributes'"))
        } else {
            Ok(())
        }
    }
}

/// The tree with `.gitmodules` for `treeish`, which the user calls `name`, and the path from there to the tree of
/// `treeish`: for a directory of a commit, as in `HEAD:vendor`, the tree of the commit.
fn named_in(
    repository: &Repository,
    (name, treeish): (&BStr, &Treeish),
    reader: &mut Reader,
) -> Result<(ObjectId, BString)> {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let without_slash = |path: &[u8]| path.trim_end_with(|c| c == '/').to_vec();
    let parts = name.split_once_str(":").filter(|(commit, path)| {
        !commit.is_empty() && without_slash(path).split_str("/").all(is_plain)
    });
    let Some((commit, path)) = parts.filter(|_| treeish.commit.is_none()) else {
        return Ok((treeish.tree, BString::default()));
    };
    let unheard = &mut std::io::sink();
    let commit = treeish::resolve(repository, reader, commit.as_bstr(), unheard)?;
    let prefix = [&without_slash(path)[..], b"/"].concat();
    Ok((commit.tree, prefix.into()))
}

impl Survey<'_> {
    /// Finds the submodules of `outer` and theirs. Returns those of `outer`, and whether the archive has any entry of
    /// `outer`.
    fn enter(&mut self, outer: &Superproject<'_>, reader: &mut Reader) -> Result<(Entered, bool)> {
        let links = Gitlinks::find(outer.tree, outer.view.clone(), outer.rules, reader)?;
        let (mut entered, mut has_entries) = (Entered::new(), links.has_others);
        let is_archived = outer.view.filter.mount == Mount::default();
        if links.all.is_empty() && (self.mappings.is_empty() || !is_archived) {
            return Ok((entered, has_entries));
        }
        let (named_in, prefix) = &outer.named_in;
        let Some(modules) = Gitmodules::read(reader, *named_in, self.diagnostics)? else {
            return Ok((entered, has_entries));
        };
        let url = |path: &[u8]| modules.url(modules.name(&[&prefix[..], path].concat())?);
        let mut commits = HashMap::<_, Vec<ObjectId>>::new();
        for link in &links.all {
            let of_url = commits.entry(url(&link.path)).or_default();
            of_url.push(link.commit);
        }
        for link in links.all {
            has_entries |= link.is_admitted;
            let path = [&prefix[..], &link.path].concat();
            let name = modules.name(&path);
            let place = Place {
                name,
                url: url(&link.path),
                commits: &commits[&url(&link.path)],
                path: &path,
                mount: outer.view.filter.mount.submodule(&link.path),
            };
            let Some((repository, inner)) = self.open(outer, &place, &link, reader)? else {
                continue;
            };
            let misses = || reader.missing_list().map(MissingObjects::misses);
            let before = misses();
            let found = self.submodule(outer, (&repository, inner), place.mount, &link);
            let (submodule, is_shown) = match found {
                // The list says why.
                Err(_) if misses() > before => continue,
                found => found?,
            };
            if link.is_admitted || is_shown {
                has_entries = true;
                self.all.push(submodule);
                entered.insert(link.path, StoreId(self.all.len()));
            }
            if self.all.len() > MAX_SUBMODULES {
                return Err(Error::fatal(format!(
                    "the archive has more than {MAX_SUBMODULES} submodules"
                )));
            }
        }
        if is_archived {
            self.note_known(&modules);
        }
        Ok((entered, has_entries))
    }

    /// The submodule `link` of `outer` in its `repository`, and whether the archive has an entry of its content.
    fn submodule(
        &mut self,
        outer: &Superproject<'_>,
        (repository, mut reader): (&Repository, Reader),
        mount: Mount,
        link: &Gitlink,
    ) -> Result<(ArchivedRepository, bool)> {
        let rules = TreeRules {
            protect: outer.rules.protect.map(|_| repository.settings.protect),
            max_depth: repository.settings.max_tree_depth,
            ..outer.rules
        };
        if mount.prefix().find_iter(b"/").count() > rules.max_depth {
            let path = [mount.prefix().trim_end_with(|c| c == '/')];
            let refused = "submodules nested too deep at '{}'";
            return Err(Error::fatal(format_bytes(refused, &path)));
        }
        let commit = link.commit.to_string();
        let commit = commit.as_bytes().as_bstr();
        let treeish = treeish::resolve(repository, &mut reader, commit, self.diagnostics)?;
        let tree = treeish.tree;
        let outside = (outer.view, &link.path);
        let mut view =
            self.viewing
                .view_below(outside, (repository, tree), &mut reader, self.diagnostics)?;
        let filter = Arc::clone(&view.filter);
        let root = tree;
        let tree = self
            .viewing
            .with_copies(&mut reader, root, &mut view.selection, &filter)?;
        read_ahead_if_cold(&mut reader, tree, self.viewing.budget.read_ahead());
        self.viewing.read_ahead_from(&reader, tree, &view.selection);
        view.selection.search(
            (tree, rules),
            &filter,
            &mut reader,
            &mut self.findings,
            self.diagnostics,
        )?;
        let inner = Superproject {
            repository,
            tree,
            view: &view,
            rules,
            named_in: (root, BString::default()),
        };
        let (entered, has_entries) = self.enter(&inner, &mut reader)?;
        let submodule = ArchivedRepository {
            treeish,
            command_context: command_context(repository),
            big_file: repository.settings.big_file,
            has_plain_parents: repository.has_plain_parents(),
            tree: PlannedTree {
                tree,
                view,
                changes: None,
                rules,
                entered: Arc::new(entered),
                // The clone holds no object, however many submodules there are.
                reader: reader.clone(),
            },
        };
        Ok((submodule, has_entries))
    }

    /// The repository of the submodule `link` at `place` of `outer`, whose objects `reader` reads. `None` if there is none
    /// and need not be, or if it is listed as missing.
    fn open(
        &mut self,
        outer: &Superproject<'_>,
        place: &Place<'_>,
        link: &Gitlink,
        reader: &Reader,
    ) -> Result<Option<(Repository, Reader)>> {
        let (mut error, mut partial) = (None, None);
        for Candidate { directory, of_host } in self.candidates(outer, place)? {
            let (repository, mut inner) = match self.open_at(&directory) {
                Err(_) if of_host => continue,
                opened => opened?,
            };
            if of_host && repository.hash() != link.commit.kind() {
                continue;
            }
            if repository.hash() != link.commit.kind() {
                return Err(place.other_hash(&repository, link));
            }
            let is_shown = |survey: &mut Self, inner: &mut Reader| {
                !of_host || survey.is_shown((&repository, inner), &link.commit, place)
            };
            if is_commit(&mut inner, &link.commit) && is_shown(self, &mut inner) {
                let inner = self.recording_missing(inner, &repository, reader, place);
                return Ok(Some((repository, inner)));
            }
            if of_host {
                continue;
            }
            if repository.objects.is_partial {
                partial.get_or_insert((repository, inner));
            }
            error.get_or_insert_with(|| place.without_commit(&directory, link));
        }
        if let Some((repository, inner)) = partial.filter(|_| self.viewing.fetching.is_some()) {
            let inner = self.recording_missing(inner, &repository, reader, place);
            // For the archive, the commit is the directory.
            inner.note_missing(&link.commit, || Role::Tree(BString::default()));
            if inner.notes_missing() {
                return Ok(None);
            }
        }
        if let Some(list) = reader.missing_list() {
            list.add(link.commit, place.role(link));
            return Ok(None);
        }
        if self.may_lack {
            let template = "submodule '{}' is empty: commit {} is missing";
            let commit = link.commit.to_string();
            let values = [place.shown(), commit.as_bytes()];
            print_line(
                self.diagnostics,
                "warning: ",
                &format_bytes(template, &values),
            );
            return Ok(None);
        }
        Err(error.unwrap_or_else(|| place.without_repository()))
    }

    /// Whether a ref of the `repository` leads to `commit`, which is at `place`. git is asked about all commits there at once.
    fn is_shown(
        &mut self,
        (repository, reader): (&Repository, &mut Reader),
        commit: &ObjectId,
        place: &Place<'_>,
    ) -> bool {
        let key = |id: &ObjectId| (repository.git_dir.clone(), *id);
        if !self.is_shown.contains_key(&key(commit)) {
            let commits = place.commits.iter().copied();
            let commits: Vec<_> = commits.filter(|id| is_commit(reader, id)).collect();
            let memory = self.memory.as_ref().map(|it| it as &dyn ReachMemory);
            let reached = reach::reached(repository, commits.clone(), memory);
            let is_shown = |id: &ObjectId| (key(id), reached.contains(id));
            self.is_shown.extend(commits.iter().map(is_shown));
        }
        self.is_shown[&key(commit)]
    }

    /// The directories in which the submodule at `place` may be: of `outer` itself, and then of the host. With a mapping of the
    /// user, no other directory counts.
    fn candidates(
        &mut self,
        outer: &Superproject<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Candidate>> {
        let candidate = |of_host| move |directory| Candidate { directory, of_host };
        if !self.mappings.is_empty() {
            let mapped = self.mapped(outer, place)?.into_iter();
            return Ok(mapped.map(candidate(false)).collect());
        }
        let Some(name) = place.name else {
            return Ok(Vec::new());
        };
        let own = candidates(outer.repository, name, place.path)?.into_iter();
        let shared = place
            .url
            .map(|url| self.host.submodules(outer.repository, url));
        let shared = shared.into_iter().flatten().map(candidate(true));
        Ok(own.map(candidate(false)).chain(shared).collect())
    }

    /// The directory that the user maps the submodule at `place` to, if there is one.
    fn mapped(&mut self, outer: &Superproject<'_>, place: &Place<'_>) -> Result<Option<PathBuf>> {
        let is_top = outer.view.filter.mount == Mount::default();
        let by_path = |mapping: &SubmoduleMapping| mapping.submodule == place.shown();
        let by_name = |mapping: &SubmoduleMapping| {
            is_top && place.name.is_some_and(|name| mapping.submodule == name)
        };
        let mappings = self.mappings.iter();
        let found = mappings.clone().position(by_path);
        let Some(number) = found.or_else(|| mappings.clone().position(by_name)) else {
            return Ok(None);
        };
        self.used[number] = true;
        let directory = &self.mappings[number].git_dir;
        if is_git_directory(directory) {
            Ok(Some(directory.clone()))
        } else {
            let shown = directory.as_os_str().as_bytes();
            let refused = format_bytes("not a git repository: '{}'", &[shown]);
            Err(Error::fatal(refused))
        }
    }

    fn open_at(&self, directory: &Path) -> Result<(Repository, Reader)> {
        let environment = self.viewing.environment.of_submodule(directory.to_owned());
        let repository = Repository::open(&environment)??;
        let mut reader = Reader::new(repository.odb());
        reader.odb.see(&self.viewing.made);
        Ok((repository, reader))
    }

    /// The reader `inner` of the submodule at `place` in its `repository`, with what it misses noted: on the list, if the
    /// `outer` reader has one, or to be fetched, if it can be.
    fn recording_missing(
        &self,
        inner: Reader,
        repository: &Repository,
        outer: &Reader,
        place: &Place<'_>,
    ) -> Reader {
        let path = place.shown().as_bstr();
        let noted = match (self.viewing.fetching, outer.missing_list()) {
            (Some(Fetching { promisors, wanted }), _) => {
                promisors.add(path, repository);
                promisors.noted(path, &repository.location, wanted)
            }
            (None, list) => list.map(|list| list.of_submodule(path)),
        };
        match noted {
            Some(noted) => inner.recording_missing(&noted),
            None => inner,
        }
    }

    /// Notes the mappings of submodules that are not in the archive.
    fn note_known(&mut self, modules: &Gitmodules) {
        for (mapping, used) in self.mappings.iter().zip(&mut self.used) {
            *used |= modules.knows(&mapping.submodule);
        }
    }

    /// Refuses a mapping that leads to no submodule.
    fn refuse_unused(&self) -> Result<()> {
        let mut mappings = self.mappings.iter().zip(&self.used);
        match mappings.find(|(_, used)| !**used) {
            Some((mapping, _)) => {
                let refused = "option '--submodule-git-dir' matches no submodule: '{}'";
                Err(Error::fatal(format_bytes(refused, &[&mapping.submodule])))
            }
            None => Ok(()),
        }
    }
}

fn is_commit(reader: &mut Reader, id: &ObjectId) -> bool {
    let kind = reader.kind(id);
    kind.is_ok_and(|kind| kind == Some(ObjectKind::Commit))
}

/// Commands run at the top of the submodule's work tree, or where the repository is.
fn command_context(repository: &Repository) -> CommandContext {
    let git_dir = repository.git_dir.as_path();
    let top = repository.work_tree.as_deref().filter(|top| top.is_dir());
    let mut location = repository.location.clone();
    if top.is_some() {
        location.work_tree = None;
    }
    let around = git_dir.parent().filter(|_| git_dir.ends_with(".git"));
    CommandContext {
        directory: Some(top.or(around).unwrap_or(git_dir).to_owned()),
        prefix: BString::default(),
        location,
    }
}
