//! The key of an archive: a hash of everything that affects its bytes, and of nothing else.
//!
//! User, host, path of the repository, threads, memory and reports are no part of it, so forks and mirrors share
//! archives. Content of Git LFS is an exception: the path of its store is in the key. Every value goes in with its name and its
//! length. An archive that depends on more has no key; conversions that turn out to depend on more withdraw
//! [`Shareable`](sluice_git::convert::Shareable) later.

use std::{
    collections::BTreeSet, ffi::OsString, fmt::Debug, fs::File, io::Read, os::unix::ffi::OsStrExt,
    path::Path, sync::Arc,
};

use bstr::ByteSlice;
use gix_hash::{Hasher, Kind, hasher, oid};

use super::{
    Content, archived::ArchivedRepository, delta::Delta, filter::FilterRules, format::Container,
    view_builder::ViewBuilder,
};
use crate::{
    cache::{self, Key},
    output,
    plan::{
        PlannedTree,
        extra::{Extra, ExtraSource},
    },
};
use sluice_base::error::Result;
use sluice_cli as cli;
use sluice_git::{
    attributes::{AttributeSettings, AttributeSource},
    lfs::LfsFiles,
    odb::Replacements,
    pathspec::Defaults,
    repository::{settings::Umask, treeish::Treeish},
    tree::TreeRules,
};

/// Changes whenever the same request makes other bytes.
const ENCODING: u64 = 6;
/// Changes whenever the same filters select other files, or make other bytes of them.
const FILES_ENCODING: u64 = 5;
/// The most bytes of extra files that are read for the key.
const MAX_EXTRA: u64 = 1 << 20;

/// A content, and the options and settings that it follows from.
pub(super) struct KeyInputs<'a> {
    pub(super) content: &'a mut Content,
    pub(super) view: &'a ViewBuilder<'a>,
}

/// What a hash stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Covered {
    /// The bytes of the archive.
    Archive,
    /// The choice of the files, and how each of them is sent.
    Filters,
}

