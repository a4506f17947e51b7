//! Access rules: the paths of a repository that a reader may see.
//!
//! The rules are the sub-repository permissions of Sourcegraph: ordered globs for paths with a leading
//! slash. The last matching rule decides, and a path without a matching rule is denied. The module fails
//! closed: a rule whose meaning is doubtful invalidates all rules. Errors quote no rule, since rules name
//! denied paths.

use std::fmt;

use bstr::ByteSlice;

use sluice_indexers::{
    glob::{Glob, GlobError},
    index::Index,
    prefixes::{Prefixes, Rank},
};

/// An unreliable rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// The line number, from 1.
    pub line: usize,
    /// The fault.
    pub reason: AccessFault,
}

/// Why a rule is unreliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFault {
    /// The rule or a directory above it is no pattern.
    Glob(GlobError),
    /// White space surrounds the rule and would be part of it.
    Space,
    /// The rule starts with a byte order mark, which would be part of it.
    ByteOrderMark,
    /// The rule starts as a denial of an exclude file.
    ExclamationMark,
    /// The rule starts as a comment of an exclude file.
    Comment,
    /// The rule has the path of a directory, and no file has that path.
    Directory,
    /// No path has such a part between two slashes.
    Part,
    /// No path has a NUL.
    Nul,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadRule {}

impl fmt::Display for AccessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob(error) => error.fmt(f),
            Self::Space => f.write_str("white space around a rule"),
            Self::ByteOrderMark => f.write_str("a byte order mark"),
            Self::ExclamationMark => {
                f.write_str("'!' denies nothing: write '-' at the start of the rule")
            }
            Self::Comment => f.write_str("a rule cannot start with '#', and there are no comments"),
            Self::Directory => f.write_str(
                "the rule matches a directory, but none of its files: write '/**' at its end",
            ),
            Self::Nul => f.write_str("contains a NUL"),
            Self::Part => {
                f.write_str("no path has '//', '/./' or '/../': write the path from the root on")
            }
        }
    }
}

/// Rules, in order. Must not be printed.
#[derive(Clone, Default)]
pub struct AccessRules {
    /// Whether each rule includes its matches. The index is the rank of the rule.
    includes: Vec<bool>,
    /// The rules without wildcards: their lines, and the paths that they match.
    literals: Vec<(usize, Vec<u8>)>,
    /// All rules.
    paths: Index,
    /// The rules that match every path with the prefix of one match.
    open: Index,
    /// The literal prefixes of the rules that include.
    included: Prefixes,
    /// The literal prefixes of the rules that exclude.
    excluded: Prefixes,
}

impl AccessRules {
    /// Parse rules, one a line: a glob for allowed paths, or `-` and a glob for denied paths. Blank lines
    /// are skipped. There are no comments.
    pub fn parse(text: &[u8]) -> Result<Self, BadRule> {
        let mut access = Self::default();
        let mut paths = Vec::new();
        for (line, rule) in (1..).zip(text.lines()) {
            if rule.trim_with(char::is_whitespace).is_empty() {
                continue;
            }
            let rule = Rule::new(rule).map_err(|reason| BadRule { line, reason })?;
            let rank = access.includes.len() as Rank;
            access.includes.push(rule.includes);
            access
                .literals
                .extend(rule.literal().map(|path| (line, path)));
            paths.extend(rule.globs.into_iter().map(|glob| (glob, rank)));
        }
        let starts = |of_includes: bool| {
            let of_kind =
                |(_, rank): &&(Glob, Rank)| access.includes[*rank as usize] == of_includes;
            let starts = paths.iter().filter(of_kind);
            Prefixes::new(starts.map(|(glob, rank)| (glob.prefix().into(), *rank)))
        };
        (access.included, access.excluded) = (starts(true), starts(false));
        access.open = Index::new(paths.iter().filter(|(glob, _)| glob.is_open()).cloned());
        access.paths = Index::new(paths);
        Ok(access)
    }

