//! The objects that a reader was asked for and did not find, so that all of them can be fetched or listed at once.
//!
//! The memory is bounded: what does not fit is wanted again by the next walk.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
    sync::Arc,
};

use bstr::BString;
use gix_hash::ObjectId;

use sluice_base::threads::Lock;

/// Bytes that one object takes here without its path, about.
const BYTES: usize = 128;

/// A missing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The path in the archived tree of the submodule whose repository lacks the object; empty for the repository of the
    /// archived tree.
    pub submodule: BString,
    /// The id; of an LFS object its SHA-256.
    pub id: ObjectId,
    /// What the object is in the tree.
    pub role: Role,
}

impl Missing {
    /// The path in the archived tree, if there is one to show. That of a directory ends in a slash.
    pub fn path(&self) -> Option<BString> {
        let inside = match &self.role {
            Role::Tree(path) if path.is_empty() && !self.submodule.is_empty() => BString::default(),
            role => role.shown()?,
        };
        Some(if self.submodule.is_empty() {
            inside
        } else {
            [&self.submodule[..], b"/", &inside].concat().into()
        })
    }
}

/// What a missing object is in the tree of its repository. Where an object is several things, the first one counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The directory at this path; the root has no path.
    Tree(BString),
    /// The file at this path, which decides about other files: attributes, exclude rules.
    Rules(BString),
    /// The file at this path.
    File(BString),
    /// The LFS object that is the content of the file at `path`.
    LfsObject {
        /// The path.
        path: BString,
        /// Bytes.
        size: u64,
    },
    /// The commit of the submodule at this path, whose repository is not there or lacks the commit.
    Submodule {
        /// The path.
        path: BString,
        /// The name in `.gitmodules`, if the file has one.
        name: Option<BString>,
    },
    /// The object decides about paths that the reader of the archive may not know.
    Secret,
    /// The object was asked for by its id alone.
    Unknown,
}

impl Role {
    /// The path, if there is one to show. That of a directory ends in a slash.
    pub fn shown(&self) -> Option<BString> {
        match self {
            Self::Tree(path) if path.is_empty() => None,
            Self::Tree(path) => Some([path, &b"/"[..]].concat().into()),
            Self::Rules(path)
            | Self::File(path)
            | Self::LfsObject { path, .. }
            | Self::Submodule { path, .. } => Some(path.clone()),
            Self::Unknown | Self::Secret => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Tree(path)
            | Self::Rules(path)
            | Self::File(path)
            | Self::LfsObject { path, .. } => path.len(),
            Self::Submodule { path, name } => {
                2 * path.len() + name.as_ref().map_or(0, |name| name.len())
            }
            Self::Unknown | Self::Secret => 0,
        }
    }
}

/// Missing objects. Clones share them.
#[derive(Clone)]
pub struct MissingObjects {
    list: Arc<Lock<List>>,
    /// The submodule whose repository is read.
    submodule: BString,
    is_redacted: bool,
    purpose: Purpose,
}

/// What is to become of missing objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// They may be fetched, in the order in which they were missed. Room is left for those that were missed first.
    Fetch,
    /// They are listed, in the order of their keys. Room is left for those that come first in this order.
    List,
}

/// The order of a list: by repository, with submodules after all objects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    submodule: BString,
    /// The path of a submodule; empty for an object.
    link: BString,
    id: ObjectId,
}

/// What is known of a missing object.
struct Note {
    /// The number of objects that were missed before.
    number: usize,
    role: Role,
}

struct List {
    missing: BTreeMap<Key, Note>,
    bytes: usize,
    max_bytes: usize,
    /// How often something was missed.
    misses: u64,
    /// The last one of those that were listed.
    listed: Option<Key>,
    /// The first one of those that did not fit.
    cut: Option<Key>,
}

impl MissingObjects {
    /// Room for missing objects that may be fetched, in so many bytes.
    pub fn within(max_bytes: usize) -> Self {
        Self {
            list: Arc::new(Lock::new(List {
                missing: BTreeMap::new(),
                bytes: 0,
                max_bytes,
                misses: 0,
                listed: None,
                cut: None,
            })),
            submodule: BString::default(),
            is_redacted: false,
            purpose: Purpose::Fetch,
        }
    }

