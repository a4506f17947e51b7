//! Parses and codes block by block, on one thread.

use super::{
    Dialect,
    bits::Bits,
    block,
    cut::Cutter,
    level::Level,
    parser::Parser,
    reference::{Reference, end_in_sight},
    token::Token,
};

/// Bytes that are parsed before their blocks are coded.
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
    /// Returns nothing for level 0.
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

    /// Starts a new stream.
    pub(super) fn begin(&mut self) {
        self.parser.begin(&[], 0, true);
        self.cutter = Cutter::new(self.level, self.dialect);
    }

    /// Parses as much of `text` as can be parsed before more input comes. `text` lies at `origin` in the input.
    pub(super) fn run(&mut self, text: &[u8], origin: u64) {
        let reference = self.reference(text, origin);
        let end = end_in_sight(text);
        while self.parser.at() < end {
            let until = end.min(self.parser.at() + STRIDE);
            self.parser.run(reference, until, &mut self.tokens);
            self.blocks(reference);
        }
    }

    /// Parses the rest of `text`, which ends the input, and completes the last byte.
    pub(super) fn finish(&mut self, text: &[u8], origin: u64) {
        self.run(text, origin);
        let mut reference = self.reference(text, origin);
        let pending = self.parser.finish(&mut reference, &mut self.tokens);
        self.blocks(reference);
        self.tokens.extend(pending);
        let notice = reference.notice.unwrap_or(0);
        let cut = self.cutter.last(&self.tokens, notice);
        block::block(
            &self.tokens,
            cut.raw(reference.text, reference.origin),
            true,
            &mut self.bits,
        );
        self.bits.align();
        self.tokens.clear();
    }

    /// Bytes of the text that are parsed. A window of them is still needed.
    pub(super) fn history(&self) -> usize {
        self.parser.at()
    }

    /// The number of first bytes of the text that are no longer needed.
    pub(super) fn spare(&self) -> usize {
        self.parser.at().saturating_sub(1 << 16) & !0xffff
    }

    /// Goes on in a text without its first `count` bytes.
    pub(super) fn rebase(&mut self, count: usize) {
        self.parser.rebase(count);
    }

    fn reference<'a>(&self, text: &'a [u8], origin: u64) -> Reference<'a> {
        Reference {
            text,
            origin,
            dialect: self.dialect,
            notice: None,
        }
    }

    /// Codes the complete blocks.
    fn blocks(&mut self, reference: Reference) {
        let mut done = 0;
        while let Some(cut) = self.cutter.next(&self.tokens[done..], reference.notice) {
            let tokens = &self.tokens[done..done + cut.tokens];
            block::block(
                tokens,
                cut.raw(reference.text, reference.origin),
                false,
                &mut self.bits,
            );
            done += cut.tokens;
        }
        self.tokens.drain(..done);
    }
}
