//! Pathspecs (gitglossary(7), "pathspec"): parsing, matching, and whether a directory may contain a match.
//!
//! Own code, since the exact messages and the rules for directories are part of what scripts see,
//! and gix takes a pathspec that normalises to the root for something else. Wildcards are matched
//! by our port of git's wildmatch.

mod location;
mod magic;
mod named;

use bstr::{BStr, BString, ByteSlice};

use crate::{attributes::Requirements, environment::PathspecVariables, wildmatch::Wildmatch};
use location::Location;
use magic::Magic;
use named::Named;
use sluice_base::error::{Error, Result, format_bytes};

pub use location::{Top, from_root};

/// How all pathspecs of a run are read (`GIT_LITERAL_PATHSPECS` and its siblings).
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// No pathspec has magic or wildcards.
    pub literal: bool,
    /// `:(glob)` unless a pathspec says otherwise.
    pub glob: bool,
    /// `:(literal)` unless a pathspec says otherwise.
    pub noglob: bool,
    /// `:(icase)` for all.
    pub icase: bool,
}

impl Defaults {
    /// Reads the variables, if there is one of `pathspecs`: git does not look at them otherwise.
    pub fn read<T>(variables: &PathspecVariables, pathspecs: &[T]) -> Result<Self> {
        if pathspecs.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self {
            literal: variables.literal.is_set(false)?,
            glob: variables.glob.is_set(false)?,
            noglob: variables.noglob.is_set(false)?,
            icase: variables.icase.is_set(false)?,
        })
    }

    /// Refuse contradictions, as git does once there is a pathspec.
    fn check(self) -> Result<()> {
        let refused = if self.glob && self.noglob {
            "global 'glob' and 'noglob' pathspec settings are incompatible"
        } else if self.literal && (self.glob || self.icase) {
            "global 'literal' pathspec setting is incompatible with all other global pathspec settings"
        } else {
            return Ok(());
        };
        Err(Error::fatal(refused))
    }
}

/// The bytes that begin a wildcard or an escape.
const WILDCARDS: &[u8] = b"*?[\\";

/// One pathspec.
#[derive(Clone, Debug)]
pub struct Pathspec {
    /// The path from the root of the tree, without slash at its end.
    path: BString,
    /// The given path ended in a slash.
    only_directory: bool,
    /// The number of bytes that come from the current directory: case matters in them. They end in a slash, even if
    /// `path` does not go that far.
    prefix_len: usize,
    /// The bytes before the first wildcard.
    literal_len: usize,
    /// The only wildcard is one star, which also matches slashes.
    is_suffix: bool,
    glob: bool,
    icase: bool,
    /// Matching paths are excluded.
    pub exclude: bool,
    /// The attributes that a matching path needs as well.
    pub requirements: Option<Requirements>,
}

/// All pathspecs of a run.
#[derive(Debug, Default)]
pub struct Pathspecs {
    /// The pathspecs as given, by number.
    given: Vec<BString>,
    /// The pathspecs that are plain names.
    named: Named,
    /// All other pathspecs, with their numbers.
    searched: Vec<(usize, Pathspec)>,
    /// At least one pathspec includes paths.
    include: bool,
    /// Case matters in no pathspec.
    icase: bool,
    /// A pathspec may match nothing.
    may_be_unmatched: bool,
}

impl Pathspecs {
    /// Read `specs`, given in the directory `cwd` of the work tree at `top` (`cwd` is empty or
    /// ends in a slash).
    pub fn parse(
        specs: impl IntoIterator<Item = BString>,
        cwd: &BStr,
        top: Top<'_>,
        defaults: Defaults,
    ) -> Result<Self> {
        let mut parsed = Self {
            icase: defaults.icase,
            ..Self::default()
        };
        let mut asking = 0;
        for given in specs {
            defaults.check()?;
            let mut spec = Pathspec::parse(&given, cwd, top, defaults)?;
            let number = parsed.given.len();
            if let Some(requirements) = &mut spec.requirements {
                requirements.number = asking;
                asking += 1;
            }
            parsed.include |= !spec.exclude;
            if spec.is_name() {
                parsed.named.push(&spec.path, spec.only_directory, number)
            } else {
                parsed.searched.push((number, spec))
            }
            parsed.given.push(given);
        }
        parsed.named.sort();
        Ok(parsed)
    }

    /// Allows pathspecs that match nothing, if `allowed`.
    pub fn unmatched(self, allowed: bool) -> Self {
        Self {
            may_be_unmatched: allowed,
            ..self
        }
    }

    /// Whether a pathspec may match nothing.
    pub fn may_be_unmatched(&self) -> bool {
        self.may_be_unmatched
    }

