//! Ignore rules: which files a code search leaves out, in the grammar of `.sourcegraph/ignore`.
//!
//! Not gitignore: each line is a glob that is tested against the whole path of a file, from the root,
//! never against a directory; nothing is ever taken back, so order does not matter. A directory is
//! skipped only where every path below it would be ignored.

mod hint;

use std::{fmt, sync::Arc};

use gix::bstr::{BString, ByteSlice};

use super::{
    glob::{Glob, GlobError},
    index::Index,
};
use crate::error::sanitised;

pub use hint::Hint;

/// A line of this many bytes is an error, even a comment.
const TOO_LONG: usize = 64 * 1024;

/// What a line that cannot be understood does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// It makes the whole source void.
    #[default]
    Error,
    /// It is passed over.
    Warn,
}

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// The line as written, without the space around it; if it is too long, the start of it.
    pub pattern: BString,
    /// What is wrong.
    pub reason: Reason,
}

/// Why a line cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has 65,536 bytes or more.
    TooLong,
    /// It is no pattern.
    Glob(GlobError),
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = sanitised(&self.pattern);
        write!(f, "line {}: '{pattern}': {}", self.line, self.reason)
    }
}

impl std::error::Error for BadLine {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "line too long"),
            Self::Glob(error) => error.fmt(f),
        }
    }
}

/// A line that ignores files.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Where it was written.
    pub origin: Arc<str>,
    /// Its number there, from 1.
    pub line: usize,
    /// The line as written, without the space around it.
    pub pattern: BString,
    glob: Glob,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = sanitised(&self.pattern);
        write!(f, "'{pattern}' ({}, line {})", self.origin, self.line)
    }
}

/// Rules, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    rules: Vec<Rule>,
    hints: Vec<Hint>,
    all: Index,
    /// Those that match all that starts with something they match.
    open: Index,
}

impl Ignore {
    /// Without rules: nothing is ignored.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add the rules of one source: a file of the tree, a file outside of it, an option; `origin` is
    /// what explanations call it. With [`Strictness::Error`] a bad line is returned and nothing is added;
    /// with [`Strictness::Warn`] those that are bad are returned, and the others hold.
    pub fn add(
        &mut self,
        origin: &str,
        text: &[u8],
        strictness: Strictness,
    ) -> Result<Vec<BadLine>, BadLine> {
        let origin = Arc::from(origin);
        let (mut rules, mut hints, mut bad) = (Vec::new(), Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.split_str("\n")) {
            match compile(number, line) {
                Ok(None) => {}
                Ok(Some((pattern, glob))) => {
                    hints.extend(hint::hints(&origin, number, pattern));
                    rules.push(Rule {
                        origin: Arc::clone(&origin),
                        line: number,
                        pattern: pattern.into(),
                        glob,
                    });
                }
                Err(error) if strictness == Strictness::Error => return Err(error),
                Err(error) => bad.push(error),
            }
        }
        self.rules.append(&mut rules);
        self.hints.append(&mut hints);
        // All of the same rank, since any of them will do.
        let globs = || self.rules.iter().map(|rule| (rule.glob.clone(), 0));
        self.all = Index::new(globs());
        self.open = Index::new(globs().filter(|(glob, _)| glob.is_open()));
        Ok(bad)
    }

    /// What the authors of the rules may not expect of them, and where a code search may do otherwise.
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
        self.rules.iter().find(|rule| rule.glob.is_match(path))
    }

    /// Whether all that may be below `directory` (without slash at its end) is ignored. Where this says
    /// no, every file below may still be ignored, each by a rule of its own.
    pub fn prunes(&self, directory: &[u8]) -> bool {
        self.open.last(&entered(directory)).is_some()
    }

    /// The first rule because of which [`Ignore::prunes`].
    pub fn pruning_rule(&self, directory: &[u8]) -> Option<&Rule> {
        let directory = entered(directory);
        let prunes = |rule: &&Rule| rule.glob.is_open() && rule.glob.is_match(&directory);
        self.rules.iter().find(prunes)
    }
}

/// What the paths below `directory` start with.
fn entered(directory: &[u8]) -> Vec<u8> {
    match directory {
        b"" => Vec::new(),
        _ => [directory, b"/"].concat(),
    }
}

