//! Several streams in one: each packet says which of them it belongs to.
//!
//! The streams may be written by different threads; a packet is never torn apart by another. What is
//! in them is not looked at.

use std::{
    io::{Result, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use gix_packetline::{Channel, blocking_io::encode};

/// As much as git puts into one packet.
const MAX_DATA: usize = 16384;

/// The one output below the streams.
pub struct SideBand<W> {
    shared: Mutex<Shared<W>>,
}

struct Shared<W> {
    output: W,
    /// Packets on their way, so that each write is one system call.
    packets: Vec<u8>,
}

impl<W: Write> SideBand<W> {
    /// Streams over `output`.
    pub fn new(output: W) -> Self {
        let packets = Vec::new();
        let shared = Mutex::new(Shared { output, packets });
        Self { shared }
    }

    /// What the client asked for.
    pub fn data(&self) -> Band<'_, W> {
        self.band(Channel::Data)
    }

    /// What its user is told meanwhile.
    pub fn messages(&self) -> Band<'_, W> {
        self.band(Channel::Progress)
    }

    fn band(&self, channel: Channel) -> Band<'_, W> {
        let bands = self;
        Band { bands, channel }
    }

    /// It all went well.
    pub fn finish(&self) -> Result<()> {
        let output = &mut self.lock().output;
        encode::flush_to_write(&mut *output)?;
        output.flush()
    }

    /// It did not; nothing follows.
    pub fn fail(&self, message: &str) -> Result<()> {
        self.band(Channel::Error).write_all(message.as_bytes())
    }

    fn lock(&self) -> MutexGuard<'_, Shared<W>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the streams.
pub struct Band<'a, W> {
    bands: &'a SideBand<W>,
    channel: Channel,
}

impl<W: Write> Write for Band<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut shared = self.bands.lock();
        let Shared { output, packets } = &mut *shared;
        packets.clear();
        for data in bytes.chunks(MAX_DATA) {
            encode::band_to_write(self.channel, data, &mut *packets)?;
        }
        output.write_all(packets)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.bands.lock().output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{MAX_DATA, SideBand};

    #[test]
    fn streams_are_cut_into_packets() {
        let mut output = Vec::new();
        let bands = SideBand::new(&mut output);
        bands.messages().write_all(b"hello\n").expect("memory");
        bands
            .data()
            .write_all(&[b'x'; MAX_DATA + 1])
            .expect("memory");
        bands.data().write_all(b"").expect("memory");
        bands.finish().expect("memory");
        assert!(output.starts_with(b"000b\x02hello\n4005\x01xxx"));
        assert!(output.ends_with(b"xxx0006\x01x0000"));
        assert_eq!(output.len(), 11 + 5 + MAX_DATA + 6 + 4);
    }
}
