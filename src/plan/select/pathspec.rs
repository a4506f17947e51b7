//! Pathspecs (gitglossary(7), "pathspec"): parsing, matching, and what may lie below a directory.
//!
//! Own code, since the exact messages and the rules for directories are part of what scripts see,
//! and gix takes a pathspec that normalises to the root for something else. Wildcards are matched
//! by gix's port of git's wildmatch.

use gix::{
    bstr::{BStr, BString, ByteSlice},
    glob::wildmatch,
};

use super::{named::Named, requirement::Requirements};
use crate::error::{Error, Result};

/// How all pathspecs of a run are read (`GIT_LITERAL_PATHSPECS` and its siblings).
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// No magic at all.
    pub literal: bool,
    /// `:(glob)` for all that say nothing else.
    pub glob: bool,
    /// `:(literal)` for all that say nothing else.
    pub noglob: bool,
    /// `:(icase)` for all.
    pub icase: bool,
}

/// One pathspec.
#[derive(Clone, Debug)]
pub struct Pathspec {
    /// As given, for messages.
    pub given: BString,
    /// From the root of the tree; without slash at its end.
    path: BString,
    /// It ended in a slash.
    only_directory: bool,
    /// The first bytes of `path`, which come from the current directory: case matters in them.
    prefix_len: usize,
    /// The bytes before the first wildcard.
    literal_len: usize,
    glob: bool,
    icase: bool,
    /// What it matches is left out.
    pub exclude: bool,
    /// What attributes a path has to have as well.
    pub requirements: Option<Requirements>,
}

/// All pathspecs of a run.
#[derive(Clone, Debug, Default)]
pub struct Pathspecs {
    /// In the order in which they were given, without repetitions of plain names.
    all: Vec<Pathspec>,
    /// Those that are plain names.
    named: Named,
    /// The numbers of all others.
    searched: Vec<usize>,
    /// There is one that does not exclude.
    include: bool,
}

impl Pathspecs {
    /// Read `specs`, given in the directory `cwd` of the work tree at `root` (`cwd` is empty or
    /// ends in a slash).
    pub fn parse(specs: &[BString], cwd: &BStr, root: &str, defaults: Defaults) -> Result<Self> {
        let mut parsed = Self::default();
        let mut asking = 0;
        for spec in specs {
            let mut spec = Pathspec::parse(spec, cwd, root, defaults)?;
            let number = parsed.all.len();
            if let Some(requirements) = &mut spec.requirements {
                requirements.number = asking;
                asking += 1;
            }
            if !spec.is_name() {
                parsed.searched.push(number);
            } else if !parsed.named.insert(&spec.path, spec.only_directory, number) {
                continue;
            }
            parsed.include |= !spec.exclude;
            parsed.all.push(spec);
        }
        Ok(parsed)
    }

    /// All of them, by their numbers.
    pub fn all(&self) -> &[Pathspec] {
        &self.all
    }

    /// Those that are plain names.
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// The numbers of all others.
    pub fn searched(&self) -> &[usize] {
        &self.searched
    }

    /// Whether there are none, so that everything is selected.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The attributes that they ask for.
    pub fn attributes(&self) -> impl Iterator<Item = &BString> {
        let requirements = self
            .all
            .iter()
            .filter_map(|spec| spec.requirements.as_ref());
        requirements.flat_map(|requirements| requirements.all.iter().map(|one| &one.name))
    }

    /// Whether any asks for attributes.
    pub fn ask_attributes(&self) -> bool {
        self.searched()
            .iter()
            .any(|&number| self.all[number].requirements.is_some())
    }

    /// Whether `path`, which is no directory of the tree, is selected; `is_dir` for submodules.
    /// Whether it has the attributes that are required is told by `meets`.
    pub fn select(
        &self,
        path: &[u8],
        is_dir: bool,
        mut meets: impl FnMut(&Requirements) -> bool,
    ) -> bool {
        let mut any = |exclude| {
            self.others(exclude).any(|spec| {
                spec.matches(path, is_dir) && spec.requirements.as_ref().is_none_or(&mut meets)
            })
        };
        (!self.include || self.named.covers(path, is_dir) || any(false)) && !any(true)
    }

