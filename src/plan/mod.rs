//! What to write, in git's order, without reading one blob of it.
//!
//! The plan is a stream of *windows*: the walk appends entries to a [`Draft`], each file's blob is
//! located in a pack as it comes, and when the window is large enough it is closed and cut into
//! [`Job`]s of a few hundred kilobytes each. Two or three windows exist at a time, whatever the
//! size of the tree. Reads trees, attribute files and headers of pack entries, and no other blob.

pub mod walk;
pub mod trees;
pub mod select;
pub mod locate;
pub mod extra;

use std::{ops::Range, sync::Arc};

use gix::{ObjectId, hash::Kind as HashKind};

use crate::{
    convert::Treatment,
    decode::chain::{ChainBuilder, Chains, NodeId},
    decode::reader::Reader,
    emit::Kind,
    error::{Error, Result},
    odb::Odb,
    pipeline::{Batch, Source},
};
use extra::Extra;
use locate::{Located, locate};
use walk::Walk;

/// Estimated bytes of archive in one job.
const JOB_BYTES: u64 = 256 << 10;
/// Entries in one job, at most.
const JOB_ENTRIES: usize = 512;
/// Entries in the first window: few, so that the first bytes leave early.
const FIRST_WINDOW: usize = 128;
/// Entries in a later window. Links that two windows share are decoded twice.
const WINDOW: usize = 4096;
/// Estimated bytes of archive after which the pack pages read so far are given back: less than a
/// hundred megabytes of them, as packs go.
const RELEASE_BYTES: u64 = 512 << 20;
/// How much deflate shrinks a loose object, as a guess at its size.
const LOOSE_RATIO: u64 = 3;
/// An archive entry without its content, roughly.
const ENTRY_OVERHEAD: u64 = 768;

/// One entry of the archive.
pub struct Entry {
    path: Range<u32>,
    /// What it is in the archive.
    pub kind: Kind,
    /// Its id as the tree has it; a replacement does not show here.
    pub id: ObjectId,
    /// Where its content lies.
    pub blob: Blob,
    /// What is done to the content on its way.
    pub treatment: Treatment,
    /// What is to be said about it; rarely anything.
    pub note: Option<Box<Note>>,
}

/// What is to be said on stderr, before and after the name of an entry where names are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What was noticed on the way to the entry.
    pub before: Vec<u8>,
    /// What was noticed about the entry.
    pub after: Vec<u8>,
}

/// Where the content of an entry lies.
#[derive(Clone, Copy, Debug)]
pub enum Blob {
    /// It has none.
    None,
    /// In a pack.
    Packed(NodeId),
    /// In the loose file of this object directory.
    Loose(u32),
    /// In no object: the extra file of this number.
    Extra(u32),
    /// Not where it should be: what reads it has to look everywhere, and then fail.
    Unknown,
}

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

    /// Append an entry named `name`. One that is treated in order is a job by itself, so that the
    /// others need not wait for it.
    pub fn push(
        &mut self,
        odb: &mut Odb,
        name: &[&[u8]],
        kind: Kind,
        id: ObjectId,
        treatment: Treatment,
    ) {
        let located = match kind {
            Kind::Directory => Located {
                blob: Blob::None,
                size: 0,
                scratch: 0,
            },
            _ => locate(odb, &mut self.chains, id),
        };
        self.append(name, kind, id, treatment, located);
    }

    /// Append the extra file of this `number`; its id is of the kind `hash`.
    pub fn push_extra(&mut self, hash: HashKind, number: u32, extra: &Extra, text: Option<bool>) {
        let treatment = Treatment {
            text,
            ..Treatment::default()
        };
        let located = Located {
            blob: Blob::Extra(number),
            size: 0,
            scratch: 0,
        };
        let id = extra::id(hash, number);
        self.append(&[&extra.name], extra.kind, id, treatment, located);
    }

    fn append(
        &mut self,
        name: &[&[u8]],
        kind: Kind,
        id: ObjectId,
        treatment: Treatment,
        located: Located,
    ) {
        let Located {
            blob,
            size,
            scratch,
        } = located;
        let start = self.window.paths.len() as u32;
        for part in name {
            self.window.paths.extend_from_slice(part);
        }
        let path = start..self.window.paths.len() as u32;
        let alone = treatment.is_ordered();
        if alone {
            self.close_job();
        }
        self.job.0 += ENTRY_OVERHEAD + path.len() as u64 + size;
        self.job.1 = self.job.1.max(scratch);
        self.window.entries.push(Entry {
            path,
            kind,
            id,
            blob,
            treatment,
            note: self.note.take(),
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

    fn len(&self) -> usize {
        self.window.entries.len()
    }

    /// No entry follows: what was to be said about the next is said after the last, even if there is
    /// none.
    fn end(&mut self) {
        let Some(note) = self.note.take() else {
            return;
        };
        self.window.last_words = note.before;
        self.close_job();
        if self.jobs.is_empty() {
            self.jobs.push((0, 0, 0));
        }
    }

    fn finish(&mut self) -> Vec<Job> {
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

/// Makes the plan, window by window.
pub struct Planner {
    walk: Walk,
    reader: Reader,
    draft: Draft,
    window: usize,
    /// Estimated bytes planned since pack pages were given back.
    unreleased: u64,
    /// What ended the walk, to be told after the entries before it.
    failure: Option<Error>,
}

impl Planner {
    /// Plan the entries that `walk` finds.
    pub fn new(walk: Walk, reader: Reader) -> Self {
        Self {
            walk,
            reader,
            draft: Draft::default(),
            window: FIRST_WINDOW,
            unreleased: 0,
            failure: None,
        }
    }
}

impl Planner {
    /// Keep resident memory from growing with the packs: what lies behind the walk is not needed.
    fn release(&mut self, jobs: &[Job]) {
        self.unreleased += jobs.iter().map(|job| job.output).sum::<u64>();
        if self.unreleased > RELEASE_BYTES {
            self.unreleased = 0;
            self.reader.odb.release_packs();
        }
    }
}

impl Source for Planner {
    type Job = Job;

    fn next(&mut self) -> Result<Batch<Job>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut last = false;
        while self.draft.len() < self.window {
            match self.walk.step(&mut self.reader, &mut self.draft) {
                Ok(true) => {}
                Ok(false) => {
                    last = true;
                    self.draft.end();
                    break;
                }
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            }
        }
        self.window = (self.window * 4).min(WINDOW);
        let jobs = self.draft.finish();
        self.release(&jobs);
        Ok(Batch { jobs, last })
    }
}
