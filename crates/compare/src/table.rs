//! The entries of an archive, sorted by path: a few dozen bytes for each entry in addition to its path. Contents are ids.

use std::sync::Arc;

use bstr::ByteSlice;
use gix_hash::{Kind as HashKind, ObjectId};

use super::{class::Class, ids::Ids};
use sluice_base::error::{Error, Result};
use sluice_format::unarchive::{Item, Kind};

/// An entry.
pub(super) struct Record {
    /// Where the path begins in the names, and its length.
    path: (u64, u32),
    /// The size of the content in bytes.
    pub(super) size: u64,
    /// The permissions.
    pub(super) mode: u16,
    pub(super) kind: Kind,
    /// What became of the entry. An entry is added until the tree turns out to have its path.
    pub(super) class: Class,
}

/// The entries of an archive. A number of an entry counts from the first one in the archive.
pub(super) struct Table {
    names: Vec<u8>,
    records: Vec<Record>,
    /// The hard links by number, each with the path that it names.
    links: Vec<(usize, Vec<u8>)>,
    pub(super) ids: Arc<Ids>,
    /// The numbers of all entries, sorted by path. Equal paths keep their order.
    order: Vec<u32>,
    /// Where the last path was found in the order.
    at: usize,
    /// An entry that a program wrote, and the one that stands in for it.
    made: Option<(usize, usize)>,
    /// The bytes that are left of the limit.
    room: usize,
    /// The number of texts that were charged to the limit.
    texts: usize,
}

/// The bytes of an entry whose text has an id of its own, about.
const TEXT: usize = 64;

const LINKED: &str =
    "a hard link has other permissions than its file: programs give both the one or the other";
const OUTSIDE: &str = "its path leads out of the directory: some programs follow it";
const ABOVE: &str = "entries lie below this symbolic link: some programs follow it";

impl Table {
    /// A table of at most `limit` bytes.
    pub(super) fn new(hash: HashKind, limit: u64) -> Self {
        Self {
            names: Vec::new(),
            records: Vec::new(),
            links: Vec::new(),
            ids: Arc::new(Ids::new(hash)),
            order: Vec::new(),
            at: 0,
            made: None,
            room: usize::try_from(limit).unwrap_or(usize::MAX),
            texts: 0,
        }
    }

    /// Fails if the limit has no room for `len` more bytes.
    pub(super) fn charge(&mut self, len: usize) -> Result<()> {
        self.room = self.room.checked_sub(len).ok_or_else(|| {
            Error::fatal("the list of the archive's entries does not fit the memory")
                .hinted("raise --memory")
        })?;
        Ok(())
    }

    /// Adds an entry at `path`, without the id of its content. Returns its number.
    pub(super) fn push(&mut self, path: &[u8], item: &Item<'_>) -> Result<usize> {
        let number = self.records.len();
        let each = size_of::<Record>() + size_of::<u32>() + self.ids.hash.len_in_bytes();
        let texts = self.ids.resize(number + 1);
        self.charge(each + path.len() + TEXT * (texts - self.texts))?;
        self.texts = texts;
        if item.kind == Kind::HardLink {
            let link = clean(item.link);
            self.charge(link.len() + size_of::<(usize, Vec<u8>)>())?;
            self.links.push((number, link));
        }
        self.records.push(Record {
            path: (self.names.len() as u64, path.len() as u32),
            size: item.size,
            mode: item.mode as u16,
            kind: item.kind,
            class: Class::Added,
        });
        self.names.extend_from_slice(path);
        Ok(number)
    }

    /// Removes the entry that was added last.
    pub(super) fn pop(&mut self) {
        self.records.pop();
    }

    /// Sorts the entries, after the last one was added. Returns those by which some programs change other files, with the reason.
    pub(super) fn sort(&mut self) -> Vec<(usize, &'static str)> {
        let mut order: Vec<u32> = (0..self.records.len() as u32).collect();
        order.sort_by(|one, other| self.path(*one as usize).cmp(self.path(*other as usize)));
        self.order = order;
        for at in 1..self.order.len() {
            let [earlier, later] = [at - 1, at].map(|at| self.order[at] as usize);
            if self.path(earlier) == self.path(later) {
                self.records[earlier].class = Class::Twice;
            }
        }
        let mut doubts = self.resolve_links();
        for number in self.sorted() {
            let path = self.path(number);
            if is_outside(path) {
                doubts.push((number, OUTSIDE));
            } else if self.records[number].kind == Kind::Symlink && self.has_below(path) {
                doubts.push((number, ABOVE));
            }
        }
        doubts
    }

