//! Finds the lines of one file that match a path.
//!
//! Most lines name a full path, a base name or an extension, or begin with the name of a directory. Hash maps find such
//! lines in constant time. Lines with other wildcards are tried one by one.

use std::collections::HashMap;

use bstr::{BString, ByteSlice};

use super::Pattern;
use crate::wildmatch::Wildmatch;

/// The patterns of one file, each with its value.
pub struct Matcher<T> {
    /// The directory of the file, without slash at its end.
    base: BString,
    fold: bool,
    lines: Vec<(Pattern, T)>,
    /// Lines by the path that they name, from the directory of the file.
    by_path: Lines,
    /// Lines by the base name that they name.
    by_name: Lines,
    /// Lines by the extension in which their names end.
    by_extension: Lines,
    /// Lines by the directory with which their paths begin, seen from the directory of the file.
    by_directory: Lines,
    /// Lines by a directory in which their paths lie, however deep.
    by_inner_directory: Lines,
    others: Vec<usize>,
    weight: usize,
}

/// Estimated bytes of memory of a line without the text of its pattern.
const LINE_WEIGHT: usize = 256;

/// Line numbers by the path, name or extension in the pattern.
#[derive(Default)]
struct Lines {
    by_key: HashMap<Vec<u8>, Vec<usize>>,
    /// One bit for the [`trait_of`] each key: a cleared bit rules out most names without hashing them.
    traits: u64,
}

impl Lines {
    fn add(&mut self, key: Vec<u8>, line: usize) {
        self.traits |= 1 << trait_of(&key);
        self.by_key.entry(key).or_default().push(line);
    }

    fn is_empty(&self) -> bool {
        self.traits == 0
    }

    fn get(&self, key: &[u8]) -> &[usize] {
        match self.traits & (1 << trait_of(key)) {
            0 => &[],
            _ => self.by_key.get(key).map_or(&[], Vec::as_slice),
        }
    }
}

/// A number below 64 that tells keys apart: from the length and the last byte.
fn trait_of(key: &[u8]) -> usize {
    let last = key.last().map_or(0, |&byte| usize::from(byte));
    (key.len() + 5 * last) % 64
}

impl<T> Default for Matcher<T> {
    fn default() -> Self {
        Self {
            base: BString::default(),
            fold: false,
            lines: Vec::new(),
            by_path: Lines::default(),
            by_name: Lines::default(),
            by_extension: Lines::default(),
            by_directory: Lines::default(),
            by_inner_directory: Lines::default(),
            others: Vec::new(),
            weight: 0,
        }
    }
}

impl<T> Matcher<T> {
    /// For the file of the directory `base`; `fold` if case does not matter.
    pub fn new(base: &[u8], fold: bool, lines: Vec<(Pattern, T)>) -> Self {
        let mut matcher = Self {
            base: base.into(),
            fold,
            ..Self::default()
        };
        for (at, (pattern, _)) in lines.iter().enumerate() {
            let Some((index, key)) = matcher.index_for(pattern) else {
                matcher.others.push(at);
                continue;
            };
            let mut key = key.to_owned();
            if fold {
                key.make_ascii_lowercase();
            }
            index.add(key, at);
        }
        let weights = lines
            .iter()
            .map(|(pattern, _)| LINE_WEIGHT + pattern.text.len());
        matcher.weight = weights.sum();
        matcher.lines = lines;
        matcher
    }