impl KeyInputs<'_> {
    /// The key, or why there is none. Small extra files are read, so that the archive holds the bytes that the key stands for.
    pub(super) fn key(&mut self) -> Result<Key, String> {
        if let Some(reason) = self.obstacle() {
            return Err(reason.to_owned());
        }
        self.refuse_incomplete()?;
        self.hash(Covered::Archive)
    }

    /// Hash of what decides how a blob without conversion is stored, of the repository at `common_dir`, and of the readers: archives
    /// with equal hashes can copy the same blob from each other.
    pub(super) fn family(&self, common_dir: &Path) -> Result<Key, String> {
        let mut encoder = Encoder::new();
        add_storage(self.content, &mut encoder);
        encoder.bytes("repository of family", common_dir.as_os_str().as_bytes());
        self.view.add_filters(&mut encoder);
        encoder.finish()
    }

    /// Hash of all that decides which files an archive has, and with which content, except for the tree; or why there is none.
    /// Deltas with equal hashes can follow each other.
    pub(super) fn filters(&mut self) -> Result<Key, String> {
        if self.reads_work_tree() {
            return Err("attributes come from the work tree".to_owned());
        }
        self.hash(Covered::Filters)
    }

    /// Hashes every field of the content and every option that decides bytes. A field that is named `_` follows from others,
    /// or decides none.
    fn hash(&mut self, covered: Covered) -> Result<Key, String> {
        let mut encoder = Encoder::new();
        if covered == Covered::Archive {
            add_storage(self.content, &mut encoder);
        }
        let cli::Args {
            // Each of their options is named where they are hashed.
            content: _,
            filters: _,
            delta: _,
            // In the format.
            encoding: _,
            // Decide where the archive goes, whether all of it is sent, and how fast.
            condition: _,
            range: _,
            sharing: _,
            run: _,
            output: _,
            // Decides whether there is an archive.
            fail_if_varies: _,
            // Obstacles.
            verbosity: _,
            has_manifest: _,
        } = self.view.args;
        let Content {
            format,
            // Names a file for the archive.
            format_name: _,
            repositories,
            delta,
            // Follows from the filters, the prefix and the directory.
            blob_policy: _,
            // Is the hash of what follows, without the trees.
            filters: _,
            pax_notes,
            extras,
            mtime,
            times,
            umask,
        } = &mut *self.content;
        let submodules = match (covered, delta.as_deref()) {
            // Whether or not they have changed.
            (Covered::Filters, Some(delta)) => &delta.submodules[..],
            _ => &repositories[1..],
        };
        let archived = Reading::of(&repositories[0]);
        match covered {
            Covered::Archive if format.row().container == Container::Zip => {
                encoder.debug("times", times);
            }
            Covered::Archive => {}
            Covered::Filters => {
                encoder.number("encoding of files", FILES_ENCODING);
                encoder.flag("commit", archived.treeish.commit.is_some());
            }
        }
        add_stored(*umask, *pax_notes, archived.big_file, &mut encoder);
        if covered == Covered::Archive {
            archived.add_source(&mut encoder);
            encoder.number("time", *mtime);
            if let Some(delta) = delta.as_deref() {
                self.view.add_delta(delta, &mut encoder);
            }
        }
        archived.add_trees(&mut encoder);
        self.view.add_pathspecs(&mut encoder)?;
        self.view.add_filters(&mut encoder);
        self.view
            .add_attributes(archived.attributes, &mut encoder)?;
        match covered {
            Covered::Archive => self.view.add_submodules(submodules, &mut encoder)?,
            Covered::Filters => self
                .view
                .add_ways(&repositories[0], submodules, &mut encoder)?,
        }
        add_extras(Arc::make_mut(extras), &mut encoder)?;
        encoder.finish()
    }

    /// Whether files next to the repository decide about attributes. In a bare repository, there are none, but a pathspec may
    /// still ask for the mode of a file there.
    fn reads_work_tree(&self) -> bool {
        let asks_for_modes = |path: &OsString| {
            let path = path.as_bytes();
            path.starts_with(b":(") && path.contains_str(b"attr:")
        };
        match &self.view.attributes.source {
            AttributeSource::WorkTree(_) => true,
            _ => {
                self.view.attributes.modes_of.is_some()
                    && self.view.args.content.paths.iter().any(asks_for_modes)
            }
        }
    }

    /// What the archive, or the messages about it, depend on in addition to the key.
    fn obstacle(&self) -> Option<&'static str> {
        let args = self.view.args;
        if let Some(variation) = self.variation() {
            Some(variation)
        } else if args.verbosity.is_verbose() {
            Some("-v writes names to standard error")
        } else if self.content.delta.is_some() && self.view.filters.enters_submodules() {
            Some("changes in submodules are archived")
        } else if args.has_manifest {
            Some("a manifest is written")
        } else {
            None
        }
    }

    /// What the archive depends on besides the tree-ish, the options and the settings. Files may depend on more.
    pub(super) fn variation(&self) -> Option<&'static str> {
        let is_dated = self.content.archived().treeish.commit.is_some()
            || self.view.args.content.mtime.is_some()
            || self.view.environment.is_stable;
        if !is_dated {
            Some("the time of a tree is that of the request")
        } else if self.reads_work_tree() {
            Some("attributes come from the work tree")
        } else {
            None
        }
    }

    /// What is missing may be there for the next archive.
    pub(super) fn refuse_incomplete(&self) -> Result<(), String> {
        self.view.filters.incompleteness().map_or(Ok(()), Err)
    }
}

