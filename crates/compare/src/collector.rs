//! Takes the entries of an archive and computes the ids that git would give their contents, on all processors.
//!
//! No content is kept: small files are hashed by threads, large ones as they are read.

use std::{io::Read, sync::Arc, thread};

use bstr::ByteSlice;
use crossbeam_channel::Receiver;
use gix_hash::{Hasher, Kind as HashKind, ObjectId, hasher};

use super::{
    form::TarForm,
    package::Clues,
    table::{ContentIds, Ids, Table, clean},
};
use sluice_base::{
    error::{Error, Result},
    io::each_piece,
    pipeline::default_threads,
    progress::{Console, Done, Meter},
    threads::Workers,
};
use sluice_format::unarchive::{self, Form, Item, Kind, Raw, Source, Visitor, unreadable};

/// Files of at most this many bytes are hashed by threads.
pub(super) const SMALL: u64 = 1 << 20;

/// A reason why readers of an archive may disagree.
pub(super) struct Doubt {
    /// The path of the entry; empty if it is about the archive.
    pub(super) path: Vec<u8>,
    pub(super) reason: &'static str,
}

/// What was read of an archive.
pub(super) struct Contents {
    pub(super) table: Table,
    pub(super) form: Form,
    pub(super) raw: Raw,
    /// The facts of a tar.
    pub(super) tar: TarForm,
    pub(super) comment: Option<ObjectId>,
    /// What files of the archive say about its commit.
    pub(super) clues: Clues,
    /// The commit whose changes the archive has, if it has changes alone.
    pub(super) base: Option<String>,
    pub(super) doubts: Vec<Doubt>,
    /// Why the rest was not read.
    pub(super) damage: Option<Error>,
}

/// How an archive is read.
pub(super) struct Reading<'a> {
    pub(super) hash: HashKind,
    pub(super) threads: Option<u16>,
    /// The limit of the list of entries, in bytes.
    pub(super) memory: u64,
    pub(super) console: Console<'a>,
    pub(super) meter: Meter,
}

/// Reads the archive in `source`. Damage is a part of what is read, and any other failure is an error.
pub(super) fn collect(source: Source, reading: Reading<'_>) -> Result<Contents> {
    let threads = reading.threads.map_or_else(default_threads, usize::from);
    let mut raw = Raw::default();
    let table = Table::new(reading.hash, reading.memory);
    let ids = table.ids();
    let memory = reading.memory;
    let (mut collector, form, outcome) = thread::scope(|scope| {
        let worker = || {
            let ids = Arc::clone(&ids);
            move |jobs: Receiver<Job>| jobs.iter().for_each(|job| job.run(&ids))
        };
        let mut collector = Collector {
            table,
            workers: Some(Workers::start(scope, threads.saturating_sub(1), worker)),
            ids: Arc::clone(&ids),
            raw: raw.clone(),
            tar: TarForm::default(),
            comment: None,
            clues: Clues::default(),
            base: None,
            doubts: Vec::new(),
            reading,
        };
        let (form, outcome) = unarchive::read(source, memory, &mut raw, &mut collector);
        collector.workers = None;
        (collector, form, outcome)
    });
    collector.show(true);
    collector.table.sort();
    collector.clues.settle(&mut collector.table);
    let damage = match outcome {
        Err(error) if error.exit_status() != DAMAGED => return Err(error),
        outcome => outcome.err(),
    };
    Ok(Contents {
        table: collector.table,
        form,
        raw,
        tar: collector.tar,
        comment: collector.comment,
        clues: collector.clues,
        base: collector.base,
        doubts: collector.doubts,
        damage,
    })
}

/// The exit status of damage, after which what was read before still counts.
pub(super) const DAMAGED: u8 = 11;

struct Collector<'a> {
    table: Table,
    workers: Option<Workers<Job, ()>>,
    ids: Arc<Ids>,
    raw: Raw,
    tar: TarForm,
    comment: Option<ObjectId>,
    clues: Clues,
    base: Option<String>,
    doubts: Vec<Doubt>,
    reading: Reading<'a>,
}

/// A content to be hashed.
struct Job {
    number: usize,
    hash: HashKind,
    content: Vec<u8>,
}