    /// Whether anything below the directory `path` may be selected.
    pub fn descend(&self, path: &[u8]) -> bool {
        let (mut included, mut excluded) = (self.others(false), self.others(true));
        (!self.include
            || self.named.leads_below(path)
            || self.named.covers(path, true)
            || included.any(|spec| spec.may_match_below(path)))
            && !excluded.any(|spec| spec.requirements.is_none() && spec.covers(path))
    }

    /// Those that are no plain names, from the last to the first, as git tries them.
    fn others(&self, exclude: bool) -> impl Iterator<Item = &Pathspec> {
        let others = self.searched.iter().rev().map(|&number| &self.all[number]);
        others.filter(move |spec| spec.exclude == exclude)
    }
}

impl Pathspec {
    fn parse(given: &BString, cwd: &BStr, root: &str, defaults: Defaults) -> Result<Self> {
        if given.is_empty() {
            return Err(Error::fatal(
                "empty string is not a valid pathspec. \
                 please use . instead if you meant to match all paths",
            ));
        }
        let (magic, rest) = match defaults.literal {
            true => (
                Magic {
                    literal: true,
                    ..Magic::default()
                },
                given.as_bstr(),
            ),
            false => Magic::parse(given)?,
        };
        let literal = magic.literal || (defaults.noglob && !magic.glob);
        let inside = rest.strip_prefix(root.as_bytes());
        let inside = inside.and_then(|path| path.strip_prefix(b"/"));
        let (path, only_directory, prefix_len) = match (magic.top, inside) {
            (true, _) => normalise(b"".as_bstr(), rest),
            (false, None) => normalise(cwd, rest),
            (false, Some(path)) => normalise(b"".as_bstr(), path.as_bstr()),
        }
        .ok_or_else(|| {
            Error::fatal(format!(
                "{given}: '{rest}' is outside repository at '{root}'"
            ))
        })?;
        let prefix_len = magic.prefix.unwrap_or(prefix_len).min(path.len());
        let literal_len = match literal {
            true => path.len(),
            false => {
                let wildcard = path[prefix_len..].find_byteset(b"*?[\\");
                wildcard.map_or(path.len(), |at| prefix_len + at)
            }
        };
        Ok(Self {
            given: given.clone(),
            path,
            only_directory,
            prefix_len,
            literal_len,
            glob: magic.glob || defaults.glob,
            icase: magic.icase || defaults.icase,
            exclude: magic.exclude,
            requirements: magic.requirements,
        })
    }

    /// Whether it selects a path and what is below it, and asks for nothing else.
    fn is_name(&self) -> bool {
        let plain = self.literal_len == self.path.len() && !self.icase && !self.exclude;
        plain && !self.path.is_empty() && self.requirements.is_none()
    }

    /// Whether it matches the entry at `path`, by itself or by a directory above it.
    pub fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        if self.covers(path) {
            return !(self.only_directory && path.len() == self.path.len()) || is_dir;
        }
        self.literal_len < self.path.len() && self.wildmatch(path)
    }

    /// Whether it names `path` or a directory above it, letter by letter.
    fn covers(&self, path: &[u8]) -> bool {
        let len = self.path.len();
        if len == 0 {
            return true;
        }
        path.len() >= len
            && self.same(&path[..len], &self.path)
            && path.get(len).is_none_or(|&next| next == b'/')
    }

    /// Whether it may match something below the directory `path`.
    pub fn may_match_below(&self, path: &[u8]) -> bool {
        if self.covers(path) {
            return true;
        }
        let literal = &self.path[..self.literal_len];
        if literal.len() <= path.len() {
            let wildcard = self.literal_len < self.path.len();
            return wildcard && self.same(&path[..literal.len()], literal);
        }
        literal[path.len()] == b'/' && self.same(&literal[..path.len()], path)
    }

    fn wildmatch(&self, path: &[u8]) -> bool {
        let prefix = self.prefix_len.min(path.len());
        if path[..prefix] != self.path[..self.prefix_len] {
            return false;
        }
        let mut mode = wildmatch::Mode::empty();
        mode.set(wildmatch::Mode::NO_MATCH_SLASH_LITERAL, self.glob);
        mode.set(wildmatch::Mode::IGNORE_CASE, self.icase);
        let pattern = self.path[self.prefix_len..].as_bstr();
        gix::glob::wildmatch(pattern, path[prefix..].as_bstr(), mode)
    }

    /// Whether two beginnings of equal length are the same, as far as this pathspec minds case.
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        if !self.icase {
            return a == b;
        }
        let prefix = self.prefix_len.min(a.len());
        a[..prefix] == b[..prefix] && a[prefix..].eq_ignore_ascii_case(&b[prefix..])
    }
}

