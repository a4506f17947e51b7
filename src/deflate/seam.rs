//! Where two parses of the same input meet, and stay together for ever.
//!
//! The one is true and runs on behind the end of its piece; the other began at the start of the next
//! piece, as if nothing had been found before. This is a proof, never a guess: both are in the same
//! state, and the state and the input decide everything that follows.

use super::{
    level::{MAX_DISTANCE, Strategy},
    token::Token,
};

/// A walk along both, from token to token.
pub(super) struct Seam {
    strategy: Strategy,
    one: Place,
    other: Place,
    /// For the fast parser: since when both have had the same tokens.
    agreed: Option<u64>,
    /// They must meet before this, so that neither has seen the end.
    limit: u64,
}

/// A boundary between tokens.
#[derive(Clone, Copy)]
struct Place {
    /// The token that follows.
    index: usize,
    at: u64,
    /// Whether a match ends here, or the parse begins.
    fresh: bool,
}

/// How far the walk came.
pub(super) enum Outcome {
    /// They meet before these tokens.
    Met { one: usize, other: usize },
    /// More of the true parse is needed.
    More,
    /// They do not meet.
    Never,
}

impl Seam {
    /// For a true parse whose next token is at `at`, `fresh` behind a match; and another from
    /// `start` on.
    pub(super) fn new(strategy: Strategy, at: u64, fresh: bool, start: u64, limit: u64) -> Self {
        let place = |at, fresh| Place {
            index: 0,
            at,
            fresh,
        };
        Self {
            strategy,
            one: place(at, fresh),
            other: place(start, true),
            agreed: None,
            limit,
        }
    }

    /// Go on with as much as is known of both.
    pub(super) fn walk(&mut self, one: &[Token], other: &[Token]) -> Outcome {
        loop {
            if self.one.at > self.limit {
                return Outcome::Never;
            }
            let aligned = self.one.at == self.other.at;
            let next = (one.get(self.one.index), other.get(self.other.index));
            if aligned && self.is_met(next) {
                return Outcome::Met {
                    one: self.one.index,
                    other: self.other.index,
                };
            }
            let ahead = self.one.at > self.other.at;
            match next {
                (None, _) if !ahead => return Outcome::More,
                (_, None) if aligned || ahead => return Outcome::Never,
                _ => {}
            }
            if aligned && next.0 != next.1 {
                self.agreed = None;
            }
            if !ahead && let Some(&token) = next.0 {
                self.one.pass(token);
            }
            if (aligned || ahead)
                && let Some(&token) = next.1
            {
                self.other.pass(token);
            }
        }
    }

    /// Whether both are in the same state before the tokens that follow.
    fn is_met(&mut self, next: (Option<&Token>, Option<&Token>)) -> bool {
        if let Strategy::Lazy = self.strategy {
            // Nothing is pending behind a match, and nothing was found at a plain literal.
            let plain = |token: Option<&Token>| token.is_some_and(|token| token.is_plain());
            return self.one.fresh && self.other.fresh || plain(next.0) && plain(next.1);
        }
        // The tokens of a window decide what is indexed of it.
        let since = *self.agreed.get_or_insert(self.one.at);
        self.one.at - since >= MAX_DISTANCE as u64
    }
}

impl Place {
    fn pass(&mut self, token: Token) {
        self.index += 1;
        self.at += token.span() as u64;
        self.fresh = token.is_match();
    }
}