/// The pattern in a line, as written and as it works; none if it is blank or a comment.
fn compile(number: usize, line: &[u8]) -> Result<Option<(&[u8], Glob)>, BadLine> {
    let pattern = line.trim_with(char::is_whitespace);
    let bad = |pattern: &[u8], reason| BadLine {
        line: number,
        pattern: pattern.into(),
        reason,
    };
    if line.len() >= TOO_LONG {
        return Err(bad(&pattern[..pattern.len().min(40)], Reason::TooLong));
    }
    if pattern.is_empty() || pattern.starts_with(b"#") {
        return Ok(None);
    }
    match Glob::new(&completed(pattern)) {
        Ok(glob) => Ok(Some((pattern, glob))),
        Err(error) => Err(bad(pattern, Reason::Glob(error))),
    }
}

/// The glob that a line stands for.
fn completed(pattern: &[u8]) -> Vec<u8> {
    let anchored = pattern.strip_prefix(b"/").unwrap_or(pattern);
    match is_plain(anchored) {
        true => [anchored, b"**"].concat(),
        false => anchored.into(),
    }
}

/// Whether a pattern is taken for the start of paths; a dot counts as special, braces do not.
fn is_plain(anchored: &[u8]) -> bool {
    anchored.find_byteset(b".][*?").is_none()
}

#[cfg(test)]
mod tests {
    use super::{Ignore, Reason, Strictness, TOO_LONG};
    use crate::filter::glob::GlobError;

    fn ignore(text: &[u8]) -> Ignore {
        let mut ignore = Ignore::new();
        ignore
            .add("test", text, Strictness::Error)
            .expect("good lines");
        ignore
    }

    /// Patterns, the paths that they ignore, and paths that they do not: what zoekt makes of them.
    const VERIFIED: [(&str, &[&str], &[&str]); 51] = [
        (
            "foo",
            &["foo", "foobar", "foobar/x", "foo/bar", "foo.txt"],
            &["a/foo", "Foo"],
        ),
        ("foo/", &["foo/a", "foo/b/c"], &["foo", "a/foo/b"]),
        ("/foo", &["foo", "foo/a"], &["a/foo"]),
        ("//foo", &["/foo"], &["foo", "foo/a"]),
        ("./foo", &[], &["foo", "foo/a"]),
        (".github", &[".github"], &[".github/workflows/ci.yml"]),
        (".github/", &[], &[".github/workflows/ci.yml"]),
        (".github/**", &[".github/workflows/ci.yml"], &[".github"]),
        ("foo.go", &["foo.go"], &["a/foo.go", "foo.go/x"]),
        ("*.go", &["foo.go", ".go"], &["a/foo.go"]),
        ("**.go", &["foo.go", "a/b/c.go"], &["a/b/c.gox"]),
        ("**/*.go", &["a/foo.go", "a/b/c.go"], &["foo.go"]),
        ("**/foo", &["a/foo", "a/b/foo"], &["foo", "a/foo/x"]),
        ("**/data/", &[], &["data/x", "a/data/x"]),
        ("**/data/**", &["a/data/x", "a/b/data/c/d"], &["data/x"]),
        (
            "data/**.json",
            &["data/a.json", "data/b/c.json", "data/.json"],
            &["data.json"],
        ),
        ("a/*/c", &["a/b/c", "a//c"], &["a/b/b/c", "a/b/c/d"]),
        ("a/**/c", &["a/b/c", "a/b/b/c", "a/c"], &[]),
        ("a/**/b/**/c", &["a/x/b/y/c"], &["a/b/c", "a/x/b/c"]),
        ("[0-9]*.*", &["1a.txt"], &["d/1a.txt", "1atxt", "1.x/y"]),
        ("[!a-c]x", &["dx", "/x"], &["ax"]),
        ("[^a]x", &["ax", "^x"], &["bx"]),
        ("{a,b}", &["a", "b/c", "ab"], &["c"]),
        ("{src,lib}/", &["src/a", "lib/b/c"], &[]),
        ("**/*.{js,css}", &["d/a.js", "d/b.css"], &["a.js"]),
        (
            "node_modules/",
            &["node_modules/a"],
            &["web/node_modules/a"],
        ),
        (
            "**/node_modules/**",
            &["x/node_modules/a/b"],
            &["node_modules/a"],
        ),
        ("!foo", &["!foo", "!foo/a"], &["foo"]),
        ("\\#foo", &["#foo", "#foo/a"], &[]),
        ("/#foo", &["#foo", "#foo/a"], &[]),
        ("#foo", &[], &["#foo"]),
        ("  #foo", &[], &["#foo"]),
        ("foo # bar", &["foo # bar", "foo # barx"], &["foo"]),
        ("foo bar", &["foo bar/x"], &["foo"]),
        ("/", &["a", "a/b", ".sourcegraph/ignore"], &[]),
        ("*", &["a"], &["a/b", ".sourcegraph/ignore"]),
        ("**", &["a", "a/b", ".sourcegraph/ignore"], &[]),
        ("*/", &[], &["a/b"]),
        ("*/*", &["a/b"], &["a", "a/b/c"]),
        ("foo\r", &["foo/a"], &[]),
        ("foo\r\nbar", &["foo/a", "bar"], &[]),
        ("\u{a0}foo\u{a0}", &["foo/a"], &[]),
        ("\t\u{b}\u{3000}foo\u{3000}", &["foo/a"], &[]),
        ("\u{feff}foo", &["\u{feff}foo"], &["foo"]),
        ("foo\\", &["foo*"], &["foo"]),
        ("foo\\*", &["foo*"], &["foox"]),
        ("caf*", &["café"], &["caf/x"]),
        ("src/**", &["src/a"], &["src"]),
        ("*.*", &["a.b"], &["a", "d/a.b"]),
        ("[!.]*", &["a"], &[".a", "a/b"]),
        ("Makefile", &["Makefile", "Makefile.am"], &["sub/Makefile"]),
    ];

