//! Hints about exclude rules whose effect may surprise their authors.
//!
//! A hint describes a line and never changes its effect.

use std::sync::Arc;

use bstr::{BString, ByteSlice};

use sluice_base::error::{format_bytes, printable_path};
use sluice_indexers::glob::Token;

/// A hint about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The source of the rule.
    pub origin: Arc<BString>,
    /// The line number in the source, from 1.
    pub line: usize,
    /// The line as written, without surrounding white space.
    pub pattern: BString,
    /// The effect of the line.
    pub text: &'static str,
    /// Whether zoekt may behave differently, because of a bug in zoekt that is not reproduced here.
    pub diverges: bool,
}

/// The first words of texts about such bugs.
const DIVERGES: &str = "zoekt may ";

impl Hint {
    /// The hint as a sentence.
    pub fn words(&self) -> BString {
        let line = self.line.to_string();
        let values = [
            &printable_path(&self.origin)[..],
            line.as_bytes(),
            &printable_path(&self.pattern),
            self.text.as_bytes(),
        ];
        format_bytes("{}:{}: '{}' {}", &values)
    }
}

/// The hints about `pattern`, whose effective tokens are `tokens`.
pub(super) fn hints(
    origin: &Arc<BString>,
    line: usize,
    pattern: &[u8],
    tokens: &[Token],
) -> Vec<Hint> {
    let hint = |text| Hint {
        origin: Arc::clone(origin),
        line,
        pattern: pattern.into(),
        text,
        diverges: text.starts_with(DIVERGES),
    };
    texts(pattern, tokens).map(hint).collect()
}

fn texts(pattern: &[u8], tokens: &[Token]) -> impl Iterator<Item = &'static str> {
    let anchored = pattern.strip_prefix(b"/").unwrap_or(pattern);
    let has_slash =
        anchored.len() < pattern.len() || anchored.trim_end_with(|c| c == '/').contains(&b'/');
    let is_start = is_plain(anchored) && !anchored.is_empty() && !anchored.ends_with(b"/");
    let checks = [
        (
            matches!(tokens.last(), Some(Token::Text(text)) if text.ends_with(b"/")),
            "matches nothing: only the paths of files are compared, and none ends in '/'; add '**'",
        ),
        (
            is_start,
            "matches every path that starts with it; for only the directory, add '/'",
        ),
        (
            pattern.starts_with(b"!"),
            "has no special '!': this grammar has no exceptions",
        ),
        (
            !has_slash && !pattern.starts_with(b"**"),
            "matches only in the root directory",
        ),
        (
            counts_bytes(tokens),
            "zoekt may miss names that are not ASCII: it counts bytes for '?' and '[…]' here",
        ),
        (
            odd_stars(tokens),
            "zoekt may match fewer paths: it expects a character for the odd star",
        ),
        (
            !groups_are_plain(tokens),
            "zoekt may match other paths: it guesses the length of groups like this",
        ),
    ];
    checks
        .into_iter()
        .filter_map(|(holds, text)| holds.then_some(text))
}

fn is_star(token: &Token) -> bool {
    matches!(token, Token::Any | Token::Super)
}

/// Whether the token matches one character of several.
fn is_one(token: &Token) -> bool {
    matches!(token, Token::Single | Token::Class(_))
}

fn is_text(token: &Token) -> bool {
    matches!(token, Token::Text(_))
}

/// Whether `?` or a class is adjacent to another token of fixed length. Adjacent texts were classes too.
fn counts_bytes(tokens: &[Token]) -> bool {
    let fixed = |token: &Token| is_one(token) || is_text(token);
    tokens.windows(2).any(|pair| pair.iter().all(fixed))
}

/// Whether there is a run of three or five stars.
fn odd_stars(tokens: &[Token]) -> bool {
    let mut pairs = tokens.windows(2);
    pairs.any(|pair| pair == [Token::Super, Token::Any])
}

/// Whether all groups have a form on which all implementations agree: a choice of texts, or one choice of
/// texts with stars.
fn groups_are_plain(tokens: &[Token]) -> bool {
    let groups = tokens.split(|token| *token == Token::Open);
    let count = groups.clone().count() - 1;
    let is_ascii = |token: &Token| !matches!(token, Token::Text(text) if !text.is_ascii());
    if count > 0 && !tokens.iter().all(|token| is_ascii(token) && !is_one(token)) {
        return false;
    }
    let mut before = None;
    groups.enumerate().all(|(at, group)| {
        let before = std::mem::replace(&mut before, group.last());
        if at == 0 {
            return true;
        }
        // A group without an end at this point contains another group.
        let Some(end) = group.iter().position(|token| *token == Token::Close) else {
            return false;
        };
        let mut choice = group[..end].split(|token| *token == Token::Or);
        let neighbors = [before, group.get(end + 1)];
        choice.clone().count() > 1
            && (choice.clone().all(|part| matches!(part, [Token::Text(_)]))
                || count == 1
                    && !neighbors.into_iter().flatten().any(is_star)
                    && choice.all(|part| part.iter().any(is_star) && part.iter().any(is_text)))
    })
}

/// Whether a pattern is a prefix of paths. A dot counts as special, braces do not.
pub(super) fn is_plain(anchored: &[u8]) -> bool {
    anchored.find_byteset(b".][*?").is_none()
}

#[cfg(test)]
mod tests {
    use super::texts;
    use crate::filter::ignore::read;

    /// Check the beginnings of the hints about a line.
    #[track_caller]
    fn check(pattern: &str, expected: &[&str]) {
        let line = read(1, pattern.as_bytes()).expect("it is sound");
        let (pattern_read, tokens) = line.expect("it is no comment");
        let found: Vec<_> = texts(pattern_read, &tokens).collect();
        let matches = |(text, start): (&&str, &&str)| text.starts_with(start);
        let as_expected = found.len() == expected.len() && found.iter().zip(expected).all(matches);
        assert!(as_expected, "{pattern}: {found:#?}");
    }

    #[test]
    fn traps_are_named() {
        let nothing = "matches nothing: only the paths of files";
        let starts_so = "matches every path that starts with it";
        let root = "matches only in the root directory";
        check(".github/", &[nothing, root]);
        check("docs/*/", &[nothing]);
        check("**/data/", &[nothing]);
        check("foo", &[starts_so, root]);
        check("foo.go", &[root]);
        check("node_modules/", &[root]);
        check("!/foo/", &["has no special '!'"]);
        for plain in ["/", "**/x.go", "/foo/", "*.c/**"] {
            check(plain, &[]);
        }
    }

    #[test]
    fn lines_that_zoekt_may_read_otherwise_are_named() {
        check("/a?c", &["zoekt may miss names that are not ASCII"]);
        check("/[0-9]?*", &["zoekt may miss names that are not ASCII"]);
        check("/[!a]*.*", &[]);
        check("a/***", &["zoekt may match fewer paths"]);
        for plain in [
            "/*.{js,css}",
            "/{*.js,*.css}",
            "lib/{*.o,*.a}",
            "/{src,lib}/**",
        ] {
            check(plain, &[]);
        }
        let table = "x/{*.js,y} | /{**/,}node_modules/** | /{a,b{c,d}}* | /*{*a,*b} | /{a*} | /{a,é}* | \
                     /{a,b}*?";
        for guessed in table.split(" | ") {
            check(guessed, &["zoekt may match other paths"]);
        }
    }
}
