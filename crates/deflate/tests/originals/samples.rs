//! What is deflated: data of many kinds, made from seeds.

use super::programs::zlib;

/// Bytes that look random, always the same for a seed.
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Kinds of data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Zeros,
    Random,
    /// So many letters, at random.
    Letters(u8),
    /// Random bytes, over and over.
    Period(usize),
    /// Words out of a small dictionary, indented as source is.
    Source,
    /// Copies from before, runs and noise.
    Mixed,
    /// What deflate makes of source.
    Compressed,
}

pub(super) const KINDS: [Kind; 9] = [
    Kind::Zeros,
    Kind::Random,
    Kind::Letters(2),
    Kind::Letters(3),
    Kind::Period(7),
    Kind::Period(300),
    Kind::Period(32506),
    Kind::Source,
    Kind::Mixed,
];

impl Kind {
    pub(super) fn bytes(self, length: usize, seed: u64) -> Vec<u8> {
        let mut noise = Noise(seed);
        let mut bytes = Vec::with_capacity(length + 512);
        match self {
            Kind::Zeros => bytes.resize(length, 0),
            Kind::Random => bytes.extend((0..length).map(|_| noise.next() as u8)),
            Kind::Letters(count) => {
                bytes.extend((0..length).map(|_| b'a' + noise.below(count.into()) as u8));
            }
            Kind::Period(period) => {
                let unit = Kind::Random.bytes(period, seed);
                bytes.extend(unit.iter().cycle().take(length));
            }
            Kind::Source => {
                while bytes.len() < length {
                    bytes.resize(bytes.len() + 4 * noise.below(5), b' ');
                    for _ in 0..1 + noise.below(6) {
                        let mut word = Noise(noise.below(300) as u64);
                        let letters = 2 + word.below(9);
                        bytes.extend((0..letters).map(|_| b'a' + word.below(26) as u8));
                        bytes.push(b" ();=_.,"[noise.below(8)]);
                    }
                    bytes.push(b'\n');
                }
            }
            Kind::Mixed => {
                while bytes.len() < length {
                    let count = 1 + noise.below(400);
                    match noise.below(4) {
                        0 => bytes.extend((0..count).map(|_| noise.next() as u8)),
                        1 => bytes.resize(bytes.len() + 3 * count, noise.next() as u8),
                        2 => bytes.extend((0..count).map(|_| b'a' + noise.below(2) as u8)),
                        _ => {
                            let back = 1 + noise.below(bytes.len().clamp(1, 33000));
                            for _ in 0..count {
                                let from = bytes.len().checked_sub(back);
                                bytes.push(from.map_or(0, |from| bytes[from]));
                            }
                        }
                    }
                }
            }
            Kind::Compressed => {
                let source = Kind::Source.bytes(3 * length + 64, seed);
                bytes = zlib(6, &source);
            }
        }
        bytes.truncate(length);
        bytes
    }
}