    /// Gives each hard link the content of the last file before it that has its target as a path. A link without such a file is of
    /// a special type.
    fn resolve_links(&mut self) -> Vec<(usize, &'static str)> {
        let mut doubts = Vec::new();
        for (number, link) in std::mem::take(&mut self.links) {
            let end = self.order.partition_point(|it| {
                let it = *it as usize;
                (self.path(it), it) < (&link, number)
            });
            let target = end.checked_sub(1).map(|at| self.order[at] as usize);
            let is_it = |it: &usize| self.path(*it) == link && self.records[*it].kind == Kind::File;
            let target = target.filter(is_it);
            self.records[number].kind = match target {
                Some(target) => {
                    if self.records[number].mode != self.records[target].mode {
                        doubts.push((number, LINKED));
                    }
                    self.records[number].size = self.records[target].size;
                    let id = Some(self.ids.get(target));
                    self.ids.set(number, (id, id));
                    Kind::File
                }
                None => Kind::Special,
            };
        }
        doubts
    }

    /// The place in the order after all paths up to `path`.
    fn end_of(&self, path: &[u8]) -> usize {
        self.order
            .partition_point(|number| self.path(*number as usize) <= path)
    }

    /// Whether an entry lies below the directory `path`.
    pub(super) fn has_below(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        let next = self.order.get(self.end_of(&below));
        next.is_some_and(|number| self.path(*number as usize).starts_with(&below))
    }

    /// The number of the last entry at `path`.
    pub(super) fn find(&mut self, path: &[u8]) -> Option<usize> {
        let is_at = |at: usize| {
            let number = self.order.get(at).map(|number| *number as usize);
            number.filter(|number| self.path(*number) == path)
        };
        // Paths are mostly looked for in their order.
        let mut near = self.at..self.at + 3;
        let near = near.find(|at| is_at(*at).is_some() && is_at(at + 1).is_none());
        let at = near.or_else(|| self.end_of(path).checked_sub(1))?;
        let number = is_at(at)?;
        self.at = at;
        Some(number)
    }

