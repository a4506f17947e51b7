//! Blocks that are coded apart from the stream and joined to it later.

use super::{
    bits::Bits,
    block::{self, Sink},
    cut::Cut,
    piece::TextPiece,
    token::Token,
};

/// Coded blocks, in order.
pub(super) struct Coded {
    stored: Vec<StoredBlock>,
    /// The blocks after the last stored one.
    bits: Bits,
}

/// A stored block, whose padding depends on where it stands.
struct StoredBlock {
    /// The blocks before it.
    before: Bits,
    raw: Vec<u8>,
    last: bool,
}

impl Coded {
    /// Codes `tokens` as the blocks that `cuts` make of them, the last one of the stream if `last`,
    /// into `memory`.
    pub(super) fn new(
        mut tokens: &[Token],
        cuts: &[Cut],
        piece: &TextPiece,
        last: bool,
        memory: Vec<u8>,
    ) -> Self {
        let mut coded = Self {
            stored: Vec::new(),
            bits: Bits::within(memory),
        };
        for (left, cut) in (0..cuts.len()).rev().zip(cuts) {
            let (block, rest) = tokens.split_at(cut.tokens);
            let raw = cut.raw(&piece.text, piece.origin);
            block::block(block, raw, last && left == 0, &mut coded);
            tokens = rest;
        }
        coded
    }

    /// Appends all blocks to `bits`.
    pub(super) fn join(&self, bits: &mut Bits) {
        for stored in &self.stored {
            bits.append(&stored.before);
            bits.stored(&stored.raw, stored.last);
        }
        bits.append(&self.bits);
    }

    /// Returns the memory.
    pub(super) fn into_memory(self) -> Vec<u8> {
        self.bits.into_memory()
    }
}

impl Sink for Coded {
    fn bits(&mut self) -> &mut Bits {
        &mut self.bits
    }

    fn stored(&mut self, raw: &[u8], last: bool) {
        self.stored.push(StoredBlock {
            before: std::mem::take(&mut self.bits),
            raw: raw.to_vec(),
            last,
        });
    }
}
