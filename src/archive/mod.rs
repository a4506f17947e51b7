//! Where plan, decode and emit meet: a job becomes a piece of an archive.
//!
//! Every entry is decoded straight behind its own header, so that a job's output is written as it
//! is. What is larger than a job may hold is left to the writer, which streams it in its turn: see
//! `large`.

mod entry;
mod extra;
mod large;
mod writer;

use std::sync::Arc;

use crate::{
    buffer::Buffer,
    convert::Converter,
    decode::{Decoder, Failure, chain::Allowance},
    emit::{Format, Part, Records},
    error::Result,
    filter::Disposition,
    odb::{self, pack::Damage},
    pipeline::{Sink, Worker},
    plan::{Job, Locators, Terms, Window, extra::Extra},
    report::Counts,
};
use large::{Attempt, cut};

pub use writer::Writer;

/// The object is in no place that was looked into.
const MISSING: Damage = Damage("object does not exist");

/// A piece of the archive on its way to the writer.
#[derive(Default)]
pub struct Piece<R> {
    /// Archive bytes.
    part: Part<R>,
    /// What is to be said on stderr before they are written.
    log: Buffer,
    /// Lines of the manifest, if there is one.
    manifest: Buffer,
    counts: Counts,
}

/// How far a piece was filled.
#[derive(Clone, Copy, Default)]
struct Mark {
    bytes: usize,
    records: usize,
    log: usize,
}

impl<R: Records> Piece<R> {
    fn mark(&self) -> Mark {
        Mark {
            bytes: self.part.bytes.len(),
            records: self.part.records.mark(),
            log: self.log.len(),
        }
    }

    /// Forget what came after `mark`.
    fn truncate(&mut self, mark: Mark) {
        self.truncate_part(mark);
        self.log.truncate(mark.log);
    }

    /// The same, but what was said remains said.
    fn truncate_part(&mut self, mark: Mark) {
        self.part.bytes.truncate(mark.bytes);
        self.part.records.truncate(mark.records);
    }

    fn clear(&mut self) {
        self.part.bytes.clear();
        self.part.records.truncate(0);
        self.log.clear();
        self.manifest.clear();
        self.counts = Counts::default();
    }
}

/// Turns jobs into pieces.
pub struct Archiver<F> {
    /// The format.
    pub format: F,
    /// Say where the blobs are.
    pub locators: Locators,
    /// Where to look when an object is not where the plan says.
    pub odb: odb::Config,
    /// Files that are in no tree.
    pub extras: Arc<[Extra]>,
    /// Objects above this many bytes are streamed.
    pub in_memory: u64,
    /// `core.bigFileThreshold`: larger files are not converted.
    pub big_file: u64,
    /// What is wanted of the blobs.
    pub terms: Arc<Terms>,
    /// Whether size, reason and id of entries are noted in the archive.
    pub pax_notes: bool,
    /// Whether not all that is in a directory may be known.
    pub discreet: bool,
    /// Whether git would have looked for all blobs before its first byte.
    pub verified: bool,
    /// Whether lines of a manifest are wanted.
    pub manifest: bool,
    /// Does what attributes ask for.
    pub converter: Converter,
    /// What decoded delta bases may hold together.
    pub allowance: Arc<Allowance>,
    /// Bytes of any scratch buffer that a thread holds between two jobs.
    pub scratch_max: usize,
    /// Whether the names of entries are told.
    pub verbose: bool,
}

/// What one thread needs.
pub struct Scratch<F: Format> {
    decoder: Decoder,
    /// Content that is not archived as it is: link targets, files to be converted.
    content: Buffer,
    format: F::Scratch,
}

impl<F: Format> Scratch<F> {
    /// Give back what large objects left behind.
    fn trim(&mut self, max: usize) {
        self.decoder.trim(max);
        if self.content.capacity() > max {
            self.content = Buffer::default();
        }
    }
}

impl<F: Format> Worker for Archiver<F> {
    type Batch = Window;
    type Job = Job;
    type Output = Piece<F::Records>;
    type Scratch = Scratch<F>;