    /// Keeps the roles of trees and rules secret if the reader of the archive `is_redacted`.
    pub fn redacted(self, is_redacted: bool) -> Self {
        Self {
            is_redacted,
            ..self
        }
    }

    /// A list for a report only: its objects are never fetched.
    pub fn only_listed(self) -> Self {
        Self {
            purpose: Purpose::List,
            ..self
        }
    }

    /// The list for the repository of the submodule at `path` of the archived tree.
    pub fn of_submodule(&self, path: impl Into<BString>) -> Self {
        Self {
            submodule: path.into(),
            ..self.clone()
        }
    }

    /// Whether the missing objects may be fetched.
    pub fn may_fetch(&self) -> bool {
        self.purpose == Purpose::Fetch
    }

    /// Note that `id` is missing, or note the `role` of an object whose role is not known yet.
    pub fn add(&self, id: ObjectId, role: Role) {
        let role = match role {
            Role::Tree(_) | Role::Rules(_) if self.is_redacted => Role::Secret,
            role => role,
        };
        let key = Key {
            submodule: self.submodule.clone(),
            link: match &role {
                Role::Submodule { path, .. } => path.clone(),
                _ => BString::default(),
            },
            id,
        };
        let mut list = self.list.lock();
        list.misses += 1;
        list.add(key, role, self.purpose);
    }

    /// Whether no other object is noted.
    pub fn is_full(&self) -> bool {
        self.may_fetch() && self.list.lock().is_full()
    }

    /// How often something was missed so far.
    pub fn misses(&self) -> u64 {
        self.list.lock().misses
    }

    /// Take what was noted. A list continues after it.
    pub fn take(&self) -> Vec<Missing> {
        let mut list = self.list.lock();
        list.bytes = 0;
        let mut noted: Vec<_> = mem::take(&mut list.missing).into_iter().collect();
        match self.purpose {
            Purpose::Fetch => noted.sort_by_key(|(_, note)| note.number),
            Purpose::List => list.listed = noted.last().map(|(key, _)| key.clone()),
        }
        let missing = noted.into_iter().map(|(key, note)| Missing {
            submodule: key.submodule,
            id: key.id,
            role: note.role,
        });
        missing.collect()
    }

    /// Whether something did not fit since the last call: another walk finds it.
    pub fn take_cut(&self) -> bool {
        self.list.lock().cut.take().is_some()
    }
}

impl List {
    fn is_full(&self) -> bool {
        self.bytes >= self.max_bytes
    }

    fn add(&mut self, key: Key, role: Role, purpose: Purpose) {
        let is_listed = self.listed.as_ref().is_some_and(|last| key <= *last);
        let is_cut = self.cut.as_ref().is_some_and(|first| key >= *first);
        if is_listed || is_cut {
            return;
        }
        let (is_full, number) = (self.is_full(), self.missing.len());
        match self.missing.entry(key) {
            Entry::Occupied(mut known) => {
                let known = &mut known.get_mut().role;
                if role < *known {
                    self.bytes = self.bytes + role.len() - known.len();
                    *known = role;
                }
            }
            Entry::Vacant(_) if is_full && purpose == Purpose::Fetch => {}
            Entry::Vacant(place) => {
                self.bytes += BYTES + role.len();
                place.insert(Note { number, role });
            }
        }
        if purpose == Purpose::List {
            self.cut();
        }
    }

