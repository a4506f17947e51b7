//! Where plan, decode and emit meet: a job becomes a piece of a tar archive.
//!
//! Every entry is decoded straight behind its own header, so that a job's output is written as it
//! is. What is larger than a job may hold is left to the writer, which streams it in its turn: see
//! `large`.

mod large;
mod writer;

use std::sync::Arc;

use gix::bstr::ByteSlice;

use crate::{
    buffer::Buffer,
    convert::{self, Converter},
    decode::{Decoder, Failure, chain::Allowance, rescue},
    emit::{Kind, Member, tar::Tar},
    error::{Error, Result, sanitised},
    odb::{self, pack::Damage},
    pipeline::{Sink, Worker},
    plan::{Blob, Entry, Job, Window},
};

pub use writer::Writer;

/// The object is in no place that was looked into.
const MISSING: Damage = Damage("object does not exist");

/// A piece of the archive on its way to the writer.
#[derive(Default)]
pub struct Piece {
    /// Archive bytes.
    bytes: Buffer,
    /// What is to be said on stderr before they are written.
    log: Buffer,
    entries: u64,
}

impl Piece {
    fn clear(&mut self) {
        self.bytes.clear();
        self.log.clear();
        self.entries = 0;
    }
}

/// Turns jobs into pieces.
pub struct Archiver {
    /// The format.
    pub tar: Tar,
    /// Where to look when an object is not where the plan says.
    pub odb: odb::Config,
    /// Objects above this many bytes are streamed.
    pub in_memory: u64,
    /// `core.bigFileThreshold`: larger files are not converted.
    pub big_file: u64,
    /// Converts the others.
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
pub struct Scratch {
    decoder: Decoder,
    /// Content that is not archived as it is: link targets, files to be converted.
    content: Buffer,
}

impl Scratch {
    /// Give back what large objects left behind.
    fn trim(&mut self, max: usize) {
        self.decoder.trim(max);
        if self.content.capacity() > max {
            self.content = Buffer::default();
        }
    }
}

impl Worker for Archiver {
    type Job = Job;
    type Output = Piece;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch {
            decoder: Decoder::new(Arc::clone(&self.allowance)),
            content: Buffer::default(),
        }
    }

    fn cost(&self, job: &Job) -> usize {
        (job.output + job.scratch).min(8 * self.in_memory) as usize
    }

    fn held(&self, piece: &Piece) -> usize {
        piece.bytes.capacity() + piece.log.capacity()
    }

    fn work(&self, scratch: &mut Scratch, job: Job, piece: &mut Piece) -> Result<Option<Job>> {
        if job
            .entries()
            .iter()
            .any(|entry| entry.treatment.is_ordered())
        {
            return Ok(Some(job));
        }
        let estimate = job.output.min(self.in_memory) as usize;
        // Room for an estimate that is a little low: growing later would copy and zero.
        piece.bytes.reserve(estimate + estimate / 4);
        // Estimates may be wrong, above all those of deltas: twice is fine, much more is not.
        let limit = 2 * estimate;
        for (at, entry) in job.entries().iter().enumerate() {
            let (start, logged) = (piece.bytes.len(), piece.log.len());
            self.tell(&job.window, entry, piece);
            let outcome = match start > limit {
                true => Err(Failure::TooLarge),
                false => self.entry(scratch, &job.window, entry, self.in_memory, piece),
            };
            match outcome {
                Ok(()) => piece.entries += 1,
                Err(Failure::TooLarge) => {
                    piece.bytes.truncate(start);
                    piece.log.truncate(logged);
                    let range = job.range.start + at..job.range.end;
                    return Ok(Some(Job { range, ..job }));
                }
                Err(failure) => {
                    piece.bytes.truncate(start);
                    return Err(self.cannot_read(entry, job.window.path(entry), failure));
                }
            }
        }
        scratch.trim(self.scratch_max);
        Ok(None)
    }

    fn finish(&self, scratch: &mut Scratch, rest: Job, sink: &mut dyn Sink<Piece>) -> Result<()> {
        let mut piece = Piece::default();
        for entry in rest.entries() {
            let window = &rest.window;
            // At once, since a filter may have something to say as well.
            self.tell(window, entry, &mut piece);
            sink.write(&mut piece)?;
            let outcome = match self.entry(scratch, window, entry, self.in_memory, &mut piece) {
                Err(Failure::TooLarge) => {
                    piece.clear();
                    self.large_entry(scratch, window, entry, &mut piece, sink)
                }
                outcome => outcome,
            };
            match outcome {
                Ok(()) => {}
                Err(Failure::Taker(error)) => return Err(error),
                Err(failure) => {
                    piece.bytes.clear();
                    sink.write(&mut piece)?;
                    sink.abandon(&mut piece);
                    return Err(self.cannot_read(entry, window.path(entry), failure));
                }
            }
            piece.entries += 1;
            sink.write(&mut piece)?;
        }
        scratch.trim(self.scratch_max);
        Ok(())
    }
}

impl Archiver {
    /// Append one whole entry to `piece`, or nothing that counts if it is too large.
    fn entry(
        &self,
        scratch: &mut Scratch,
        window: &Window,
        entry: &Entry,
        limit: u64,
        piece: &mut Piece,
    ) -> Result<(), Failure> {
        let member = member(window, entry);
        let Scratch { decoder, content } = scratch;
        let out = &mut piece.bytes;
        match entry.kind {
            Kind::Directory => self.tar.directory(&member, out),
            Kind::Symlink => {
                content.clear();
                self.decode(decoder, window, entry, limit, content)?;
                self.tar.symlink(&member, content, out);
            }
            Kind::File | Kind::Executable => {
                let open = self.tar.open(&member, out);
                if entry.treatment.is_none() {
                    self.decode(decoder, window, entry, limit, out)?;
                } else {
                    content.clear();
                    self.decode(decoder, window, entry, limit, content)?;
                    self.convert(window, entry, content, out, &mut piece.log)
                        .map_err(Failure::Refused)?;
                }
                self.tar.close(open, out);
            }
        }
        Ok(())
    }

    fn tell(&self, window: &Window, entry: &Entry, piece: &mut Piece) {
        if self.verbose {
            piece.log.extend(window.path(entry));
            piece.log.extend(b"\n");
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
        let treatment = &entry.treatment;
        if content.len() as u64 > self.big_file && !treatment.substitute {
            out.extend(content);
            return Ok(());
        }
        let file = convert::File {
            path: window.path(entry)[self.prefix_len..].as_bstr(),
            id: entry.id,
            stored: self.odb.replaced(&entry.id),
        };
        self.converter.convert(file, treatment, content, out, log)
    }

    /// The failure of a run whose `entry` cannot be read, in git's words.
    fn cannot_read(&self, entry: &Entry, path: &[u8], failure: Failure) -> Error {
        let error = Error::entry(format!("cannot read '{}'", entry.id));
        let mode = match entry.kind {
            Kind::File => "100644",
            Kind::Executable => "100755",
            Kind::Symlink => "120000",
            Kind::Directory => "040000",
        };
        match failure {
            Failure::Refused(error) => error,
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
    }
}
