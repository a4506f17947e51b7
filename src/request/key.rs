//! The key of an archive: a hash of all that decides its bytes, and of nothing else.
//!
//! User, host, path of the repository, threads, memory and reports are no part of it, so forks and mirrors share
//! archives. Every value goes in with its name and its length. An archive that depends on more has no key; conversions
//! that turn out to depend on more withdraw [`Shareable`](crate::git::convert::Shareable) later.

use std::{
    collections::BTreeSet, ffi::OsString, fmt::Debug, fs::File, io::Read, os::unix::ffi::OsStrExt,
};

use gix::{
    bstr::{BString, ByteSlice},
    hash::{Hasher, Kind, hasher, oid},
};

use super::{
    archived::ArchivedRepository, delta::Delta, filter::FilterRules, format::Format, scope::Scope,
};
use crate::{
    base::error::Result,
    cache::Key,
    cli::Args,
    format::zip::Times,
    git::{
        attributes::{AttributeSettings, AttributeSource},
        odb::Replacements,
        pathspec::Top,
        repository::{
            environment::Environment,
            settings::{RepositorySettings, Umask},
            treeish::Treeish,
        },
        tree::TreeRules,
    },
    output,
    plan::extra::{Content, Extra},
};

/// Changes whenever the same request makes other bytes.
const ENCODING: u64 = 3;
/// The most bytes of an extra file that are read for the key.
const MAX_EXTRA: u64 = 1 << 20;

/// All that decides the bytes of an archive.
pub(super) struct KeyInputs<'a> {
    pub(super) args: &'a Args,
    pub(super) environment: &'a Environment,
    pub(super) settings: &'a RepositorySettings,
    pub(super) replacements: &'a Replacements,
    pub(super) filters: &'a FilterRules<'a>,
    pub(super) attributes: &'a AttributeSettings,
    pub(super) treeish: &'a Treeish,
    pub(super) scope: &'a Scope,
    pub(super) format: &'a Format,
    pub(super) rules: TreeRules,
    pub(super) times: Times,
    pub(super) below: &'a BString,
    pub(super) top: Top<'a>,
}

