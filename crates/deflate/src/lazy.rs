//! The lazy parser of levels 4 to 9: a match waits for what the next position has to offer.
//!
//! The state of the parser is a position and the match found just before, since the chains depend on the input alone.
//! The parser does not know how the input arrives.

use super::{
    chains::Chains,
    level::{Effort, TOO_FAR},
    reference::{Match, Reference, end_in_sight},
    search::search,
    token::Token,
};

/// The parser and the index it searches.
pub(super) struct Lazy {
    chains: Chains,
    state: LazyState,
    effort: Effort,
}

/// The state before a position is looked at.
#[derive(Clone, Copy)]
struct LazyState {
    at: usize,
    /// Whether the byte before is undecided.
    pending: bool,
    /// The match found at the byte before; its length is 2 if there is none.
    length: usize,
    place: usize,
}

impl Lazy {
    pub(super) fn new(effort: Effort) -> Self {
        Self {
            chains: Chains::new(),
            state: LazyState::new(0),
            effort,
        }
    }

    /// Starts at `at`, with nothing pending. `origin` says whether `text` begins with the input.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        self.chains.begin(text, at, origin);
        self.state = LazyState::new(at);
    }

    /// The position to look at next.
    pub(super) fn at(&self) -> usize {
        self.state.at
    }

    /// The end of the last token.
    pub(super) fn reach(&self) -> usize {
        self.state.at - usize::from(self.state.pending)
    }

    /// Goes on in a text without its first `count` bytes: a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.chains.rebase(count);
        self.state.at -= count;
        self.state.place = self.state.place.saturating_sub(count);
    }

    /// Parses up to `until`; the text goes on for a lookahead.
    pub(super) fn run(&mut self, reference: Reference, until: usize, tokens: &mut Vec<Token>) {
        let text = reference.text;
        let effort = self.effort;
        while self.state.at < until {
            self.chains.reach(text, self.state.at);
            let link = |at| self.chains.link(at);
            let search = |at, least| {
                search(&self.chains, text, at, least, effort)
                    .unwrap_or_else(|| reference.search(at, least, effort, link))
            };
            self.state.step(text, effort.lazy, search, tokens);
        }
    }

    /// Parses up to the end. The last byte may be pending; it belongs to the last block.
    pub(super) fn finish(
        &mut self,
        reference: &mut Reference,
        tokens: &mut Vec<Token>,
    ) -> Option<Token> {
        let text = reference.text;
        self.run(*reference, end_in_sight(text), tokens);
        reference.notice = Some(reference.origin + self.state.at as u64);
        self.chains.finish(text);
        let effort = self.effort;
        let link = |at| self.chains.link(at);
        let search = |at, least| reference.search(at, least, effort, link);
        while self.state.at < text.len() {
            self.state.step(text, effort.lazy, search, tokens);
        }
        let last = *text.last()?;
        let found = self.state.length >= 3;
        self.state.pending.then(|| Token::literal(last, !found))
    }
}

impl LazyState {
    fn new(at: usize) -> Self {
        Self {
            at,
            pending: false,
            length: 2,
            place: 0,
        }
    }

    /// Decides about the byte before the position.
    #[inline(always)]
    fn step(
        &mut self,
        text: &[u8],
        lazy: usize,
        search: impl Fn(usize, usize) -> Match,
        tokens: &mut Vec<Token>,
    ) {
        let (least, place) = (self.length, self.place);
        self.length = 2;
        if least < lazy {
            let (length, place) = search(self.at, least);
            if length > 3 || length == 3 && self.at - place <= TOO_FAR {
                (self.length, self.place) = (length, place);
            }
        }
        if least >= 3 && self.length <= least {
            tokens.push(Token::matched(least, self.at - 1 - place));
            self.at += least - 1;
            self.pending = false;
            self.length = 2;
        } else {
            if self.pending {
                tokens.push(Token::literal(text[self.at - 1], least < 3));
            }
            self.pending = true;
            self.at += 1;
        }
    }
}
