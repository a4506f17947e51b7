//! What the author of an ignore rule may not expect of it.
//!
//! Says what a line does; never changes it.

use std::sync::Arc;

use gix::bstr::{BString, ByteSlice};

use super::{completed, is_plain};
use crate::filter::glob::{Token, parse};

/// A line that does something its author may not expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Where it was written.
    pub origin: Arc<str>,
    /// Its number there, from 1.
    pub line: usize,
    /// The line as written, without the space around it.
    pub pattern: BString,
    /// What it does.
    pub text: &'static str,
}

/// What there is to say about `pattern`, which is sound.
pub(super) fn hints(origin: &Arc<str>, line: usize, pattern: &[u8]) -> Vec<Hint> {
    let hint = |text| Hint {
        origin: Arc::clone(origin),
        line,
        pattern: pattern.into(),
        text,
    };
    texts(pattern).map(hint).collect()
}

fn texts(pattern: &[u8]) -> impl Iterator<Item = &'static str> {
    let anchored = pattern.strip_prefix(b"/").unwrap_or(pattern);
    let plain = is_plain(anchored);
    let tokens = parse(&completed(pattern)).unwrap_or_default();
    let escapes = anchored.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    let starts = |text: &str| pattern.starts_with(text.as_bytes());
    let has_slash = starts("/") || anchored.trim_end_with(|c| c == '/').contains(&b'/');
    let checks = [
        (
            starts("\u{feff}"),
            "the byte order mark is part of the pattern",
        ),
        (
            starts("//"),
            "ignores nothing: no path starts with '/'; a comment starts with '#'",
        ),
        (
            anchored.starts_with(b"./") || anchored.starts_with(b"../"),
            "ignores nothing: paths start at the root, without './'",
        ),
        (
            matches!(tokens.last(), Some(Token::Text(text)) if text.ends_with(b"/")),
            "ignores nothing: only the paths of files are tested, and none ends in '/'; add '**'",
        ),
        (anchored.is_empty(), "ignores everything"),
        (
            plain && !anchored.is_empty() && !anchored.ends_with(b"/") && !escapes,
            "ignores all that starts so, whatever follows; for a directory alone, add '/'",
        ),
        (
            plain && escapes,
            "the last backslash takes its meaning from a '*' that is added",
        ),
        (
            starts("!"),
            "'!' is part of the name: what another line ignores cannot be taken back",
        ),
        (
            anchored.contains_str("[^"),
            "'^' is a member of the class; what negates one is '!'",
        ),
        (
            anchored.contains_str(" #"),
            "'#' is part of the pattern: no comment follows one",
        ),
        (
            !has_slash && !starts("**"),
            "holds in the root directory only",
        ),
        (
            starts("**/") || starts("/**/"),
            "does not hold in the root directory: the slash after '**' must be there",
        ),
        (
            counts_bytes(&tokens),
            "zoekt may miss names that are not ASCII: it counts bytes for '?' and '[…]' here",
        ),
        (
            mixes(&tokens),
            "zoekt may match less: it takes a group of mixed lengths for one of fixed length",
        ),
    ];
    checks.into_iter().filter_map(|(holds, text)| holds.then_some(text))
}

/// Whether `?` or a class stands beside something else that has a length of its own.
fn counts_bytes(tokens: &[Token]) -> bool {
    let one = |token: &Token| matches!(token, Token::Single | Token::Class(_));
    let fixed = |token: &Token| one(token) || matches!(token, Token::Text(_));
    tokens
        .windows(2)
        .any(|pair| pair.iter().all(fixed) && pair.iter().any(one))
}

/// Whether a group has an alternative with a star and one without.
fn mixes(tokens: &[Token]) -> bool {
    // Of each open group: whether it has either, and whether the current alternative has a star.
    let mut groups: Vec<([bool; 2], bool)> = Vec::new();
    for token in tokens {
        match (token, groups.last_mut()) {
            (Token::Open, _) => groups.push(([false; 2], false)),
            (Token::Any | Token::Super, Some((_, star))) => *star = true,
            (Token::Or | Token::Close, Some((kinds, star))) => {
                kinds[usize::from(*star)] = true;
                if kinds == &[true; 2] {
                    return true;
                }
                let star = std::mem::take(star);
                if *token == Token::Close {
                    groups.pop();
                    if let Some((_, outer)) = groups.last_mut() {
                        *outer |= star;
                    }
                }
            }
            _ => {}
        }
    }
    false
}
