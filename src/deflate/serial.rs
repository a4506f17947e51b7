//! One thread: parse and code, block by block.

use super::{
    Dialect,
    bits::Bits,
    block,
    cut::Cutter,
    level::Level,
    parser::Parser,
    plain::{Plain, end_in_sight},
    token::Token,
};

/// How much is parsed before the blocks in it are coded.
const STRIDE: usize = 1 << 16;

/// A parser, and the block it is in.
pub(super) struct Serial {
    level: Level,
    dialect: Dialect,
    parser: Parser,
    cutter: Cutter,
    tokens: Vec<Token>,
    pub(super) bits: Bits,
}

impl Serial {
    /// None for level 0.
    pub(super) fn new(level: Level, dialect: Dialect) -> Option<Self> {
        Some(Self {
            level,
            dialect,
            parser: Parser::new(level)?,
            cutter: Cutter::new(level, dialect),
            tokens: Vec::new(),
            bits: Bits::default(),
        })
    }

    /// Start a new stream.
    pub(super) fn begin(&mut self) {
        self.parser.begin(&[], 0, true);
        self.cutter = Cutter::new(self.level, self.dialect);
    }

    /// Parse what can be parsed of `text`, which more will follow; it lies at `origin` in the
    /// input.
    pub(super) fn run(&mut self, text: &[u8], origin: u64) {
        let plain = self.plain(text, origin);
        let end = end_in_sight(text);
        while self.parser.at() < end {
            let until = end.min(self.parser.at() + STRIDE);
            self.parser.run(plain, until, &mut self.tokens);
            self.blocks(plain);
        }
    }

    /// Parse the rest of `text`, which ends the input, and complete the last byte.
    pub(super) fn finish(&mut self, text: &[u8], origin: u64) {
        self.run(text, origin);
        let mut plain = self.plain(text, origin);
        let pending = self.parser.finish(&mut plain, &mut self.tokens);
        self.blocks(plain);
        self.tokens.extend(pending);
        let notice = plain.notice.unwrap_or(0);
        let cut = self.cutter.last(&self.tokens, notice);
        block::block(
            &self.tokens,
            cut.raw(plain.text, plain.origin),
            true,
            &mut self.bits,
        );
        self.bits.align();
        self.tokens.clear();
    }

    /// How much of the text is done, of which a part is still needed.
    pub(super) fn history(&self) -> usize {
        self.parser.at()
    }

    /// The text can lose this many of its first bytes.
    pub(super) fn spare(&self) -> usize {
        self.parser.at().saturating_sub(1 << 16) & !0xffff
    }

    /// Go on in a text that lacks the first `count` bytes.
    pub(super) fn rebase(&mut self, count: usize) {
        self.parser.rebase(count);
    }

    fn plain<'a>(&self, text: &'a [u8], origin: u64) -> Plain<'a> {
        Plain {
            text,
            origin,
            dialect: self.dialect,
            notice: None,
        }
    }

    /// Code the blocks that are complete.
    fn blocks(&mut self, plain: Plain) {
        let mut done = 0;
        while let Some(cut) = self.cutter.next(&self.tokens[done..], plain.notice) {
            let tokens = &self.tokens[done..done + cut.tokens];
            block::block(
                tokens,
                cut.raw(plain.text, plain.origin),
                false,
                &mut self.bits,
            );
            done += cut.tokens;
        }
        self.tokens.drain(..done);
    }
}
