//! Warnings about attribute files, printed as often as git prints them: each kind of look-up reads the
//! files for itself, and warns when it first needs a file.

/// Why attributes are looked up.
#[derive(Clone, Copy)]
pub(super) enum Asker {
    /// For `export-ignore` and `export-subst`.
    Export,
    /// For the conversion of a file.
    Conversion,
    /// To tell text from binary content.
    Text,
    /// For the pathspec of this number among those that ask for attributes.
    Pathspec(usize),
}

/// The complaints about the files that apply.
#[derive(Clone, Default)]
pub(super) struct Complaints {
    /// Warnings about the files that git reads before the root's file.
    pub first: Vec<u8>,
    /// Warnings about the file that git reads just after the root's file.
    pub last: Vec<u8>,
    levels: Vec<DirectoryComplaints>,
    /// Warnings to print with the next entry.
    pub note: Note,
}

#[derive(Clone, Default)]
struct DirectoryComplaints {
    text: Vec<u8>,
    /// One bit for each [`Asker`] that has received the text.
    heard: u64,
}

impl Complaints {
    /// Enter a directory whose attribute file has the complaints `own`. `root` marks the root of the tree.
    pub(super) fn enter(&mut self, root: bool, own: Vec<u8>) {
        let text = if root {
            [&self.first[..], &own, &self.last].concat()
        } else {
            own
        };
        self.levels.push(DirectoryComplaints { text, heard: 0 });
    }

    /// Leave the directory entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Leave all directories.
    pub(super) fn reset(&mut self) {
        self.levels.clear();
    }

    /// Whether no file of the entered directories has a complaint, printed or pending.
    pub(super) fn is_empty(&self) -> bool {
        let is_silent = |level: &DirectoryComplaints| level.text.is_empty();
        self.note == Note::default() && self.levels.iter().all(is_silent)
    }

    /// Add to the note every complaint that `asker` has not received yet.
    pub(super) fn tell(&mut self, asker: Asker) {
        let (bit, is_late) = match asker {
            Asker::Export => (0, false),
            Asker::Conversion => (1, true),
            Asker::Text => (2, true),
            Asker::Pathspec(number) => ((3 + number).min(63), false),
        };
        for level in self
            .levels
            .iter_mut()
            .filter(|level| !level.text.is_empty())
        {
            if level.heard & (1 << bit) == 0 {
                level.heard |= 1 << bit;
                let note = if is_late {
                    &mut self.note.after
                } else {
                    &mut self.note.before
                };
                note.extend_from_slice(&level.text);
            }
        }
    }
}

/// Text for stderr, around the name of an entry where names are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Printed before the name: warnings from the way to the entry.
    pub before: Vec<u8>,
    /// Printed after the name: warnings about the entry.
    pub after: Vec<u8>,
}

impl Note {
    /// Bytes of text.
    pub fn text_len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}
