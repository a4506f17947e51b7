//! Finds the resync point: the token from which two parses of the same input are identical.
//!
//! The sequential parse continues after the end of its piece. The speculative parse began at the start of the next
//! piece, as if no match came before. From the resync point on both parsers are in the same state, and the state and
//! the input decide every later token. Equal tokens alone prove nothing.

use super::{
    level::{MAX_DISTANCE, Strategy},
    token::Token,
};

/// A walk along both parses, token by token.
pub(super) struct Resync {
    strategy: Strategy,
    sequential: Cursor,
    speculative: Cursor,
    /// For the fast parser: the position since which both parses have had equal tokens.
    agreed: Option<u64>,
    /// The resync point must lie before this position: after it a parse may have seen the end of the input.
    limit: u64,
}

/// A boundary between tokens.
#[derive(Clone, Copy)]
struct Cursor {
    /// The index of the token that follows.
    index: usize,
    /// The position in the input.
    at: u64,
    /// Whether a match ends here, or the parse begins here.
    after_match: bool,
}

/// The result of a walk.
pub(super) enum ResyncOutcome {
    /// The resync point lies before these tokens, given by index.
    Synced {
        sequential: usize,
        speculative: usize,
    },
    /// More of the sequential parse is needed.
    More,
    /// There is no resync point.
    Never,
}

impl Resync {
    /// Compares a sequential parse, whose next token is at `at`, and a speculative one that began at `start`.
    /// `after_match` says whether a match ends at `at`.
    pub(super) fn new(
        strategy: Strategy,
        at: u64,
        after_match: bool,
        start: u64,
        limit: u64,
    ) -> Self {
        let cursor = |at, after_match| Cursor {
            index: 0,
            at,
            after_match,
        };
        Self {
            strategy,
            sequential: cursor(at, after_match),
            speculative: cursor(start, true),
            agreed: None,
            limit,
        }
    }

    /// Goes on through the tokens of both parses that are known so far.
    pub(super) fn walk(&mut self, sequential: &[Token], speculative: &[Token]) -> ResyncOutcome {
        loop {
            if self.sequential.at > self.limit {
                return ResyncOutcome::Never;
            }
            let aligned = self.sequential.at == self.speculative.at;
            let next = (
                sequential.get(self.sequential.index),
                speculative.get(self.speculative.index),
            );
            if aligned && self.is_synced(next) {
                return ResyncOutcome::Synced {
                    sequential: self.sequential.index,
                    speculative: self.speculative.index,
                };
            }
            let ahead = self.sequential.at > self.speculative.at;
            match next {
                (None, _) if !ahead => return ResyncOutcome::More,
                (_, None) if aligned || ahead => return ResyncOutcome::Never,
                _ => {}
            }
            if aligned && next.0 != next.1 {
                self.agreed = None;
            }
            if !ahead && let Some(&token) = next.0 {
                self.sequential.pass(token);
            }
            if (aligned || ahead)
                && let Some(&token) = next.1
            {
                self.speculative.pass(token);
            }
        }
    }

    /// Whether both parsers are in the same state before the tokens that follow.
    fn is_synced(&mut self, next: (Option<&Token>, Option<&Token>)) -> bool {
        if let Strategy::Lazy = self.strategy {
            // The lazy parser holds no match back after a match, nor at a literal where it found none.
            let unmatched = |token: Option<&Token>| token.is_some_and(|token| token.is_unmatched());
            return self.sequential.after_match && self.speculative.after_match
                || unmatched(next.0) && unmatched(next.1);
        }
        // The fast parser indexes a window by its tokens, so a window of equal tokens is indexed equally.
        let since = *self.agreed.get_or_insert(self.sequential.at);
        self.sequential.at - since >= MAX_DISTANCE as u64
    }
}

impl Cursor {
    fn pass(&mut self, token: Token) {
        self.index += 1;
        self.at += token.span() as u64;
        self.after_match = token.is_match();
    }
}
