//! Pathspecs that name their paths outright, found without a look at the others: there may be a
//! hundred thousand of them.
//!
//! A walk asks for paths in nearly the order in which they are sorted here, so that the next answer
//! mostly lies beside the last one.

use std::{
    cmp::Ordering,
    ops::Range,
    sync::atomic::{self, AtomicUsize},
};

use gix::bstr::ByteSlice;

/// How far from the last answer the next one is looked for first.
const NEAR: usize = 4;

/// Paths with all that is below them.
#[derive(Debug, Default)]
pub struct Named {
    /// All paths, one after the other.
    text: Vec<u8>,
    /// By path.
    names: Vec<Name>,
    /// The last answer, whoever asked: where the next one is looked for first.
    last: AtomicUsize,
}

/// A path that is named.
#[derive(Clone, Debug)]
pub struct Name {
    path: Range<usize>,
    /// The number of the pathspec.
    pub number: usize,
    /// It has to be a directory.
    pub only_directory: bool,
}

impl Named {
    /// Add `path` as that of the pathspec `number`, perhaps `only_directory`.
    pub fn push(&mut self, path: &[u8], only_directory: bool, number: usize) {
        let start = self.text.len();
        self.text.extend_from_slice(path);
        self.names.push(Name {
            path: start..self.text.len(),
            number,
            only_directory,
        });
    }

    /// All are added: they can be asked for.
    pub fn sort(&mut self) {
        let text = &self.text;
        self.names
            .sort_by(|a, b| text[a.path.clone()].cmp(&text[b.path.clone()]));
    }

    /// Those that name `path` itself.
    pub fn at(&self, path: &[u8]) -> &[Name] {
        let start = self.position(|name| name.cmp(path));
        let rest = &self.names[start..];
        let same = rest.iter().take_while(|name| self.path(name) == path);
        &rest[..same.count()]
    }

    /// Those that name a directory above `path`.
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

    /// Those that name something below the directory `path`.
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

    /// The number of the first name that is not less than what `order` compares it to.
    fn position(&self, order: impl Fn(&[u8]) -> Ordering) -> usize {
        let is_less = |name: &Name| order(self.path(name)) == Ordering::Less;
        let last = self.last.load(atomic::Ordering::Relaxed);
        let (start, end) = (
            last.saturating_sub(NEAR),
            (last + NEAR).min(self.names.len()),
        );
        let near = (start == 0 || is_less(&self.names[start - 1]))
            && self.names.get(end).is_none_or(|name| !is_less(name));
        let (start, end) = match near {
            true => (start, end),
            false => (0, self.names.len()),
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
