//! A tree as one reader sees it: the archived entries, their names, and their dispositions.
//!
//! A view combines the selection (pathspecs, attributes) with the reader's filter. Sizes are looked up on
//! demand of the walk. A view reads no blob but pointers of Git LFS.

use std::sync::Arc;

use gix_hash::ObjectId;

use super::{entry, naming::Naming, pointer::pointer, select::Selection};
use crate::filter::{
    DirectoryDecision, Disposition, Fallback, Filter, OmissionReason, PlaceholderContent,
};
use sluice_base::error::Result;
use sluice_format::MemberKind;
use sluice_git::{
    attributes::Note,
    convert::Treatment,
    lfs::LfsObject,
    objects::{
        reader::Reader,
        size::{Size, Sizer},
        wanted::Role,
    },
    tree::{KeptLink, Mode, Trees, reported},
};

/// A reader's view of a tree.
pub struct View {
    /// The names of the entries.
    pub naming: Naming,
    /// Selects by pathspecs and attributes.
    pub selection: Selection,
    /// Excludes entries that this reader does not want or may not see.
    pub filter: Arc<Filter>,
    sizes: Sizes,
    sizer: Sizer,
    /// Why entries are left out, if the plan has those entries too.
    left_out: Option<LeftOut>,
}

/// Why everything below a directory is left out.
#[derive(Clone, Default)]
struct LeftOut {
    /// The reason for each directory that was entered.
    entered: Vec<Option<OmissionReason>>,
    /// The reason for the directory that is entered next.
    next: Option<OmissionReason>,
}

/// The sizes that have to be known before the blobs are located.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// No sizes.
    None,
    /// The sizes of all files, if the policy depends on sizes.
    Limited,
    /// The sizes of all files.
    All,
}

/// The verdict on a directory.
pub enum DirectoryVerdict {
    /// The walk enters the directory.
    Entered,
    /// The directory is omitted with everything below.
    Omitted(OmissionReason),
    /// For this reader the directory does not exist.
    Hidden,
}

/// The verdict on a file, link or submodule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The form in which the entry is sent, or the reason of its omission.
    pub disposition: Disposition,
    /// The type of the entry in the archive.
    pub kind: MemberKind,
    /// The size of the content in bytes, if the view looked the size up.
    pub size: Option<u64>,
    /// The treatment of the content.
    pub treatment: Treatment,
    /// Why a link is no copy, where copies take the place of links.
    pub kept: Option<KeptLink>,
}

impl Leaf {
    /// Whether the archive omits the entry.
    pub fn is_omitted(&self) -> bool {
        matches!(self.disposition, Disposition::Omitted(_))
    }

    fn omitted(mode: Mode, reason: OmissionReason) -> Self {
        Self {
            disposition: Disposition::Omitted(reason),
            kind: entry::kind(mode),
            size: None,
            treatment: Treatment::default(),
            kept: None,
        }
    }
}

/// A copy for another thread. The copy has entered the same directories.
impl Clone for View {
    fn clone(&self) -> Self {
        Self {
            naming: self.naming.clone(),
            selection: self.selection.clone(),
            filter: Arc::clone(&self.filter),
            sizes: self.sizes,
            sizer: Sizer::default(),
            left_out: self.left_out.clone(),
        }
    }
}

impl View {
    /// Create a view of the entries that `selection` selects and `filter` passes, with the names that `naming` gives them.
    pub fn new(naming: Naming, selection: Selection, filter: Filter) -> Self {
        let sizes = match filter.access {
            // A directory must not reveal an entry that is not sent.
            Some(_) => Sizes::Limited,
            None => Sizes::None,
        };
        Self {
            naming,
            selection,
            filter: Arc::new(filter),
            sizes,
            sizer: Sizer::default(),
            left_out: None,
        }
    }

    /// The same view, in which entries that attributes and filters leave out are omitted entries. What the reader may not know
    /// stays hidden.
    pub fn with_all(self) -> Self {
        Self {
            left_out: Some(LeftOut::default()),
            ..self
        }
    }

    /// Whether entries that are left out are in the plan.
    pub fn has_all(&self) -> bool {
        self.left_out.is_some()
    }

    /// Why everything in the directory entered last is left out.
    fn left_out(&self) -> Option<OmissionReason> {
        *self.left_out.as_ref()?.entered.last()?
    }

