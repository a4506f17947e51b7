//! A piece of the input, parsed without knowledge of what the parse before it leads to.

use crc32fast::Hasher;

use super::{
    Dialect,
    level::{Level, Strategy},
    parser::Parser,
    plain::Plain,
    shelf::Shelf,
    token::Token,
};

/// Pieces begin at multiples of this, and it is what they know of the input before them: a window,
/// and as much as a stored block can hold.
pub(super) const HISTORY: usize = 1 << 16;

/// What a piece knows of the input behind it, beyond its overlap; so the last piece has this much.
const AHEAD: usize = 1 << 16;

/// How the input is cut into pieces.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The length of a piece, a multiple of `HISTORY`.
    pub(super) length: usize,
    /// How far the parse goes on behind its end, for the next one to meet it.
    pub(super) overlap: usize,
}

impl Shape {
    /// Pieces of about `length` bytes, if given.
    pub(super) fn new(level: Level, length: Option<usize>) -> Self {
        // The chains of the fast parser depend on the parse, so two of them agree much later.
        let (usual, part) = match level.strategy() {
            Strategy::Fast => (2 << 20, 10),
            _ => (512 << 10, 256),
        };
        let length = length.unwrap_or(usual).max(1);
        let length = length.div_ceil(HISTORY).saturating_mul(HISTORY);
        Self {
            length,
            overlap: (length / part).clamp(2 << 10, 512 << 10),
        }
    }

    /// About as many bytes as a thread holds: its parser, and two pieces with their tokens, which are
    /// half as many as bytes; in noise they are all of them.
    pub(super) fn held(self) -> usize {
        const PARSER: usize = 1 << 20;
        PARSER + 2 * (HISTORY + self.reach() + self.length / 2 * size_of::<Token>())
    }

    /// What a piece holds of the input from its start on, unless it is the last one.
    pub(super) fn reach(self) -> usize {
        self.length + self.overlap + AHEAD
    }
}

/// A piece, with what lies around it.
pub(super) struct Piece {
    pub(super) text: Vec<u8>,
    /// The place of `text` in the input, a multiple of `HISTORY`.
    pub(super) origin: u64,
    /// Where the piece begins and ends in `text`.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where its parse stops, if the end of the input does not stop it.
    pub(super) until: Option<usize>,
    /// Where the memory of the text goes when nobody needs it any more.
    pub(super) texts: Shelf<Vec<u8>>,
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.texts.put([std::mem::take(&mut self.text)]);
    }
}

/// What became of a piece.
pub(super) struct Parsed {
    pub(super) tokens: Vec<Token>,
    /// Where it stopped.
    pub(super) parser: Parser,
    pub(super) ending: Option<Ending>,
}

/// How a parse met the end of the input.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    /// Where the end came in sight.
    pub(super) notice: u64,
    /// A token that belongs to the last block.
    pub(super) pending: Option<Token>,
}

impl Piece {
    /// Parse from the start of the piece, into the memory of `tokens`.
    pub(super) fn parse(
        &self,
        mut parser: Parser,
        mut tokens: Vec<Token>,
        dialect: Dialect,
    ) -> Parsed {
        parser.begin(&self.text, self.start, self.origin == 0);
        tokens.clear();
        tokens.reserve((self.end - self.start) / 4);
        let ending = self.go_on(&mut parser, dialect, usize::MAX, &mut tokens);
        Parsed {
            tokens,
            parser,
            ending,
        }
    }

    /// Parse on, up to `until` at most.
    pub(super) fn go_on(
        &self,
        parser: &mut Parser,
        dialect: Dialect,
        until: usize,
        tokens: &mut Vec<Token>,
    ) -> Option<Ending> {
        let mut plain = Plain {
            text: &self.text,
            origin: self.origin,
            dialect,
            notice: None,
        };
        // Some way before the end of the input all of the rest is done at once.
        let stop = self
            .until
            .unwrap_or(self.text.len().saturating_sub(AHEAD / 2));
        if self.until.is_some() || until < stop {
            parser.run(plain, until.min(stop), tokens);
            return None;
        }
        let pending = parser.finish(&mut plain, tokens);
        Some(Ending {
            notice: plain.notice?,
            pending,
        })
    }

    /// The checksum of the piece itself.
    pub(super) fn checksum(&self) -> Hasher {
        let mut checksum = Hasher::new();
        checksum.update(&self.text[self.start..self.end]);
        checksum
    }
}
