//! Where plan, decode and emit meet: a job becomes a piece of a tar archive.
//!
//! Every entry is decoded straight behind its own header, so that a job's output is written as it
//! is. What is larger than a job may hold is left to the writer, which streams it in its turn.

use std::sync::Arc;

use crate::{
    buffer::Buffer,
    decode::{
        Decoder, Failure,
        chain::{Allowance, ChainBuilder, Chains, NodeId},
        convert::convert,
        rescue, stream,
    },
    emit::{Kind, Member, tar::Tar},
    error::{Error, Result},
    odb::{self, Odb, Place, loose, pack::Damage},
    pipeline::{Sink, Worker},
    plan::{Blob, Entry, Job, Window},
    progress::Meter,
};

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
    /// What decoded delta bases may hold together.
    pub allowance: Arc<Allowance>,
    /// Whether the names of entries are told.
    pub verbose: bool,
}

/// What one thread needs.
pub struct Scratch {
    decoder: Decoder,
    /// Content that is not archived as it is: link targets, files to be converted.
    content: Buffer,
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
        let estimate = job.output.min(self.in_memory) as usize;
        piece.bytes.reserve(estimate);
        // Estimates may be wrong, above all those of deltas: twice is fine, much more is not.
        let limit = 2 * estimate;
        for (at, entry) in job.entries().iter().enumerate() {
            let (start, logged) = (piece.bytes.len(), piece.log.len());
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
        scratch.decoder.trim();
        Ok(None)
    }

    fn finish(&self, scratch: &mut Scratch, rest: Job, sink: &mut dyn Sink<Piece>) -> Result<()> {
        let mut piece = Piece::default();
        for entry in rest.entries() {
            let window = &rest.window;
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
                    piece.clear();
                    sink.abandon(&mut piece);
                    return Err(self.cannot_read(entry, window.path(entry), failure));
                }
            }
            piece.entries += 1;
            sink.write(&mut piece)?;
        }
        scratch.decoder.trim();
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
        self.tell(&member, piece);
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
                    self.convert(entry, content, out);
                }
                self.tar.close(open, out);
            }
        }
        Ok(())
    }

    fn tell(&self, member: &Member<'_>, piece: &mut Piece) {
        if self.verbose {
            piece.log.extend(member.name);
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

    fn convert(&self, entry: &Entry, content: &Buffer, out: &mut Buffer) {
        if content.len() as u64 > self.big_file {
            return out.extend(content);
        }
        let id = self.odb.replaced(&entry.id).to_hex().to_string();
        convert(entry.treatment, &id, content, out);
    }

    /// Write a file that is too large for a job, without ever holding all of it.
    fn large_entry(
        &self,
        scratch: &mut Scratch,
        window: &Window,
        entry: &Entry,
        piece: &mut Piece,
        sink: &mut dyn Sink<Piece>,
    ) -> Result<(), Failure> {
        let converted = !entry.treatment.is_none() && entry.kind != Kind::Symlink;
        if converted || entry.kind == Kind::Symlink {
            // Conversion looks at the whole; what git converts in memory, so do we.
            let outcome = self.entry(scratch, window, entry, self.big_file, piece);
            if !matches!(outcome, Err(Failure::TooLarge)) {
                return outcome;
            }
            piece.clear();
        }
        let id = self.odb.replaced(&entry.id);
        let mut output = Output {
            archiver: self,
            member: member(window, entry),
            piece,
            sink,
        };
        let planned = match entry.blob {
            Blob::Packed(node) => output.packed(&window.chains, node),
            Blob::Loose(dir) => output.loose(&self.odb.loose_path(dir, &id)),
            Blob::None | Blob::Unknown => Err(Attempt::Untouched(MISSING.into())),
        };
        let mut failure = match planned {
            Ok(()) => return Ok(()),
            Err(Attempt::Begun(failure)) => return Err(Failure::Taker(cut(entry, failure))),
            Err(Attempt::Untouched(failure)) => failure,
        };
        let mut odb = Odb::open(self.odb.clone());
        for place in odb.copies(&id) {
            let attempt = match place {
                Place::Loose(dir) => output.loose(&self.odb.loose_path(dir, &id)),
                Place::Packed(pack, offset) => {
                    let mut chains = ChainBuilder::default();
                    match chains.add(&mut odb, pack, offset) {
                        Ok(node) => output.packed(&chains.finish(), node),
                        Err(damage) => Err(Attempt::Untouched(damage.into())),
                    }
                }
            };
            match attempt {
                Ok(()) => return Ok(()),
                Err(Attempt::Begun(failure)) => return Err(Failure::Taker(cut(entry, failure))),
                Err(Attempt::Untouched(next)) => failure = next,
            }
        }
        Err(failure)
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

/// How far an attempt to stream an object came before it failed.
enum Attempt {
    /// Nothing was written: another copy may serve.
    Untouched(Failure),
    /// The archive is cut inside of this entry.
    Begun(Failure),
}

/// Writes one large file.
struct Output<'a> {
    archiver: &'a Archiver,
    member: Member<'a>,
    piece: &'a mut Piece,
    sink: &'a mut dyn Sink<Piece>,
}

impl Output<'_> {
    fn packed(&mut self, chains: &Chains, node: NodeId) -> Result<(), Attempt> {
        let size = stream::size(chains, node).map_err(Attempt::Untouched)?;
        self.file(size, |taker| stream::packed(chains, node, taker))
    }

    fn loose(&mut self, path: &std::path::Path) -> Result<(), Attempt> {
        let mut reader = loose::Reader::default();
        let opened = reader
            .open(path)
            .map_err(|error| Attempt::Untouched(error.into()))?;
        self.file(opened.size, |taker| opened.stream(taker))
    }

    fn file(
        &mut self,
        size: u64,
        content: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure>,
    ) -> Result<(), Attempt> {
        let Self {
            archiver,
            member,
            piece,
            sink,
        } = self;
        archiver.tell(member, piece);
        archiver.tar.file(member, size, &mut piece.bytes);
        let mut total = 0;
        content(&mut |bytes| {
            total += bytes.len() as u64;
            piece.bytes.extend(bytes);
            Ok(sink.write(piece)?)
        })
        .map_err(Attempt::Begun)?;
        if total != size {
            return Err(Attempt::Begun(
                Damage("object has another size than it claims").into(),
            ));
        }
        archiver.tar.pad(size, &mut piece.bytes);
        Ok(())
    }
}

/// The archive ends inside of `entry`; what the destination says goes first.
fn cut(entry: &Entry, failure: Failure) -> Error {
    match failure {
        Failure::Taker(error) => error,
        failure => Error::entry(format!("cannot stream blob {}", entry.id)).caused_by(failure),
    }
}

fn member<'a>(window: &'a Window, entry: &'a Entry) -> Member<'a> {
    Member {
        name: window.path(entry),
        kind: entry.kind,
        id: entry.id.as_bytes(),
    }
}

/// A path as it may be shown on a terminal.
fn sanitised(path: &[u8]) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    String::from_utf8_lossy(path)
        .chars()
        .map(printable)
        .collect()
}

