//! The lazy parser of levels 4 to 9: a match waits for what the next position has to offer.
//!
//! Its whole state is a position and what was found just before it, since its chains depend on the
//! input alone. Nothing here knows how the input arrives.

use super::{
    chains::Chains,
    level::{Effort, TOO_FAR},
    plain::{Found, Plain, end_in_sight},
    search::search,
    token::Token,
};

/// The parser and the index it searches.
pub(super) struct Lazy {
    chains: Chains,
    state: State,
    effort: Effort,
}

/// The state before a position is looked at.
#[derive(Clone, Copy)]
struct State {
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
            state: State::new(0),
            effort,
        }
    }

    /// Start at `at`, with nothing pending. `origin` says whether `text` begins with the input.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        self.chains.begin(text, at, origin);
        self.state = State::new(at);
    }

    /// The position to look at next.
    pub(super) fn at(&self) -> usize {
        self.state.at
    }

    /// How far its tokens go.
    pub(super) fn reach(&self) -> usize {
        self.state.at - usize::from(self.state.pending)
    }

    /// Go on in a text that lacks the first `count` bytes, a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.chains.rebase(count);
        self.state.at -= count;
        self.state.place = self.state.place.saturating_sub(count);
    }

    /// Parse up to `until`; the text goes on for a lookahead.
    pub(super) fn run(&mut self, plain: Plain, until: usize, tokens: &mut Vec<Token>) {
        let text = plain.text;
        let effort = self.effort;
        while self.state.at < until {
            self.chains.reach(text, self.state.at);
            let link = |at| self.chains.link(at);
            let search = |at, least| {
                search(&self.chains, text, at, least, effort)
                    .unwrap_or_else(|| plain.search(at, least, effort, link))
            };
            self.state.step(text, effort.lazy, search, tokens);
        }
    }

    /// Parse up to the end. The last byte may be pending; it belongs to the last block.
    pub(super) fn finish(&mut self, plain: &mut Plain, tokens: &mut Vec<Token>) -> Option<Token> {
        let text = plain.text;
        self.run(*plain, end_in_sight(text), tokens);
        plain.notice = Some(plain.origin + self.state.at as u64);
        self.chains.finish(text);
        let effort = self.effort;
        let link = |at| self.chains.link(at);
        let search = |at, least| plain.search(at, least, effort, link);
        while self.state.at < text.len() {
            self.state.step(text, effort.lazy, search, tokens);
        }
        let last = *text.last()?;
        let found = self.state.length >= 3;
        self.state.pending.then(|| Token::literal(last, !found))
    }
}

impl State {
    fn new(at: usize) -> Self {
        Self {
            at,
            pending: false,
            length: 2,
            place: 0,
        }
    }

    /// Decide about the byte before.
    #[inline(always)]
    fn step(
        &mut self,
        text: &[u8],
        lazy: usize,
        search: impl Fn(usize, usize) -> Found,
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
