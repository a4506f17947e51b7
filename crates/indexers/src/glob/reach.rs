//! Matches tokens against a text.
//!
//! Each token maps the set of positions reached so far to the next set. So no position is visited twice per
//! token, whatever the stars and groups. A set is a bit mask, for most paths a single word. The module
//! knows no index and no prefix.

use bstr::{ByteSlice, decode_utf8};

use super::Token;

const SEPARATOR: u8 = b'/';

/// Whether `tokens` match all of `text`.
pub(super) fn reaches_end(tokens: &[Token], text: &[u8]) -> bool {
    match text.len() / 64 {
        0 => walk(Positions([0]), tokens, text),
        1..4 => walk(Positions([0; 4]), tokens, text),
        words => walk(Positions(vec![0; words + 1]), tokens, text),
    }
}

/// A group in progress.
struct Group<W> {
    /// The positions where its alternatives start.
    from: Positions<W>,
    /// The positions where its earlier alternatives ended.
    to: Positions<W>,
}

/// Match from the start. `none` is the empty set, with room for all positions.
fn walk<W: Words>(none: Positions<W>, tokens: &[Token], text: &[u8]) -> bool {
    let mut here = none.clone();
    here.insert(0);
    let mut groups: Vec<Group<W>> = Vec::new();
    for token in tokens {
        let mut next = none.clone();
        match token {
            Token::Text(part) => next.after_text(&here, part, text),
            Token::Any => next.after_any(&here, text),
            Token::Super => {
                if let Some(first) = here.first_from(0) {
                    next.insert_all(first, text.len());
                }
            }
            Token::Single => next.after_one(&here, text, |one| one != char::from(SEPARATOR)),
            Token::Class(class) => next.after_one(&here, text, |one| class.contains(one)),
            Token::Open => {
                next = here.clone();
                groups.push(Group {
                    from: here,
                    to: none.clone(),
                });
            }
            Token::Or => {
                if let Some(group) = groups.last_mut() {
                    group.to.unite(&here);
                    next = group.from.clone();
                }
            }
            Token::Close => {
                if let Some(group) = groups.pop() {
                    next = group.to;
                    next.unite(&here);
                }
            }
        }
        here = next;
        if groups.is_empty() && here.first_from(0).is_none() {
            return false;
        }
    }
    here.contains(text.len())
}

/// The bits of a set.
trait Words: AsRef<[u64]> + AsMut<[u64]> + Clone {}

impl<W: AsRef<[u64]> + AsMut<[u64]> + Clone> Words for W {}

/// Positions in a text: before a byte of it, or at its end.
#[derive(Clone)]
struct Positions<W>(W);

impl<W: Words> Positions<W> {
    fn insert(&mut self, at: usize) {
        self.0.as_mut()[at / 64] |= 1 << (at % 64);
    }

    fn contains(&self, at: usize) -> bool {
        self.0.as_ref()[at / 64] & (1 << (at % 64)) != 0
    }

    /// Insert all positions from `first` to `last`.
    fn insert_all(&mut self, first: usize, last: usize) {
        let words = self.0.as_mut()[first / 64..=last / 64].iter_mut();
        let count = words.len();
        for (at, word) in words.enumerate() {
            let mut bits = !0;
            if at == 0 {
                bits &= !0 << (first % 64);
            }
            if at == count - 1 {
                bits &= !0 >> (63 - last % 64);
            }
            *word |= bits;
        }
    }

    fn unite(&mut self, other: &Self) {
        for (word, other) in self.0.as_mut().iter_mut().zip(other.0.as_ref()) {
            *word |= other;
        }
    }

    /// The first position at or after `from`.
    fn first_from(&self, from: usize) -> Option<usize> {
        let words = self.0.as_ref();
        let mut word = words.get(from / 64)? & (!0 << (from % 64));
        for at in from / 64.. {
            if word != 0 {
                return Some(at * 64 + word.trailing_zeros() as usize);
            }
            word = *words.get(at + 1)?;
        }
        None
    }

    fn after_text(&mut self, here: &Self, part: &[u8], text: &[u8]) {
        let mut from = 0;
        while let Some(at) = here.first_from(from) {
            if text.get(at) == part.first() && text[at..].starts_with(part) {
                self.insert(at + part.len());
            }
            from = at + 1;
        }
    }

    fn after_any(&mut self, here: &Self, text: &[u8]) {
        let mut from = 0;
        while let Some(at) = here.first_from(from) {
            let end = text[at..]
                .find_byte(SEPARATOR)
                .map_or(text.len(), |length| at + length);
            self.insert_all(at, end);
            from = end + 1;
        }
    }

    /// Decodes all of `text`, since stars step by bytes and may stop inside a character.
    fn after_one(&mut self, here: &Self, text: &[u8], accepts: impl Fn(char) -> bool) {
        let mut at = 0;
        while at < text.len() {
            let (one, length) = match decode_utf8(&text[at..]) {
                (Some(one), length) => (one, length),
                (None, _) => (char::REPLACEMENT_CHARACTER, 1),
            };
            if here.contains(at) && accepts(one) {
                self.insert(at + length);
            }
            at += length;
        }
    }
}