#[derive(Default)]
struct Magic {
    top: bool,
    literal: bool,
    glob: bool,
    icase: bool,
    exclude: bool,
    /// How much of the path is from the current directory: git tells itself.
    prefix: Option<usize>,
    requirements: Option<Requirements>,
}

impl Magic {
    /// Take the magic off the front of a pathspec.
    fn parse(spec: &BString) -> Result<(Self, &BStr)> {
        let magic = Self::default();
        match spec.as_bytes() {
            [b':', b'(', rest @ ..] => magic.long(spec, rest.as_bstr()),
            [b':', rest @ ..] => magic.short(spec, rest.as_bstr()),
            _ => Ok((magic, spec.as_bstr())),
        }
    }

    fn long<'a>(mut self, spec: &BString, rest: &'a BStr) -> Result<(Self, &'a BStr)> {
        let mut rest = rest.as_bytes();
        while !rest.is_empty() && !rest.starts_with(b")") {
            let (word, after) = rest.split_at(word_len(rest));
            rest = after.strip_prefix(b",").unwrap_or(after);
            self.word(word.as_bstr(), spec)?;
        }
        let Some(rest) = rest.strip_prefix(b")") else {
            return Err(Error::fatal(format!(
                "Missing ')' at the end of pathspec magic in '{spec}'"
            )));
        };
        if self.literal && self.glob {
            return Err(Error::fatal(format!(
                "{spec}: 'literal' and 'glob' are incompatible"
            )));
        }
        Ok((self, rest.as_bstr()))
    }

    fn word(&mut self, word: &BStr, spec: &BString) -> Result<()> {
        match word.as_bytes() {
            b"" | b"attr" => {}
            b"top" => self.top = true,
            b"literal" => self.literal = true,
            b"glob" => self.glob = true,
            b"icase" => self.icase = true,
            b"exclude" => self.exclude = true,
            [b'a', b't', b't', b'r', b':', requirements @ ..] => {
                if self.requirements.is_some() {
                    return Err(Error::fatal("Only one 'attr:' specification is allowed."));
                }
                self.requirements = Some(Requirements::parse(requirements.as_bstr())?);
            }
            [b'p', b'r', b'e', b'f', b'i', b'x', b':', number @ ..] => {
                let number = number.to_str().ok().and_then(|number| number.parse().ok());
                self.prefix = Some(number.ok_or_else(|| {
                    Error::fatal("invalid parameter for pathspec magic 'prefix'")
                })?);
            }
            _ => {
                return Err(Error::fatal(format!(
                    "Invalid pathspec magic '{word}' in '{spec}'"
                )));
            }
        }
        Ok(())
    }

    fn short<'a>(mut self, spec: &BString, mut rest: &'a BStr) -> Result<(Self, &'a BStr)> {
        while let Some((&byte, after)) = rest.split_first() {
            match byte {
                b'/' => self.top = true,
                b'!' | b'^' => self.exclude = true,
                b':' => return Ok((self, after.as_bstr())),
                // Characters that may become magic one day.
                b'"' | b'#' | b'%' | b'&' | b'\'' | b',' | b'-' | b';' | b'<' | b'=' | b'>'
                | b'@' | b'_' | b'`' | b'~' => {
                    let byte = char::from(byte);
                    return Err(Error::fatal(format!(
                        "Unimplemented pathspec magic '{byte}' in '{spec}'"
                    )));
                }
                _ => break,
            }
            rest = after.as_bstr();
        }
        Ok((self, rest))
    }
}

/// Where a word of long magic ends; a backslash hides what follows it.
fn word_len(rest: &[u8]) -> usize {
    let mut hidden = false;
    let end = rest.iter().position(|&byte| {
        let ends = !hidden && matches!(byte, b',' | b')');
        hidden = !hidden && byte == b'\\';
        ends
    });
    end.unwrap_or(rest.len())
}