impl KeyInputs<'_> {
    /// The key, or why there is none. Small files among `extras` are read, so that the archive holds the bytes that
    /// the key stands for.
    pub(super) fn key(&self, extras: &mut [Extra]) -> Result<Key, String> {
        if let Some(reason) = self.obstacle() {
            return Err(reason.to_owned());
        }
        self.refuse_incomplete()?;
        let mut encoder = Encoder::new();
        self.add_format(&mut encoder);
        self.add_tree(&mut encoder);
        self.add_pathspecs(&mut encoder);
        self.add_filters(&mut encoder);
        self.add_attributes(self.attributes, &mut encoder)
            .map_err(|error| error.to_string())?;
        for submodule in &self.scope.repositories[1..] {
            self.add_submodule(submodule, &mut encoder)
                .map_err(|error| error.to_string())?;
        }
        add_extras(extras, &mut encoder)?;
        encoder.finish()
    }

    /// Hash of all that decides which files an archive has, and with which content, except for the tree; or why there is none.
    /// Deltas with equal hashes can follow each other.
    pub(super) fn filters(&self, extras: &mut [Extra]) -> Result<Key, String> {
        if self.reads_work_tree() {
            return Err("attributes come from the work tree".to_owned());
        }
        let mut encoder = Encoder::new();
        encoder.number("encoding of files", ENCODING);
        encoder.flag("commit", self.treeish.commit.is_some());
        self.add_stored(&mut encoder);
        add_replacements(self.replacements, &mut encoder);
        add_rules(self.rules, &mut encoder);
        self.add_pathspecs(&mut encoder);
        self.add_filters(&mut encoder);
        self.add_attributes(self.attributes, &mut encoder)
            .map_err(|error| error.to_string())?;
        for key in self.keys_of_submodules()? {
            encoder.bytes("submodules", key.0);
        }
        add_extras(extras, &mut encoder)?;
        encoder.finish()
    }

    /// A key for each way in which submodules are read, whether or not they have changed. Most often all are read in the same way,
    /// however many there are.
    fn keys_of_submodules(&self) -> Result<BTreeSet<Key>, String> {
        let repositories = match &self.scope.delta {
            Some(delta) => &delta.sides[1],
            None => &self.scope.repositories,
        };
        let keys = repositories[1..].iter().map(|submodule| {
            let mut encoder = Encoder::new();
            self.add_reading(submodule, &mut encoder)
                .map_err(|error| error.to_string())?;
            encoder.finish()
        });
        keys.collect()
    }

    /// Whether files next to the repository decide about attributes. In a bare repository, there are none, but a pathspec may
    /// still ask for the mode of a file there.
    fn reads_work_tree(&self) -> bool {
        let asks_for_modes = |path: &OsString| {
            let path = path.as_bytes();
            path.starts_with(b":(") && path.contains_str(b"attr:")
        };
        match &self.attributes.source {
            AttributeSource::WorkTree(_) => true,
            _ => {
                self.attributes.modes_of.is_some()
                    && self.args.content.paths.iter().any(asks_for_modes)
            }
        }
    }

    /// What the archive, or the messages about it, depend on in addition to the key.
    fn obstacle(&self) -> Option<&'static str> {
        let args = self.args;
        let is_dated = self.treeish.commit.is_some() || args.content.mtime.is_some();
        match () {
            () if !is_dated => Some("the time of a tree is that of the request"),
            () if self.reads_work_tree() => Some("attributes come from the work tree"),
            () if args.verbosity.is_verbose() => Some("names are told on standard error"),
            () if self.scope.delta.is_some() && self.filters.enters_submodules() => {
                Some("changes in submodules are archived")
            }
            () if args.has_manifest => Some("a manifest is written"),
            () => None,
        }
    }

    /// What is missing may be there for the next archive.
    pub(super) fn refuse_incomplete(&self) -> Result<(), String> {
        self.filters.incompleteness().map_or(Ok(()), Err)
    }

    fn add_format(&self, encoder: &mut Encoder) {
        encoder.number("encoding", ENCODING);
        encoder.bytes("version", env!("CARGO_PKG_VERSION"));
        match self.format {
            // A command gets the plain tar.
            Format::Tar | Format::Filtered(_) => encoder.bytes("format", "tar"),
            Format::TarGz(level, dialect) => {
                encoder.bytes("format", "tar.gz");
                encoder.debug("level", level);
                encoder.debug("dialect", dialect);
            }
            Format::TarZst(level) => {
                encoder.bytes("format", "tar.zst");
                encoder.debug("level", level);
            }
            Format::Zip(level) => {
                encoder.bytes("format", "zip");
                encoder.debug("level", level);
                encoder.debug("times", &self.times);
            }
        }
        self.add_stored(encoder);
    }

    /// What is noted of a file in any format.
    fn add_stored(&self, encoder: &mut Encoder) {
        let umask = match self.settings.umask {
            Umask::Bits(bits) => bits,
            Umask::User => output::umask(),
        };
        encoder.number("umask", umask.into());
        encoder.flag("notes", self.args.filters.pax_notes);
        // A zip tells the size of a larger file behind the file.
        encoder.number("big file", self.settings.big_file);
    }

    fn add_tree(&self, encoder: &mut Encoder) {
        add_treeish(self.treeish, encoder);
        encoder.number("time", self.treeish.time);
        if let Some(Delta {
            base,
            target,
            deletion_format,
            ..
        }) = self.scope.delta.as_deref()
        {
            encoder.id("base", base);
            encoder.id("target", target);
            encoder.debug("deletions", deletion_format);
            encoder.flag("ignore mode", self.args.delta.ignore_mode_changes);
        }
        add_replacements(self.replacements, encoder);
        add_rules(self.rules, encoder);
    }

    /// The content of a submodule, and all that decides about its files.
    fn add_submodule(&self, submodule: &ArchivedRepository, encoder: &mut Encoder) -> Result<()> {
        let mount = &submodule.tree.view.filter.mount;
        encoder.bytes("submodule", mount.prefix());
        add_treeish(&submodule.treeish, encoder);
        self.add_reading(submodule, encoder)
    }

    /// How files of a submodule are read.
    fn add_reading(&self, submodule: &ArchivedRepository, encoder: &mut Encoder) -> Result<()> {
        let tree = &submodule.tree;
        add_replacements(&tree.reader.odb.config().replacements, encoder);
        add_rules(tree.rules, encoder);
        encoder.number("big file", submodule.big_file);
        self.add_attributes(tree.view.selection.attributes.settings(), encoder)
    }

    fn add_pathspecs(&self, encoder: &mut Encoder) {
        let args = self.args;
        encoder.bytes(
            "prefix",
            args.content
                .prefix
                .as_deref()
                .unwrap_or_default()
                .as_bytes(),
        );
        encoder.bytes("below", self.below);
        encoder.debug("pathspecs", &self.environment.pathspecs);
        encoder.list(
            "path",
            args.content.paths.iter().map(|path| path.as_bytes()),
        );
        // An absolute path, perhaps behind magic, is read against the top.
        let is_absolute = |path: &OsString| matches!(path.as_bytes().first(), Some(b'/' | b':'));
        if args.content.paths.iter().any(is_absolute) {
            encoder.bytes("top", self.top.path);
        }
    }

    fn add_filters(&self, encoder: &mut Encoder) {
        let FilterRules {
            given,
            purpose: _,
            settings,
            access: _,
            access_text,
            ignore_texts,
            // Follows from the settings and the exceptions.
            policy: _,
            absent: _,
        } = self.filters;
        encoder.debug("filters", settings);
        encoder.list(
            "ignore file",
            given.exclude_from_tree.iter().map(|path| path.as_bytes()),
        );
        encoder.list("ignore from", ignore_texts.iter().map(|text| &text[..]));
        encoder.list("ignore", given.exclude.iter().map(|glob| glob.as_bytes()));
        encoder.debug("ignore errors", &given.bad_pattern);
        encoder.list(
            "large file",
            given.size_exempt.iter().map(|glob| glob.as_bytes()),
        );
        encoder.list("access", access_text.iter().map(|text| &text[..]));
    }

    fn add_attributes(&self, attributes: &AttributeSettings, encoder: &mut Encoder) -> Result<()> {
        if self.filters.is_raw() {
            return Ok(());
        }
        let AttributeSettings {
            source,
            // Of files, if a pathspec asks for them, which is an obstacle.
            modes_of: _,
            top: _,
            files: _,
            info: _,
            ignore_case,
            autocrlf,
            eol_crlf,
            drivers,
            // Follows from the settings of filters. Where an object is does not change the object.
            lfs: _,
            // An archive that may lack files has no key.
            needs_files: _,
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
        encoder.list(
            "attributes",
            attributes.outside()?.iter().map(|file| file.bytes()),
        );
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

fn add_treeish(treeish: &Treeish, encoder: &mut Encoder) {
    let Treeish {
        tree,
        commit,
        content,
        reference: _,
        // The time of the archive is that of the archived commit.
        time: _,
    } = treeish;
    encoder.id("tree", tree);
    let commit = commit.map_or_else(Vec::new, |id| id.as_slice().to_vec());
    encoder.bytes("commit", commit);
    encoder.bytes("commit content", content);
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
    for extra in extras {
        encoder.debug("extra kind", &extra.kind);
        encoder.bytes("extra name", &extra.name);
        encoder.bytes("extra content", loaded(extra)?);
    }
    Ok(())
}

/// The content of `extra`, which is read into memory if it is a small file.
fn loaded(extra: &mut Extra) -> Result<&[u8], String> {
    if let Content::File { path, .. } = &extra.content {
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(MAX_EXTRA + 1).read_to_end(&mut bytes));
        if read.is_err() || bytes.len() as u64 > MAX_EXTRA {
            return Err("an extra file is large, or cannot be read".to_owned());
        }
        extra.content = Content::Bytes(bytes);
    }
    match &extra.content {
        Content::Bytes(bytes) => Ok(bytes),
        Content::File { .. } => Err("an extra file cannot be read".to_owned()),
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

    fn finish(self) -> Result<Key, String> {
        let id = self.0.try_finalize().map_err(|error| error.to_string())?;
        let hash = id
            .as_slice()
            .try_into()
            .map_err(|_| "the hash has another length")?;
        Ok(Key(hash))
    }
}
