//! All that decides the bytes, and the memory that follows from it.

/// Bytes of input in a frame; the last frame may have fewer. Byte `offset` of the input is in frame `offset / FRAME`.
///
/// Half of it would make an archive at the default level up to 15 % larger than one frame for all, since large texts
/// repeat each other over millions of bytes. Twice as much saves 1 % and takes twice the memory and the time of a read.
pub const FRAME: usize = 4 << 20;

/// A compression level from 1 to 19. Higher levels would need more memory than a reader may provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(i32);

impl Level {
    /// The default of the encoder.
    pub const DEFAULT: Self = Self(zstd::DEFAULT_COMPRESSION_LEVEL);

    /// The level `level`, if it exists.
    pub fn new(level: u32) -> Option<Self> {
        let level = i32::try_from(level).ok()?;
        (1..=19).contains(&level).then_some(Self(level))
    }

    /// The number of the level.
    pub(super) fn number(self) -> i32 {
        self.0
    }

    /// At most so many bytes that the encoder keeps from frame to frame.
    pub(super) fn encoder_size(self) -> usize {
        let mebibytes = match self.0 {
            ..=4 => 3,
            5..=8 => 6,
            9..=11 => 21,
            12..=15 => 65,
            16.. => 50,
        };
        mebibytes << 20
    }

    /// As many of `threads` as hold `memory` bytes together; none if even one holds more.
    pub fn threads_within(self, threads: usize, memory: usize) -> usize {
        // The output of each thread, and three frames under way for every two threads.
        let buffers = FRAME * 5 / 2;
        threads.min(memory / (self.encoder_size() + buffers))
    }
}
