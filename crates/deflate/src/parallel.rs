//! A stream on several threads: pieces are parsed and blocks are coded in the pool, and joined in order.
//!
//! The calling thread takes the input, stitches the parses and joins the coded blocks, which is little work. The
//! thread waits when too many pieces are under way, so memory is bounded: three pieces with their tokens and the
//! blocks of two pieces for every two threads. With more, memory is touched for the first time and then waits.

use std::{collections::VecDeque, io, sync::Arc};

use super::{
    Dialect,
    bits::Bits,
    coded::Coded,
    frame::{Checksum, Frame},
    level::Level,
    parser::Parser,
    piece::{HISTORY, Parsed, Shape, TextPiece},
    stitch::Stitch,
    token::Token,
};
use crate::threads::{FreeList, Pool, Promise};

/// After this many pieces in a row without a resync point, only every so many pieces is parsed speculatively.
const MAX_FAILURES: u32 = 8;

/// A stream that several threads make.
pub(super) struct Parallel {
    level: Level,
    dialect: Dialect,
    frame: Frame,
    shape: Shape,
    pool: Pool,
    parsers: FreeList<Parser>,
    /// Free memory of pieces, of their tokens, and of their coded blocks.
    texts: FreeList<Vec<u8>>,
    tokens: FreeList<Vec<Token>>,
    codes: FreeList<Vec<u8>>,
    /// The input of the next piece as far as it has arrived, with the history before it.
    text: Vec<u8>,
    origin: u64,
    start: usize,
    /// The number of pieces so far.
    count: u32,
    parsing: VecDeque<Parsing>,
    stitch: Stitch,
    /// The number of speculative parses in a row without a resync point.
    failures: u32,
    coding: VecDeque<Promise<Coded>>,
    checksum: Checksum,
    pub(super) bits: Bits,
}

/// A piece under way. After many failures not every piece is parsed speculatively.
struct Parsing {
    piece: Arc<TextPiece>,
    parsed: Option<Promise<(Parsed, Checksum)>>,
}

impl Parallel {
    /// Returns nothing for level 0, and if no thread can be started.
    pub(super) fn new(
        level: Level,
        dialect: Dialect,
        frame: Frame,
        threads: usize,
        piece: Option<usize>,
    ) -> Option<Self> {
        let parsers = FreeList::default();
        parsers.put([Parser::new(level)?]);
        let pool = Pool::new("deflate", threads);
        (pool.count() > 0).then(|| Self {
            level,
            dialect,
            frame,
            shape: Shape::new(level, piece),
            pool,
            parsers,
            texts: FreeList::default(),
            tokens: FreeList::default(),
            codes: FreeList::default(),
            text: Vec::new(),
            origin: 0,
            start: 0,
            count: 0,
            parsing: VecDeque::new(),
            stitch: Stitch::new(level, dialect),
            failures: 0,
            coding: VecDeque::new(),
            checksum: frame.checksum(&[]),
            bits: Bits::default(),
        })
    }