    /// The first rule that has the path of a directory, as `is_directory` says of a path without a leading slash. The rule
    /// would match nothing, so a directory that it denies would be open.
    pub fn rule_for_directory(
        &self,
        mut is_directory: impl FnMut(&[u8]) -> bool,
    ) -> Option<BadRule> {
        let mut literals = self.literals.iter();
        let (line, _) = literals.find(|(_, path)| is_directory(path))?;
        Some(BadRule {
            line: *line,
            reason: AccessFault::Directory,
        })
    }

    /// Whether there are no rules. Then every path is denied.
    pub fn is_empty(&self) -> bool {
        self.includes.is_empty()
    }

    /// Whether the reader may see the file at `path`.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.includes(self.paths.last(&[b"/", path].concat()))
    }

    /// Whether every possible path below `directory` (without a trailing slash) is denied. If false, every
    /// file below may still be denied by other rules.
    pub fn prunes(&self, directory: &[u8]) -> bool {
        let directory = entered(directory);
        let decided = self.open.last(&directory);
        !self.includes(decided) && could_match(&self.included, &directory) <= decided
    }

    /// Whether every possible path below `directory` (without a trailing slash) is allowed.
    pub fn admits_all(&self, directory: &[u8]) -> bool {
        let directory = entered(directory);
        let decided = self.open.last(&directory);
        self.includes(decided) && could_match(&self.excluded, &directory) <= decided
    }

    fn includes(&self, rank: Option<Rank>) -> bool {
        rank.is_some_and(|rank| self.includes[rank as usize])
    }
}

/// The last rule of these literal prefixes, `starts`, that could match a path below `directory`.
fn could_match(starts: &Prefixes, directory: &[u8]) -> Option<Rank> {
    starts.of(directory).max(starts.below(directory))
}

/// The common prefix of the paths below `directory`.
fn entered(directory: &[u8]) -> Vec<u8> {
    match directory {
        b"" => b"/".into(),
        _ => [b"/", directory, b"/"].concat(),
    }
}

/// One rule, expanded.
struct Rule {
    includes: bool,
    /// The globs of the rule, with a variant for the root directory.
    globs: Vec<Glob>,
}

impl Rule {
    fn new(text: &[u8]) -> Result<Self, AccessFault> {
        if text.trim_with(char::is_whitespace) != text {
            return Err(AccessFault::Space);
        }
        if text.starts_with("\u{feff}".as_bytes()) {
            return Err(AccessFault::ByteOrderMark);
        }
        let (includes, pattern) = match text.strip_prefix(b"-") {
            Some(pattern) => (false, pattern),
            None => (true, text),
        };
        refuse_other_syntax(pattern)?;
        let pattern = if pattern.starts_with(b"/") {
            pattern.into()
        } else {
            [b"/", pattern].concat()
        };
        refuse_unmatchable(&pattern)?;
        if includes {
            compiled(parents(&pattern))?;
        }
        let at_root = without_leading_stars(&pattern);
        let globs = [&pattern[..]].into_iter().chain(at_root);
        Ok(Self {
            includes,
            globs: compiled(globs)?,
        })
    }

    /// The only path that the rule matches, without a leading slash, if the rule has no wildcard.
    fn literal(&self) -> Option<Vec<u8>> {
        let glob = self.globs.first().filter(|glob| glob.is_literal())?;
        Some(glob.prefix()[1..].into())
    }
}

/// Refuses a rule that means something in an exclude file, and nothing here.
fn refuse_other_syntax(pattern: &[u8]) -> Result<(), AccessFault> {
    match pattern.first() {
        Some(b'!') => Err(AccessFault::ExclamationMark),
        Some(b'#') => Err(AccessFault::Comment),
        Some(first) if first.is_ascii_whitespace() => Err(AccessFault::Space),
        _ => Ok(()),
    }
}

/// Refuses a `pattern` that can match no path of a file.
fn refuse_unmatchable(pattern: &[u8]) -> Result<(), AccessFault> {
    // The library would cut the pattern at a NUL, and a rule that denies would then match less than it says.
    if pattern.contains(&0) {
        return Err(AccessFault::Nul);
    }
    if pattern.ends_with(b"/") {
        return Err(AccessFault::Directory);
    }
    let is_impossible = |part: &[u8]| matches!(part, b"" | b"." | b"..");
    if pattern[1..].split_str("/").any(is_impossible) {
        Err(AccessFault::Part)
    } else {
        Ok(())
    }
}