    /// The numbers of all entries, sorted by path.
    pub(super) fn sorted(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|number| *number as usize)
    }

    pub(super) fn path(&self, number: usize) -> &[u8] {
        let (start, len) = self.records[number].path;
        &self.names[start as usize..][..len as usize]
    }

    /// Whether the entry of this `number` has the content of the blob `id`, as stored or with CRLF.
    pub(super) fn has_id(&self, number: usize, id: ObjectId) -> bool {
        self.ids.get(number) == id || self.ids.text(number) == id
    }

    /// Forgets what became of the entries.
    pub(super) fn reset(&mut self) {
        for record in self.records.iter_mut() {
            if record.class != Class::Twice {
                record.class = Class::Added;
            }
        }
    }

    /// Lets the entry at `original` stand for the one at `made`, which a program wrote from it.
    pub(super) fn stand_in(&mut self, made: &[u8], original: &[u8]) {
        let (Some(made), Some(original)) = (self.find(made), self.find(original)) else {
            return;
        };
        self.exchange(made, original);
        self.made = Some((made, original));
    }

    /// Undoes this if the tree `has` the name of what a program wrote, because then both are files of the tree. Returns whether it
    /// has.
    pub(super) fn stand_back(&mut self, has: impl FnOnce(&[u8]) -> bool) -> bool {
        let stands = self.made.filter(|(made, _)| has(self.path(*made)));
        if let Some((made, original)) = stands {
            self.exchange(made, original);
            self.made = None;
        }
        stands.is_some()
    }

    /// Exchanges the paths of two entries.
    fn exchange(&mut self, one: usize, other: usize) {
        let paths = [one, other].map(|number| self.records[number].path);
        [self.records[other].path, self.records[one].path] = paths;
        let places = [one, other].map(|it| self.order.iter().position(|at| *at == it as u32));
        if let [Some(one), Some(other)] = places {
            self.order.swap(one, other);
        }
    }

    /// The path in the archive of an entry for which another stands in.
    pub(super) fn made_path(&self, number: usize) -> Option<&[u8]> {
        let (_, original) = self.made.filter(|(made, _)| *made == number)?;
        Some(self.path(original))
    }

    pub(super) fn get(&self, number: usize) -> &Record {
        &self.records[number]
    }

    pub(super) fn set(&mut self, number: usize, class: Class) {
        self.records[number].class = class;
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

/// Whether `path` may lead out of the directory. bsdtar takes the beginnings of paths on Windows away, and then finds other files.
fn is_outside(path: &[u8]) -> bool {
    let is_absolute = matches!(
        path,
        [b'/' | b'\\', ..] | [b'a'..=b'z' | b'A'..=b'Z', b':', ..]
    );
    is_absolute || path.split_str("/").any(|it| it == b"..")
}

/// `path` without empty and `.` parts. An absolute path keeps its first slash, so that it is equal to no path in a tree.
pub(super) fn clean(path: &[u8]) -> Vec<u8> {
    let parts = path.split(|byte| *byte == b'/');
    let parts: Vec<&[u8]> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
    let start: &[u8] = if path.starts_with(b"/") { b"/" } else { b"" };
    [start, &parts.join(&b'/')].concat()
}

#[cfg(test)]
mod tests {
    use super::{Class, Table, clean};
    use gix_hash::Kind as HashKind;
    use sluice_format::unarchive::{Item, Kind};

    fn item(kind: Kind, link: &'static [u8]) -> Item<'static> {
        Item {
            path: b"",
            kind,
            mode: 0o644,
            size: 1,
            link,
            header: None,
        }
    }

    #[test]
    fn paths_are_found_whatever_their_order() {
        let mut table = Table::new(HashKind::Sha1, 1 << 20);
        let paths: [&[u8]; 5] = [b"b", b"a/x", b"a", b"b", b"a-"];
        for path in paths {
            let _ = table.push(path, &item(Kind::File, b"")).expect("room");
        }
        table.sort();
        let found = |table: &mut Table, path: &[u8]| table.find(path);
        assert_eq!(found(&mut table, b"b"), Some(3));
        assert_eq!(found(&mut table, b"a"), Some(2));
        assert_eq!(found(&mut table, b"a/x"), Some(1));
        assert_eq!(found(&mut table, b"c"), None);
        assert_eq!(found(&mut table, b""), None);
        assert_eq!(table.get(0).class, Class::Twice);
        let sorted: Vec<_> = table.sorted().collect();
        assert_eq!(sorted, [2, 4, 1, 0, 3]);
    }

    #[test]
    fn a_hard_link_is_the_file_before_it() {
        let mut table = Table::new(HashKind::Sha1, 1 << 20);
        for (path, item) in [
            (b"l", item(Kind::HardLink, b"f")),
            (b"f", item(Kind::File, b"")),
            (b"m", item(Kind::HardLink, b"./f")),
        ] {
            let _ = table.push(path, &item).expect("room");
        }
        table.sort();
        let kinds = [0, 1, 2].map(|number| table.get(number).kind);
        assert_eq!(kinds, [Kind::Special, Kind::File, Kind::File]);
    }

    #[test]
    fn a_table_has_a_limit() {
        let mut table = Table::new(HashKind::Sha1, 100);
        let outcomes = [(); 3].map(|()| table.push(b"a path", &item(Kind::File, b"")).is_ok());
        assert_eq!(outcomes, [true, false, false]);
    }

    #[test]
    fn spellings_of_a_path() {
        for (path, expected) in [
            ("a//b/./c/", "a/b/c"),
            ("./", ""),
            ("/a", "/a"),
            ("../a", "../a"),
            ("a/../b", "a/../b"),
        ] {
            assert_eq!(clean(path.as_bytes()), expected.as_bytes(), "{path}");
        }
    }
}
