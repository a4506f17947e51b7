//! The last station: pieces to the destination, names to stderr, all in order.

use std::io::Write;

use super::Piece;
use crate::{
    buffer::Buffer,
    emit::tar::Tar,
    error::{Error, Result},
    pipeline::Sink,
    progress::Meter,
};

/// Writes pieces to their destination.
pub struct Writer<'a> {
    destination: &'a mut (dyn Write + Send),
    diagnostics: &'a mut (dyn Write + Send),
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
        destination: &'a mut (dyn Write + Send),
        diagnostics: &'a mut (dyn Write + Send),
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
