//! Takes the entries of an archive and computes the ids that git would give their contents, on all processors.
//!
//! No content is kept: small files are hashed by threads, large ones as they are read.

use std::{io::Read, sync::Arc, thread};

use bstr::ByteSlice;
use crossbeam_channel::Receiver;
use gix_hash::ObjectId;

use super::{
    form::TarForm,
    ids::{Ids, SMALL},
    package::Clues,
    table::{Table, clean},
};
use sluice_base::{
    error::{Error, Result},
    pipeline::default_threads,
    progress::{Console, Done, Meter},
    threads::Workers,
};
use sluice_format::unarchive::{self, Form, Item, Kind, Raw, Source, Visitor, unreadable};

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

impl Contents {
    fn add_doubt(&mut self, doubt: Doubt) -> Result<()> {
        self.table.charge(doubt.path.len() + size_of::<Doubt>())?;
        self.doubts.push(doubt);
        Ok(())
    }
}

/// How an archive is read.
pub(super) struct Reading<'a> {
    pub(super) threads: Option<u16>,
    /// The limit of a zip in a stream, in bytes.
    pub(super) memory: u64,
    pub(super) console: Console<'a>,
    pub(super) meter: Meter,
}

/// Reads the archive in `source` into an empty `table`. Damage is a part of what is read, and any other failure is an error.
pub(super) fn collect(source: Source, table: Table, reading: Reading<'_>) -> Result<Contents> {
    let threads = reading.threads.map_or_else(default_threads, usize::from);
    let (ids, raw) = (Arc::clone(&table.ids), Raw::default());
    let contents = Contents {
        table,
        form: Form::Tar(None),
        raw: raw.clone(),
        tar: TarForm::default(),
        comment: None,
        clues: Clues::default(),
        base: None,
        doubts: Vec::new(),
        damage: None,
    };
    let (mut contents, outcome) = thread::scope(|scope| {
        let worker = || {
            let ids = Arc::clone(&ids);
            move |jobs: Receiver<Job>| jobs.iter().for_each(|job| job.run(&ids))
        };
        let workers = Workers::start(scope, threads.saturating_sub(1), worker);
        let memory = reading.memory;
        let mut collector = Collector {
            contents,
            workers,
            reading,
        };
        let (form, outcome) = unarchive::read(source, memory, &raw, &mut collector);
        collector.show(true);
        collector.contents.form = form;
        (collector.contents, outcome)
    });
    let doubts = contents.table.sort();
    // Nobody extracts a directory.
    if contents.form != Form::Directory {
        for (number, reason) in doubts {
            let path = contents.table.path(number).to_vec();
            contents.add_doubt(Doubt { path, reason })?;
        }
    }
    contents.clues.settle(&mut contents.table);
    contents.damage = match outcome {
        Err(error) if error.exit_status() != DAMAGED => return Err(error),
        outcome => outcome.err(),
    };
    Ok(contents)
}

/// The exit status of damage, after which what was read before still counts.
pub(super) const DAMAGED: u8 = 11;

struct Collector<'a> {
    contents: Contents,
    workers: Workers<Job, ()>,
    reading: Reading<'a>,
}

/// The content of the entry of this number, to be hashed.
struct Job(usize, Vec<u8>);

impl Job {
    fn run(self, ids: &Ids) {
        ids.set(self.0, ids.of(&self.1));
    }
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
        let ids = Arc::clone(&self.contents.table.ids);
        if size > SMALL {
            ids.set(number, ids.of_stream(size, content, || self.show(false))?);
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(size as usize);
        let read = content.take(size).read_to_end(&mut bytes);
        read.map_err(unreadable)?;
        self.contents.clues.take(path, &bytes);
        if let Err(job) = self.workers.offer(Job(number, bytes)) {
            job.run(&ids);
        }
        Ok(())
    }

    fn show(&mut self, is_end: bool) {
        let done = Done {
            bytes: self.contents.raw.size(),
            entries: Some(self.contents.table.len() as u64),
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
            self.contents.tar.add(item, header);
        }
        let number = self.contents.table.push(&path, item)?;
        match item.kind {
            Kind::File => {
                let hashed = self.hash(number, item.size, &path, content);
                // A file that is cut is not one that differs.
                hashed.inspect_err(|_| self.contents.table.pop())?;
            }
            Kind::Symlink => Job(number, item.link.to_vec()).run(&self.contents.table.ids),
            Kind::HardLink | Kind::Directory | Kind::Special => {}
        }
        self.show(false);
        Ok(())
    }

    fn doubt(&mut self, path: &[u8], reason: &'static str) -> Result<()> {
        let path = clean(path);
        self.contents.add_doubt(Doubt { path, reason })
    }

    fn comment(&mut self, comment: &[u8]) {
        let id = ObjectId::from_hex(comment).ok();
        self.contents.comment = self.contents.comment.or(id);
    }

    fn base(&mut self, base: &[u8]) {
        self.contents.base = Some(base.to_str_lossy().into_owned());
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.contents.tar.frame(bytes);
    }
}