    /// Chooses the `sizes` that are looked up.
    pub fn with(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Whether failures name nothing below the root: the reader may not know all of the tree.
    fn is_redacted(&self) -> bool {
        self.filter.access.is_some()
    }

    /// Whether the entered directories have no complaint about attribute files. With a complaint, a copy of the
    /// view would repeat the complaint.
    pub fn is_silent(&self) -> bool {
        self.selection.is_silent()
    }

    /// Decide about the directory `path`, which has no slash at its end.
    pub fn directory(&mut self, path: &[u8]) -> DirectoryVerdict {
        if !self.selection.reaches(path) {
            return DirectoryVerdict::Hidden;
        }
        let is_ignored = self.selection.ignores(path);
        if is_ignored && !self.has_all() {
            return DirectoryVerdict::Hidden;
        }
        let reason = match self.filter.directory(path) {
            DirectoryDecision::Denied => return DirectoryVerdict::Hidden,
            DirectoryDecision::Passes => None,
            DirectoryDecision::Excluded => Some(OmissionReason::Excluded),
        };
        let ignored = is_ignored.then_some(OmissionReason::ExportIgnore);
        let reason = self.left_out().or(ignored).or(reason);
        if let Some(left_out) = &mut self.left_out {
            left_out.next = reason;
        }
        match reason {
            Some(reason) if self.filter.allows_all(path) => DirectoryVerdict::Omitted(reason),
            // Only an allowed entry reveals the directory.
            _ => DirectoryVerdict::Entered,
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
        if let Some(left_out) = &mut self.left_out {
            left_out.entered.push(left_out.next.take());
        }
        let entered = self.selection.enter(reader, trees, root, path);
        entered.map_err(|error| reported(error, root, self.is_redacted()))
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        if let Some(left_out) = &mut self.left_out {
            let _ = left_out.entered.pop();
        }
        self.selection.leave();
    }

    /// Whether the entry at `path` is selected and the reader may know about the entry.
    pub fn admits(&mut self, path: &[u8], mode: Mode) -> Result<bool> {
        Ok(self.selection.admits(path, mode)? && self.filter.allows(path))
    }

    /// The verdict on an admitted entry; `None` if `export-ignore` excludes the entry. An empty directory stands in for a
    /// submodule, unless its content follows (`is_entered`).
    pub fn leaf(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        (mode, is_entered): (Mode, bool),
        id: ObjectId,
    ) -> Option<Leaf> {
        if let Some(reason) = self.left_out() {
            return Some(Leaf::omitted(mode, reason));
        }
        let Some(treatment) = self.selection.treatment(path, mode) else {
            let omitted = || Leaf::omitted(mode, OmissionReason::ExportIgnore);
            return self.has_all().then(omitted);
        };
        if self.filter.excludes(path, mode) {
            return Some(Leaf::omitted(mode, OmissionReason::Excluded));
        }
        let policy = &self.filter.policy;
        if mode == Mode::Submodule && policy.no_submodules {
            return Some(Leaf::omitted(mode, OmissionReason::Submodule));
        }
        let links_as_files = policy.links_as_files;
        let (disposition, size) = match mode {
            Mode::Submodule if !is_entered => (
                Disposition::Placeholder(OmissionReason::Submodule, PlaceholderContent::Empty),
                None,
            ),
            Mode::Submodule | Mode::Directory => (Disposition::Content, None),
            _ => self.dispose(reader, path, id, &treatment),
        };
        let kind = match (mode, disposition) {
            (Mode::Symlink, _) if links_as_files => MemberKind::File,
            // A placeholder is no link target.
            (Mode::Symlink, Disposition::Placeholder(..)) => MemberKind::File,
            _ => entry::kind(mode),
        };
        let copied = self.selection.copied.as_ref();
        let copied = copied.filter(|_| mode == Mode::Symlink);
        Some(Leaf {
            disposition,
            kind,
            size,
            treatment,
            kept: copied.and_then(|copied| copied.kept(path)),
        })
    }

    fn dispose(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        id: ObjectId,
        treatment: &Treatment,
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
        let in_archive = || self.filter.mount.path(path);
        if let Some(store) = &treatment.lfs
            && let Some(pointer) = pointer(reader, &mut self.sizer, id)
        {
            let object = LfsObject::new(store, pointer);
            let found = (object.size(), || object.is_here());
            return (policy.by_lfs_object(found, in_archive), Some(object.size()));
        }
        match self.sizer.size(&mut reader.odb, id) {
            Size::Exactly(size) => (policy.by_size(size, in_archive), Some(size)),
            Size::Missing => {
                reader.note_missing(&id, || Role::File(path.into()));
                (policy.missing(reader.odb.config().is_partial), None)
            }
            // A damaged object exists: the later read reports the damage.
            Size::Small | Size::Unknown => (Disposition::Content, None),
        }
    }

    /// Whether an admitted entry brings the directories above into the archive. The path of the entry decides,
    /// not its size or content. As in git, an entry under `export-ignore` brings its directories. Under access
    /// rules only an entry that is sent does.
    pub fn brings_directories(&self, leaf: Option<&Leaf>) -> bool {
        match leaf.map(|leaf| leaf.disposition) {
            _ if self.left_out().is_some() => false,
            Some(Disposition::Omitted(OmissionReason::Excluded | OmissionReason::Submodule)) => {
                false
            }
            Some(Disposition::Omitted(_)) | None => self.filter.access.is_none(),
            Some(_) => true,
        }
    }

    /// Whether files with binary content are omitted.
    pub fn may_omit_binary(&self) -> bool {
        let binary = self.filter.policy.binary;
        binary.is_some_and(|binary| binary.remedy == Fallback::Omit)
    }

    /// Whether the attribute files that apply may set `export-subst` below the directory entered last.
    pub fn may_substitute(&self) -> bool {
        // A copy may have its attributes from elsewhere.
        self.selection.copied.is_some() || self.selection.attributes.may_substitute()
    }

    /// Take the text to print around the name of the next entry.
    pub fn note(&mut self) -> Note {
        let note = self.selection.note();
        match self.filter.access {
            // The warnings could name paths that the reader may not know.
            Some(_) => Note::default(),
            None => note,
        }
    }

    /// Whether the extra file at `path`, outside of the tree `root`, is text; `None` if its content decides.
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