    fn scratch(&self) -> Scratch<F> {
        Scratch {
            decoder: Decoder::new(Arc::clone(&self.allowance)),
            content: Buffer::default(),
            format: F::Scratch::default(),
        }
    }

    fn split(&self, window: Window) -> Result<Vec<Job>> {
        self.locators.jobs(window)
    }

    fn all_split(&self) {
        self.locators.done();
    }

    fn cost(&self, job: &Job) -> usize {
        let bytes = (job.output + job.names + job.scratch).min(8 * self.in_memory);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn held(&self, piece: &Piece<F::Records>) -> usize {
        let texts = piece.log.capacity() + piece.manifest.capacity();
        piece.part.bytes.capacity() + piece.part.records.capacity() + texts
    }

    fn len(&self, piece: &Piece<F::Records>) -> usize {
        piece.part.bytes.len()
    }

    fn work(
        &self,
        scratch: &mut Scratch<F>,
        job: Job,
        piece: &mut Piece<F::Records>,
    ) -> Result<Option<Job>> {
        if job
            .entries()
            .iter()
            .any(|entry| entry.treatment.is_ordered())
        {
            return Ok(Some(job));
        }
        let estimate = job.output.min(self.in_memory) as usize;
        // Room for an estimate that is a little low: growing later would copy and zero.
        piece.part.bytes.reserve(estimate + estimate / 4);
        // Estimates may be wrong, above all those of deltas: twice is fine, much more is not.
        let limit = 2 * estimate;
        for (at, entry) in job.entries().iter().enumerate() {
            let mark = piece.mark();
            self.tell(&job.window, entry, &mut piece.log);
            let outcome = match mark.bytes > limit {
                true => Err(Failure::TooLarge),
                false => self.entry(scratch, &job.window, entry, self.in_memory, piece),
            };
            match outcome {
                Ok(Disposition::Omitted(_)) if !entry.is_omitted() => piece.log.truncate(mark.log),
                Ok(_) => {}
                Err(Failure::TooLarge) => {
                    piece.truncate(mark);
                    let range = job.range.start + at..job.range.end;
                    return Ok(Some(Job { range, ..job }));
                }
                Err(failure) => {
                    piece.part.bytes.truncate(mark.bytes);
                    return Err(self.cannot_read(entry, job.window.path(entry), failure));
                }
            }
        }
        piece.log.extend(job.last_words());
        scratch.trim(self.scratch_max);
        Ok(None)
    }

    fn finish(
        &self,
        scratch: &mut Scratch<F>,
        rest: Job,
        sink: &mut dyn Sink<Piece<F::Records>>,
    ) -> Result<()> {
        let mut piece = Piece::default();
        for entry in rest.entries() {
            let window = &rest.window;
            self.tell(window, entry, &mut piece.log);
            if self.terms.policy.binary.is_none() {
                // At once, since a filter may have something to say as well.
                sink.write(&mut piece)?;
            }
            let outcome = match self.entry(scratch, window, entry, self.in_memory, &mut piece) {
                Err(Failure::TooLarge) => {
                    piece.truncate_part(Mark::default());
                    self.large_entry(scratch, window, entry, &mut piece, sink)
                }
                outcome => outcome.map_err(Attempt::Untouched),
            };
            match outcome {
                Ok(Disposition::Omitted(_)) if !entry.is_omitted() => piece.log.clear(),
                Ok(_) => {}
                Err(Attempt::Begun(failure)) => return Err(cut(entry, failure)),
                Err(Attempt::Untouched(failure)) => {
                    piece.truncate_part(Mark::default());
                    sink.write(&mut piece)?;
                    sink.abandon(&mut piece);
                    return Err(self.cannot_read(entry, window.path(entry), failure));
                }
            }
            sink.write(&mut piece)?;
        }
        if !rest.last_words().is_empty() {
            piece.log.extend(rest.last_words());
            sink.write(&mut piece)?;
        }
        scratch.trim(self.scratch_max);
        Ok(())
    }
}
