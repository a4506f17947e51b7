//! Ignore rules: the files that a code search omits, in the grammar of `.sourcegraph/ignore`.
//!
//! The grammar differs from gitignore: each line is a glob for the whole path of a file from the root,
//! never for a directory, and there are no exceptions, so order does not matter. A directory is skipped
//! only if every possible path below it is ignored.

mod hint;

use std::{fmt, sync::Arc};

use bstr::{BString, ByteSlice};

use super::rule::Rule;
use sluice_base::error::{format_bytes, printable_path};
use sluice_indexers::{
    glob::{Glob, GlobError, Token, parse},
    index::Index,
};

pub use hint::Hint;

/// A line of this many bytes is an error, even a comment.
const TOO_LONG: usize = 64 * 1024;

/// An invalid line, for which the whole source is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line number, from 1.
    pub line: usize,
    /// The line as written, without surrounding white space. A line that is too long is truncated.
    pub pattern: BString,
    /// The fault.
    pub reason: IgnoreFault,
}

/// Why a line is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreFault {
    /// The line has 65,536 bytes or more.
    TooLong,
    /// The line is no pattern.
    Glob(GlobError),
}

impl BadLine {
    /// The line and its fault.
    pub fn words(&self) -> BString {
        let (line, reason) = (self.line.to_string(), self.reason.to_string());
        let values = [
            line.as_bytes(),
            &printable_path(&self.pattern),
            reason.as_bytes(),
        ];
        format_bytes("line {}: '{}': {}", &values)
    }
}

impl fmt::Display for IgnoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "line too long"),
            Self::Glob(error) => error.fmt(f),
        }
    }
}

/// Rules, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    rules: Vec<(Rule, Glob)>,
    hints: Vec<Hint>,
    all: Index,
    /// The rules that match every path with the prefix of one match.
    open: Index,
}

impl Ignore {
    /// No rules: nothing is ignored.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add the rules of one source: a file of the tree, a file outside the tree, an option. Explanations
    /// call the source `origin`. If a line is bad, nothing is added.
    pub fn add(&mut self, origin: impl AsRef<[u8]>, text: &[u8]) -> Result<(), BadLine> {
        let origin = Arc::new(BString::from(origin.as_ref()));
        let (mut rules, mut hints) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.split_str("\n")) {
            let Some((pattern, tokens)) = read(number, line)? else {
                continue;
            };
            hints.extend(hint::hints(&origin, number, pattern, &tokens));
            let rule = Rule {
                origin: Arc::clone(&origin),
                line: Some(number),
                pattern: pattern.into(),
            };
            rules.push((rule, Glob::of(tokens)));
        }
        if rules.is_empty() {
            return Ok(());
        }
        self.rules.append(&mut rules);
        self.hints.append(&mut hints);
        // All patterns have the same rank, since any match suffices.
        let globs = || self.rules.iter().map(|(_, glob)| (glob.clone(), 0));
        self.all = Index::new(globs());
        self.open = Index::new(globs().filter(|(glob, _)| glob.is_open()));
        Ok(())
    }

    /// Hints about the rules.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the file at `path` is ignored.
    pub fn ignores(&self, path: &[u8]) -> bool {
        self.all.last(path).is_some()
    }

    /// The first rule that ignores the file at `path`.
    pub fn rule(&self, path: &[u8]) -> Option<&Rule> {
        self.first(|glob| glob.is_match(path))
    }

    /// Whether every possible path below `directory` (without a trailing slash) is ignored. If false, every
    /// file below may still be ignored by other rules.
    pub fn prunes(&self, directory: &[u8]) -> bool {
        self.open.last(&entered(directory)).is_some()
    }

    /// The first rule that makes [`Ignore::prunes`] true.
    pub fn pruning_rule(&self, directory: &[u8]) -> Option<&Rule> {
        let directory = entered(directory);
        self.first(|glob| glob.is_open() && glob.is_match(&directory))
    }

    fn first(&self, is_wanted: impl Fn(&Glob) -> bool) -> Option<&Rule> {
        let found = self.rules.iter().find(|(_, glob)| is_wanted(glob));
        found.map(|(rule, _)| rule)
    }
}

/// The common prefix of the paths below `directory`.
fn entered(directory: &[u8]) -> Vec<u8> {
    match directory {
        b"" => Vec::new(),
        _ => [directory, b"/"].concat(),
    }
}

/// A pattern as written, and its effective tokens.
type Pattern<'a> = (&'a [u8], Vec<Token>);

