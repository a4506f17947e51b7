//! Writes pieces to the destination and messages to stderr, all in order.

use std::io::Write;

use super::{archiver::Piece, donor::DonorIndex};
use crate::{
    filter::OmissionReason,
    output::report::{Counts, Manifest},
    request::Limits,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
    pipeline::Sink,
    progress::{Console, Done, Meter},
};
use sluice_format::{Format, Part};
use sluice_git::convert::Shareable;

/// The warning about files that are not in the repository: the archive lacks them or has them empty.
fn missing(counts: &Counts) -> Option<String> {
    let count = |numbers: &[u64]| numbers[OmissionReason::Missing as usize];
    let (replaced, omitted) = (count(&counts.placeholders), count(&counts.omitted));
    let what = match replaced + omitted {
        0 => return None,
        1 => "file is",
        _ => "files are",
    };
    let instead = match omitted {
        0 => "sent as placeholders",
        _ => "left out",
    };
    let total = replaced + omitted;
    Some(format!(
        "warning: {total} {what} not in the repository and {instead}\n"
    ))
}

/// Writes pieces to their destination.
pub struct ArchiveWriter<'a, F: Format> {
    destination: &'a mut (dyn Write + Send),
    console: Console<'a>,
    format: &'a F,
    /// Taken at the end.
    directory: Option<F::Directory>,
    /// The bytes before the first piece, until they are written.
    head: Option<Buffer>,
    written: u64,
    /// Whether the archive ends inside an entry.
    torn: bool,
    manifest: Option<Manifest>,
    counts: Counts,
    index: DonorIndex,
    meter: Meter,
    shareable: Shareable,
    /// Once the archive is over one of them, it ends inside an entry.
    pub(super) limits: Limits,
}

impl<'a, F: Format> ArchiveWriter<'a, F> {
    /// Write to `destination`, with a line for each entry to `manifest` and messages to `console`.
    pub fn new(
        destination: &'a mut (dyn Write + Send),
        console: Console<'a>,
        format: &'a F,
        manifest: Option<Manifest>,
        meter: Meter,
        shareable: Shareable,
    ) -> Self {
        let mut head = Buffer::default();
        format.head(&mut head);
        Self {
            destination,
            console,
            format,
            directory: Some(format.empty_directory()),
            head: Some(head),
            written: 0,
            torn: false,
            manifest,
            counts: Counts::default(),
            index: DonorIndex::new(0),
            meter,
            shareable,
            limits: Limits::default(),
        }
    }

    /// Index the files that the next archive can copy, in at most `max` bytes.
    pub fn index_files(&mut self, max: usize) {
        self.index = DonorIndex::new(max);
    }

    /// Begin at byte `position` of the archive, before which all is left out.
    pub fn begin_at(&mut self, position: u64) {
        self.head = None;
        self.written = position;
    }

    /// Shows how much is written. The first call starts the clock.
    pub fn show_progress(&mut self) {
        let done = self.done();
        self.console.update(&mut self.meter, done);
    }

    /// End the archive.
    pub fn finish(&mut self) -> Result<()> {
        self.begin()?;
        if let Some(directory) = self.directory.take() {
            let (format, written) = (self.format, self.written);
            format.end(directory, written, &mut |bytes| self.put(bytes))?;
        }
        let done = self.done();
        self.console.finish(&mut self.meter, done);
        if let Some(warning) = missing(&self.counts) {
            self.say(warning.as_bytes());
        }
        Ok(())
    }

    /// The counts, the index of the files that the next archive can copy, and the manifest without its last line: only the caller
    /// knows that the archive has arrived.
    pub fn into_stats(self) -> (Counts, Vec<u8>, Option<Manifest>) {
        (self.counts, self.index.into_bytes(), self.manifest)
    }

    /// Write the bytes before the first entry, unless they are written.
    fn begin(&mut self) -> Result<()> {
        let Some(head) = self.head.take() else {
            return Ok(());
        };
        self.put(&head)?;
        let format = self.format;
        format.preface(&mut |bytes| self.put(bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.destination
            .write_all(bytes)
            .map_err(|error| Error::write(&error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// End the written entries inside another one, so that no reader takes the archive for complete.
    fn truncate(&mut self) {
        if self.written == 0 || std::mem::replace(&mut self.torn, true) {
            return;
        }
        self.shareable.withdraw();
        let mut torn = Buffer::default();
        self.format.torn(&mut torn);
        // The run fails anyway, with a more precise error.
        let _ = self.put(&torn);
    }

    fn done(&self) -> Done {
        Done {
            bytes: self.written,
            entries: Some(self.counts.entries),
        }
    }

    /// Write diagnostics. A failed write is ignored.
    fn say(&mut self, log: &[u8]) {
        if !log.is_empty() {
            self.shareable.withdraw();
            let _ = self.console.write_all(log);
        }
    }
}

impl<F: Format> Sink<Piece<F::Records>> for ArchiveWriter<'_, F> {
    fn write(&mut self, piece: &mut Piece<F::Records>) -> Result<()> {
        if !self.torn
            && let Err(error) = self.limits.refuse(self.written, self.counts.entries)
        {
            self.truncate();
            return Err(error);
        }
        self.say(&piece.log);
        let Part { bytes, records } = &mut piece.part;
        if !bytes.is_empty() {
            self.begin()?;
        }
        let start = self.written;
        if !bytes.is_empty() {
            if let Some(directory) = &mut self.directory
                && let Err(error) = self.format.place(directory, records, start)
            {
                self.truncate();
                return Err(error);
            }
            self.put(bytes)?;
        }
        if let Some(manifest) = &mut self.manifest
            && let Err(error) = manifest.write_lines(&piece.manifest, start)
        {
            self.truncate();
            return Err(error);
        }
        self.index.add(&piece.donations, start);
        self.counts += piece.counts;
        self.show_progress();
        piece.clear();
        Ok(())
    }

    fn abandon(&mut self, piece: &mut Piece<F::Records>) {
        if self.written == 0 {
            return self.say(&piece.log);
        }
        self.shareable.withdraw();
        self.format.torn(&mut piece.part.bytes);
        self.torn = true;
        // The run fails anyway, with a more precise error.
        let _ = self.write(piece);
    }
}
