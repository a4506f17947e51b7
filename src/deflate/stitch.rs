//! The one true parse, made of the parses of the pieces.
//!
//! Piece by piece the true parse is led to where it meets the next one. Where they do not meet, the
//! true one goes on through that piece, and what was parsed there is dropped.

use std::sync::Arc;

use super::{
    Dialect,
    cut::{Cut, Cutter},
    level::{Level, Strategy},
    parser::Parser,
    piece::{Ending, Parsed, Piece},
    seam::{Outcome, Seam},
    token::Token,
};

/// The first step in which the true parse goes on to meet the next.
const STEP: usize = 2048;
/// Near the end a parse depends on more than its state.
const END: u64 = 1024;

/// The true parse so far.
pub(super) struct Stitch {
    strategy: Strategy,
    dialect: Dialect,
    cutter: Cutter,
    /// Tokens of the block that is not complete.
    open: Vec<Token>,
    /// Tokens behind the last piece.
    ahead: Vec<Token>,
    /// Where those begin, and whether a match ends there.
    at: u64,
    fresh: bool,
    /// Where the true parse stopped, and in which text.
    parser: Option<Parser>,
    origin: u64,
}

/// Blocks that are complete, with what coding them takes.
pub(super) struct Blocks {
    pub(super) tokens: Vec<Token>,
    pub(super) cuts: Vec<Cut>,
    pub(super) piece: Arc<Piece>,
    /// Whether the last of them is the last of the stream.
    pub(super) last: bool,
}

/// What a piece led to.
pub(super) struct Stitched {
    pub(super) blocks: Blocks,
    /// Whether the true parse met that of the piece.
    pub(super) met: bool,
    /// A parser that is free again.
    pub(super) spare: Option<Parser>,
}

impl Stitch {
    pub(super) fn new(level: Level, dialect: Dialect) -> Self {
        Self {
            strategy: level.strategy(),
            dialect,
            cutter: Cutter::new(level, dialect),
            open: Vec::new(),
            ahead: Vec::new(),
            at: 0,
            fresh: true,
            parser: None,
            origin: 0,
        }
    }

    /// Go on through the next piece, of which `parsed` is the parse from its start, if there is
    /// one. The first piece has one.
    pub(super) fn piece(&mut self, piece: Arc<Piece>, parsed: Option<Parsed>) -> Stitched {
        let true_parser = self.parser.take().map(|mut parser| {
            parser.rebase((piece.origin - self.origin) as usize);
            parser
        });
        let (met, spare, ending) = match (true_parser, parsed) {
            (Some(parser), Some(parsed)) => self.meet(&piece, parser, parsed),
            (Some(parser), None) => (false, None, self.go_through(&piece, parser, None)),
            (None, parsed) => (true, None, parsed.and_then(|parsed| self.adopt(parsed, 0))),
        };
        self.origin = piece.origin;
        let blocks = self.settle(piece, ending);
        Stitched { blocks, met, spare }
    }

    /// Go on as `parsed`, from its token number `from` on.
    fn adopt(&mut self, parsed: Parsed, from: usize) -> Option<Ending> {
        self.ahead.extend_from_slice(&parsed.tokens[from..]);
        self.parser = Some(parsed.parser);
        parsed.ending
    }

    /// Lead the true parse to where it meets `parsed`, or to the end of the piece.
    fn meet(
        &mut self,
        piece: &Piece,
        mut parser: Parser,
        parsed: Parsed,
    ) -> (bool, Option<Parser>, Option<Ending>) {
        let limit = match piece.until {
            Some(_) => u64::MAX,
            None => (piece.origin + piece.text.len() as u64).saturating_sub(END),
        };
        let start = piece.origin + piece.start as u64;
        let mut seam = Seam::new(self.strategy, self.at, self.fresh, start, limit);
        let mut step = STEP;
        let mut ending = None;
        loop {
            match seam.walk(&self.ahead, &parsed.tokens) {
                Outcome::Met { one, other } => {
                    self.ahead.truncate(one);
                    return (true, Some(parser), self.adopt(parsed, other));
                }
                Outcome::More if !is_through(piece, &parser, ending) => {
                    let until = parser.at().saturating_add(step);
                    ending = piece.go_on(&mut parser, self.dialect, until, &mut self.ahead);
                    step *= 2;
                }
                _ => break,
            }
        }
        let ending = self.go_through(piece, parser, ending);
        (false, Some(parsed.parser), ending)
    }

    /// Lead the true parse to the end of the piece.
    fn go_through(
        &mut self,
        piece: &Piece,
        mut parser: Parser,
        mut ending: Option<Ending>,
    ) -> Option<Ending> {
        while !is_through(piece, &parser, ending) {
            ending = piece.go_on(&mut parser, self.dialect, usize::MAX, &mut self.ahead);
        }
        self.parser = Some(parser);
        ending
    }

    /// Take the tokens of `piece` for true, and cut blocks.
    fn settle(&mut self, piece: Arc<Piece>, ending: Option<Ending>) -> Blocks {
        let end = piece.origin + piece.end as u64;
        let mut count = 0;
        for &token in &self.ahead {
            if self.at >= end {
                break;
            }
            self.at += token.span() as u64;
            self.fresh = token.is_match();
            count += 1;
        }
        self.open.extend(self.ahead.drain(..count));
        let notice = ending.map(|ending| ending.notice);
        let mut cuts = Vec::new();
        let mut done = 0;
        while let Some(cut) = self.cutter.next(&self.open[done..], notice) {
            done += cut.tokens;
            cuts.push(cut);
        }
        if let Some(ending) = ending {
            self.open.extend(ending.pending);
            cuts.push(self.cutter.last(&self.open[done..], ending.notice));
            done = self.open.len();
        }
        let rest = self.open.split_off(done);
        Blocks {
            tokens: std::mem::replace(&mut self.open, rest),
            cuts,
            piece,
            last: ending.is_some(),
        }
    }
}

/// Whether the parse came to where that of `piece` stops.
fn is_through(piece: &Piece, parser: &Parser, ending: Option<Ending>) -> bool {
    ending.is_some() || piece.until.is_some_and(|until| parser.at() >= until)
}