    /// Takes more of the input.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let full = self.start + self.shape.reach();
            let (now, later) = bytes.split_at(bytes.len().min(full - self.text.len()));
            self.text.extend_from_slice(now);
            bytes = later;
            if self.text.len() == full {
                self.next_piece();
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Ends the input and returns its checksum.
    pub(super) fn finish(&mut self) -> io::Result<Checksum> {
        let text = std::mem::take(&mut self.text);
        let end = text.len();
        self.submit(text, end, None);
        while !self.parsing.is_empty() {
            self.stitch_next()?;
        }
        while !self.coding.is_empty() {
            self.join_next()?;
        }
        self.bits.align();
        Ok(self.checksum.clone())
    }

    /// Submits the piece that has arrived and begins the next one.
    fn next_piece(&mut self) {
        let end = self.start + self.shape.length;
        let from = end - HISTORY;
        let mut next = self.texts.take().unwrap_or_default();
        next.clear();
        next.reserve(HISTORY + self.shape.reach());
        next.extend_from_slice(&self.text[from..]);
        let text = std::mem::replace(&mut self.text, next);
        self.submit(text, end, Some(end + self.shape.overlap));
        self.origin += from as u64;
        self.start = HISTORY;
    }

    fn submit(&mut self, text: Vec<u8>, end: usize, until: Option<usize>) {
        let piece = Arc::new(TextPiece {
            text,
            origin: self.origin,
            start: self.start,
            end,
            until,
            texts: self.texts.clone(),
        });
        let is_speculative =
            self.failures < MAX_FAILURES || self.count.is_multiple_of(MAX_FAILURES);
        let parsed = is_speculative.then(|| self.parse(Arc::clone(&piece)));
        self.parsing.push_back(Parsing { piece, parsed });
        self.count = self.count.wrapping_add(1);
    }

    fn parse(&self, piece: Arc<TextPiece>) -> Promise<(Parsed, Checksum)> {
        let (level, dialect, frame) = (self.level, self.dialect, self.frame);
        let (parsers, tokens) = (self.parsers.clone(), self.tokens.clone());
        self.pool.submit(move || {
            let parser = parsers.take().or_else(|| Parser::new(level));
            let parser = parser.expect("there is one for this level");
            let tokens = tokens.take().unwrap_or_default();
            (piece.parse(parser, tokens, dialect), piece.checksum(frame))
        })
    }

    /// Does all that can be done without waiting, and waits as long as too much is under way.
    fn advance(&mut self) -> io::Result<()> {
        let threads = self.pool.count();
        while self.parsing.len() > threads + threads.div_ceil(2) {
            self.stitch_next()?;
        }
        while self.coding.len() > threads {
            self.join_next()?;
        }
        while let Some(next) = self.parsing.front() {
            // A piece without a speculative parse waits until it must be parsed.
            let Some(promise) = &next.parsed else { break };
            let Some(result) = promise.poll()? else { break };
            self.stitch_front(Some(result));
        }
        while let Some(promise) = self.coding.front() {
            let Some(coded) = promise.poll()? else { break };
            self.coding.pop_front();
            self.join(coded);
        }
        Ok(())
    }

    fn stitch_next(&mut self) -> io::Result<()> {
        let promise = self.parsing.front().and_then(|next| next.parsed.as_ref());
        let result = promise.map(Promise::wait).transpose()?;
        self.stitch_front(result);
        Ok(())
    }

    /// Stitches the oldest piece and submits its blocks.
    fn stitch_front(&mut self, result: Option<(Parsed, Checksum)>) {
        let Some(Parsing { piece, .. }) = self.parsing.pop_front() else {
            return;
        };
        let (parsed, checksum) = result.unzip();
        let checksum = checksum.unwrap_or_else(|| piece.checksum(self.frame));
        self.checksum.combine(&checksum);
        let tried = parsed.is_some();
        let stitched = self.stitch.piece(piece, parsed);
        if stitched.synced {
            self.failures = 0;
        } else if tried {
            self.failures = self.failures.saturating_add(1);
        }
        self.parsers.put(stitched.spare);
        let blocks = stitched.blocks;
        if !blocks.cuts.is_empty() {
            let (tokens, codes) = (self.tokens.clone(), self.codes.clone());
            self.coding.push_back(self.pool.submit(move || {
                let coded = blocks.code(codes.take().unwrap_or_default());
                tokens.put([blocks.tokens]);
                coded
            }));
        }
    }

    fn join_next(&mut self) -> io::Result<()> {
        if let Some(promise) = self.coding.pop_front() {
            self.join(promise.wait()?);
        }
        Ok(())
    }

    fn join(&mut self, coded: Coded) {
        coded.join(&mut self.bits);
        self.codes.put([coded.into_memory()]);
    }
}