impl Job {
    fn run(self, ids: &Ids) {
        ids.set(self.number, content_ids(self.hash, &self.content));
    }
}

/// The id of the blob `content`, and the id that it has as a text each line of which ends in `\n`. With a collision attack in it, a
/// content has no id and is equal to nothing.
pub(super) fn content_ids(hash: HashKind, content: &[u8]) -> ContentIds {
    let id = |content: &[u8]| {
        let mut hasher = blob(hash, content.len() as u64);
        hasher.update(content);
        hasher.try_finalize().ok()
    };
    let own = id(content);
    let is_other = content.contains_str("\r\n") && !content.contains(&0);
    let text = is_other.then(|| id(&content.replace("\r\n", "\n")));
    (own, text.unwrap_or(own))
}

/// The ids of a `content` of `size` bytes that is too large to be held. Calls `show` after each piece.
pub(super) fn streamed_ids(
    hash: HashKind,
    size: u64,
    content: &mut dyn Read,
    mut show: impl FnMut(),
) -> Result<ContentIds> {
    let mut hasher = blob(hash, size);
    each_piece(content, &mut vec![0; 128 << 10], unreadable, |piece| {
        hasher.update(piece);
        show();
        Ok(())
    })?;
    let own = hasher.try_finalize().ok();
    Ok((own, own))
}

/// A hasher of a blob of `size` bytes.
fn blob(hash: HashKind, size: u64) -> Hasher {
    let mut hasher = hasher(hash);
    hasher.update(format!("blob {size}\0").as_bytes());
    hasher
}

impl Collector<'_> {
    /// Hashes the content of the file of this `number` at `path`, of `size` bytes.
    fn hash(
        &mut self,
        number: usize,
        size: u64,
        path: &[u8],
        content: &mut dyn Read,
    ) -> Result<()> {
        let hash = self.reading.hash;
        if size <= SMALL {
            let mut bytes = Vec::with_capacity(size as usize);
            content
                .take(size)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            let job = Job {
                number,
                hash,
                content: bytes,
            };
            self.clues.take(path, &job.content);
            let refused = match &self.workers {
                Some(workers) => workers.offer(job).err(),
                None => Some(job),
            };
            if let Some(job) = refused {
                job.run(&self.ids);
            }
            return Ok(());
        }
        let ids = streamed_ids(hash, size, content, || self.show(false))?;
        self.ids.set(number, ids);
        Ok(())
    }

    fn show(&mut self, is_end: bool) {
        let done = Done {
            bytes: self.raw.len(),
            entries: Some(self.table.len() as u64),
        };
        let Reading { console, meter, .. } = &mut self.reading;
        if is_end {
            console.finish(meter, done)
        } else {
            console.update(meter, done)
        }
    }
}

impl Visitor for Collector<'_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        let path = clean(item.path);
        // The directory of all others.
        if path.is_empty() && item.kind == Kind::Directory {
            return Ok(());
        }
        if let Some(header) = item.header {
            self.tar.add(item, header);
        }
        let number = self.table.push(&path, item)?;
        match item.kind {
            Kind::File => {
                let hashed = self.hash(number, item.size, &path, content);
                // A file that is cut is not one that differs.
                hashed.inspect_err(|_| self.table.pop())?;
            }
            Kind::Symlink => Job {
                number,
                hash: self.reading.hash,
                content: item.link.to_vec(),
            }
            .run(&self.ids),
            Kind::HardLink | Kind::Directory | Kind::Special => {}
        }
        self.show(false);
        Ok(())
    }

    fn doubt(&mut self, path: &[u8], reason: &'static str) -> Result<()> {
        self.table.charge(path.len() + size_of::<Doubt>())?;
        self.doubts.push(Doubt {
            path: clean(path),
            reason,
        });
        Ok(())
    }

    fn comment(&mut self, comment: &[u8]) {
        let id = ObjectId::from_hex(comment).ok();
        self.comment = self.comment.or(id);
    }

    fn base(&mut self, base: &[u8]) {
        self.base = Some(base.to_str_lossy().into_owned());
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.tar.frame(bytes);
    }
}
