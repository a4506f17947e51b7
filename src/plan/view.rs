//! A tree as one reader sees it: what of it is archived, under which name, and what becomes of it.
//!
//! Joins what the tree and the user select with what the filter leaves of it. Asks for sizes where whoever
//! walks wants them, and reads no blob.

use std::sync::Arc;

use gix::{ObjectId, bstr::BString};

use super::select::Selection;
use crate::{
    attributes::Note,
    convert::Treatment,
    decode::{
        reader::Reader,
        size::{Size, Sizer},
    },
    emit::MemberKind,
    error::Result,
    filter::{Disposition, Filter, OmissionReason, Remedy, Verdict},
    tree::{Mode, Trees, reported},
};

/// What a reader sees of a tree.
pub struct View {
    /// Put in front of every name.
    pub prefix: BString,
    /// Selects by pathspecs and attributes.
    pub selection: Selection,
    /// Leaves out what this reader does not want or may not see.
    pub filter: Arc<Filter>,
    sizes: Sizes,
    sizer: Sizer,
}

/// Which sizes have to be known before it is known where blobs lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// None.
    None,
    /// Those of all files, if they decide about any.
    Limited,
    /// Those of all files.
    All,
}

/// What a directory is to a reader.
pub enum Directory {
    /// To be entered.
    Entered,
    /// Left out, with all that is below.
    Omitted(OmissionReason),
    /// Not there.
    Hidden,
}

/// What an entry other than a directory is to a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What becomes of it.
    pub disposition: Disposition,
    /// What it is in the archive.
    pub kind: MemberKind,
    /// The size of its content in bytes, if that had to be known.
    pub size: Option<u64>,
    /// What is done to its content.
    pub treatment: Treatment,
}

impl Leaf {
    /// Whether the archive goes without it.
    pub fn is_omitted(&self) -> bool {
        matches!(self.disposition, Disposition::Omitted(_))
    }

    fn omitted(mode: Mode, reason: OmissionReason) -> Self {
        Self {
            disposition: Disposition::Omitted(reason),
            kind: mode.kind(),
            size: None,
            treatment: Treatment::default(),
        }
    }
}

impl View {
    /// What `selection` selects and `filter` lets pass, with `prefix` in front of every name.
    pub fn new(prefix: BString, selection: Selection, filter: Filter) -> Self {
        let sizes = match filter.access {
            // What is not sent is not to show in its directories.
            Some(_) => Sizes::Limited,
            None => Sizes::None,
        };
        Self {
            prefix,
            selection,
            filter: Arc::new(filter),
            sizes,
            sizer: Sizer::default(),
        }
    }