/// Writes pieces to their destination.
pub struct Writer<'a> {
    destination: &'a mut (dyn std::io::Write + Send),
    diagnostics: &'a mut (dyn std::io::Write + Send),
    tar: &'a Tar,
    /// What comes before the first piece; nothing is written as long as there is none.
    head: Option<Buffer>,
    written: u64,
    entries: u64,
    meter: Option<Meter>,
}

impl<'a> Writer<'a> {
    /// Write to `destination` what begins with `head`, and say what is to be said to `diagnostics`.
    pub fn new(
        destination: &'a mut (dyn std::io::Write + Send),
        diagnostics: &'a mut (dyn std::io::Write + Send),
        tar: &'a Tar,
        head: Buffer,
        meter: Option<Meter>,
    ) -> Self {
        Self {
            destination,
            diagnostics,
            tar,
            head: Some(head),
            written: 0,
            entries: 0,
            meter,
        }
    }

    /// End the archive.
    pub fn finish(mut self) -> Result<()> {
        self.put(&[])?;
        let mut end = Buffer::default();
        self.tar.end(self.written, &mut end);
        self.put(&end)?;
        if let Some(meter) = &mut self.meter {
            meter.finish(self.diagnostics, self.entries, self.written);
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let head = self.head.take().unwrap_or_default();
        for bytes in [&head[..], bytes] {
            self.destination
                .write_all(bytes)
                .map_err(|error| Error::write(&error))?;
            self.written += bytes.len() as u64;
        }
        Ok(())
    }

    /// As for git, a reader of stderr that went away is no reason to fail.
    fn say(&mut self, log: &[u8]) {
        if !log.is_empty() {
            let _ = self.diagnostics.write_all(log);
        }
    }
}

impl Sink<Piece> for Writer<'_> {
    fn write(&mut self, piece: &mut Piece) -> Result<()> {
        self.say(&piece.log);
        if !piece.bytes.is_empty() {
            self.put(&piece.bytes)?;
        }
        self.entries += piece.entries;
        if let Some(meter) = &mut self.meter {
            meter.update(self.diagnostics, self.entries, self.written);
        }
        piece.clear();
        Ok(())
    }

    fn abandon(&mut self, piece: &mut Piece) {
        if self.written == 0 {
            return;
        }
        self.tar.torn(&mut piece.bytes);
        // The run fails anyway, with an error that says more.
        let _ = self.write(piece);
    }
}
