//! Joins the speculative parses of the pieces to the sequential parse: the one that a single thread would make.
//!
//! The sequential parse goes on into each piece up to the resync point, and adopts the speculative parse from there.
//! Without a resync point the sequential parse goes on through the whole piece, and the speculative one is dropped.

use std::sync::Arc;

use super::{
    Dialect,
    coded::Coded,
    cut::{Cut, Cutter},
    level::{Level, Strategy},
    parser::Parser,
    piece::{Ending, Parsed, TextPiece},
    resync::{Resync, ResyncOutcome},
    token::Token,
};

/// The first step, in bytes, by which the sequential parse goes on towards the resync point.
const STEP: usize = 2048;
/// Bytes before the end of the input in which a parse depends on more than its state.
const END: u64 = 1024;

/// The sequential parse so far.
pub(super) struct Stitch {
    strategy: Strategy,
    dialect: Dialect,
    cutter: Cutter,
    /// Tokens since the end of the last complete block.
    tokens: Vec<Token>,
    /// The number of tokens that begin before the end of the last piece.
    settled: usize,
    /// The position of the token after those, and whether a match ends there.
    at: u64,
    after_match: bool,
    /// An empty vector whose memory is used again.
    spare: Vec<Token>,
    /// The parser of the sequential parse, and the origin of the text that its positions count from.
    parser: Option<Parser>,
    origin: u64,
}

/// Complete blocks, with all that coding them takes.
pub(super) struct Blocks {
    pub(super) tokens: Vec<Token>,
    pub(super) cuts: Vec<Cut>,
    pub(super) piece: Arc<TextPiece>,
    /// Whether the last of the blocks is the last of the stream.
    pub(super) last: bool,
}

impl Blocks {
    /// Codes the blocks into `memory`.
    pub(super) fn code(&self, memory: Vec<u8>) -> Coded {
        Coded::new(&self.tokens, &self.cuts, &self.piece, self.last, memory)
    }
}

/// The result of one piece.
pub(super) struct Stitched {
    pub(super) blocks: Blocks,
    /// Whether there is a resync point in the piece.
    pub(super) synced: bool,
    /// A parser that is free to be used again.
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
            after_match: true,
            spare: Vec::new(),
            parser: None,
            origin: 0,
        }
    }

    /// Goes on through the next piece. `parsed` is its speculative parse, which the first piece always has.
    pub(super) fn piece(&mut self, piece: Arc<TextPiece>, parsed: Option<Parsed>) -> Stitched {
        let sequential = self.parser.take().map(|mut parser| {
            parser.rebase((piece.origin - self.origin) as usize);
            parser
        });
        let (synced, spare, ending) = match (sequential, parsed) {
            (Some(parser), Some(parsed)) => self.resync(&piece, parser, parsed),
            (Some(parser), None) => (false, None, self.go_through(&piece, parser, None)),
            (None, parsed) => (true, None, parsed.and_then(|parsed| self.adopt(parsed, 0))),
        };
        self.origin = piece.origin;
        let blocks = self.settle(piece, ending);
        Stitched {
            blocks,
            synced,
            spare,
        }
    }

    /// Adopts `parsed` from its token number `from` on.
    fn adopt(&mut self, mut parsed: Parsed, from: usize) -> Option<Ending> {
        // Few tokens come before.
        parsed.tokens.splice(..from, self.tokens.drain(..));
        self.spare = std::mem::replace(&mut self.tokens, parsed.tokens);
        self.parser = Some(parsed.parser);
        parsed.ending
    }

    /// Leads the sequential parse to the resync point with `parsed`, or to the end of the piece.
    fn resync(
        &mut self,
        piece: &TextPiece,
        mut parser: Parser,
        parsed: Parsed,
    ) -> (bool, Option<Parser>, Option<Ending>) {
        let limit = match piece.until {
            Some(_) => u64::MAX,
            None => (piece.origin + piece.text.len() as u64).saturating_sub(END),
        };
        let start = piece.origin + piece.start as u64;
        let mut resync = Resync::new(self.strategy, self.at, self.after_match, start, limit);
        let mut step = STEP;
        let mut ending = None;
        loop {
            match resync.walk(&self.tokens[self.settled..], &parsed.tokens) {
                ResyncOutcome::Synced {
                    sequential,
                    speculative,
                } => {
                    self.tokens.truncate(self.settled + sequential);
                    return (true, Some(parser), self.adopt(parsed, speculative));
                }
                ResyncOutcome::More if !is_through(piece, &parser, ending) => {
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

    /// Leads the sequential parse to the end of the piece.
    fn go_through(
        &mut self,
        piece: &TextPiece,
        mut parser: Parser,
        mut ending: Option<Ending>,
    ) -> Option<Ending> {
        while !is_through(piece, &parser, ending) {
            ending = piece.go_on(&mut parser, self.dialect, usize::MAX, &mut self.tokens);
        }
        self.parser = Some(parser);
        ending
    }

    /// Cuts blocks of the tokens that begin before the end of `piece`.
    fn settle(&mut self, piece: Arc<TextPiece>, ending: Option<Ending>) -> Blocks {
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

    /// Counts the tokens that begin before the end of `piece`, from the last one on: few begin after it.
    fn settle_before(&mut self, piece: &TextPiece) {
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
        self.after_match = self.tokens[..count]
            .last()
            .is_none_or(|token| token.is_match());
    }
}

/// Whether the parse has come to where the speculative parse of `piece` stops.
fn is_through(piece: &TextPiece, parser: &Parser, ending: Option<Ending>) -> bool {
    ending.is_some() || piece.until.is_some_and(|until| parser.at() >= until)
}
