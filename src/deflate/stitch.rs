//! The one true parse, made of the parses of the pieces.
//!
//! Piece by piece the true parse is led to where it meets the next one. Where they do not meet, the
//! true one goes on through that piece, and what was parsed there is dropped.

use std::sync::Arc;

use super::{
    Dialect,
    coded::Coded,
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
    /// Tokens since the last block that is complete.
    tokens: Vec<Token>,
    /// How many of them begin before the end of the last piece.
    settled: usize,
    /// Where the others begin, and whether a match ends there.
    at: u64,
    fresh: bool,
    /// Memory for tokens.
    spare: Vec<Token>,
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

impl Blocks {
    /// Code them into `memory`.
    pub(super) fn code(&self, memory: Vec<u8>) -> Coded {
        Coded::new(&self.tokens, &self.cuts, &self.piece, self.last, memory)
    }
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
            tokens: Vec::new(),
            settled: 0,
            at: 0,
            fresh: true,
            spare: Vec::new(),
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
    fn adopt(&mut self, mut parsed: Parsed, from: usize) -> Option<Ending> {
        // Those before are few.
        parsed.tokens.splice(..from, self.tokens.drain(..));
        self.spare = std::mem::replace(&mut self.tokens, parsed.tokens);
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
            match seam.walk(&self.tokens[self.settled..], &parsed.tokens) {
                Outcome::Met { one, other } => {
                    self.tokens.truncate(self.settled + one);
                    return (true, Some(parser), self.adopt(parsed, other));
                }
                Outcome::More if !is_through(piece, &parser, ending) => {
                    let until = parser.at().saturating_add(step);
                    ending = piece.go_on(&mut parser, self.dialect, until, &mut self.tokens);
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
            ending = piece.go_on(&mut parser, self.dialect, usize::MAX, &mut self.tokens);
        }
        self.parser = Some(parser);
        ending
    }

    /// Take the tokens of `piece` for true, and cut blocks.
    fn settle(&mut self, piece: Arc<Piece>, ending: Option<Ending>) -> Blocks {
        match ending {
            Some(_) => self.settled = self.tokens.len(),
            None => self.settle_before(&piece),
        }
        let notice = ending.map(|ending| ending.notice);
        let mut cuts = Vec::new();
        let mut done = 0;
        while let Some(cut) = self.cutter.next(&self.tokens[done..self.settled], notice) {
            done += cut.tokens;
            cuts.push(cut);
        }
        if let Some(ending) = ending {
            self.tokens.extend(ending.pending);
            cuts.push(self.cutter.last(&self.tokens[done..], ending.notice));
            done = self.tokens.len();
        }
        let mut rest = std::mem::take(&mut self.spare);
        rest.clear();
        rest.extend(self.tokens.drain(done..));
        self.settled = self.settled.saturating_sub(done);
        Blocks {
            tokens: std::mem::replace(&mut self.tokens, rest),
            cuts,
            piece,
            last: ending.is_some(),
        }
    }

    /// Find which tokens begin before the end of `piece`: those behind it are few.
    fn settle_before(&mut self, piece: &Piece) {
        let Some(mut at) = self.parser.as_ref().map(Parser::reach) else {
            return;
        };
        let mut count = self.tokens.len();
        for token in self.tokens.iter().rev() {
            let start = at - token.span();
            if start < piece.end {
                break;
            }
            at = start;
            count -= 1;
        }
        self.settled = count;
        self.at = piece.origin + at as u64;
        self.fresh = self.tokens[..count]
            .last()
            .is_none_or(|token| token.is_match());
    }
}

/// Whether the parse came to where that of `piece` stops.
fn is_through(piece: &Piece, parser: &Parser, ending: Option<Ending>) -> bool {
    ending.is_some() || piece.until.is_some_and(|until| parser.at() >= until)
}