    /// The same, with more sizes.
    pub fn with(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// The same for another thread, which may leave the directories that were entered by itself.
    pub fn another(&self) -> Self {
        Self {
            prefix: self.prefix.clone(),
            selection: self.selection.clone(),
            filter: Arc::clone(&self.filter),
            sizes: self.sizes,
            sizer: Sizer::default(),
        }
    }

    /// Whether failures name nothing of the tree: not all of it may be known.
    fn is_redacted(&self) -> bool {
        self.filter.access.is_some()
    }

    /// Whether there is nothing to complain of in the directories that were entered: what was said of that,
    /// another would say again.
    pub fn is_silent(&self) -> bool {
        self.selection.is_silent()
    }

    /// What is to be done about the directory `path`, which has no slash at its end.
    pub fn directory(&mut self, path: &[u8]) -> Directory {
        if !self.selection.directory(path) {
            return Directory::Hidden;
        }
        match self.filter.directory(path) {
            Verdict::Passes => Directory::Entered,
            Verdict::Ignored => Directory::Omitted(OmissionReason::Ignored),
            Verdict::Denied => Directory::Hidden,
        }
    }

    /// Enter the directory `path` of the tree `root`, which `trees` entered last.
    pub fn enter(
        &mut self,
        reader: &mut Reader,
        trees: &Trees,
        root: ObjectId,
        path: &[u8],
    ) -> Result<()> {
        let entered = self.selection.enter(reader, trees, root, path);
        entered.map_err(|error| reported(error, root, self.is_redacted()))
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        self.selection.leave();
    }

    /// Whether the entry at `path` was asked for, and may be known.
    pub fn admits(&mut self, path: &[u8], mode: Mode) -> bool {
        self.selection.admits(path, mode.kind()) && self.filter.allows(path)
    }

    /// What an entry that was admitted is to the reader; nothing if the tree keeps it out of archives.
    pub fn leaf(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        mode: Mode,
        id: ObjectId,
    ) -> Option<Leaf> {
        let treatment = self.selection.treatment(path, mode.kind())?;
        if self.filter.ignore.ignores(path) {
            return Some(Leaf::omitted(mode, OmissionReason::Ignored));
        }
        let policy = &self.filter.policy;
        if mode == Mode::Submodule && policy.no_submodules {
            return Some(Leaf::omitted(mode, OmissionReason::Submodule));
        }
        let links_as_files = policy.links_as_files;
        let (disposition, size) = match mode {
            Mode::Submodule | Mode::Directory => (Disposition::Content, None),
            _ => self.dispose(reader, path, id),
        };
        let kind = match (mode, disposition) {
            (Mode::Symlink, _) if links_as_files => MemberKind::File,
            // What takes the place of a target is none.
            (Mode::Symlink, Disposition::Placeholder(..)) => MemberKind::File,
            _ => mode.kind(),
        };
        Some(Leaf {
            disposition,
            kind,
            size,
            treatment,
        })
    }

    fn dispose(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        id: ObjectId,
    ) -> (Disposition, Option<u64>) {
        let policy = &self.filter.policy;
        let wants_size = match self.sizes {
            Sizes::None => false,
            Sizes::Limited => policy.depends_on_sizes(),
            Sizes::All => true,
        };
        if !wants_size {
            return (Disposition::Content, None);
        }
        match self.sizer.size(&mut reader.odb, id) {
            Size::Exactly(size) => (policy.by_size(size, || path), Some(size)),
            Size::Missing => (policy.missing(), None),
            // What is damaged is there: for whoever reads it to say.
            Size::Small | Size::Unknown => (Disposition::Content, None),
        }
    }

    /// The name of what is at `path` in the archive, in parts.
    pub fn name<'a>(&'a self, path: &'a [u8], mode: Mode) -> [&'a [u8]; 3] {
        let slash: &[u8] = match mode.kind() {
            MemberKind::Directory => b"/",
            _ => b"",
        };
        [&self.prefix, &path[self.below()..], slash]
    }

    /// How much of each path lies outside of what is archived, in bytes.
    pub fn below(&self) -> usize {
        self.selection.below.len()
    }

    /// Whether the directories above an entry that was admitted are shown: its path decides, and neither size
    /// nor content; as in git, they are if the tree keeps it out. A reader who may not see all that is in them is
    /// shown those of what is sent.
    pub fn brings_directories(&self, leaf: Option<&Leaf>) -> bool {
        match leaf.map(|leaf| leaf.disposition) {
            Some(Disposition::Omitted(OmissionReason::Ignored | OmissionReason::Submodule)) => {
                false
            }
            Some(Disposition::Omitted(_)) | None => self.filter.access.is_none(),
            Some(_) => true,
        }
    }

    /// Whether a file is left out if its content turns out to be binary.
    pub fn may_omit_binary(&self) -> bool {
        let binary = self.filter.policy.binary;
        binary.is_some_and(|binary| binary.remedy == Remedy::Omit)
    }

    /// Whether `$Format:…$` may be expanded in files below the directory entered last, as far as the
    /// attribute files above them tell.
    pub fn may_substitute(&self) -> bool {
        self.selection.attributes.may_substitute()
    }

    /// What is to be said before and after the name of the next entry.
    pub fn note(&mut self) -> Note {
        let note = self.selection.note();
        match self.filter.access {
            // Attribute files may be about what nobody may know, and be that themselves.
            Some(_) => Note::default(),
            None => note,
        }
    }

    /// Whether the file at `path`, which is not of the tree `root`, counts as text, if attributes say
    /// so.
    pub fn text_of(
        &mut self,
        reader: &mut Reader,
        root: ObjectId,
        path: &[u8],
    ) -> Result<Option<bool>> {
        let text = self.selection.text_of(reader, root, path);
        text.map_err(|error| reported(error, root, self.is_redacted()))
    }
}