/// The pattern of a line. `None` if the line is blank or a comment.
fn read(number: usize, line: &[u8]) -> Result<Option<Pattern<'_>>, BadLine> {
    let pattern = line.trim_with(char::is_whitespace);
    let bad = |pattern: &[u8], reason| BadLine {
        line: number,
        pattern: pattern.into(),
        reason,
    };
    if line.len() >= TOO_LONG {
        return Err(bad(&pattern[..pattern.len().min(40)], IgnoreFault::TooLong));
    }
    if pattern.is_empty() || pattern.starts_with(b"#") {
        return Ok(None);
    }
    match parse(&completed(pattern)) {
        Ok(tokens) => Ok(Some((pattern, tokens))),
        Err(error) => Err(bad(pattern, IgnoreFault::Glob(error))),
    }
}

/// The effective glob of a line.
fn completed(pattern: &[u8]) -> Vec<u8> {
    let anchored = pattern.strip_prefix(b"/").unwrap_or(pattern);
    if hint::is_plain(anchored) {
        [anchored, b"**"].concat()
    } else {
        anchored.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ignore, IgnoreFault, TOO_LONG};
    use sluice_indexers::glob::GlobError;

    fn ignore(text: &[u8]) -> Ignore {
        let mut ignore = Ignore::new();
        ignore.add("test", text).expect("good lines");
        ignore
    }

    #[test]
    fn a_bad_line_makes_a_source_void() {
        let bad = |pattern: &[u8]| {
            let error = Ignore::new().add("test", pattern);
            error.expect_err("a bad line")
        };
        for pattern in "[ | a[ | [] | []a] | [a-] | [z-a] | [a-zA-Z] | [a-z0-9]x".split(" | ") {
            assert_eq!(bad(pattern.as_bytes()).line, 1, "{pattern}");
        }
        assert_eq!(bad(b"*\xff*").reason, IgnoreFault::Glob(GlobError::NotUtf8));
        let mut rules = ignore(b"before");
        let text = b"good\n# a comment with [\n[\nother";
        let error = rules.add("test", text).expect_err("a bad line");
        assert_eq!(error.words(), "line 3: '[': missing ']'");
        assert!(rules.ignores(b"before") && !rules.ignores(b"good") && !rules.ignores(b"other"));
    }

    #[test]
    fn a_line_may_have_one_byte_less_than_64_kib() {
        let longest = vec![b'#'; TOO_LONG - 1];
        let with_end = |end: &str| [&longest[..], end.as_bytes()].concat();
        assert!(ignore(&with_end("")).is_empty());
        assert!(ignore(&with_end("\nother")).ignores(b"other"));
        // A carriage return counts as a byte of the line.
        for end in ["#", "#\nother", "\r\nother"] {
            let error = Ignore::new().add("test", &with_end(end));
            assert_eq!(
                error.map_err(|error| error.reason),
                Err(IgnoreFault::TooLong)
            );
        }
    }

    #[test]
    fn only_what_ends_in_two_stars_prunes() {
        for (text, pruned, kept) in [
            (
                "node_modules/",
                &["node_modules", "node_modules/a"][..],
                &["a/node_modules"][..],
            ),
            (
                "third_party",
                &["third_party", "third_party2/x"],
                &["third"],
            ),
            ("vendor/**", &["vendor", "vendor/a/b"], &["vendors", ""]),
            (
                "**/testdata/**",
                &["a/testdata", "a/testdata/b"],
                &["testdata"],
            ),
            ("a*/**", &["a", "ab", "ab/c"], &["b"]),
            ("a/***", &["a", "a/b"], &["b"]),
            ("**", &["", "a"], &[]),
            ("*.min.js", &[], &["a", "a.min.js"]),
            ("**/testdata/*", &[], &["a/testdata"]),
            ("foo\\**", &[], &["foo*", "foo"]),
            ("{a,b}/", &[], &["a", "b"]),
        ] {
            let rules = ignore(text.as_bytes());
            for directory in pruned {
                assert!(rules.prunes(directory.as_bytes()), "{text} {directory}");
                assert!(rules.pruning_rule(directory.as_bytes()).is_some());
            }
            for directory in kept {
                assert!(!rules.prunes(directory.as_bytes()), "{text} {directory}");
                assert!(rules.pruning_rule(directory.as_bytes()).is_none());
            }
        }
    }

    #[test]
    fn a_rule_says_where_it_was_written() {
        let mut rules = ignore(b"# first\n\n *.o \n");
        rules.add("option", b"/build/").expect("good lines");
        let found = |path: &[u8]| {
            let rule = rules.rule(path)?;
            Some(rule.words().to_string())
        };
        assert_eq!(found(b"a.o").as_deref(), Some("'*.o' (test:3)"));
        assert_eq!(found(b"build/a").as_deref(), Some("'/build/' (option:1)"));
        assert_eq!(found(b"a.c"), None);
    }
}