    /// Where zoekt's library is at odds with itself, and we are not.
    const OTHERWISE: [(&str, &[&str], &[&str]); 4] = [
        ("a?c", &["abc", "aéc"], &["a/c", "ac"]),
        ("x/{*.js,y}", &["x/a.js", "x/y"], &["x/a.jsx", "x/z/a.js"]),
        (
            "{**/,}node_modules/**",
            &["node_modules/a", "x/node_modules/a/b"],
            &["x/node_modules"],
        ),
        ("a***b", &["axb", "a/b", "ab"], &["a"]),
    ];

    #[test]
    fn what_is_ignored() {
        for (text, ignored, kept) in VERIFIED.iter().chain(&OTHERWISE) {
            let rules = ignore(text.as_bytes());
            for path in *ignored {
                assert!(rules.ignores(path.as_bytes()), "{text} ignores {path}");
            }
            for path in *kept {
                assert!(!rules.ignores(path.as_bytes()), "{text} keeps {path}");
            }
            for path in ignored.iter().chain(*kept) {
                let rule = rules.rule(path.as_bytes());
                assert_eq!(
                    rule.is_some(),
                    rules.ignores(path.as_bytes()),
                    "{text} {path}"
                );
            }
        }
        assert!(ignore(b"caf*").ignores(b"caf\xe9"));
    }

    #[test]
    fn a_bad_line_makes_a_source_void_or_is_passed_over() {
        let bad = |pattern: &[u8]| {
            let error = Ignore::new().add("test", pattern, Strictness::Error);
            error.expect_err("a bad line")
        };
        for pattern in [
            "[",
            "a[",
            "[]",
            "[]a]",
            "[a-]",
            "[z-a]",
            "[a-zA-Z]",
            "[a-z0-9]x",
        ] {
            assert_eq!(bad(pattern.as_bytes()).line, 1, "{pattern}");
        }
        assert_eq!(bad(b"*\xff*").reason, Reason::Glob(GlobError::NotUtf8));
        let mut rules = ignore(b"before");
        let text = b"good\n# a comment with [\n[\nother";
        let error = rules
            .add("test", text, Strictness::Error)
            .expect_err("a bad line");
        assert_eq!(error.to_string(), "line 3: '[': unclosed [");
        assert!(rules.ignores(b"before") && !rules.ignores(b"good"));
        assert_eq!(rules.add("test", text, Strictness::Warn), Ok(vec![error]));
        assert!(
            ["before", "good", "other"]
                .iter()
                .all(|path| rules.ignores(path.as_bytes()))
        );
    }

    #[test]
    fn a_line_may_have_one_byte_less_than_64_kib() {
        let longest = vec![b'#'; TOO_LONG - 1];
        let with_end = |end: &str| [&longest[..], end.as_bytes()].concat();
        assert!(ignore(&with_end("")).is_empty());
        assert!(ignore(&with_end("\nother")).ignores(b"other"));
        // A carriage return counts.
        for end in ["#", "#\nother", "\r\nother"] {
            let error = Ignore::new().add("test", &with_end(end), Strictness::Error);
            assert_eq!(error.map_err(|error| error.reason), Err(Reason::TooLong));
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
        rules
            .add("option", b"/build/", Strictness::Error)
            .expect("good lines");
        let found = |path: &[u8]| {
            let rule = rules.rule(path)?;
            Some(format!("{}:{}: {}", rule.origin, rule.line, rule.pattern))
        };
        assert_eq!(found(b"a.o").as_deref(), Some("test:3: *.o"));
        assert_eq!(found(b"build/a").as_deref(), Some("option:1: /build/"));
        assert_eq!(found(b"a.c"), None);
    }
}
