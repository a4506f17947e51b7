//! One pattern of the glob dialect that ignore files and access rules are written in: that of the Go
//! library gobwas/glob, with `/` as separator.
//!
//! `*` stays inside of a path component, `**` does not, `?` and `[…]` are one character (a byte that is
//! not UTF-8 counts as one), `{a,b}` is a choice and `\` takes a meaning away. Matching is textbook, so
//! linear in pattern times path whatever the pattern, with one exception that ignore files in the
//! wild may depend on: `a/**/c` matches `a/c`, since its two ends may overlap.

mod parse;
mod reach;

use std::mem;

pub use parse::GlobError;
pub(super) use parse::{Token, parse};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    /// What every match starts with.
    prefix: Vec<u8>,
    /// What every match ends with.
    suffix: Vec<u8>,
    /// What lies between them.
    middle: Vec<Token>,
    /// The length in bytes below which there is no match.
    shortest: usize,
}

impl Glob {
    /// Compile `pattern`.
    pub fn new(pattern: &[u8]) -> Result<Self, GlobError> {
        parse(pattern).map(Self::of)
    }

    /// The pattern that consists of `tokens`.
    pub(super) fn of(tokens: Vec<Token>) -> Self {
        let overlaps = may_overlap(&tokens);
        let mut middle = simplify(tokens);
        let shortest = shortest(&middle);
        let prefix = take_text(middle.first_mut());
        let suffix = take_text(middle.last_mut());
        middle.retain(|token| !matches!(token, Token::Text(text) if text.is_empty()));
        Self {
            shortest: match overlaps {
                true => prefix.len().max(suffix.len()),
                false => shortest,
            },
            prefix,
            suffix,
            middle,
        }
    }

    /// Whether this matches all of `path`.
    pub fn is_match(&self, path: &[u8]) -> bool {
        if path.len() < self.shortest
            || !path.starts_with(&self.prefix)
            || !path.ends_with(&self.suffix)
        {
            return false;
        }
        match &self.middle[..] {
            // Also where prefix and suffix overlap.
            [Token::Super] => true,
            middle => {
                let inner = &path[self.prefix.len()..path.len() - self.suffix.len()];
                reach::reaches_end(middle, inner)
            }
        }
    }

    /// What every match starts with.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// What every match ends with.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// Texts that are in every match, one after the other, between its start and its end.
    pub(super) fn inner_texts(&self) -> impl Iterator<Item = &[u8]> {
        outside_groups(&self.middle).filter_map(|token| match token {
            Token::Text(text) => Some(&text[..]),
            _ => None,
        })
    }

    /// Whether this is a path as it is.
    pub(super) fn is_literal(&self) -> bool {
        self.middle.is_empty() && self.suffix.is_empty()
    }

    /// Whether this is `prefix**`.
    pub(super) fn is_prefix(&self) -> bool {
        self.suffix.is_empty() && self.middle == [Token::Super]
    }

    /// Whether this is known to match all that starts with something it matches: it ends in `**` and
    /// has no braces.
    pub(super) fn is_open(&self) -> bool {
        self.suffix.is_empty()
            && self.middle.last() == Some(&Token::Super)
            && !self.middle.contains(&Token::Open)
    }
}

/// Whether prefix and suffix may be found in the same place: in `prefix**suffix` the library does not
/// look whether they overlap.
fn may_overlap(tokens: &[Token]) -> bool {
    match tokens {
        // An odd star is another token to the library, and so another case.
        [Token::Text(_), stars @ .., Token::Text(_)] => {
            !stars.is_empty() && stars.iter().all(|token| *token == Token::Super)
        }
        _ => false,
    }
}

/// The text of `token`, which becomes empty; nothing of one that is none.
fn take_text(token: Option<&mut Token>) -> Vec<u8> {
    match token {
        Some(Token::Text(text)) => mem::take(text),
        _ => Vec::new(),
    }
}

/// Join texts, and stars that mean no more than the `**` beside them.
fn simplify(mut tokens: Vec<Token>) -> Vec<Token> {
    tokens.dedup_by(|token, before| match (before, token) {
        (Token::Text(before), Token::Text(text)) => {
            before.append(text);
            true
        }
        (Token::Super, Token::Any | Token::Super) => true,
        _ => false,
    });
    tokens
}

