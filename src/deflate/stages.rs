//! The stages of a stream one by one, on the calling thread, so that each can be timed alone.
//!
//! They are the very ones that several threads run, in the same order over the same pieces; this
//! must never do any of their work in another way. Nothing but benches has a use for it.

use std::sync::Arc;

use super::{
    Settings,
    bits::Bits,
    chains::Chains,
    coded::Coded,
    parser::Parser,
    piece::{HISTORY, Parsed, Piece, Shape},
    plain::end_in_sight,
    search::search,
    shelf::Shelf,
    stitch::{Blocks, Stitch},
};

/// An input cut into pieces, ready for any stage.
pub struct Stages {
    settings: Settings,
    pieces: Vec<Arc<Piece>>,
}

/// The parse of each piece.
pub struct Parses(Vec<Parsed>);

/// The true parse, cut into blocks.
pub struct Stitches(Vec<Blocks>);

/// Blocks that are coded, each run of them apart.
pub struct Codes(Vec<Coded>);

impl Stages {
    /// Pieces of `input` as a stream of these settings has them. `None` for level 0, which has no
    /// stages.
    pub fn new(settings: Settings, input: &[u8]) -> Option<Self> {
        Parser::new(settings.level)?;
        let shape = Shape::new(settings.level, settings.piece);
        let piece = |at: usize| {
            let origin = at.saturating_sub(HISTORY);
            let more = input.len() - at >= shape.reach();
            let reach = if more {
                at + shape.reach()
            } else {
                input.len()
            };
            let end = if more { at + shape.length } else { reach };
            Arc::new(Piece {
                text: input[origin..reach].to_vec(),
                origin: origin as u64,
                start: at - origin,
                end: end - origin,
                until: more.then_some(end - origin + shape.overlap),
                texts: Shelf::default(),
            })
        };
        let last = input.len().checked_sub(shape.reach());
        let count = last.map_or(1, |last| last / shape.length + 2);
        let pieces = (0..count).map(|number| piece(number * shape.length));
        Some(Self {
            settings,
            pieces: pieces.collect(),
        })
    }

    /// Index alone, which at levels 4 to 9 does not depend on the parse.
    pub fn index(&self) {
        let mut chains = Chains::new();
        for piece in &self.pieces {
            let end = piece.until.unwrap_or_else(|| end_in_sight(&piece.text));
            chains.begin(&piece.text, piece.start, piece.origin == 0);
            chains.reach(&piece.text, end);
        }
    }

    /// Index, and search where the parser did that for `parses`, of levels 4 to 9. The sum of the
    /// lengths found comes back; crowded chains are left to the parser.
    pub fn search(&self, parses: &Parses) -> usize {
        let effort = self.settings.level.effort();
        let mut chains = Chains::new();
        let mut sum = 0;
        for (piece, parsed) in self.pieces.iter().zip(&parses.0) {
            let end = end_in_sight(&piece.text).saturating_sub(1);
            chains.begin(&piece.text, piece.start, piece.origin == 0);
            let mut find = |at, least| {
                chains.reach(&piece.text, at);
                let found = search(&chains, &piece.text, at, least, effort);
                let (length, _) = found.unwrap_or_default();
                sum += length;
                length
            };
            let (mut at, mut least) = (piece.start, 2);
            for token in &parsed.tokens {
                if at >= end {
                    break;
                }
                least = find(at, least).max(2);
                if token.is_match() {
                    if token.span() < effort.lazy {
                        find(at + 1, token.span());
                    }
                    least = 2;
                }
                at += token.span();
            }
        }
        sum
    }

    /// Index, searches and decisions: the parse of every piece.
    pub fn parse(&self) -> Parses {
        let parse = |piece: &Arc<Piece>| {
            let parser = Parser::new(self.settings.level)?;
            Some(piece.parse(parser, Vec::new(), self.settings.dialect))
        };
        Parses(self.pieces.iter().filter_map(parse).collect())
    }

    /// Make the one true parse of those of the pieces.
    pub fn stitch(&self, parses: Parses) -> Stitches {
        let Settings { level, dialect, .. } = self.settings;
        let mut stitch = Stitch::new(level, dialect);
        let both = self.pieces.iter().cloned().zip(parses.0);
        let blocks = both.map(|(piece, parsed)| stitch.piece(piece, Some(parsed)).blocks);
        Stitches(blocks.collect())
    }
}

impl Stitches {
    /// Code all blocks.
    pub fn code(&self) -> Codes {
        let code = |blocks: &Blocks| blocks.code(Vec::new());
        Codes(self.0.iter().map(code).collect())
    }
}

impl Codes {
    /// Join them to one raw deflate stream.
    pub fn join(&self) -> Vec<u8> {
        let mut bits = Bits::default();
        for coded in &self.0 {
            coded.join(&mut bits);
        }
        bits.align();
        bits.drain().collect()
    }
}
