//! Compression levels: the limits of the search, which both originals share.

/// The shortest match.
pub(super) const MIN_MATCH: usize = 3;
/// The longest match.
pub(super) const MAX_MATCH: usize = 258;
/// With fewer bytes than this in sight the originals ask for more input.
pub(super) const LOOKAHEAD: usize = MAX_MATCH + MIN_MATCH + 1;
/// The size of the window.
pub(super) const WINDOW: usize = 32768;
/// How far back a match may lie.
pub(super) const MAX_DISTANCE: usize = WINDOW - LOOKAHEAD;
/// A match of three bytes that lies further back than this is ignored by the lazy parser.
pub(super) const TOO_FAR: usize = 4096;

/// A compression level, 0 to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

/// The parser of a level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Level 0: nothing is looked for.
    Stored,
    /// Levels 1 to 3: the first match is taken.
    Fast,
    /// Levels 4 to 9: a match waits for what the next position has to offer.
    Lazy,
}

/// How hard a level looks for a match.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// With a match of this length in hand, only a quarter of the chain is tried.
    pub(super) good: usize,
    /// The lazy parser does not look further with a match of this length in hand; the fast parser
    /// does not index the inside of a longer one.
    pub(super) lazy: usize,
    /// A match of this length ends the search.
    pub(super) nice: usize,
    /// The number of candidates that are tried.
    pub(super) chain: usize,
}

impl Effort {
    /// The number of candidates that are tried for a match longer than `least`.
    pub(super) fn budget(self, least: usize) -> usize {
        if least >= self.good {
            self.chain >> 2
        } else {
            self.chain
        }
    }
}

impl Level {
    /// The default of both originals.
    pub const DEFAULT: Self = Self(6);

    /// Level `number`, if there is one.
    pub fn new(number: u8) -> Option<Self> {
        (number <= 9).then_some(Self(number))
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    pub(super) fn strategy(self) -> Strategy {
        match self.0 {
            0 => Strategy::Stored,
            1..=3 => Strategy::Fast,
            _ => Strategy::Lazy,
        }
    }

    pub(super) fn effort(self) -> Effort {
        let (good, lazy, nice, chain) = match self.0 {
            0 | 1 => (4, 4, 8, 4),
            2 => (4, 5, 16, 8),
            3 => (4, 6, 32, 32),
            4 => (4, 4, 16, 16),
            5 => (8, 16, 32, 32),
            6 => (8, 16, 128, 128),
            7 => (8, 32, 128, 256),
            8 => (32, 128, 258, 1024),
            _ => (32, 258, 258, 4096),
        };
        Effort {
            good,
            lazy,
            nice,
            chain,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::DEFAULT
    }
}