/// What decides about the bytes of the files of one repository.
pub(super) struct Reading<'a> {
    treeish: &'a Treeish,
    rules: TreeRules,
    pub(super) replacements: &'a Replacements,
    pub(super) attributes: &'a AttributeSettings,
    pub(super) big_file: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn of(repository: &'a ArchivedRepository) -> Self {
        let ArchivedRepository {
            tree,
            treeish,
            // A conversion whose command gets more than the key withdraws `Shareable`.
            command_context: _,
            big_file,
            // Decides nothing that git does not say.
            has_plain_parents: _,
        } = repository;
        let PlannedTree {
            // That of the tree-ish.
            tree: _,
            view,
            // Follow from the two trees that are compared.
            changes: _,
            rules,
            // Follows from the filters and the tree.
            entered: _,
            reader,
        } = tree;
        Self {
            treeish,
            rules: *rules,
            replacements: &reader.odb.config().replacements,
            // The rest of the view follows from the pathspecs, the filters and the tree.
            attributes: view.selection.attributes.settings(),
            big_file: *big_file,
        }
    }

    /// Adds what is archived, and the store of its LFS objects. A client of another store must not get them, although the
    /// pointers are the same.
    fn add_source(&self, encoder: &mut Encoder) {
        let Treeish {
            tree,
            commit,
            content,
            reference: _,
            // The time of the archive is that of the archived commit.
            time: _,
        } = self.treeish;
        encoder.id("tree", tree);
        let commit = commit.map_or_else(Vec::new, |id| id.as_slice().to_vec());
        encoder.bytes("commit", commit);
        encoder.bytes("commit content", content);
        if let LfsFiles::Contents(store) = &self.attributes.lfs {
            encoder.words("lfs store", &store.places());
        }
    }

    /// Adds how trees are read.
    fn add_trees(&self, encoder: &mut Encoder) {
        add_replacements(self.replacements, encoder);
        add_rules(self.rules, encoder);
    }
}

