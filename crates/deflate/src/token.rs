//! Tokens: the literals and matches that a parse consists of, and the codes of their lengths and distances.

use super::level::MIN_MATCH;

/// A literal byte, or a match: the distance in the low half, then the byte or the length less 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(u32);

/// Marks a literal at whose position no match had been found.
const UNMATCHED: u32 = 1 << 24;

impl Token {
    pub(super) fn literal(byte: u8, unmatched: bool) -> Self {
        Self(u32::from(byte) << 16 | if unmatched { UNMATCHED } else { 0 })
    }

    pub(super) fn matched(length: usize, distance: usize) -> Self {
        Self(((length - MIN_MATCH) as u32) << 16 | distance as u32)
    }

    pub(super) fn is_match(self) -> bool {
        self.distance() != 0
    }

    /// Whether this is a literal, and no match had been found where it stands.
    pub(super) fn is_unmatched(self) -> bool {
        self.0 & UNMATCHED != 0
    }

    /// The distance of a match; 0 for a literal.
    pub(super) fn distance(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// The literal, or the length of the match less 3.
    pub(super) fn byte(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// The number of input bytes that the token stands for.
    pub(super) fn span(self) -> usize {
        if self.is_match() {
            usize::from(self.byte()) + MIN_MATCH
        } else {
            1
        }
    }
}

/// The number of length codes. They follow the end code in the alphabet.
pub(super) const LENGTH_CODES: usize = 29;
/// The number of distance codes.
pub(super) const DISTANCE_CODES: usize = 30;

/// Extra bits by length code.
pub(super) const LENGTH_EXTRA: [u8; LENGTH_CODES] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
/// Extra bits by distance code.
pub(super) const DISTANCE_EXTRA: [u8; DISTANCE_CODES] = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13,
    13,
];

/// The least length less 3, by code. The longest length has a code of its own.
pub(super) const LENGTH_BASE: [u16; LENGTH_CODES] = {
    let mut base = bases(&LENGTH_EXTRA);
    base[LENGTH_CODES - 1] = 255;
    base
};
/// The least distance less 1, by code.
pub(super) const DISTANCE_BASE: [u16; DISTANCE_CODES] = bases(&DISTANCE_EXTRA);

const fn bases<const N: usize>(extra: &[u8; N]) -> [u16; N] {
    let mut base = [0; N];
    let mut code = 1;
    while code < N {
        base[code] = base[code - 1] + (1 << extra[code - 1]);
        code += 1;
    }
    base
}

/// The code by length less 3.
const LENGTH_CODE: [u8; 256] = {
    let mut table = [0; 256];
    let mut code = 0;
    while code < LENGTH_CODES {
        let mut length = LENGTH_BASE[code] as usize;
        while length < 256 {
            table[length] = code as u8;
            length += 1;
        }
        code += 1;
    }
    table
};

/// The code by distance less 1: of the first 256, then of the rest in steps of 128.
const DISTANCE_CODE: [u8; 512] = {
    let mut table = [0; 512];
    let mut code = 0;
    while code < DISTANCE_CODES {
        let base = DISTANCE_BASE[code] as usize;
        let mut place = if base < 256 { base } else { 256 + (base >> 7) };
        while place < 512 {
            table[place] = code as u8;
            place += 1;
        }
        code += 1;
    }
    table
};

/// The length code for a length less 3.
pub(super) fn length_code(length: u8) -> usize {
    usize::from(LENGTH_CODE[usize::from(length)])
}

/// The distance code for a distance of at least 1.
pub(super) fn distance_code(distance: usize) -> usize {
    let distance = distance - 1;
    let place = if distance < 256 {
        distance
    } else {
        256 + (distance >> 7)
    };
    usize::from(DISTANCE_CODE[place & 511])
}
