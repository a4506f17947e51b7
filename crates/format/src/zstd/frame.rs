//! One frame.

use std::{io, mem};

use zstd::{bulk::Compressor, zstd_safe::compress_bound};

use super::parameters::{FRAME, Level};

/// A compressed frame.
pub(super) struct Frame {
    /// The compressed bytes.
    pub(super) bytes: Vec<u8>,
    /// The number of bytes of input.
    pub(super) input_len: usize,
}

/// Compresses frames, one after the other.
pub(super) struct FrameEncoder {
    compressor: Compressor<'static>,
    /// Takes the next frame.
    out: Vec<u8>,
}

/// An empty buffer with room for any frame, compressed or not.
pub(super) fn frame_buffer() -> Vec<u8> {
    Vec::with_capacity(compress_bound(FRAME))
}

impl FrameEncoder {
    /// Frames end with a checksum, as zstd(1) writes it.
    pub(super) fn new(level: Level) -> io::Result<Self> {
        let mut compressor = Compressor::new(level.number())?;
        compressor.include_checksum(true)?;
        // Matches reach back to the start of the frame.
        compressor.window_log(FRAME.ilog2())?;
        Ok(Self {
            compressor,
            out: frame_buffer(),
        })
    }

    /// Compresses `input`, a [`frame_buffer`]. Its memory takes the next frame.
    pub(super) fn encode(&mut self, input: Vec<u8>) -> io::Result<Frame> {
        let input_len = input.len();
        self.compressor.compress_to_buffer(&input, &mut self.out)?;
        let bytes = mem::replace(&mut self.out, input);
        Ok(Frame { bytes, input_len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoders_are_no_larger_than_their_levels_say() {
        for level in (1..=19).filter_map(Level::new) {
            let mut encoder = FrameEncoder::new(level).unwrap();
            let mut input = frame_buffer();
            input.resize(FRAME, 0);
            encoder.encode(input).unwrap();
            let size = encoder.compressor.context_mut().sizeof();
            assert!(size <= level.encoder_size(), "{level:?}: {size}");
        }
    }
}