impl ViewBuilder<'_> {
    fn add_delta(&self, delta: &Delta, encoder: &mut Encoder) {
        let Delta {
            // Follow from the two trees.
            counts: _,
            deletions: _,
            base,
            target,
            deletion_format,
            // Are in the tree of the target.
            submodules: _,
        } = delta;
        let cli::Delta {
            ignore_mode_changes,
            // Were resolved: see the base and the form of deletions.
            base: _,
            deletions: _,
            // Decide whether there is an archive.
            base_filters: _,
            max_changed_paths: _,
            max_changed_ratio: _,
        } = &self.args.delta;
        encoder.id("base", base);
        encoder.id("target", target);
        encoder.debug("deletions", deletion_format);
        encoder.flag("ignore mode", *ignore_mode_changes);
    }

    /// Adds the contents of `submodules`, and how they are read.
    fn add_submodules(
        &self,
        submodules: &[ArchivedRepository],
        encoder: &mut Encoder,
    ) -> Result<(), String> {
        for submodule in submodules {
            encoder.bytes("submodule", submodule.tree.view.filter.mount.prefix());
            Reading::of(submodule).add_source(encoder);
            self.add_reading(submodule, encoder)?;
        }
        Ok(())
    }

    /// Adds each way in which `submodules` are read and the `outer` repository is not, once. Most often there is none, whether or
    /// not a commit has submodules.
    fn add_ways(
        &self,
        outer: &ArchivedRepository,
        submodules: &[ArchivedRepository],
        encoder: &mut Encoder,
    ) -> Result<(), String> {
        let way = |repository| {
            let mut encoder = Encoder::new();
            self.add_reading(repository, &mut encoder)?;
            encoder.finish()
        };
        let mut ways = submodules
            .iter()
            .map(way)
            .collect::<Result<BTreeSet<_>, String>>()?;
        ways.remove(&way(outer)?);
        for way in ways {
            encoder.bytes("submodules", way.0);
        }
        Ok(())
    }

    /// How files of a `repository` are read.
    fn add_reading(
        &self,
        repository: &ArchivedRepository,
        encoder: &mut Encoder,
    ) -> Result<(), String> {
        let reading = Reading::of(repository);
        reading.add_trees(encoder);
        encoder.number("big file", reading.big_file);
        self.add_attributes(reading.attributes, encoder)
    }

    fn add_pathspecs(&self, encoder: &mut Encoder) -> Result<(), String> {
        let cli::ContentOptions {
            paths,
            prefix,
            // Decides whether there is an archive.
            ignore_unmatch: _,
            // Were resolved: see the tree-ish, the extra files and the paths.
            treeish: _,
            mtime: _,
            extras: _,
            _add_file: (),
            _add_directory: (),
            _add_virtual_file: (),
            pathspec_from_file: _,
            pathspec_file_nul: _,
            // An obstacle, or in the rules of the tree.
            worktree_attributes: _,
            // Is what paths count from.
            relative: _,
            // In the settings, the time and the umask.
            stable: _,
            umask: _,
        } = &self.args.content;
        let prefix = prefix.as_deref().unwrap_or_default();
        encoder.bytes("prefix", prefix.as_bytes());
        encoder.bytes("below", self.below);
        let defaults = Defaults::read(&self.environment.pathspecs, paths);
        encoder.debug("pathspecs", &defaults.map_err(|error| error.to_string())?);
        encoder.words("path", paths);
        // An absolute path, perhaps after magic, is read against the top.
        let is_absolute = |path: &OsString| matches!(path.as_bytes().first(), Some(b'/' | b':'));
        if paths.iter().any(is_absolute) {
            encoder.bytes("top", self.top.path);
        }
        Ok(())
    }

    fn add_filters(&self, encoder: &mut Encoder) {
        let FilterRules {
            // In the settings.
            given: _,
            purpose: _,
            settings,
            access: _,
            access_text,
            exclude_texts,
            // Follows from the settings.
            policy: _,
            absent: _,
        } = self.filters;
        encoder.bytes("filters", settings.key());
        encoder.list("exclude from", exclude_texts.iter().map(|text| &text[..]));
        encoder.list("access", access_text.iter().map(|text| &text[..]));
    }

    fn add_attributes(
        &self,
        attributes: &AttributeSettings,
        encoder: &mut Encoder,
    ) -> Result<(), String> {
        if self.filters.is_raw() {
            return Ok(());
        }
        let AttributeSettings {
            source,
            // Of files, if a pathspec asks for them, which is an obstacle.
            modes_of: _,
            top: _,
            system: _,
            no_system: _,
            user: _,
            info: _,
            ignore_case,
            autocrlf,
            eol_crlf,
            drivers,
            // Follows from the settings of filters. Only archives depend on the store, see `add_source`.
            lfs: _,
            // An archive that may lack files has no key.
            needs_files: _,
            shareable: _,
            diff_binary,
            outside: _,
        } = attributes;
        match source {
            AttributeSource::Archived => {}
            AttributeSource::Nowhere => encoder.flag("attribute files", false),
            AttributeSource::Tree(tree) => encoder.id("attributes of tree", tree),
            // An obstacle, and no archive.
            AttributeSource::WorkTree(_) | AttributeSource::Unknown => {}
        }
        let outside = attributes.outside().map_err(|error| error.to_string())?;
        encoder.list("attributes", outside.iter().map(|file| file.bytes()));
        encoder.flag("ignore case", *ignore_case);
        encoder.debug("autocrlf", autocrlf);
        encoder.flag("crlf", *eol_crlf);
        let mut drivers: Vec<_> = drivers.iter().collect();
        drivers.sort_by_key(|(name, _)| *name);
        drivers
            .iter()
            .for_each(|driver| encoder.debug("driver", driver));
        let mut binary: Vec<_> = diff_binary.iter().collect();
        binary.sort();
        binary
            .iter()
            .for_each(|driver| encoder.debug("diff", driver));
        Ok(())
    }
}

/// Adds what the stored bytes of a file without conversion follow from, besides the blob that is read. It is in the key, and in the
/// family, whose archives copy these bytes from each other.
fn add_storage(content: &Content, encoder: &mut Encoder) {
    let Content {
        format,
        repositories,
        // Decide which files there are, and what their headers say.
        format_name: _,
        delta: _,
        blob_policy: _,
        filters: _,
        pax_notes: _,
        extras: _,
        mtime: _,
        times: _,
        umask: _,
    } = content;
    let ArchivedRepository {
        tree,
        // The blob that is read follows from them.
        treeish: _,
        // Only for conversions.
        command_context: _,
        big_file,
        has_plain_parents: _,
    } = &repositories[0];
    encoder.number("layout", cache::LAYOUT.into());
    encoder.number("encoding", ENCODING);
    encoder.bytes("version", env!("CARGO_PKG_VERSION"));
    encoder.bytes("deflate", sluice_deflate::VERSION);
    encoder.bytes("format", format.row().name);
    for (name, value) in format.parameters() {
        encoder.bytes(name, value);
    }
    // Larger files are stored in another way, and are not copied.
    encoder.number("big file", *big_file);
    encoder.debug("hash of ids", &tree.rules.hash);
}

