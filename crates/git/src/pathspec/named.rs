//! Pathspecs that are plain names, in a sorted table: a run may have a hundred thousand.
//!
//! A walk looks up paths in nearly the table's order, so each look-up begins next to the last result.

use std::{
    cmp::Ordering,
    ops::Range,
    sync::atomic::{self, AtomicUsize},
};

use bstr::ByteSlice;

/// The distance from the last result within which a look-up searches first.
const NEAR: usize = 4;

/// Named paths. A name selects its path and everything below.
#[derive(Debug, Default)]
pub struct Named {
    /// The bytes of all paths, one after the other.
    text: Vec<u8>,
    /// The names, sorted by path.
    names: Vec<Name>,
    /// The position of the last result, shared by all threads: the next search begins there.
    last: AtomicUsize,
}

/// One named path.
#[derive(Clone, Debug)]
pub struct Name {
    path: Range<usize>,
    /// The number of the pathspec.
    pub number: usize,
    /// Only a directory matches.
    pub only_directory: bool,
}

impl Named {
    /// Add the path of the pathspec `number`. [`Named::sort`] has to follow.
    pub fn push(&mut self, path: &[u8], only_directory: bool, number: usize) {
        let start = self.text.len();
        self.text.extend_from_slice(path);
        self.names.push(Name {
            path: start..self.text.len(),
            number,
            only_directory,
        });
    }

    /// Sort the names, which makes the table ready for look-ups.
    pub fn sort(&mut self) {
        let text = &self.text;
        self.names
            .sort_by(|a, b| text[a.path.clone()].cmp(&text[b.path.clone()]));
    }

    /// The names equal to `path`.
    pub fn at(&self, path: &[u8]) -> &[Name] {
        let start = self.position(|name| name.cmp(path));
        let rest = &self.names[start..];
        let same = rest.iter().take_while(|name| self.path(name) == path);
        &rest[..same.count()]
    }

    /// The names of directories above `path`.
    pub fn above(&self, path: &[u8]) -> impl Iterator<Item = &Name> {
        let directories = path.rfind_iter(b"/").map(|slash| &path[..slash]);
        directories.flat_map(|directory| self.at(directory))
    }

    /// Whether `path` or a directory above it is named.
    pub fn covers(&self, path: &[u8], is_dir: bool) -> bool {
        let names = |name: &Name| is_dir || !name.only_directory;
        !self.names.is_empty()
            && (self.at(path).iter().any(names) || self.above(path).next().is_some())
    }

    /// Whether something below the directory `path` is named.
    pub fn leads_below(&self, path: &[u8]) -> bool {
        self.below(path).next().is_some()
    }

    /// The names of paths below the directory `path`.
    pub fn below<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Name> {
        let order = |name: &[u8]| name.iter().cmp(path.iter().chain(b"/"));
        let names = self.names[self.position(|name| order(name))..].iter();
        names.take_while(move |name| {
            let name = self.path(name).strip_prefix(path);
            name.is_some_and(|rest| rest.starts_with(b"/"))
        })
    }

    fn path(&self, name: &Name) -> &[u8] {
        &self.text[name.path.clone()]
    }

    /// The position of the first name that `order` does not call less.
    fn position(&self, order: impl Fn(&[u8]) -> Ordering) -> usize {
        let is_less = |name: &Name| order(self.path(name)) == Ordering::Less;
        let last = self.last.load(atomic::Ordering::Relaxed);
        let (start, end) = (
            last.saturating_sub(NEAR),
            (last + NEAR).min(self.names.len()),
        );
        let near = (start == 0 || is_less(&self.names[start - 1]))
            && self.names.get(end).is_none_or(|name| !is_less(name));
        let (start, end) = if near {
            (start, end)
        } else {
            (0, self.names.len())
        };
        let found = start + self.names[start..end].partition_point(is_less);
        self.last.store(found, atomic::Ordering::Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn names_are_found_in_any_order() {
        let mut named = Named::default();
        for number in (0..100).rev() {
            named.push(
                format!("d{}/f-{number}", number % 7).as_bytes(),
                false,
                number,
            );
        }
        named.push(b"d3/f-10", true, 100);
        named.sort();
        for number in (0..100).chain((0..100).step_by(13)).chain([99, 0, 50]) {
            let path = format!("d{}/f-{number}", number % 7);
            let found = named.at(path.as_bytes());
            assert_eq!(found[0].number, number);
            assert_eq!(found.len(), 1 + usize::from(number == 10));
            assert!(named.covers(format!("{path}/x").as_bytes(), false));
            assert!(named.leads_below(format!("d{}", number % 7).as_bytes()));
            assert!(!named.leads_below(path.as_bytes()));
            assert!(!named.covers(format!("{path}x").as_bytes(), true));
        }
        assert!(!named.leads_below(b"d7") && !named.leads_below(b""));
    }
}
