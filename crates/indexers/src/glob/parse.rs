//! Parses patterns of the dialect.
//!
//! The errors must be exactly those of the library, since one invalid line rejects a whole file. The
//! library accepts unclosed groups, and classes of either one range or listed characters. It takes a NUL
//! for the end of the text in front of it, or else for the end of the pattern.

use std::{fmt, iter};

/// The deepest nesting of groups. The memory of a match depends on it.
const DEEPEST: usize = 100;

/// An element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A literal text.
    Text(Vec<u8>),
    /// `*`
    Any,
    /// `**`
    Super,
    /// `?`
    Single,
    /// `[…]`
    Class(Class),
    /// `{`
    Open,
    /// `,` in a group
    Or,
    /// `}`
    Close,
}

/// Matches one character of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    negated: bool,
    /// The first and the last character of each range, sorted and disjoint.
    ranges: Vec<(char, char)>,
}

impl Class {
    /// Whether `character` matches. The separator is an ordinary character.
    pub(super) fn contains(&self, character: char) -> bool {
        let at = self.ranges.partition_point(|range| range.1 < character);
        let found = self
            .ranges
            .get(at)
            .is_some_and(|range| range.0 <= character);
        found != self.negated
    }
}

/// Why a text is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobError {
    /// The text is not UTF-8, or contains the replacement character.
    NotUtf8,
    /// A class has no end.
    Unclosed,
    /// A class is empty.
    EmptyClass,
    /// A class contains a range and other characters.
    CrowdedClass,
    /// A range ends before it starts.
    BackwardRange,
    /// Groups nest too deep.
    TooDeep,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "not UTF-8",
            Self::Unclosed => "missing ']'",
            Self::EmptyClass => "a class is empty",
            Self::CrowdedClass => "a class contains more than one range",
            Self::BackwardRange => "a range ends before it starts",
            Self::TooDeep => "groups nest too deep",
        })
    }
}

impl std::error::Error for GlobError {}

/// Parse `pattern`. Unclosed groups are closed. The last star of an odd run is the single one.
pub fn parse(pattern: &[u8]) -> Result<Vec<Token>, GlobError> {
    let pattern = std::str::from_utf8(pattern).map_err(|_| GlobError::NotUtf8)?;
    if pattern.contains(char::REPLACEMENT_CHARACTER) {
        return Err(GlobError::NotUtf8);
    }
    let mut rest = pattern;
    let mut tokens = Vec::new();
    let mut depth = 0;
    while !rest.is_empty() {
        let (token, length) = match rest.as_bytes() {
            [b'*', b'*', ..] => (Token::Super, 2),
            [b'*', ..] => (Token::Any, 1),
            [b'?', ..] => (Token::Single, 1),
            [b'{', ..] => (Token::Open, 1),
            [b',', ..] if depth > 0 => (Token::Or, 1),
            [b'}', ..] if depth > 0 => (Token::Close, 1),
            [b'[', ..] => class(rest)?,
            [0, ..] => break,
            _ => {
                let (text, length) = text(rest, if depth > 0 { "*?[{,}" } else { "*?[{" });
                (Token::Text(text.into()), length)
            }
        };
        match token {
            Token::Open if depth == DEEPEST => return Err(GlobError::TooDeep),
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        // A lone backslash at the end of the pattern.
        let is_nothing = matches!(&token, Token::Text(text) if text.is_empty());
        tokens.extend((!is_nothing).then_some(token));
        rest = &rest[length..];
    }
    tokens.extend(iter::repeat_n(Token::Close, depth));
    Ok(tokens)
}

/// The text at the start of `rest`, up to one of the characters `ends` or over a NUL, and its length as written.
fn text(rest: &str, ends: &str) -> (String, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\0' => return (text, at + 1),
            '\\' => match characters.next() {
                Some((at, '\0')) => return (text, at + 1),
                escaped => text.extend(escaped.map(|(_, escaped)| escaped)),
            },
            _ if ends.contains(character) => return (text, at),
            _ => text.push(character),
        }
    }
    (text, rest.len())
}

/// The class at the start of `rest`, and its length as written.
fn class(rest: &str) -> Result<(Token, usize), GlobError> {
    let inner = rest[1..].strip_prefix('!').unwrap_or(&rest[1..]);
    let negated = inner.len() + 1 < rest.len();
    let mut characters = inner.chars();
    let (ranges, length) = match (characters.next(), characters.next()) {
        (Some('\0'), _) => return Err(GlobError::Unclosed),
        // In a range, backslashes and brackets are ordinary characters.
        (Some(low), Some('-')) => {
            let high = characters.next().filter(|high| *high != '\0');
            let high = high.ok_or(GlobError::Unclosed)?;
            (vec![(low, high)], low.len_utf8() + 1 + high.len_utf8())
        }
        _ => {
            let (list, length) = text(inner, "]");
            (list.chars().map(|one| (one, one)).collect(), length)
        }
    };
    match inner[length..].chars().next() {
        Some(']') if ranges.is_empty() => return Err(GlobError::EmptyClass),
        Some(']') if ranges[0].1 < ranges[0].0 => return Err(GlobError::BackwardRange),
        Some(']') => {}
        Some(_) => return Err(GlobError::CrowdedClass),
        None => return Err(GlobError::Unclosed),
    }
    let length = rest.len() - inner.len() + length + 1;
    Ok((Token::class(negated, ranges), length))
}

impl Token {
    fn class(negated: bool, mut ranges: Vec<(char, char)>) -> Self {
        match ranges[..] {
            [(low, high)] if low == high && !negated => Self::Text(low.to_string().into()),
            _ => {
                ranges.sort_unstable();
                ranges.dedup();
                Self::Class(Class { negated, ranges })
            }
        }
    }
}
