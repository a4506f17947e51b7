//! Cuts the tokens of a parse into blocks, where the originals do.

use super::{
    Dialect,
    level::{Level, Strategy},
    reference,
    token::{DISTANCE_EXTRA, Token, distance_code},
};

/// The tokens of a block of zlib.
const ZLIB_BLOCK: usize = 16383;
/// The tokens of a block of gzip, at most.
const GZIP_BLOCK: usize = 32767;
/// gzip considers an early end every so many tokens.
const GZIP_TRIAL: usize = 4096;

/// A block that is complete.
pub(super) struct Cut {
    /// The number of tokens.
    pub(super) tokens: usize,
    /// The positions in the input where the block begins and ends.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether it may be stored.
    pub(super) storable: bool,
}

impl Cut {
    /// The bytes of the block in `text`, which lies at `origin`, if the block may be stored. A block that reaches beyond
    /// `text` is longer than any stored block.
    pub(super) fn raw<'a>(&self, text: &'a [u8], origin: u64) -> Option<&'a [u8]> {
        let start = self.start.checked_sub(origin)? as usize;
        let end = self.end.checked_sub(origin)? as usize;
        text.get(start..end).filter(|_| self.storable)
    }
}

/// Finds the ends of blocks by counting tokens.
pub(super) struct Cutter {
    dialect: Dialect,
    /// Whether gzip considers early ends.
    trial: bool,
    /// Bytes by which the lazy parser is ahead of the start of a token that it emits.
    ahead: u64,
    start: u64,
    at: u64,
    tokens: usize,
    matches: usize,
    distance_bits: u64,
}

impl Cutter {
    pub(super) fn new(level: Level, dialect: Dialect) -> Self {
        Self {
            dialect,
            trial: level.number() >= 3,
            ahead: u64::from(matches!(level.strategy(), Strategy::Lazy)),
            start: 0,
            at: 0,
            tokens: 0,
            matches: 0,
            distance_bits: 0,
        }
    }

    /// The next complete block of `tokens`: all tokens since the last block. `notice` is the position at which the end
    /// of the input came in sight, if it did.
    pub(super) fn next(&mut self, tokens: &[Token], notice: Option<u64>) -> Option<Cut> {
        let full = match self.dialect {
            Dialect::Zlib => tokens.len() >= ZLIB_BLOCK,
            Dialect::Gzip => return self.next_of_gzip(tokens, notice),
        };
        full.then(|| self.cut(&tokens[..ZLIB_BLOCK], true))
    }

    /// The last block: all `tokens` that are left.
    pub(super) fn last(&mut self, tokens: &[Token], notice: u64) -> Cut {
        let storable =
            self.dialect == Dialect::Zlib || self.start >= reference::last_window(notice);
        self.cut(tokens, storable)
    }

    fn cut(&mut self, tokens: &[Token], storable: bool) -> Cut {
        let rest = &tokens[self.tokens..];
        let start = self.start;
        let end = self.at + rest.iter().map(|token| token.span() as u64).sum::<u64>();
        (self.start, self.at) = (end, end);
        (self.tokens, self.matches, self.distance_bits) = (0, 0, 0);
        Cut {
            tokens: tokens.len(),
            start,
            end,
            storable,
        }
    }

    fn next_of_gzip(&mut self, tokens: &[Token], notice: Option<u64>) -> Option<Cut> {
        while let Some(&token) = tokens.get(self.tokens) {
            let seen = self.at + self.ahead;
            self.tokens += 1;
            self.at += token.span() as u64;
            if token.is_match() {
                self.matches += 1;
                let code = distance_code(token.distance());
                self.distance_bits += 5 + u64::from(DISTANCE_EXTRA[code]);
            }
            if self.tokens == GZIP_BLOCK || self.pays_off(seen) {
                let window = match notice {
                    Some(notice) if seen >= notice => reference::last_window(notice),
                    _ => reference::window(seen),
                };
                let storable = self.start >= window;
                return Some(self.cut(&tokens[..self.tokens], storable));
            }
        }
        None
    }

    /// Whether gzip ends the block early, because it compresses well enough.
    fn pays_off(&self, seen: u64) -> bool {
        if !self.trial || !self.tokens.is_multiple_of(GZIP_TRIAL) {
            return false;
        }
        let coded = (8 * self.tokens as u64 + self.distance_bits) >> 3;
        self.matches < self.tokens / 2 && coded < (seen - self.start) / 2
    }
}