    /// The map for a line with this `pattern`, and the key of the line in it. `None` for a line that has to be tried.
    fn index_for<'a>(&mut self, pattern: &'a Pattern) -> Option<(&mut Lines, &'a [u8])> {
        if pattern.is_literal() {
            let index = if pattern.base_name {
                &mut self.by_name
            } else {
                &mut self.by_path
            };
            return Some((index, &pattern.text));
        }
        if let Some(extension) = pattern.ending().and_then(extension) {
            return Some((&mut self.by_extension, extension));
        }
        if let Some(directory) = top(&pattern.text[..pattern.literal]) {
            return Some((&mut self.by_directory, directory));
        }
        let directory = pattern.directory_within()?;
        Some((&mut self.by_inner_directory, directory))
    }

    /// The estimated memory of all lines in bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Whether the file has no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The values of all lines.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.lines.iter().map(|(_, value)| value)
    }

    /// The values of the lines that match `path`, the last line first. `path` lies below the directory of
    /// the file and has no slash at its end.
    pub fn matching(&self, path: &[u8], is_dir: bool) -> impl Iterator<Item = &T> {
        let lower;
        let path = if self.fold {
            lower = path.to_ascii_lowercase();
            &lower
        } else {
            path
        };
        let path = match self.base.len() {
            0 => path,
            base => path.get(base + 1..).unwrap_or_default(),
        };
        let name = &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..];
        let by_extension = extension(name).map_or(&[][..], |key| self.by_extension.get(key));
        let by_directory = top(path).map_or(&[][..], |key| self.by_directory.get(key));
        let by_inner_directory = self.in_directories(&path[..path.len() - name.len()]);
        let mut found: Vec<usize> = self
            .by_path
            .get(path)
            .iter()
            .chain(self.by_name.get(name))
            .chain(by_extension)
            .chain(by_directory)
            .chain(by_inner_directory)
            .chain(&self.others)
            .copied()
            .filter(|&line| self.is_about(&self.lines[line].0, path, name, is_dir))
            .collect();
        found.sort_unstable();
        // A path may lie in two directories of one name.
        found.dedup();
        found.into_iter().rev().map(|line| &self.lines[line].1)
    }

    /// The lines of the maps by inner directory for each of the `directories`, which slashes part.
    fn in_directories(&self, directories: &[u8]) -> impl Iterator<Item = &usize> {
        // Few files name a directory at any depth; splitting each path for nothing takes 2 % of an archive's time.
        let named = (!self.by_inner_directory.is_empty()).then(|| directories.split_str("/"));
        named
            .into_iter()
            .flatten()
            .flat_map(|key| self.by_inner_directory.get(key))
    }

    fn is_about(&self, pattern: &Pattern, path: &[u8], name: &[u8], is_dir: bool) -> bool {
        if pattern.directory && !is_dir {
            return false;
        }
        let same = |a: &[u8], b: &[u8]| {
            if self.fold {
                return a.eq_ignore_ascii_case(b);
            }
            // Most names already differ in the last byte.
            a.last() == b.last() && a == b
        };
        let text = pattern.text.as_slice();
        let subject = if pattern.base_name { name } else { path };
        if let Some(ending) = pattern.ending() {
            return name.len() >= ending.len() && same(&name[name.len() - ending.len()..], ending);
        }
        let literal = pattern.literal;
        if subject.len() < literal || !same(&subject[..literal], &text[..literal]) {
            return false;
        }
        if text.len() == literal {
            return subject.len() == literal;
        }
        // One byte stays, because two stars after a name are not two stars after a slash (git 2.52).
        let kept = literal.saturating_sub(1);
        let wildmatch = Wildmatch {
            slashes_count: !pattern.base_name,
            ignores_case: self.fold,
        };
        wildmatch.matches(&text[kept..], &subject[kept..])
    }
}

/// The text after the last dot.
fn extension(name: &[u8]) -> Option<&[u8]> {
    name.rfind_byte(b'.').map(|dot| &name[dot + 1..])
}

/// The text before the first slash. `None` without a slash.
fn top(path: &[u8]) -> Option<&[u8]> {
    path.find_byte(b'/').map(|slash| &path[..slash])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Matcher;
    use crate::pattern::Pattern;

    /// Two stars cross directories only where a slash or nothing stands before them (git 2.52).
    #[test]
    fn two_stars_after_a_name_are_one() {
        for (text, path, expected) in [
            ("foo**/bar", "foox/bar", true),
            ("foo**/bar", "foox/y/bar", false),
            ("foo**/bar", "foo/bar", true),
            ("foo/**/bar", "foo/x/y/bar", true),
            ("**/bar", "x/y/bar", true),
            ("/f**r", "foo/bar", false),
        ] {
            let lines = vec![(Pattern::parse(text.as_bytes()), ())];
            let matcher = Matcher::new(b"", false, lines);
            let found = matcher.matching(path.as_bytes(), false).next().is_some();
            assert_eq!(found, expected, "{text} {path}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// The maps find the lines that are found one by one.
        #[test]
        fn maps_lose_no_line(
            texts in prop::collection::vec("/?[abA*?.]{1,2}(/[abA*?.\\[]{1,3}){0,3}/?", 1..12),
            path in "[abA.]{1,2}(/[abA.]{1,2}){0,3}",
            (fold, is_dir, below) in any::<(bool, bool, bool)>(),
        ) {
            let patterns = texts.iter().map(|text| Pattern::parse(text.as_bytes()));
            let patterns: Vec<_> = patterns.collect();
            let lines = patterns.iter().cloned().zip(0..).collect();
            let base: &[u8] = if below { b"dir" } else { b"" };
            let matcher = Matcher::new(base, fold, lines);
            let full = [base, if below { &b"/"[..] } else { b"" }, path.as_bytes()].concat();
            let found: Vec<usize> = matcher.matching(&full, is_dir).copied().collect();
            let path = if fold { path.to_ascii_lowercase() } else { path };
            let name = path.rsplit('/').next().unwrap_or_default();
            let is_about = |pattern| {
                matcher.is_about(pattern, path.as_bytes(), name.as_bytes(), is_dir)
            };
            let mut expected = Vec::new();
            for (at, pattern) in patterns.iter().enumerate().rev() {
                if is_about(pattern) {
                    expected.push(at);
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
