//! The two parsers as one.

use super::{
    fast::Fast,
    lazy::Lazy,
    level::{Level, Strategy},
    plain::Plain,
    token::Token,
};

/// The parser of a level, with its index of the window.
pub(super) enum Parser {
    Fast(Fast),
    Lazy(Lazy),
}

impl Parser {
    /// None for level 0, which does not parse.
    pub(super) fn new(level: Level) -> Option<Self> {
        let effort = level.effort();
        match level.strategy() {
            Strategy::Stored => None,
            Strategy::Fast => Some(Self::Fast(Fast::new(effort))),
            Strategy::Lazy => Some(Self::Lazy(Lazy::new(effort))),
        }
    }

    /// Start at `at` as if nothing was found before it. `origin` says whether `text` begins with
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

    /// How far its tokens go: the last byte may be undecided.
    pub(super) fn reach(&self) -> usize {
        match self {
            Self::Fast(fast) => fast.at(),
            Self::Lazy(lazy) => lazy.reach(),
        }
    }

    /// Go on in a text that lacks the first `count` bytes, a multiple of 65,536.
    pub(super) fn rebase(&mut self, count: usize) {
        match self {
            Self::Fast(fast) => fast.rebase(count),
            Self::Lazy(lazy) => lazy.rebase(count),
        }
    }

    /// Parse up to `until`, from where the end of the input is not in sight.
    pub(super) fn run(&mut self, plain: Plain, until: usize, tokens: &mut Vec<Token>) {
        match self {
            Self::Fast(fast) => fast.run(plain.text, until, tokens),
            Self::Lazy(lazy) => lazy.run(plain, until, tokens),
        }
    }

    /// Parse up to the end of the input. A token that is returned belongs to the last block.
    pub(super) fn finish(&mut self, plain: &mut Plain, tokens: &mut Vec<Token>) -> Option<Token> {
        match self {
            Self::Fast(fast) => {
                fast.finish(plain, tokens);
                None
            }
            Self::Lazy(lazy) => lazy.finish(plain, tokens),
        }
    }
}
