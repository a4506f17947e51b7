//! What git says about attribute files, as often as git says it: each kind of look-up reads the
//! files for itself, and complains when it first needs them.

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

/// The complaints about the files in force.
#[derive(Clone, Default)]
pub(super) struct Complaints {
    /// About the files that git reads before that of the root.
    pub first: Vec<u8>,
    /// About the file that it reads just after.
    pub last: Vec<u8>,
    levels: Vec<Level>,
    /// What is to be said now.
    pub note: Note,
}

#[derive(Clone, Default)]
struct Level {
    text: Vec<u8>,
    /// A bit for each that heard it.
    told: u64,
}

impl Complaints {
    /// Enter a directory, perhaps the root, with these complaints about its file.
    pub(super) fn enter(&mut self, root: bool, own: Vec<u8>) {
        let text = match root {
            true => [&self.first[..], &own, &self.last].concat(),
            false => own,
        };
        self.levels.push(Level { text, told: 0 });
    }

    /// Leave the directory entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Leave all directories.
    pub(super) fn reset(&mut self) {
        self.levels.clear();
    }

    /// Whether there is nothing to be said, nor was, in the directories that were entered.
    pub(super) fn is_empty(&self) -> bool {
        let is_silent = |level: &Level| level.text.is_empty();
        self.note == Note::default() && self.levels.iter().all(is_silent)
    }

    /// Complain to `asker` about what it has not heard yet.
    pub(super) fn tell(&mut self, asker: Asker) {
        let (bit, behind) = match asker {
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
            if level.told & (1 << bit) == 0 {
                level.told |= 1 << bit;
                let note = match behind {
                    true => &mut self.note.after,
                    false => &mut self.note.before,
                };
                note.extend_from_slice(&level.text);
            }
        }
    }
}

/// What is to be said on stderr, before and after the name of an entry where names are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What was noticed on the way to the entry.
    pub before: Vec<u8>,
    /// What was noticed about the entry.
    pub after: Vec<u8>,
}

impl Note {
    /// Bytes of text.
    pub fn text_len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}
