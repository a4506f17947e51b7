//! Entries gathered into windows, and windows cut into jobs.

use std::{ops::Range, sync::Arc};

use gix::{ObjectId, hash::Kind as HashKind};

use super::{
    entry::{Blob, Entry, Mode, Note, Past},
    extra::{self, Extra},
    locate::{Located, locate},
};
use crate::{
    convert::Treatment,
    decode::chain::{ChainBuilder, Chains},
    emit::Kind,
    filter::Disposition,
    odb::Odb,
};

/// Estimated bytes of archive in one job.
const JOB_BYTES: u64 = 256 << 10;
/// Entries in one job, at most.
const JOB_ENTRIES: usize = 512;
/// An archive entry without its content, roughly.
const ENTRY_OVERHEAD: u64 = 768;

/// A piece of the plan: entries and all that is needed to decode them.
#[derive(Default)]
pub struct Window {
    entries: Vec<Entry>,
    paths: Vec<u8>,
    /// How the blobs in packs are made.
    pub chains: Chains,
    /// What is to be said on stderr after the last entry; rarely anything.
    last_words: Vec<u8>,
}

impl Window {
    /// The full name in the archive.
    pub fn path(&self, entry: &Entry) -> &[u8] {
        &self.paths[entry.path.start as usize..entry.path.end as usize]
    }
}

/// Consecutive entries of one window.
pub struct Job {
    /// Where the entries are.
    pub window: Arc<Window>,
    /// Which of them, in order.
    pub range: Range<usize>,
    /// Estimated bytes of output.
    pub output: u64,
    /// Estimated bytes of memory that decoding takes on top.
    pub scratch: u64,
}

impl Job {
    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.window.entries[self.range.clone()]
    }

    /// What is to be said on stderr after the last of them.
    pub fn last_words(&self) -> &[u8] {
        match self.range.end == self.window.entries.len() {
            true => &self.window.last_words,
            false => &[],
        }
    }
}

/// An entry on its way into a draft.
pub struct Item<'a> {
    /// Its name in the archive, in parts.
    pub name: &'a [&'a [u8]],
    /// What it is in the tree.
    pub mode: Mode,
    /// What it is in the archive.
    pub kind: Kind,
    /// Its id as the tree has it.
    pub id: ObjectId,
    /// What becomes of it.
    pub disposition: Disposition,
    /// The size of its content in bytes, if that had to be known.
    pub size: Option<u64>,
    /// What is done to the content on its way.
    pub treatment: Treatment,
}

impl<'a> Item<'a> {
    /// Sent as it is.
    pub fn new(name: &'a [&'a [u8]], mode: Mode, id: ObjectId) -> Self {
        Self {
            name,
            mode,
            kind: mode.kind(),
            id,
            disposition: Disposition::Content,
            size: None,
            treatment: Treatment::default(),
        }
    }
}

/// Of what has no content to be read.
const NOWHERE: Located = Located {
    blob: Blob::None,
    size: 0,
    scratch: 0,
};

/// A window that is being filled.
#[derive(Default)]
pub struct Draft {
    window: Window,
    chains: ChainBuilder,
    /// Where each job ends, and its estimates.
    jobs: Vec<(usize, u64, u64)>,
    job: (u64, u64),
    /// For the next entry.
    note: Option<Box<Note>>,
    past: Option<Box<Past>>,
}

impl Draft {
    /// Say this about the next entry.
    pub fn say(&mut self, note: Note) {
        if note != Note::default() {
            let pending = self.note.get_or_insert_default();
            pending.before.extend(note.before);
            pending.after.extend(note.after);
        }
    }

    /// Remember what the path of the next entry was.
    pub fn remember(&mut self, past: Past) {
        self.past = Some(Box::new(past));
    }

    /// Append an empty file that is in no tree; `id` stands in where its name does not fit.
    pub fn push_empty(&mut self, name: &[u8], id: ObjectId) {
        let name = [name];
        self.append(Item::new(&name, Mode::File, id), NOWHERE);
    }

    /// Append `item`. One that is treated in order is a job by itself, so that the others need not
    /// wait for it.
    pub fn push(&mut self, odb: &mut Odb, item: Item<'_>) {
        let has_content = item.kind != Kind::Directory;
        let located = match item.disposition {
            Disposition::Content if has_content => locate(odb, &mut self.chains, item.id),
            _ => NOWHERE,
        };
        self.append(item, located);
    }

    /// Append the extra file of this `number`; its id is of the kind `hash`.
    pub fn push_extra(&mut self, hash: HashKind, number: u32, extra: &Extra, text: Option<bool>) {
        let mode = match extra.kind {
            Kind::Executable => Mode::Executable,
            _ => Mode::File,
        };
        let mut item = Item::new(&[], mode, extra::id(hash, number));
        item.treatment.text = text;
        let name = [&extra.name[..]];
        let located = Located {
            blob: Blob::Extra(number),
            ..NOWHERE
        };
        self.append(
            Item {
                name: &name,
                ..item
            },
            located,
        );
    }

    fn append(&mut self, item: Item<'_>, located: Located) {
        let start = self.window.paths.len() as u32;
        for part in item.name {
            self.window.paths.extend_from_slice(part);
        }
        let path = start..self.window.paths.len() as u32;
        let alone = item.treatment.is_ordered();
        if alone {
            self.close_job();
        }
        self.job.0 += ENTRY_OVERHEAD + path.len() as u64 + located.size;
        self.job.1 = self.job.1.max(located.scratch);
        self.window.entries.push(Entry {
            path,
            mode: item.mode,
            kind: item.kind,
            id: item.id,
            blob: located.blob,
            disposition: item.disposition,
            size: item.size,
            treatment: item.treatment,
            note: self.note.take(),
            past: self.past.take(),
        });
        let first = self.jobs.last().map_or(0, |job| job.0);
        let entries = self.window.entries.len();
        if alone || self.job.0 >= JOB_BYTES || entries - first >= JOB_ENTRIES {
            self.close_job();
        }
    }

    fn close_job(&mut self) {
        let entries = self.window.entries.len();
        if self.jobs.last().map_or(0, |job| job.0) < entries {
            let (output, scratch) = std::mem::take(&mut self.job);
            self.jobs.push((entries, output, scratch));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.window.entries.len()
    }

    /// No entry follows: what was to be said about the next is said after the last, even if there is
    /// none.
    pub(super) fn end(&mut self) {
        let Some(note) = self.note.take() else {
            return;
        };
        self.window.last_words = note.before;
        self.close_job();
        if self.jobs.is_empty() {
            self.jobs.push((0, 0, 0));
        }
    }

    pub(super) fn finish(&mut self) -> Vec<Job> {
        self.close_job();
        let mut window = std::mem::take(&mut self.window);
        window.chains = self.chains.finish();
        let window = Arc::new(window);
        let mut start = 0;
        let cut = self.jobs.drain(..).map(|(end, output, scratch)| {
            let range = std::mem::replace(&mut start, end)..end;
            Job {
                window: Arc::clone(&window),
                range,
                output,
                scratch,
            }
        });
        cut.collect()
    }
}
