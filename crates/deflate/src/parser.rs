//! One type for both parsers.

use super::{
    fast::Fast,
    lazy::Lazy,
    level::{Level, Strategy},
    reference::Reference,
    token::Token,
};

/// The parser of a level, with its index of the window.
pub(super) enum Parser {
    Fast(Fast),
    Lazy(Lazy),
}

impl Parser {
    /// Returns nothing for level 0, which does not parse.
    pub(super) fn new(level: Level) -> Option<Self> {
        let effort = level.effort();
        match level.strategy() {
            Strategy::Stored => None,
            Strategy::Fast => Some(Self::Fast(Fast::new(effort))),
            Strategy::Lazy => Some(Self::Lazy(Lazy::new(effort))),
        }
    }

    /// Starts at `at` as if no match came before. `origin` says whether `text` begins with
    /// the input.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        match self {
            Self::Fast(fast) => fast.begin(text, at, origin),
            Self::Lazy(lazy) => lazy.begin(text, at, origin),
        }
    }

    /// The position to look at next.
    pub(super) fn at(&self) -> usize {
        match self {
            Self::Fast(fast) => fast.at(),
            Self::Lazy(lazy) => lazy.at(),
        }
    }

    /// The end of the last token. The lazy parser may be a byte further.
    pub(super) fn reach(&self) -> usize {
        match self {
            Self::Fast(fast) => fast.at(),
            Self::Lazy(lazy) => lazy.reach(),
        }
    }

    /// Goes on in a text without the first `count` bytes, a multiple of 65,536.
    pub(super) fn rebase(&mut self, count: usize) {
        match self {
            Self::Fast(fast) => fast.rebase(count),
            Self::Lazy(lazy) => lazy.rebase(count),
        }
    }

    /// Parses up to `until`, from where the end of the input is not in sight.
    pub(super) fn run(&mut self, reference: Reference, until: usize, tokens: &mut Vec<Token>) {
        match self {
            Self::Fast(fast) => fast.run(reference.text, until, tokens),
            Self::Lazy(lazy) => lazy.run(reference, until, tokens),
        }
    }

    /// Parses up to the end of the input. A token that is returned belongs to the last block.
    pub(super) fn finish(
        &mut self,
        reference: &mut Reference,
        tokens: &mut Vec<Token>,
    ) -> Option<Token> {
        match self {
            Self::Fast(fast) => {
                fast.finish(reference, tokens);
                None
            }
            Self::Lazy(lazy) => lazy.finish(reference, tokens),
        }
    }
}