/// Join `path` to `cwd` and resolve `.`, `..` and doubled slashes as text. Also whether it ended in
/// a slash, and how much of the result is from `cwd`. Nothing if it leaves the root.
fn normalise(cwd: &BStr, path: &BStr) -> Option<(BString, bool, usize)> {
    let mut parts: Vec<&[u8]> = cwd.split_str("/").filter(|part| !part.is_empty()).collect();
    let mut from_cwd = parts.len();
    if path.starts_with(b"/") {
        return None;
    }
    for part in path.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
                from_cwd = from_cwd.min(parts.len());
            }
            _ => parts.push(part),
        }
    }
    let prefix_len = parts[..from_cwd].iter().map(|part| part.len() + 1).sum();
    let joined: BString = parts.join(&b'/').into();
    let prefix_len = joined.len().min(prefix_len);
    let only_directory = path.ends_with(b"/") && !joined.is_empty();
    Some((joined, only_directory, prefix_len))
}

#[cfg(test)]
mod tests {
    use super::{Defaults, Pathspecs};
    use gix::bstr::{BString, ByteSlice};

    fn specs(cwd: &str, specs: &[&str]) -> Pathspecs {
        let specs: Vec<BString> = specs.iter().map(|&spec| spec.into()).collect();
        Pathspecs::parse(&specs, cwd.into(), "/top", Defaults::default()).expect("valid")
    }

    #[track_caller]
    fn check(cwd: &str, given: &[&str], selected: &[&str], others: &[&str]) {
        let specs = specs(cwd, given);
        let matches = |path: &str| {
            let bare = path.trim_end_matches('/').as_bytes();
            specs.select(bare, path.ends_with('/'), |_| true)
        };
        for path in selected {
            assert!(matches(path), "{given:?} selects {path}");
            for (slash, _) in path.trim_end_matches('/').match_indices('/') {
                assert!(
                    specs.descend(&path.as_bytes()[..slash]),
                    "{given:?} leads to {path}"
                );
            }
        }
        for path in others {
            assert!(!matches(path), "{given:?} does not select {path}");
        }
    }

    #[test]
    fn literal_paths_cover_what_is_below() {
        check(
            "",
            &["a/b"],
            &["a/b", "a/b/c", "a/b/c/d"],
            &["a", "a/bc", "b"],
        );
        check("", &["a/b/"], &["a/b/c", "a/b/"], &["a/b"]);
        check("", &["."], &["a", "b/c"], &[]);
        check("s/t/", &[".", "../x"], &["s/t/u", "s/x/y"], &["s/y"]);
        check("s/", &[":/a", ":(top)b"], &["a", "b/c"], &["s/a"]);
    }

    #[test]
    fn wildcards_match_the_whole_path() {
        check("", &["*.c"], &["a.c", "a/b.c"], &["a.h", "x.c/y"]);
        check("", &[":(glob)*.c"], &["a.c"], &["a/b.c"]);
        check("", &[":(glob)**/sh"], &["sh", "a/bin/sh"], &["a/bin/shx"]);
        check("", &["a*"], &["a", "ab", "a/b"], &["ba"]);
        check("", &["?"], &["a"], &["a/b"]);
        check("", &[":(literal)a*"], &["a*", "a*/b"], &["ab"]);
        check("s/", &["*.c"], &["s/a.c", "s/t/a.c"], &["a.c"]);
    }

    #[test]
    fn case_and_exclusion() {
        check("", &[":(icase)MAKE/*"], &["make/a", "Make/B"], &["made/a"]);
        check("S/", &[":(icase)A"], &["S/a", "S/A/b"], &["s/a"]);
        check("", &["a", ":!a/b"], &["a/c"], &["a/b", "a/b/c", "b"]);
        check("", &[":^*.o"], &["a.c"], &["a.o", "d/a.o"]);
    }

    #[test]
    fn bad_ones_are_told_in_the_words_of_git() {
        for (spec, message) in [
            (
                "",
                "empty string is not a valid pathspec. please use . instead if you meant to match all paths",
            ),
            ("../x", "../x: '../x' is outside repository at '/top'"),
            (":(bogus)x", "Invalid pathspec magic 'bogus' in ':(bogus)x'"),
            (
                ":(glob",
                "Missing ')' at the end of pathspec magic in ':(glob'",
            ),
            (":%x", "Unimplemented pathspec magic '%' in ':%x'"),
            (
                ":(glob,literal)x",
                ":(glob,literal)x: 'literal' and 'glob' are incompatible",
            ),
        ] {
            let error =
                Pathspecs::parse(&[spec.into()], b"".as_bstr(), "/top", Defaults::default());
            assert_eq!(error.unwrap_err().to_string(), format!("fatal: {message}"));
        }
    }
}
