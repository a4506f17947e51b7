//! Several streams in one: each packet says which of them it belongs to.
//!
//! The streams may be written by different threads; a packet is never torn apart by another. What is
//! in them is not looked at.

use std::{
    io::{IoSlice, Result, Write},
    sync::Arc,
};

use gix_packetline::{Channel, blocking_io::encode};

use sluice_base::{io::write_all_vectored, threads::Lock};

/// As much as `git upload-archive` puts into one packet.
pub const SMALL_PACKET: usize = 16384;
/// As much as fits into one packet of side-band-64k.
pub const LARGE_PACKET: usize = 65515;
/// Packets of one system call.
const AT_ONCE: usize = 16;

/// The one output below the streams. Clones share it.
pub struct SideBand<W> {
    shared: Arc<Lock<SharedOutput<W>>>,
    max_data: usize,
}

impl<W> Clone for SideBand<W> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            max_data: self.max_data,
        }
    }
}

struct SharedOutput<W> {
    output: W,
    /// Whether a write has failed: the client has left.
    is_broken: bool,
}

impl<W: Write> SideBand<W> {
    /// Streams over `output`, in packets with at most `max_data` bytes.
    pub fn new(output: W, max_data: usize) -> Self {
        let shared = SharedOutput {
            output,
            is_broken: false,
        };
        Self {
            shared: Arc::new(Lock::new(shared)),
            max_data,
        }
    }

    /// What the client asked for.
    pub fn data(&self) -> Band<W> {
        self.band(Channel::Data as u8)
    }

    /// Messages for its user in between.
    pub fn messages(&self) -> Band<W> {
        self.band(Channel::Progress as u8)
    }

    /// The stream of this number.
    pub fn band(&self, number: u8) -> Band<W> {
        let bands = self.clone();
        Band { bands, number }
    }

    /// The end of the streams.
    pub fn finish(&self) -> Result<()> {
        self.direct(|output| {
            encode::flush_to_write(&mut *output)?;
            output.flush()
        })
    }

    /// It did not go well.
    pub fn fail(&self, message: &str) -> Result<()> {
        self.band(Channel::Error as u8)
            .write_all(message.as_bytes())
    }

    /// A packet of no stream, and the end of such packets.
    pub fn reply(&self, text: &[u8]) -> Result<()> {
        let mut packets = Vec::new();
        encode::text_to_write(text, &mut packets)?;
        encode::flush_to_write(&mut packets)?;
        self.direct(|output| {
            output.write_all(&packets)?;
            output.flush()
        })
    }

    /// Whether a write has failed.
    pub fn is_broken(&self) -> bool {
        self.shared.lock().is_broken
    }

    /// Write to the output itself, or tell it something.
    pub fn direct(&self, write: impl FnOnce(&mut W) -> Result<()>) -> Result<()> {
        let mut shared = self.shared.lock();
        let written = write(&mut shared.output);
        shared.is_broken |= written.is_err();
        written
    }
}

/// One of the streams.
pub struct Band<W> {
    bands: SideBand<W>,
    number: u8,
}

impl<W: Write> Write for Band<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let max_data = self.bands.max_data;
        let bytes = &bytes[..bytes.len().min(AT_ONCE * max_data)];
        let heads = bytes.chunks(max_data).map(|data| {
            // The length, which counts itself, and the number of the stream.
            let len = data.len() + 5;
            let mut head = format!("{len:04x}").into_bytes();
            head.push(self.number);
            head
        });
        let heads: Vec<_> = heads.collect();
        let packets = heads.iter().zip(bytes.chunks(max_data));
        let mut slices: Vec<_> = packets
            .flat_map(|(head, data)| [IoSlice::new(head), IoSlice::new(data)])
            .collect();
        self.bands
            .direct(|output| write_all_vectored(output, &mut slices))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.bands.direct(Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{SMALL_PACKET, SideBand};

    #[test]
    fn streams_are_cut_into_packets() {
        let mut output = Vec::new();
        let bands = SideBand::new(&mut output, SMALL_PACKET);
        bands.messages().write_all(b"hello\n").expect("memory");
        bands
            .data()
            .write_all(&[b'x'; SMALL_PACKET + 1])
            .expect("memory");
        bands.data().write_all(b"").expect("memory");
        bands.finish().expect("memory");
        assert!(output.starts_with(b"000b\x02hello\n4005\x01xxx"));
        assert!(output.ends_with(b"xxx0006\x01x0000"));
        assert_eq!(output.len(), 11 + 5 + SMALL_PACKET + 6 + 4);
    }
}
