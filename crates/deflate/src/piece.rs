//! A piece of the input, parsed speculatively: from its start, as if no match came before.

use super::{
    Dialect,
    frame::{Checksum, Frame},
    level::{Level, Strategy},
    parser::Parser,
    reference::Reference,
    token::Token,
};
use crate::threads::FreeList;

/// Bytes of input before a piece that the piece holds: a window, and as much as a stored block can hold. Pieces begin
/// at multiples of this number.
pub(super) const HISTORY: usize = 1 << 16;

/// Bytes of input after the overlap that a piece holds. The last piece has at least this length.
const AHEAD: usize = 1 << 16;

/// The lengths of pieces, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The length of a piece: a multiple of `HISTORY`.
    pub(super) length: usize,
    /// How far the parse continues after the end of the piece, for the resync point with the next piece.
    pub(super) overlap: usize,
}

impl Shape {
    /// Pieces of about `length` bytes, if given.
    pub(super) fn new(level: Level, length: Option<usize>) -> Self {
        // The chains of the fast parser depend on the parse, so its resync points come much later.
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

    /// About how many bytes a thread holds: its parser, and two pieces with one token for every two bytes. Noise has
    /// a token for every byte.
    pub(super) fn held(self) -> usize {
        const PARSER: usize = 1 << 20;
        PARSER + 2 * (HISTORY + self.reach() + self.length / 2 * size_of::<Token>())
    }

    /// Bytes of input from its start on that a piece holds, unless the piece is the last one.
    pub(super) fn reach(self) -> usize {
        self.length + self.overlap + AHEAD
    }
}

/// A piece, with the input around it.
pub(super) struct TextPiece {
    pub(super) text: Vec<u8>,
    /// The position of `text` in the input: a multiple of `HISTORY`.
    pub(super) origin: u64,
    /// Where the piece begins and ends in `text`.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The position in `text` at which the parse stops; nothing for the last piece.
    pub(super) until: Option<usize>,
    /// Takes the memory of the text when the piece is dropped.
    pub(super) texts: FreeList<Vec<u8>>,
}

impl Drop for TextPiece {
    fn drop(&mut self) {
        self.texts.put([std::mem::take(&mut self.text)]);
    }
}

/// The speculative parse of a piece.
pub(super) struct Parsed {
    pub(super) tokens: Vec<Token>,
    /// The parser, where the parse stopped.
    pub(super) parser: Parser,
    pub(super) ending: Option<Ending>,
}

/// How a parse reached the end of the input.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    /// The position at which the end came in sight.
    pub(super) notice: u64,
    /// A token that belongs to the last block.
    pub(super) pending: Option<Token>,
}

impl TextPiece {
    /// Parses from the start of the piece, into the memory of `tokens`.
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

    /// Parses on, up to `until` at most.
    pub(super) fn go_on(
        &self,
        parser: &mut Parser,
        dialect: Dialect,
        until: usize,
        tokens: &mut Vec<Token>,
    ) -> Option<Ending> {
        let mut reference = Reference {
            text: &self.text,
            origin: self.origin,
            dialect,
            notice: None,
        };
        // The rest of the input is parsed at once from some way before its end.
        let stop = self
            .until
            .unwrap_or(self.text.len().saturating_sub(AHEAD / 2));
        if self.until.is_some() || until < stop {
            parser.run(reference, until.min(stop), tokens);
            return None;
        }
        let pending = parser.finish(&mut reference, tokens);
        Some(Ending {
            notice: reference.notice?,
            pending,
        })
    }

    /// The checksum of the piece, without the input around it.
    pub(super) fn checksum(&self, frame: Frame) -> Checksum {
        frame.checksum(&self.text[self.start..self.end])
    }
}
