//! Exclude rules in the grammar of gitignore(5).
//!
//! The last rule that matches a path decides, and a rule with a `!` takes the path back. The caller has looked at the directories
//! above first: what lies in an excluded directory cannot be taken back. No line is invalid, as for git.

use std::sync::Arc;

use bstr::{BString, ByteSlice};

use super::rule::Rule;
use sluice_git::pattern::{Matcher, Pattern};

/// What git may find in front of the first line of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Rules, in the order of their precedence: the last comes first.
#[derive(Default)]
pub struct Exclude {
    rules: Vec<Rule>,
    /// The numbers of the rules.
    matcher: Matcher<usize>,
}

/// What the rules say about a path.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The rule that decides.
    pub rule: &'a Rule,
    /// Whether the rule excludes the path, or takes it back.
    pub excludes: bool,
}

impl Exclude {
    /// Indexes `rules`. A later rule has precedence over an earlier one.
    pub fn new(rules: Vec<Rule>) -> Self {
        let patterns = rules.iter().map(|rule| Pattern::parse(bare(rule)));
        let matcher = Matcher::new(b"", false, patterns.zip(0..).collect());
        Self { rules, matcher }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What the rules say about `path`, which has no slash at its end. `None` if no rule matches the path. A submodule counts as
    /// a directory.
    pub fn decide(&self, path: &[u8], is_directory: bool) -> Option<Decision<'_>> {
        if path.is_empty() {
            return None;
        }
        let number = *self.matcher.matching(path, is_directory).next()?;
        let rule = &self.rules[number];
        Some(Decision {
            rule,
            excludes: !is_negative(rule),
        })
    }
}

fn is_negative(rule: &Rule) -> bool {
    rule.pattern.starts_with(b"!")
}

/// The pattern of a rule, without the mark that takes paths back.
fn bare(rule: &Rule) -> &[u8] {
    rule.pattern.strip_prefix(b"!").unwrap_or(&rule.pattern)
}

/// How a `pattern` that can match no path may be meant; `None` if it can. Paths start at the root of the tree, and none has `.`,
/// `..` or nothing between its slashes.
pub fn matching_spelling(pattern: &[u8]) -> Option<BString> {
    let (mark, path) = match pattern.strip_prefix(b"!") {
        Some(path) => (&b"!"[..], path),
        None => (&b""[..], pattern),
    };
    let end = if path.ends_with(b"/") { &b"/"[..] } else { b"" };
    let inner = path.strip_prefix(b"/").unwrap_or(path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    let is_odd = |part: &&[u8]| matches!(*part, b"" | b"." | b"..");
    let parts = || inner.split_str("/");
    if inner.is_empty() || !parts().any(|part| is_odd(&part)) {
        return None;
    }
    let sound: Vec<&[u8]> = parts().filter(|part| !is_odd(part)).collect();
    Some(match &sound[..] {
        [] => [mark, b"/*"].concat().into(),
        _ => [mark, b"/", &sound.join(&b'/'), end].concat().into(),
    })
}

/// The rules in the `text` of a file, which explanations call `origin` (`add_patterns_from_buffer` of git's dir.c).
pub fn rules(origin: impl AsRef<[u8]>, text: &[u8]) -> Vec<Rule> {
    let origin = Arc::new(BString::from(origin.as_ref()));
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut rules = Vec::new();
    for (line, text) in (1..).zip(text.split_str("\n")) {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = &text[..text.find_byte(0).unwrap_or(text.len())];
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        rules.push(Rule {
            origin: Arc::clone(&origin),
            line: Some(line),
            pattern: without_spaces(text).into(),
        });
    }
    rules
}

/// `line` without the spaces at its end. A backslash keeps the byte after it.
fn without_spaces(line: &[u8]) -> &[u8] {
    let (mut kept, mut at) = (0, 0);
    while let Some(&byte) = line.get(at) {
        at += if byte == b'\\' { 2 } else { 1 };
        if byte != b' ' {
            kept = at.min(line.len());
        }
    }
    &line[..kept]
}

#[cfg(test)]
mod tests {
    use super::{Exclude, matching_spelling, rules, without_spaces};

    fn excludes(text: &str, path: &str, is_directory: bool) -> Option<bool> {
        let exclude = Exclude::new(rules("x", text.as_bytes()));
        let decision = exclude.decide(path.as_bytes(), is_directory)?;
        Some(decision.excludes)
    }

    #[test]
    fn the_last_rule_decides() {
        for (text, path, expected) in [
            ("*.sh", "a/b.sh", Some(true)),
            ("/*.sh", "a/b.sh", None),
            ("*.sh\n!b.sh", "a/b.sh", Some(false)),
            ("!b.sh\n*.sh", "a/b.sh", Some(true)),
            ("a/", "a", None),
            ("\\!a", "!a", Some(true)),
            ("\\#a", "#a", Some(true)),
            ("# a\n\n\u{feff}", "a", None),
            ("\u{feff}a\r\n", "a", Some(true)),
            ("[", "[", None),
            ("/", "", None),
            ("*", "", None),
        ] {
            assert_eq!(excludes(text, path, false), expected, "{text:?} {path}");
        }
        assert_eq!(excludes("a/", "x/a", true), Some(true));
    }

    #[test]
    fn spaces_at_the_end_do_not_count() {
        for (line, expected) in [
            ("a  ", "a"),
            ("a\\  ", "a\\ "),
            ("a \\", "a \\"),
            ("a b ", "a b"),
            ("   ", ""),
            ("a\\\\ ", "a\\\\"),
        ] {
            assert_eq!(
                without_spaces(line.as_bytes()),
                expected.as_bytes(),
                "{line:?}"
            );
        }
    }

    #[test]
    fn patterns_that_match_no_path() {
        for (pattern, meant) in [
            ("docs", None),
            ("/docs/*.md", None),
            (".github/", None),
            ("**/...", None),
            ("/", None),
            ("", None),
            ("./docs", Some("/docs")),
            ("!./docs/", Some("!/docs/")),
            ("../a/*.c", Some("/a/*.c")),
            ("a//b/./c", Some("/a/b/c")),
            ("./", Some("/*")),
        ] {
            let spelling = matching_spelling(pattern.as_bytes());
            assert_eq!(spelling, meant.map(Into::into), "{pattern}");
            if meant.is_some() {
                assert_eq!(excludes(pattern, "docs", true), None, "{pattern}");
            }
        }
    }

    #[test]
    fn a_rule_says_where_it_was_written() {
        let exclude = Exclude::new(rules("file", b"# first\n\n*.o \n!a.o"));
        for (path, words) in [("b.o", "'*.o' (file:3)"), ("a.o", "'!a.o' (file:4)")] {
            let decision = exclude.decide(path.as_bytes(), false).expect("a rule");
            assert_eq!(decision.rule.words(), words);
        }
    }
}
