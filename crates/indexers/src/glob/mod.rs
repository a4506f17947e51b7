//! A pattern in the glob dialect of exclude files and access rules: that of the Go library gobwas/glob, with
//! `/` as separator.
//!
//! `*` stays within a path component, `**` does not, `?` and `[…]` match one character (an invalid byte
//! counts as one character), `{a,b}` is a choice and `\` escapes. Matching is linear in pattern times path
//! for every pattern. It follows the textbook with one exception, on which existing exclude files may
//! depend: `a/**/c` matches `a/c`, since prefix and suffix may overlap.

mod parse;
mod reach;

use std::mem;

pub use parse::GlobError;
pub use parse::{Token, parse};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    /// The literal prefix of every match.
    prefix: Vec<u8>,
    /// The literal suffix of every match.
    suffix: Vec<u8>,
    /// The tokens between prefix and suffix.
    middle: Vec<Token>,
    /// The least length of a match in bytes.
    shortest: usize,
}

impl Glob {
    /// Compile `pattern`.
    pub fn new(pattern: &[u8]) -> Result<Self, GlobError> {
        parse(pattern).map(Self::of)
    }

    /// The pattern of `tokens`.
    pub fn of(tokens: Vec<Token>) -> Self {
        let overlaps = may_overlap(&tokens);
        let mut middle = simplify(tokens);
        let shortest = shortest(&middle);
        let prefix = take_text(middle.first_mut());
        let suffix = take_text(middle.last_mut());
        middle.retain(|token| !matches!(token, Token::Text(text) if text.is_empty()));
        Self {
            shortest: if overlaps {
                prefix.len().max(suffix.len())
            } else {
                shortest
            },
            prefix,
            suffix,
            middle,
        }
    }

    /// Whether the pattern matches all of `path`.
    pub fn is_match(&self, path: &[u8]) -> bool {
        if path.len() < self.shortest
            || !path.starts_with(&self.prefix)
            || !path.ends_with(&self.suffix)
        {
            return false;
        }
        match &self.middle[..] {
            // Prefix and suffix may overlap.
            [Token::Super] => true,
            middle => {
                let inner = &path[self.prefix.len()..path.len() - self.suffix.len()];
                reach::reaches_end(middle, inner)
            }
        }
    }

    /// The literal prefix of every match.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The literal suffix of every match.
    pub fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// The texts that every match contains in this order between prefix and suffix.
    pub fn inner_texts(&self) -> impl Iterator<Item = &[u8]> {
        outside_groups(&self.middle).filter_map(|token| match token {
            Token::Text(text) => Some(&text[..]),
            _ => None,
        })
    }

    /// Whether the pattern is a path without wildcards.
    pub fn is_literal(&self) -> bool {
        self.middle.is_empty() && self.suffix.is_empty()
    }

    /// Whether the pattern has the form `prefix**`.
    pub fn is_prefix(&self) -> bool {
        self.suffix.is_empty() && self.middle == [Token::Super]
    }

    /// Whether the pattern ends in `**` and has no braces: then it matches every path with the prefix of
    /// one match.
    pub fn is_open(&self) -> bool {
        self.suffix.is_empty()
            && self.middle.last() == Some(&Token::Super)
            && !self.middle.contains(&Token::Open)
    }
}

/// Whether prefix and suffix may overlap: in `prefix**suffix` the library does not check this.
fn may_overlap(tokens: &[Token]) -> bool {
    match tokens {
        // The library treats an odd star as another token, without the overlap.
        [Token::Text(_), stars @ .., Token::Text(_)] => {
            !stars.is_empty() && stars.iter().all(|token| *token == Token::Super)
        }
        _ => false,
    }
}

/// Take the text out of `token`. Empty for other tokens.
fn take_text(token: Option<&mut Token>) -> Vec<u8> {
    match token {
        Some(Token::Text(text)) => mem::take(text),
        _ => Vec::new(),
    }
}

/// Join adjacent texts, and drop stars next to a `**`.
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

/// The least length of a match in bytes. Groups count as empty.
fn shortest(tokens: &[Token]) -> usize {
    let bytes = outside_groups(tokens).map(|token| match token {
        Token::Text(text) => text.len(),
        Token::Single | Token::Class(_) => 1,
        _ => 0,
    });
    bytes.sum()
}

/// The tokens outside groups.
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
            ("a[\0b]", GlobError::Unclosed),
            ("[a-\0]", GlobError::Unclosed),
            ("[a\0", GlobError::Unclosed),
            ("[\\\0]", GlobError::EmptyClass),
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
            ("a\0x", &["ax"], &["a", "a\0x"]),
            ("a*\0x", &["a", "ab"], &["b", "a/b"]),
            ("\0a", &[""], &["a"]),
            ("a{b\0,c}", &["ab", "ac"], &["a", "abc"]),
            ("a\\\0*", &["a", "ab"], &["b"]),
            ("[ab\0]", &["a", "b"], &["\0", "c"]),
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