fn compiled<'a>(patterns: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Glob>, AccessFault> {
    let globs = patterns.into_iter().map(Glob::new);
    globs.collect::<Result<_, _>>().map_err(AccessFault::Glob)
}

/// A variant of a pattern that starts with `/**/`, which would not match in the root directory.
fn without_leading_stars(pattern: &[u8]) -> Option<&[u8]> {
    let mut rest = pattern;
    while rest.starts_with(b"/**/") {
        rest = &rest[b"/**".len()..];
    }
    (rest.len() < pattern.len()).then_some(rest)
}

/// The directories above the matches of `pattern`. In Sourcegraph each of them
/// becomes a rule too, so each must be a pattern.
fn parents(pattern: &[u8]) -> impl Iterator<Item = &[u8]> {
    let has_some = !pattern.starts_with(b"/*");
    let slashes = pattern
        .rfind_iter("/")
        .filter(move |slash| has_some && *slash > 0);
    slashes.map(|slash| &pattern[..=slash])
}

#[cfg(test)]
mod tests {
    use super::{AccessFault, AccessRules};
    use sluice_indexers::glob::GlobError;

    fn access(rules: &[&str]) -> AccessRules {
        AccessRules::parse(rules.join("\n").as_bytes()).expect("good rules")
    }

    /// Rules, paths that they allow, and paths that they deny. A trailing slash marks a directory: an
    /// allowed directory is not pruned, a denied directory is.
    const VERIFIED: [(&[&str], &[&str], &[&str]); 17] = [
        (&[], &[], &["a"]),
        (&["/**"], &["a", "a/b", "a/"], &[]),
        (&["/*"], &["a", "a/"], &["a/b"]),
        (&["/foo"], &["foo"], &["foo/x"]),
        (&["/foo/*"], &["foo/x"], &["foo/x/y"]),
        (&["/foo/**"], &["foo/", "foo/x/y"], &["foo"]),
        (&["/**/*.java"], &["A.java", "x/y/A.java", "x/"], &["x/b.c"]),
        (
            &["/**", "-/secret/**"],
            &["a", "secret"],
            &["secret/", "secret/x"],
        ),
        (&["-/secret/**", "/**"], &["secret/x"], &[]),
        (
            &["/**", "-/secret/**", "/secret/pub/**"],
            &["secret/", "secret/pub/a"],
            &["secret/x"],
        ),
        (&["/**", "-/**/.env"], &["a/.envx"], &[".env", "a/.env"]),
        (&["-/dev/*"], &[], &["dev/x", "a"]),
        (
            &["foo/bar/thing.txt"],
            &["foo/", "foo/bar/"],
            &["foo/bar/other.txt"],
        ),
        (&["baz/*/q.txt"], &["baz/x/q.txt"], &["baz/x/y/q.txt"]),
        (
            &["/**", "-/a/**", "/a/b/c.txt"],
            &["a/", "a/b/", "a/b/c.txt"],
            &["a/z/", "a/b/d.txt"],
        ),
        (&["/a/b/c.txt", "-/a/**"], &[], &["a/", "a/b/c.txt"]),
        (
            &["/**", "-/**_test.go"],
            &["d/x.go"],
            &["x_test.go", "d/x_test.go"],
        ),
    ];

    #[test]
    fn who_may_see_what() {
        for (rules, readable, denied) in VERIFIED {
            let access = access(rules);
            let is_readable = |path: &str| match path.strip_suffix('/') {
                Some(directory) => !access.prunes(directory.as_bytes()),
                None => access.allows(path.as_bytes()),
            };
            for path in readable {
                assert!(is_readable(path), "{rules:?} {path}");
            }
            for path in denied {
                assert!(!is_readable(path), "{rules:?} {path}");
            }
        }
        let all_stars = access(&["/**/**/x"]);
        assert!(all_stars.allows(b"x") && all_stars.allows(b"a/b/x"));
    }