    /// Drops the last ones, as long as there are too many.
    fn cut(&mut self) {
        while self.bytes > self.max_bytes && self.missing.len() > 1 {
            if let Some((key, note)) = self.missing.pop_last() {
                self.bytes -= BYTES + note.role.len();
                self.cut = Some(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bstr::BString;
    use gix_hash::{Kind, ObjectId};

    use super::{BYTES, Missing, MissingObjects, Role};

    fn id(byte: u8) -> ObjectId {
        let mut id = ObjectId::null(Kind::Sha1);
        id.as_mut_slice()[0] = byte;
        id
    }

    fn missing(byte: u8, role: Role) -> Missing {
        Missing {
            submodule: BString::default(),
            id: id(byte),
            role,
        }
    }

    fn unknown(byte: u8) -> Missing {
        missing(byte, Role::Unknown)
    }

    #[test]
    fn each_object_is_wanted_once_and_in_order() {
        let wanted = MissingObjects::within(2 * BYTES);
        for byte in [3, 3, 1, 2] {
            wanted.clone().add(id(byte), Role::Unknown);
        }
        assert!(wanted.is_full());
        assert_eq!(wanted.take(), [unknown(3), unknown(1)]);
        wanted.add(id(3), Role::Unknown);
        assert_eq!(wanted.take(), [unknown(3)]);
    }

    #[test]
    fn the_first_role_that_is_known_stays() {
        let wanted = MissingObjects::within(BYTES);
        for role in [
            Role::Unknown,
            Role::File("a".into()),
            Role::File("b".into()),
        ] {
            wanted.add(id(1), role);
        }
        let role = Role::File("a".into());
        assert_eq!(wanted.take(), [missing(1, role)]);
    }

    #[test]
    fn secrets_have_no_path() {
        let wanted = MissingObjects::within(BYTES).redacted(true);
        wanted.add(id(1), Role::Tree("hidden".into()));
        assert_eq!(wanted.take()[0].role.shown(), None);
        wanted.add(id(1), Role::File("allowed".into()));
        assert_eq!(wanted.take()[0].role.shown(), Some("allowed".into()));
    }

    /// A list holds the first ones that fit, whatever the order in which they are missed.
    #[test]
    fn lists_go_on_where_they_were_cut() {
        let wanted = MissingObjects::within(2 * BYTES).only_listed();
        let note_all = || {
            for byte in [5, 2, 4, 1, 3, 2] {
                wanted.add(id(byte), Role::Unknown);
            }
            wanted.of_submodule("lib").add(id(1), Role::Unknown);
        };
        let mut listed = Vec::new();
        loop {
            note_all();
            let part = wanted.take();
            assert!(part.len() <= 2);
            listed.extend(part);
            if !wanted.take_cut() {
                break;
            }
        }
        let in_lib = Missing {
            submodule: "lib".into(),
            ..unknown(1)
        };
        let mut expected: Vec<_> = (1..=5).map(unknown).collect();
        expected.push(in_lib);
        assert_eq!(listed, expected);
    }

    /// Shorter paths may make room later, but not for objects after a dropped one.
    #[test]
    fn nothing_is_left_out_of_a_list() {
        let wanted = MissingObjects::within(3 * BYTES).only_listed();
        wanted.add(id(1), Role::File("a".repeat(BYTES).into()));
        wanted.add(id(2), Role::Unknown);
        wanted.add(id(3), Role::Unknown);
        wanted.add(id(1), Role::Tree("a".into()));
        wanted.add(id(4), Role::Unknown);
        let listed = wanted.take();
        assert_eq!(listed, [missing(1, Role::Tree("a".into())), unknown(2)]);
        assert!(wanted.take_cut());
        wanted.add(id(3), Role::Unknown);
        assert_eq!(wanted.take(), [unknown(3)]);
        assert!(!wanted.take_cut());
    }

    /// A submodule is missing at each of its paths.
    #[test]
    fn submodules_come_after_all_objects() {
        let wanted = MissingObjects::within(9 * BYTES).only_listed();
        let at = |path: &str| Role::Submodule {
            path: path.into(),
            name: None,
        };
        wanted.add(id(1), at("b"));
        wanted.add(id(1), at("a"));
        wanted.add(id(2), Role::Unknown);
        let expected = [unknown(2), missing(1, at("a")), missing(1, at("b"))];
        assert_eq!(wanted.take(), expected);
        assert_eq!(wanted.misses(), 3);
    }
}