/// How many bytes every match has at least; groups count for nothing.
fn shortest(tokens: &[Token]) -> usize {
    let bytes = outside_groups(tokens).map(|token| match token {
        Token::Text(text) => text.len(),
        Token::Single | Token::Class(_) => 1,
        _ => 0,
    });
    bytes.sum()
}

/// The tokens that are no part of a choice.
fn outside_groups(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0;
    tokens.iter().filter(move |token| {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::{Glob, GlobError};

    #[test]
    fn errors_are_those_of_the_library() {
        for (pattern, reason) in [
            ("[", GlobError::Unclosed),
            ("a[b", GlobError::Unclosed),
            ("[a-]", GlobError::Unclosed),
            ("[]", GlobError::EmptyClass),
            ("[]a]", GlobError::EmptyClass),
            ("[!]", GlobError::EmptyClass),
            ("[z-a]", GlobError::BackwardRange),
            ("[a-]]", GlobError::BackwardRange),
            ("[a-zA-Z]", GlobError::CrowdedClass),
            ("[a-z0-9]x", GlobError::CrowdedClass),
            ("\u{fffd}", GlobError::NotUtf8),
            ("a\0", GlobError::Nul),
        ] {
            assert_eq!(
                Glob::new(pattern.as_bytes()).err(),
                Some(reason),
                "{pattern:?}"
            );
        }
        assert_eq!(Glob::new(b"\xc3").err(), Some(GlobError::NotUtf8));
        for pattern in [
            "]", "a]", "a}", "{a", "{}", "[]-a]", "[A-]]", "[\\]]", "\\", "",
        ] {
            assert!(Glob::new(pattern.as_bytes()).is_ok(), "{pattern:?}");
        }
    }

    #[test]
    fn odd_patterns_match_as_in_the_library() {
        for (pattern, matches, others) in [
            ("{a", &["a"][..], &["{a"][..]),
            ("{a,b", &["a", "b"], &["ab"]),
            ("{a{b,c},d}}", &["ab}", "ac}", "d}"], &["ab", "a}"]),
            ("{a\\,b,[,]}", &["a,b", ","], &["a", "b"]),
            ("a,b}", &["a,b}"], &["a"]),
            ("[]-a]", &["]", "^", "a"], &["b"]),
            ("[\\-a]", &["\\", "]", "a"], &["-"]),
            ("[ab-c]", &["a", "b", "-", "c"], &["d"]),
            ("[\\]a]", &["]", "a"], &["\\"]),
            ("[!!-a]", &["b"], &["!", "a", "-"]),
            ("[a/]b", &["/b"], &["b"]),
            ("[a]**[a]", &["a", "aa", "a/a"], &["", "b"]),
            ("ab**bc", &["abc", "abbc"], &["ab", "bc"]),
            ("ab****bc", &["abc"], &["ab"]),
            ("a[b]**b", &["abb"], &["ab"]),
            ("?", &["é", "日"], &["", "/", "ab"]),
            ("*[!é]", &["a", "éa"], &["é", "aé"]),
            ("a\\", &["a"], &["a\\"]),
            ("", &[""], &["a"]),
        ] {
            let glob = Glob::new(pattern.as_bytes()).expect("a pattern");
            for text in matches {
                assert!(glob.is_match(text.as_bytes()), "{pattern} {text:?}");
            }
            for text in others {
                assert!(!glob.is_match(text.as_bytes()), "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn a_byte_that_is_no_character_is_one() {
        let matches = |pattern: &str, text: &[u8]| {
            let glob = Glob::new(pattern.as_bytes()).expect("a pattern");
            glob.is_match(text)
        };
        assert!(matches("?", b"\xe9") && matches("??", b"\xe6\x97") && matches("[!a]", b"\xff"));
        assert!(!matches("?", b"\xe6\x97"));
        assert!(matches("*\u{e9}", b"\xc3\xc3\xa9"));
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let text = "a".repeat(4000);
        for pattern in [
            "*a*a*a*a*b".repeat(50),
            "**/".repeat(1000) + "x",
            "{".repeat(100) + "a,b*",
            "{a,aa}".repeat(500) + "b",
            "**?".repeat(500) + "b",
            "[".to_owned() + &"ab".repeat(20_000) + "]*b",
        ] {
            let glob = Glob::new(pattern.as_bytes()).expect("a pattern");
            assert!(!glob.is_match(text.as_bytes()), "{pattern:.20}");
        }
        let nested = "{".repeat(101) + "a";
        assert_eq!(Glob::new(nested.as_bytes()).err(), Some(GlobError::TooDeep));
    }
}
