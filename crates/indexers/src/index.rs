//! Finds the last of many patterns that matches a path.
//!
//! The index stores each pattern under a key that every match contains, the rarest available: the whole path,
//! the text before `**`, a base name, a directory, an extension. A look-up visits only the keys of the path. A
//! comparison of byte pairs rules out most candidates; only the rest is matched.
//!
//! Not `globset`, asked first with `*` for each wildcard, class and group, the exact glob then deciding
//! from the highest rank down. With the paths and patterns of `benches/filter.rs`, building included, in
//! millions of instructions (globset 0.4.21):
//!
//! | patterns | each glob in turn | this index | globset |
//! |--:|--:|--:|--:|
//! | 10 | 94 | 59 | 134 |
//! | 100 | 1,211 | 102 | 547 |
//! | 1,000 | | 256 | 19,742 |
//!
//! With 10,000 patterns this index takes 0.2 s of processor time, globset 7.7 s for one path in forty.
//! Globs that have text on both sides of a wildcard become one regular expression each or one large set of
//! them; cut down to their longer end, which needs none, they still take 153, 380 and 11,076.

use bstr::ByteSlice;
use rustc_hash::FxHashMap;

use super::{
    glob::Glob,
    prefixes::{Prefixes, Rank},
};

type Map<T> = FxHashMap<Vec<u8>, T>;

/// An index of patterns.
#[derive(Clone, Debug, Default)]
pub struct Index {
    globs: Vec<Glob>,
    highest: Option<Rank>,
    /// Patterns without wildcards.
    literals: Map<Rank>,
    /// Patterns of the form `text**`.
    prefixes: Prefixes,
    /// Patterns by base name.
    by_name: Map<Candidates>,
    /// Patterns by a leading directory.
    by_directory: Map<Candidates>,
    /// Patterns by a component between two slashes.
    by_component: Map<Candidates>,
    /// Patterns by extension.
    by_extension: Map<Candidates>,
    others: Candidates,
}

/// Patterns under one key, in ascending order of rank.
type Candidates = Vec<Candidate>;

#[derive(Clone, Debug)]
struct Candidate {
    pairs: Pairs,
    rank: Rank,
    glob: usize,
}

impl Index {
    /// Index patterns, given in ascending order of rank.
    pub fn new(globs: impl IntoIterator<Item = (Glob, Rank)>) -> Self {
        let mut index = Self::default();
        let mut prefixes = Vec::new();
        for (glob, rank) in globs {
            index.highest = index.highest.max(Some(rank));
            if glob.is_literal() {
                index.literals.insert(glob.prefix().into(), rank);
            } else if glob.is_prefix() {
                prefixes.push((glob.prefix().into(), rank));
            } else {
                index.file(glob, rank);
            }
        }
        index.prefixes = Prefixes::new(prefixes);
        index
    }

    /// Store `glob` under a key that every matching path contains.
    fn file(&mut self, glob: Glob, rank: Rank) {
        let name = glob
            .suffix()
            .rfind_byte(b'/')
            .map(|slash| &glob.suffix()[slash + 1..]);
        let directory = glob
            .prefix()
            .rfind_byte(b'/')
            .map(|slash| &glob.prefix()[..slash]);
        let component = glob.inner_texts().find_map(component);
        // The longer key is the rarer one.
        let directory = directory.filter(|it| it.len() > component.map_or(0, <[u8]>::len));
        let extension = extension(glob.suffix());
        let candidates = match (name, directory, component, extension) {
            (Some(name), ..) => self.by_name.entry(name.into()).or_default(),
            (_, Some(name), ..) => self.by_directory.entry(name.into()).or_default(),
            (_, _, Some(name), _) => self.by_component.entry(name.into()).or_default(),
            (.., Some(name)) => self.by_extension.entry(name.into()).or_default(),
            _ => &mut self.others,
        };
        let mut pairs = Pairs::of(glob.prefix()).and(Pairs::of(glob.suffix()));
        for text in glob.inner_texts() {
            pairs = pairs.and(Pairs::of(text));
        }
        candidates.push(Candidate {
            pairs,
            rank,
            glob: self.globs.len(),
        });
        self.globs.push(glob);
    }

    /// The greatest rank of the patterns that match `path`.
    pub fn last(&self, path: &[u8]) -> Option<Rank> {
        let best = self.literals.get(path).copied().max(self.prefixes.of(path));
        if best == self.highest || self.globs.is_empty() {
            return best;
        }
        let mut search = GlobSearch {
            globs: &self.globs,
            path,
            pairs: None,
            best,
        };
        let name = &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..];
        search.among(self.by_name.get(name));
        search.among(extension(path).and_then(|extension| self.by_extension.get(extension)));
        let mut start = 0;
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (slash, _) in slashes {
            search.among(self.by_directory.get(&path[..slash]));
            search.among(self.by_component.get(&path[start..slash]));
            start = slash + 1;
        }
        search.among(Some(&self.others));
        search.best
    }
}

/// The search for the last pattern that matches.
struct GlobSearch<'a> {
    globs: &'a [Glob],
    path: &'a [u8],
    /// The pairs of the path, computed on first use.
    pairs: Option<Pairs>,
    best: Option<Rank>,
}

impl GlobSearch<'_> {
    fn among(&mut self, candidates: Option<&Candidates>) {
        for candidate in candidates.into_iter().flatten().rev() {
            if Some(candidate.rank) <= self.best {
                return;
            }
            let pairs = self.pairs.get_or_insert_with(|| Pairs::of(self.path));
            if pairs.include(&candidate.pairs) && self.globs[candidate.glob].is_match(self.path) {
                self.best = Some(candidate.rank);
                return;
            }
        }
    }
}

/// The text after the last dot.
fn extension(text: &[u8]) -> Option<&[u8]> {
    text.rfind_byte(b'.').map(|dot| &text[dot + 1..])
}

/// The first component of `text` that has a slash on both sides.
fn component(text: &[u8]) -> Option<&[u8]> {
    let start = text.find_byte(b'/')? + 1;
    let length = text[start..].find_byte(b'/')?;
    Some(&text[start..start + length])
}

/// The set of byte pairs in a text. The set may contain additional pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs([u64; 4]);

impl Pairs {
    fn of(text: &[u8]) -> Self {
        let mut pairs = Self::default();
        for pair in text.windows(2) {
            let hash = u16::from_le_bytes([pair[0], pair[1]]).wrapping_mul(0x9e37) >> 8;
            pairs.0[usize::from(hash >> 6)] |= 1 << (hash & 63);
        }
        pairs
    }

    fn and(mut self, other: Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
        self
    }

    fn include(&self, other: &Self) -> bool {
        let missing = self
            .0
            .iter()
            .zip(other.0)
            .map(|(word, other)| other & !word);
        missing.fold(0, |all, word| all | word) == 0
    }
}
