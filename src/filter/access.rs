//! Access rules: which paths of a repository a reader may see.
//!
//! The sub-repository permissions of Sourcegraph: ordered globs for paths with a slash in front, the last
//! that matches decides, and what none matches is denied. Fails closed: a rule that may not mean what
//! it seems to makes all of them void. Errors quote no rule, since rules name what is denied.

use std::fmt;

use gix::bstr::ByteSlice;

use super::{
    glob::{Glob, GlobError},
    index::{Index, Rank},
    prefixes::Prefixes,
};

/// A rule that cannot be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// The number of its line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: Reason,
}

/// Why a rule cannot be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It, or a directory above it, is no pattern.
    Glob(GlobError),
    /// There is white space around it, which would be part of it.
    Space,
    /// It starts with a byte order mark, which would be part of it.
    ByteOrderMark,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadRule {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob(error) => error.fmt(f),
            Self::Space => f.write_str("white space around a rule"),
            Self::ByteOrderMark => f.write_str("a byte order mark"),
        }
    }
}

/// Rules, in order. Not to be printed.
#[derive(Clone, Default)]
pub struct Access {
    /// Whether each rule lets in what it matches; its place is its rank.
    includes: Vec<bool>,
    /// All rules.
    paths: Index,
    /// All rules, and the directories above those that include.
    directories: Index,
    /// The rules that match all that starts with something they match.
    open: Index,
    /// The literal start of the rules that include.
    included: Prefixes,
    /// The literal start of the rules that exclude.
    excluded: Prefixes,
}

impl Access {
    /// Read rules, one a line: a glob, or `-` and a glob for what is denied. Blank lines are skipped;
    /// there are no comments.
    pub fn parse(text: &[u8]) -> Result<Self, BadRule> {
        let mut access = Self::default();
        let (mut paths, mut directories) = (Vec::new(), Vec::new());
        for (line, rule) in (1..).zip(text.lines()) {
            if rule.trim_with(char::is_whitespace).is_empty() {
                continue;
            }
            let rule = Rule::new(rule).map_err(|reason| BadRule { line, reason })?;
            let rank = access.includes.len() as Rank;
            access.includes.push(rule.includes);
            paths.extend(rule.globs.into_iter().map(|glob| (glob, rank)));
            directories.extend(rule.parents.into_iter().map(|glob| (glob, rank)));
        }
        let starts = |of_includes: bool| {
            let of_kind = |(_, rank): &&(Glob, Rank)| access.includes[*rank as usize] == of_includes;
            let starts = paths.iter().filter(of_kind);
            Prefixes::new(starts.map(|(glob, rank)| (glob.prefix().into(), *rank)))
        };
        (access.included, access.excluded) = (starts(true), starts(false));
        access.open = Index::new(paths.iter().filter(|(glob, _)| glob.is_open()).cloned());
        directories.extend(paths.iter().cloned());
        directories.sort_by_key(|(_, rank)| *rank);
        access.directories = Index::new(directories);
        access.paths = Index::new(paths);
        Ok(access)
    }

    /// Whether the file at `path` may be seen.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.includes(self.paths.last(&[b"/", path].concat()))
    }

    /// Whether `directory` (without slash at its end) may be seen as such; says nothing of what is
    /// in it.
    pub fn allows_directory(&self, directory: &[u8]) -> bool {
        self.includes(self.directories.last(&entered(directory)))
    }

    /// Whether nothing below `directory` (without slash at its end) may be seen, whatever it is. Where
    /// this says no, every file below may still be denied, each by a rule of its own.
    pub fn prunes(&self, directory: &[u8]) -> bool {
        let directory = entered(directory);
        let decided = self.open.last(&directory);
        !self.includes(decided) && could_match(&self.included, &directory) <= decided
    }

    /// Whether all that is below `directory` (without slash at its end) may be seen, whatever it is.
    pub fn admits_all(&self, directory: &[u8]) -> bool {
        let directory = entered(directory);
        let decided = self.open.last(&directory);
        self.includes(decided) && could_match(&self.excluded, &directory) <= decided
    }

    fn includes(&self, rank: Option<Rank>) -> bool {
        rank.is_some_and(|rank| self.includes[rank as usize])
    }
}

/// The last of the rules with these literal `starts` that could match something below `directory`.
fn could_match(starts: &Prefixes, directory: &[u8]) -> Option<Rank> {
    starts.of(directory).max(starts.below(directory))
}

/// What the paths below `directory` start with.
fn entered(directory: &[u8]) -> Vec<u8> {
    match directory {
        b"" => b"/".into(),
        _ => [b"/", directory, b"/"].concat(),
    }
}

/// One rule, expanded.
struct Rule {
    includes: bool,
    /// The rule, and what else it stands for.
    globs: Vec<Glob>,
    /// The directories on the way to what is included.
    parents: Vec<Glob>,
}

impl Rule {
    fn new(text: &[u8]) -> Result<Self, Reason> {
        if text.trim_with(char::is_whitespace) != text {
            return Err(Reason::Space);
        }
        if text.starts_with("\u{feff}".as_bytes()) {
            return Err(Reason::ByteOrderMark);
        }
        let (includes, pattern) = match text.strip_prefix(b"-") {
            Some(pattern) => (false, pattern),
            None => (true, text),
        };
        let pattern = match pattern.starts_with(b"/") {
            true => pattern.into(),
            false => [b"/", pattern].concat(),
        };
        let at_root = without_leading_stars(&pattern);
        let parents = if includes { parents(&pattern) } else { Vec::new() };
        let globs = [&pattern[..]].into_iter().chain(at_root);
        Ok(Self {
            includes,
            globs: compiled(globs)?,
            parents: compiled(parents)?,
        })
    }
}

fn compiled<'a>(patterns: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Glob>, Reason> {
    let globs = patterns.into_iter().map(Glob::new).collect::<Result<_, _>>();
    globs.map_err(Reason::Glob)
}

/// The pattern for the root directory of one that starts with `/**/`, which would miss it.
fn without_leading_stars(pattern: &[u8]) -> Option<&[u8]> {
    let mut rest = pattern;
    while rest.starts_with(b"/**/") {
        rest = &rest[b"/**".len()..];
    }
    (rest.len() < pattern.len()).then_some(rest)
}

/// Patterns for the directories above what `pattern` matches.
fn parents(pattern: &[u8]) -> Vec<&[u8]> {
    if pattern.starts_with(b"/*") {
        return vec![b"**/"];
    }
    let slashes = pattern.rfind_iter("/").filter(|slash| *slash > 0);
    slashes.map(|slash| &pattern[..=slash]).collect()
}