/// What is noted of a file in any format.
fn add_stored(umask: Umask, pax_notes: bool, big_file: u64, encoder: &mut Encoder) {
    let umask = match umask {
        Umask::Bits(bits) => bits,
        Umask::User => output::umask(),
    };
    encoder.number("umask", umask.into());
    encoder.flag("notes", pax_notes);
    // A zip has the size of a larger file after the file.
    encoder.number("big file", big_file);
}

fn add_replacements(replacements: &Replacements, encoder: &mut Encoder) {
    for (object, replacement) in replacements.iter() {
        encoder.id("replaced", &object);
        encoder.id("replacement", &replacement.unwrap_or(object.kind().null()));
    }
}

fn add_rules(rules: TreeRules, encoder: &mut Encoder) {
    let TreeRules {
        hash,
        protect,
        max_depth,
        max_held: _,
        redacted,
    } = rules;
    encoder.debug("hash", &hash);
    encoder.debug("protect", &protect);
    encoder.number("depth", max_depth as u64);
    encoder.flag("redacted", redacted);
}

fn add_extras(extras: &mut [Extra], encoder: &mut Encoder) -> Result<(), String> {
    let mut left = MAX_EXTRA;
    for extra in extras {
        encoder.debug("extra kind", &extra.kind);
        encoder.bytes("extra name", &extra.name);
        let content = loaded(extra, left)?;
        left = left.saturating_sub(content.len() as u64);
        encoder.bytes("extra content", content);
    }
    Ok(())
}

/// The content of `extra`, which is read into memory if it is a file of at most `max` bytes.
fn loaded(extra: &mut Extra, max: u64) -> Result<&[u8], String> {
    if let ExtraSource::File { path, .. } = &extra.content {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
        if read.is_err() || bytes.len() as u64 > max {
            return Err("extra files are large, or cannot be read".to_owned());
        }
        extra.content = ExtraSource::Bytes(bytes);
    }
    match &extra.content {
        ExtraSource::Bytes(bytes) => Ok(bytes),
        ExtraSource::File { .. } => Err("an extra file cannot be read".to_owned()),
    }
}

/// Hashes named values.
struct Encoder(Hasher);

impl Encoder {
    fn new() -> Self {
        Self(hasher(Kind::Sha256))
    }

    fn bytes(&mut self, name: &str, value: impl AsRef<[u8]>) {
        for part in [name.as_bytes(), value.as_ref()] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    fn id(&mut self, name: &str, value: &oid) {
        self.bytes(name, value.as_bytes());
    }

    fn number(&mut self, name: &str, value: u64) {
        self.bytes(name, value.to_le_bytes());
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.number(name, value.into());
    }

    /// A value whose text names every part of it.
    fn debug(&mut self, name: &str, value: &impl Debug) {
        self.bytes(name, format!("{value:?}"));
    }

    fn list<'v>(&mut self, name: &str, values: impl ExactSizeIterator<Item = &'v [u8]>) {
        self.number(name, values.len() as u64);
        values.for_each(|value| self.bytes(name, value));
    }

    fn words(&mut self, name: &str, values: &[OsString]) {
        self.list(name, values.iter().map(|value| value.as_bytes()));
    }

    fn finish(self) -> Result<Key, String> {
        let id = self.0.try_finalize().map_err(|error| error.to_string())?;
        let hash = id
            .as_slice()
            .try_into()
            .map_err(|_| "the hash has another length")?;
        Ok(Key(hash))
    }
}
