//! Where plan, decode and emit meet: a job becomes a piece of an archive.
//!
//! Every entry is decoded straight behind its own header, so that a job's output is written as it
//! is. What is larger than a job may hold is left to the writer, which streams it in its turn: see
//! `large`.

mod extra;
mod large;
mod writer;

use std::sync::Arc;

use gix::bstr::ByteSlice;

use crate::{
    buffer::Buffer,
    convert::{self, Converter},
    decode::{Decoder, Failure, chain::Allowance, rescue},
    emit::{Format, Kind, Layout, Member, Part, Records},
    error::{Error, Result, sanitised},
    odb::{self, pack::Damage},
    pipeline::{Sink, Worker},
    plan::{Blob, Entry, Job, Window, extra::Extra},
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
    entries: u64,
}

/// How far a piece was filled.
#[derive(Clone, Copy)]
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
        self.part.bytes.truncate(mark.bytes);
        self.part.records.truncate(mark.records);
        self.log.truncate(mark.log);
    }

    fn clear(&mut self) {
        self.part.bytes.clear();
        self.part.records.truncate(0);
        self.log.clear();
        self.entries = 0;
    }
}

/// Turns jobs into pieces.
pub struct Archiver<F> {
    /// The format.
    pub format: F,
    /// Where to look when an object is not where the plan says.
    pub odb: odb::Config,
    /// Files that are in no tree.
    pub extras: Arc<[Extra]>,
    /// Objects above this many bytes are streamed.
    pub in_memory: u64,
    /// `core.bigFileThreshold`: larger files are not converted.
    pub big_file: u64,
    /// Does what attributes ask for.
    pub converter: Converter,
    /// The length of what is in front of every path.
    pub prefix_len: usize,
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

    fn cost(&self, job: &Job) -> usize {
        (job.output + job.scratch).min(8 * self.in_memory) as usize
    }

