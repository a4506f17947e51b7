//! Several threads: pieces are parsed and blocks coded apart, and joined in order.
//!
//! The calling thread takes the input, stitches what was parsed and joins what was coded; both are
//! little work. It is held up when too many pieces are under way, so that memory is bounded: for every
//! two threads three pieces with their parse, each token four bytes, and the blocks of two. More would
//! be touched for the first time, and wait.

use std::{collections::VecDeque, io, sync::Arc};

use crc32fast::Hasher;

use super::{
    Dialect,
    bits::Bits,
    coded::Coded,
    level::Level,
    parser::Parser,
    piece::{HISTORY, Parsed, Piece, Shape},
    pool::{Pool, Promise},
    shelf::Shelf,
    stitch::Stitch,
    token::Token,
};

/// After so many pieces in a row where parses did not meet, only every so many pieces is one tried.
const PATIENCE: u32 = 8;

/// A stream that several threads make.
pub(super) struct Parallel {
    level: Level,
    dialect: Dialect,
    shape: Shape,
    pool: Pool,
    parsers: Shelf<Parser>,
    /// The memory of pieces that are done, of their tokens, and of their blocks.
    texts: Shelf<Vec<u8>>,
    tokens: Shelf<Vec<Token>>,
    codes: Shelf<Vec<u8>>,
    /// What has arrived of the next piece, and around it.
    text: Vec<u8>,
    origin: u64,
    start: usize,
    /// Pieces so far.
    count: u32,
    parsing: VecDeque<Parsing>,
    stitch: Stitch,
    /// How many parses in a row were in vain.
    failures: u32,
    coding: VecDeque<Promise<Coded>>,
    checksum: Hasher,
    pub(super) bits: Bits,
}

/// A piece under way. Not all are parsed ahead.
struct Parsing {
    piece: Arc<Piece>,
    parsed: Option<Promise<(Parsed, Hasher)>>,
}

impl Parallel {
    /// None for level 0, and where no thread can be had.
    pub(super) fn new(
        level: Level,
        dialect: Dialect,
        threads: usize,
        piece: Option<usize>,
    ) -> Option<Self> {
        let parsers = Shelf::default();
        parsers.put([Parser::new(level)?]);
        let pool = Pool::new(threads);
        (pool.len() > 0).then(|| Self {
            level,
            dialect,
            shape: Shape::new(level, piece),
            pool,
            parsers,
            texts: Shelf::default(),
            tokens: Shelf::default(),
            codes: Shelf::default(),
            text: Vec::new(),
            origin: 0,
            start: 0,
            count: 0,
            parsing: VecDeque::new(),
            stitch: Stitch::new(level, dialect),
            failures: 0,
            coding: VecDeque::new(),
            checksum: Hasher::new(),
            bits: Bits::default(),
        })
    }

    /// Take more of the input.
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

    /// The input is complete. Its checksum comes back.
    pub(super) fn finish(&mut self) -> io::Result<Hasher> {
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

    /// Hand out what has arrived as a piece, and begin the next one.
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
        let piece = Arc::new(Piece {
            text,
            origin: self.origin,
            start: self.start,
            end,
            until,
            texts: self.texts.clone(),
        });
        let hopeful = self.failures < PATIENCE || self.count.is_multiple_of(PATIENCE);
        let parsed = hopeful.then(|| self.parse(Arc::clone(&piece)));
        self.parsing.push_back(Parsing { piece, parsed });
        self.count = self.count.wrapping_add(1);
    }

    fn parse(&self, piece: Arc<Piece>) -> Promise<(Parsed, Hasher)> {
        let (level, dialect) = (self.level, self.dialect);
        let (parsers, tokens) = (self.parsers.clone(), self.tokens.clone());
        self.pool.submit(move || {
            let parser = parsers.take().or_else(|| Parser::new(level));
            let parser = parser.expect("there is one for this level");
            let tokens = tokens.take().unwrap_or_default();
            (piece.parse(parser, tokens, dialect), piece.checksum())
        })
    }

    /// Do what can be done now, and what must be done before there is room for more.
    fn advance(&mut self) -> io::Result<()> {
        let threads = self.pool.len();
        while self.parsing.len() > threads + threads.div_ceil(2) {
            self.stitch_next()?;
        }
        while self.coding.len() > threads {
            self.join_next()?;
        }
        while let Some(next) = self.parsing.front() {
            // What is not parsed ahead waits until it must be done.
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

    /// Stitch the piece in front, and have its blocks coded.
    fn stitch_front(&mut self, result: Option<(Parsed, Hasher)>) {
        let Some(Parsing { piece, .. }) = self.parsing.pop_front() else {
            return;
        };
        let (parsed, checksum) = result.unzip();
        let checksum = checksum.unwrap_or_else(|| piece.checksum());
        self.checksum.combine(&checksum);
        let tried = parsed.is_some();
        let stitched = self.stitch.piece(piece, parsed);
        if stitched.met {
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