    /// The pathspecs as given, by number.
    pub fn given(&self) -> &[BString] {
        &self.given
    }

    /// The pathspecs that are plain names.
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// All other pathspecs, with their numbers.
    pub fn searched(&self) -> &[(usize, Pathspec)] {
        &self.searched
    }

    /// Whether no pathspec was given, so that every path is selected.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether a pathspec that only excludes matches the directory in which it was given, and not only what is inside. See
    /// [`Pathspec::matches_directory`].
    pub fn include_directory(&self) -> bool {
        !self.icase
    }

    /// The attributes that the pathspecs require.
    pub fn attributes(&self) -> impl Iterator<Item = &BString> {
        let requirements = self
            .searched
            .iter()
            .filter_map(|(_, spec)| spec.requirements.as_ref());
        requirements.flat_map(|requirements| requirements.all.iter().map(|one| &one.name))
    }

    /// Whether the file, link or submodule at `path` is selected; `is_dir` for submodules. `meets` says whether
    /// the path has the required attributes.
    pub fn select(
        &self,
        path: &[u8],
        is_dir: bool,
        mut meets: impl FnMut(&Requirements) -> Result<bool>,
    ) -> Result<bool> {
        let mut any = |exclude| -> Result<bool> {
            for spec in self.others(exclude) {
                let matches = spec.matches(path, is_dir);
                if matches && spec.requirements.as_ref().map_or(Ok(true), &mut meets)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let is_included = !self.include || self.named.covers(path, is_dir) || any(false)?;
        Ok(is_included && !any(true)?)
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

    /// The pathspecs with wildcards or magic, from the last to the first, as git tries them.
    fn others(&self, exclude: bool) -> impl Iterator<Item = &Pathspec> {
        let others = self.searched.iter().rev().map(|(_, spec)| spec);
        others.filter(move |spec| spec.exclude == exclude)
    }
}

impl Pathspec {
    fn parse(given: &BString, cwd: &BStr, top: Top<'_>, defaults: Defaults) -> Result<Self> {
        if given.is_empty() {
            return Err(Error::fatal(
                "empty string is not a valid pathspec. \
                 please use . instead if you meant to match all paths",
            ));
        }
        let (magic, rest) = if defaults.literal {
            (
                Magic {
                    literal: true,
                    ..Magic::default()
                },
                given.as_bstr(),
            )
        } else {
            Magic::parse(given)?
        };
        let literal = magic.literal || (defaults.noglob && !magic.glob);
        let located = if magic.top || magic.prefix.is_some() {
            Some(Location::from_top(rest))
        } else {
            Location::of(rest, cwd, top)?
        };
        let outside = || {
            let values: [&[u8]; 3] = [given, rest, top.path];
            format_bytes("{}: '{}' is outside repository at '{}'", &values)
        };
        let Location {
            path,
            only_directory,
            prefix_len,
        } = located.ok_or_else(|| Error::fatal(outside()))?;
        let prefix_len = magic.prefix.map_or(prefix_len, |len| len.min(path.len()));
        let literal_len = if literal {
            path.len()
        } else {
            let prefix_len = prefix_len.min(path.len());
            let wildcard = path[prefix_len..].find_byteset(WILDCARDS);
            wildcard.map_or(path.len(), |at| prefix_len + at)
        };
        let glob = magic.glob || defaults.glob;
        let wildcards = path[literal_len..].strip_prefix(b"*");
        let is_one_star = wildcards.is_some_and(|rest| rest.find_byteset(WILDCARDS).is_none());
        Ok(Self {
            path,
            only_directory,
            prefix_len,
            literal_len,
            is_suffix: is_one_star && !glob,
            glob,
            icase: magic.icase || defaults.icase,
            exclude: magic.exclude,
            requirements: magic
                .requirements
                .filter(|required| !required.all.is_empty()),
        })
    }

    /// Whether the pathspec is a plain name: it selects one path with everything below.
    fn is_name(&self) -> bool {
        let plain = self.literal_len == self.path.len() && !self.icase && !self.exclude;
        plain && !self.path.is_empty() && self.requirements.is_none()
    }

    /// Whether the pathspec matches the file, link or submodule at `path`, or a directory above. `is_dir` for
    /// submodules.
    pub fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        if self.covers(path) {
            return !(self.only_directory && path.len() == self.path.len()) || is_dir;
        }
        let base = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        // As in git, a directory whose name is the beginning of the pathspec, wildcards and all, is left out of
        // the comparison.
        let is_named = base <= self.path.len() && self.same(&path[..base], &self.path[..base]);
        self.matches_from(if is_named { base } else { 0 }, path)
    }

    /// Whether the pathspec matches the directory `path` of the tree, or a directory above. Where case does not matter, git
    /// compares all of the prefix, whose slash no directory has at its end.
    pub fn matches_directory(&self, path: &[u8]) -> bool {
        let is_prefix = self.icase && self.prefix_len > path.len();
        !is_prefix && (self.covers(path) || self.matches_from(0, path))
    }

    /// Whether the pathspec names `path` or a directory above literally.
    fn covers(&self, path: &[u8]) -> bool {
        let len = self.path.len();
        if len == 0 {
            return true;
        }
        path.len() >= len
            && self.same(&path[..len], &self.path)
            && path.get(len).is_none_or(|&next| next == b'/')
    }

    /// Whether the pathspec may match something below the directory `path`.
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

    /// Whether the wildcards match `path`. The comparison begins at the byte `start` of both.
    fn matches_from(&self, start: usize, path: &[u8]) -> bool {
        if self.literal_len == self.path.len() {
            return false;
        }
        // No path has the slash at the end, but after two stars it may be nothing.
        if self.only_directory && (self.is_suffix || !self.path.ends_with(b"**")) {
            return false;
        }
        let literal = self.literal_len.max(start);
        if path.len() < literal || !self.same(&path[..literal], &self.path[..literal]) {
            return false;
        }
        let (pattern, rest) = (&self.path[literal..], &path[literal..]);
        if self.is_suffix {
            // git takes the first byte for the star, wherever the comparison starts.
            let suffix = pattern.get(1..).unwrap_or_default();
            return rest.len() >= suffix.len()
                && self.same_letters(&rest[rest.len() - suffix.len()..], suffix);
        }
        let wildmatch = Wildmatch {
            slashes_count: self.glob,
            ignores_case: self.icase,
        };
        if self.only_directory {
            return wildmatch.matches(&[pattern, b"/"].concat(), rest);
        }
        wildmatch.matches(pattern, rest)
    }

    /// Whether two beginnings of equal length are equal under this pathspec's rule for case. Case always
    /// matters in the prefix.
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        if !self.icase {
            return a == b;
        }
        let prefix = self.prefix_len.min(a.len());
        a[..prefix] == b[..prefix] && self.same_letters(&a[prefix..], &b[prefix..])
    }

    /// Whether two texts after the prefix are equal under this pathspec's rule for case.
    fn same_letters(&self, a: &[u8], b: &[u8]) -> bool {
        if self.icase {
            a.eq_ignore_ascii_case(b)
        } else {
            a == b
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Defaults, Pathspec, Pathspecs, Top};
    use bstr::BString;

    fn top() -> Top<'static> {
        Top {
            path: "/top".into(),
            is_work_tree: true,
        }
    }

    fn specs(cwd: &str, specs: &[&str]) -> Pathspecs {
        let specs = specs.iter().map(|&spec| BString::from(spec));
        Pathspecs::parse(specs, cwd.into(), top(), Defaults::default()).expect("valid")
    }

    #[track_caller]
    fn check(cwd: &str, given: &[&str], selected: &[&str], others: &[&str]) {
        let specs = specs(cwd, given);
        let matches = |path: &str| {
            let bare = path.trim_end_matches('/').as_bytes();
            let selected = specs.select(bare, path.ends_with('/'), |_| Ok(true));
            selected.expect("no attribute is looked up")
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

    /// git compares the prefix with its slash.
    #[test]
    fn the_directory_of_a_prefix_matches_only_where_case_matters() {
        for (cwd, given, directory, expected) in [
            ("s/", ".", "s", true),
            ("s/", ":(icase).", "s", false),
            ("s/", ":(icase)a", "s/a", true),
            ("s/t/", ":(icase)..", "s", false),
            ("s/t/", ":(icase)../../s", "s", true),
            ("s/", ":(icase,top)s", "s", true),
        ] {
            let specs = specs(cwd, &[given]);
            let named = specs.named().covers(directory.as_bytes(), true);
            let searched = specs.searched().iter();
            let matches =
                |(_, spec): &(usize, Pathspec)| spec.matches_directory(directory.as_bytes());
            assert_eq!(
                named || searched.clone().any(matches),
                expected,
                "{cwd} {given}"
            );
        }
    }

    #[test]
    fn case_and_exclusion() {
        check("", &[":(icase)MAKE/*"], &["make/a", "Make/B"], &["made/a"]);
        check("S/", &[":(icase)A"], &["S/a", "S/A/b"], &["s/a"]);
        check("", &["a", ":!a/b"], &["a/c"], &["a/b", "a/b/c", "b"]);
        check("", &[":^*.o"], &["a.c"], &["a.o", "d/a.o"]);
    }
}