    #[test]
    fn what_may_be_meant_otherwise_makes_all_void() {
        for (text, line, reason) in [
            ("/[", 1, AccessFault::Glob(GlobError::Unclosed)),
            ("/**\n-/a\0b", 2, AccessFault::Nul),
            ("/**\r\n\r\n-/a[", 3, AccessFault::Glob(GlobError::Unclosed)),
            // The fault is in the directory above.
            ("/a[/]b", 1, AccessFault::Glob(GlobError::Unclosed)),
            ("/**\n -/secret/**", 2, AccessFault::Space),
            ("/**\n-/secret/** ", 2, AccessFault::Space),
            ("\u{feff}/**", 1, AccessFault::ByteOrderMark),
            ("/**\n- /secret/**", 2, AccessFault::Space),
            ("/**\n!/secret/**", 2, AccessFault::ExclamationMark),
            ("/**\n-!x", 2, AccessFault::ExclamationMark),
            ("# all\n/**", 1, AccessFault::Comment),
            ("/src/", 1, AccessFault::Directory),
            ("src/", 1, AccessFault::Directory),
            ("/**\n-/secret/", 2, AccessFault::Directory),
            ("/**/", 1, AccessFault::Directory),
            ("/", 1, AccessFault::Directory),
            ("-", 1, AccessFault::Directory),
            ("./src/**", 1, AccessFault::Part),
            ("/a//b", 1, AccessFault::Part),
            ("/**\n-/a/../b", 2, AccessFault::Part),
        ] {
            let error = AccessRules::parse(text.as_bytes())
                .err()
                .expect("a bad rule");
            assert_eq!((error.line, error.reason), (line, reason), "{text:?}");
        }
        assert!(AccessRules::parse(b"/\xff").is_err());
    }

    #[test]
    fn a_rule_without_wildcards_is_about_a_file() {
        for (rules, line) in [
            (&["src"][..], Some(1)),
            (&["/**", "-/src/lib"], Some(2)),
            (&[r"/sr\c"], Some(1)),
            (&["/src/**", "/src/*", "-/s*c", "/sr{c,d}", "/file"], None),
        ] {
            let is_directory = |path: &[u8]| [&b"src"[..], b"src/lib"].contains(&path);
            let found = access(rules).rule_for_directory(is_directory);
            assert_eq!(found.map(|rule| rule.line), line, "{rules:?}");
        }
    }

    #[test]
    fn whole_directories_are_settled_where_that_is_sure() {
        for (rules, directory, pruned, admitted) in [
            (&[][..], "", true, false),
            (&["/**"], "", false, true),
            (&["/**"], "a", false, true),
            (&["/**", "-/secret/**"], "", false, false),
            (&["/**", "-/secret/**"], "a", false, true),
            (&["/**", "-/secret/**"], "secret", true, false),
            (&["/**", "-/secret/**"], "secret/a", true, false),
            (
                &["/**", "-/secret/**", "/secret/pub/*"],
                "secret",
                false,
                false,
            ),
            (
                &["/**", "-/secret/**", "/secret/pub/*"],
                "secret/a",
                true,
                false,
            ),
            (
                &["/**", "-/secret/**", "/secret/pub/*"],
                "secret/pub",
                false,
                false,
            ),
            (&["/**", "-/**_test.go"], "a", false, false),
            (&["/a/b/c.txt"], "b", true, false),
            (&["/a/b/c.txt"], "a", false, false),
            (&["/a/b/c.txt"], "a/b", false, false),
            (&["/a/b/c.txt"], "a/c", true, false),
            (&["/{a,b}/**"], "a", false, false),
            (&["-/a/x", "/**"], "a", false, true),
        ] {
            let access = access(rules);
            let found = [
                access.prunes(directory.as_bytes()),
                access.admits_all(directory.as_bytes()),
            ];
            assert_eq!(found, [pruned, admitted], "{rules:?} {directory:?}");
        }
    }
}
