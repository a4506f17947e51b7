//! Gathers entries into windows. The blobs are located later.

use gix_hash::{Kind as HashKind, ObjectId};

use super::{
    entry::{self, Blob, ChangeRecord, Entry},
    extra::{self, Extra},
    window::Window,
};
use crate::filter::{Disposition, PlaceholderContent};
use sluice_format::MemberKind;
use sluice_git::{
    attributes::Note,
    convert::Treatment,
    tree::{KeptLink, Mode},
};

/// An entry on its way into a window.
pub struct Item<'a> {
    /// The name in the archive, in parts.
    pub name: &'a [&'a [u8]],
    /// The type of the entry in the tree.
    pub mode: Mode,
    /// The type of the entry in the archive.
    pub kind: MemberKind,
    /// The entry's id in the tree, before replacement.
    pub id: ObjectId,
    /// The form in which the entry is sent.
    pub disposition: Disposition,
    /// The size of the content in bytes, if the view looked the size up.
    pub size: Option<u64>,
    /// The treatment of the content.
    pub treatment: Treatment,
    /// Why a link is no copy, where copies take the place of links.
    pub kept: Option<KeptLink>,
}

impl<'a> Item<'a> {
    /// An entry that is sent as it is.
    pub fn new(name: &'a [&'a [u8]], mode: Mode, id: ObjectId) -> Self {
        Self {
            name,
            mode,
            kind: entry::kind(mode),
            id,
            disposition: Disposition::Content,
            size: None,
            treatment: Treatment::default(),
            kept: None,
        }
    }
}

/// A window that is being filled.
#[derive(Default)]
pub struct WindowBuilder {
    window: Window,
    /// Bytes of the notes in the window.
    note_bytes: usize,
    /// The note of the next entry.
    note: Option<Box<Note>>,
    change: Option<Box<ChangeRecord>>,
}

impl WindowBuilder {
    /// Print `note` around the name of the next entry.
    pub fn say(&mut self, note: Note) {
        if note != Note::default() {
            let pending = self.note.get_or_insert_default();
            pending.before.extend(note.before);
            pending.after.extend(note.after);
        }
    }

    /// Record the change of the next entry's path.
    pub fn remember(&mut self, change: ChangeRecord) {
        self.change = Some(Box::new(change));
    }

    /// Append `item`.
    pub fn push(&mut self, item: Item<'_>) {
        let blob = match item.disposition {
            Disposition::Content if item.kind != MemberKind::Directory => Blob::Unknown,
            Disposition::Placeholder(_, PlaceholderContent::Pointer) => Blob::Unknown,
            _ => Blob::None,
        };
        self.append(item, blob);
    }

    /// Append the extra file of this `number`; its id is of the kind `hash`.
    pub fn push_extra(&mut self, hash: HashKind, number: u32, extra: &Extra, text: Option<bool>) {
        let mode = match extra.kind {
            MemberKind::Executable => Mode::Executable,
            MemberKind::Symlink => Mode::Symlink,
            MemberKind::Directory => Mode::Directory,
            MemberKind::File => Mode::File,
        };
        let name = [&extra.name[..]];
        let mut item = Item::new(&name, mode, extra::id(hash, number));
        item.treatment.text = text;
        self.append(item, Blob::Extra(number));
    }

    fn append(&mut self, item: Item<'_>, blob: Blob) {
        let start = self.window.paths.len();
        let len = item.name.iter().map(|part| part.len()).sum();
        self.window.paths.reserve(len);
        for part in item.name {
            self.window.paths.extend_from_slice(part);
        }
        let path = start..self.window.paths.len();
        let note = self.note.take();
        self.note_bytes += note.as_ref().map_or(0, |note| note.text_len());
        self.window.entries.push(Entry {
            path,
            mode: item.mode,
            kind: item.kind,
            id: item.id,
            blob,
            disposition: item.disposition,
            size: item.size,
            treatment: item.treatment,
            kept: item.kept,
            note,
            change: self.change.take(),
        });
    }

    pub(super) fn len(&self) -> usize {
        self.window.entries.len()
    }

    /// Bytes of the names and notes of all entries.
    pub(super) fn text_bytes(&self) -> usize {
        self.window.paths.len() + self.note_bytes
    }

    /// End the entries. A note for the next entry is printed after the last entry, or alone in an empty window.
    pub(super) fn end(&mut self) {
        self.window.trailing_messages = self.note.take().map(|note| note.before);
    }

    /// Take the window and begin a new one.
    pub fn finish(&mut self) -> Window {
        self.note_bytes = 0;
        std::mem::take(&mut self.window)
    }
}