    fn held(&self, piece: &Piece<F::Records>) -> usize {
        piece.part.bytes.capacity() + piece.part.records.capacity() + piece.log.capacity()
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
                Ok(()) => piece.entries += 1,
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
            // At once, since a filter may have something to say as well.
            self.tell(window, entry, &mut piece.log);
            sink.write(&mut piece)?;
            let outcome = match self.entry(scratch, window, entry, self.in_memory, &mut piece) {
                Err(Failure::TooLarge) => {
                    piece.clear();
                    self.large_entry(scratch, window, entry, &mut piece, sink)
                }
                outcome => outcome.map_err(Attempt::Untouched),
            };
            match outcome {
                Ok(()) => {}
                Err(Attempt::Begun(failure)) => return Err(cut(entry, failure)),
                Err(Attempt::Untouched(failure)) => {
                    piece.part.bytes.clear();
                    piece.part.records.truncate(0);
                    sink.write(&mut piece)?;
                    sink.abandon(&mut piece);
                    return Err(self.cannot_read(entry, window.path(entry), failure));
                }
            }
            piece.entries += 1;
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

impl<F: Format> Archiver<F> {
    /// Append one whole entry to `piece`, or nothing that counts if it is too large.
    fn entry(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        limit: u64,
        piece: &mut Piece<F::Records>,
    ) -> Result<(), Failure> {
        let member = member(window, entry);
        let Scratch {
            decoder,
            content,
            format,
        } = scratch;
        let Piece { part, log, .. } = piece;
        match entry.kind {
            Kind::Directory => {
                self.format.check(&member, log)?;
                self.format.directory(&member, part);
            }
            Kind::Symlink => {
                content.clear();
                self.decode(decoder, window, entry, limit, content)?;
                self.format.check(&member, log)?;
                self.format.symlink(&member, content, part);
            }
            Kind::File | Kind::Executable => {
                let begun = self.format.begin_file(&member, part);
                let stored = if entry.treatment.is_none() {
                    let start = part.bytes.len();
                    self.decode(decoder, window, entry, limit, &mut part.bytes)?;
                    part.bytes.len() - start
                } else {
                    content.clear();
                    self.decode(decoder, window, entry, limit, content)?;
                    self.convert(window, entry, content, &mut part.bytes, log)
                        .map_err(Failure::Refused)?;
                    content.len()
                };
                self.format.check(&member, log)?;
                let layout = self.layout(entry, stored as u64);
                self.format.end_file(format, begun, &member, layout, part);
            }
        }
        Ok(())
    }

    /// Whether git would stream this file of `size` bytes as it is stored.
    fn layout(&self, entry: &Entry, size: u64) -> Layout {
        let never = matches!(entry.blob, Blob::Extra(_)) || entry.treatment.substitute;
        match size > self.big_file && !never {
            true => Layout::Streamed,
            false => Layout::Whole,
        }
    }

    /// Say what is to be said of an entry before it is read.
    fn tell(&self, window: &Window, entry: &Entry, log: &mut Buffer) {
        if let Some(note) = &entry.note {
            log.extend(&note.before);
        }
        if self.verbose && !matches!(entry.blob, Blob::Extra(_)) {
            log.extend(window.path(entry));
            log.extend(b"\n");
        }
        if let Some(note) = &entry.note {
            log.extend(&note.after);
        }
    }

    /// Append the content of `entry` as it is stored to `out`.
    fn decode(
        &self,
        decoder: &mut Decoder,
        window: &Window,
        entry: &Entry,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let start = out.len();
        let outcome = match entry.blob {
            Blob::None => return Ok(()),
            Blob::Packed(node) => decoder.packed(&window.chains, node, limit, out),
            Blob::Loose(dir) => {
                let id = self.odb.replaced(&entry.id);
                decoder
                    .loose(&self.odb.loose_path(dir, &id), limit, out)
                    .map(drop)
            }
            Blob::Extra(number) => return extra::read(&self.extras[number as usize], limit, out),
            Blob::Unknown => Err(MISSING.into()),
        };
        match outcome {
            Ok(()) | Err(Failure::TooLarge) => outcome,
            Err(failure) => {
                out.truncate(start);
                let id = self.odb.replaced(&entry.id);
                rescue::copy(&self.odb, &id, limit, out, failure).map(drop)
            }
        }
    }

    fn convert(
        &self,
        window: &Window,
        entry: &Entry,
        content: &Buffer,
        out: &mut Buffer,
        log: &mut Buffer,
    ) -> Result<()> {
        if self.layout(entry, content.len() as u64) == Layout::Streamed {
            out.extend(content);
            return Ok(());
        }
        let file = convert::File {
            path: window.path(entry)[self.prefix_len..].as_bstr(),
            id: entry.id,
            stored: self.odb.replaced(&entry.id),
        };
        self.converter
            .convert(file, &entry.treatment, content, out, log)
    }

    /// The failure of a run whose `entry` cannot be read, in git's words.
    fn cannot_read(&self, entry: &Entry, path: &[u8], failure: Failure) -> Error {
        if let Failure::Taker(error) | Failure::Refused(error) = failure {
            return error;
        }
        let error = Error::entry(format!("cannot read '{}'", entry.id));
        let mode = match entry.kind {
            Kind::File => "100644",
            Kind::Executable => "100755",
            Kind::Symlink => "120000",
            Kind::Directory => "040000",
        };
        match failure {
            Failure::Damaged(MISSING) => {
                let path = sanitised(path);
                error.after(format!(
                    "error: invalid object {mode} {} for '{path}'",
                    entry.id
                ))
            }
            failure => error.caused_by(failure),
        }
    }
}

fn member<'a>(window: &'a Window, entry: &'a Entry) -> Member<'a> {
    Member {
        name: window.path(entry),
        kind: entry.kind,
        id: entry.id.as_bytes(),
        text: entry.treatment.text,
        vendor: &[],
    }
}
