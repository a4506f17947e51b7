//! The header and the trailer of a stream, and the checksum in the trailer.

use adler32furious::Adler32;
use crc32fast::Hasher;

use super::Level;

/// What a raw deflate stream is wrapped in.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    /// A gzip member (RFC 1952) without a name and a time.
    Gzip,
    /// A zlib stream (RFC 1950) without a preset dictionary.
    Zlib,
}

/// The checksum of some input. The checksums of two parts combine into the checksum of both.
#[derive(Clone)]
pub(super) enum Checksum {
    /// CRC-32, which knows the length of its input.
    Crc(Hasher),
    /// Adler-32, and the length of its input.
    Adler(Adler32, u64),
}

impl Frame {
    pub(super) fn header(self, level: Level) -> Vec<u8> {
        match (self, level.number()) {
            (Self::Gzip, number) => {
                let flags = match number {
                    9 => 2,
                    0 | 1 => 4,
                    _ => 0,
                };
                vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, flags, 3]
            }
            // The second byte has the class of the level, and makes the number of both a multiple of 31.
            (Self::Zlib, 0 | 1) => vec![0x78, 0x01],
            (Self::Zlib, 2..=5) => vec![0x78, 0x5e],
            (Self::Zlib, 6) => vec![0x78, 0x9c],
            (Self::Zlib, _) => vec![0x78, 0xda],
        }
    }

    /// The trailer after `length` bytes of input.
    pub(super) fn trailer(checksum: Checksum, length: u64) -> Vec<u8> {
        match checksum {
            // The length is modulo 2^32 by definition.
            Checksum::Crc(sum) => {
                let fields = [sum.finalize(), length as u32];
                fields.map(u32::to_le_bytes).concat()
            }
            Checksum::Adler(sum, _) => sum.checksum().to_be_bytes().to_vec(),
        }
    }

    /// The checksum of `bytes`.
    pub(super) fn checksum(self, bytes: &[u8]) -> Checksum {
        let mut sum = match self {
            Self::Gzip => Checksum::Crc(Hasher::new()),
            Self::Zlib => Checksum::Adler(Adler32::new(), 0),
        };
        sum.update(bytes);
        sum
    }
}

impl Checksum {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc(sum) => sum.update(bytes),
            Self::Adler(sum, length) => {
                sum.update(bytes);
                *length += bytes.len() as u64;
            }
        }
    }

    /// Adds the checksum of the next part of the input, which has the same frame.
    pub(super) fn combine(&mut self, next: &Self) {
        match (self, next) {
            (Self::Crc(sum), Self::Crc(next)) => sum.combine(next),
            (Self::Adler(sum, length), Self::Adler(next, more)) => {
                sum.combine(*next, *more);
                *length += more;
            }
            _ => unreachable!("one stream has one frame"),
        }
    }
}
