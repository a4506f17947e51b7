//! The objects that a reader was asked for and did not find, so that all of them can be fetched or listed at once.
//!
//! The memory is bounded: what does not fit is wanted again by the next walk.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gix::{ObjectId, bstr::BString};

/// Bytes that one object takes here beside its path, about.
const BYTES: usize = 128;

/// A missing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The id.
    pub id: ObjectId,
    /// What the object is in the archived tree.
    pub role: Role,
}

/// What a missing object is in the archived tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The object was asked for by its id alone.
    Unknown,
    /// The object decides about paths that the reader of the archive may not know.
    Secret,
    /// The directory at this path; the root has no path.
    Tree(BString),
    /// The file at this path, which decides about other files: attributes, ignore rules.
    Rules(BString),
    /// The file at this path.
    File(BString),
}

impl Role {
    /// The path, if there is one to show. That of a directory ends in a slash.
    pub fn shown(&self) -> Option<BString> {
        match self {
            Self::Unknown | Self::Secret => None,
            Self::Tree(path) if path.is_empty() => None,
            Self::Tree(path) => Some([path, &b"/"[..]].concat().into()),
            Self::Rules(path) | Self::File(path) => Some(path.clone()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Unknown | Self::Secret => 0,
            Self::Tree(path) | Self::Rules(path) | Self::File(path) => path.len(),
        }
    }
}

/// Missing objects, in the order in which they were missed. Clones share them.
#[derive(Clone)]
pub struct Wanted {
    list: Arc<Mutex<List>>,
    is_redacted: bool,
    may_fetch: bool,
}

struct List {
    missing: Vec<Missing>,
    /// The number of each object in `missing`.
    known: HashMap<ObjectId, usize>,
    bytes: usize,
    max_bytes: usize,
}

impl Wanted {
    /// Room for missing objects, in so many bytes.
    pub fn within(max_bytes: usize) -> Self {
        Self {
            list: Arc::new(Mutex::new(List {
                missing: Vec::new(),
                known: HashMap::new(),
                bytes: 0,
                max_bytes,
            })),
            is_redacted: false,
            may_fetch: true,
        }
    }

    /// The same, with the roles of trees and rules kept secret if the reader of the archive `is_redacted`.
    pub fn redacted(self, is_redacted: bool) -> Self {
        Self {
            is_redacted,
            ..self
        }
    }

    /// The same, where nothing is fetched in the end.
    pub fn only_listed(self) -> Self {
        Self {
            may_fetch: false,
            ..self
        }
    }

    /// Whether the missing objects may be fetched.
    pub fn may_fetch(&self) -> bool {
        self.may_fetch
    }

    /// Note that `id` is missing, or note the `role` of an object whose role is not known yet.
    pub fn add(&self, id: ObjectId, role: Role) {
        let role = match role {
            Role::Tree(_) | Role::Rules(_) if self.is_redacted => Role::Secret,
            role => role,
        };
        let mut list = self.list();
        if let Some(&number) = list.known.get(&id) {
            let known = &mut list.missing[number].role;
            if matches!(known, Role::Unknown | Role::Secret) && role != Role::Unknown {
                *known = role;
            }
            return;
        }
        if !list.is_full() {
            list.bytes += BYTES + role.len();
            let number = list.missing.len();
            list.known.insert(id, number);
            list.missing.push(Missing { id, role });
        }
    }

    /// Whether no other object is noted.
    pub fn is_full(&self) -> bool {
        self.list().is_full()
    }

    /// Take what was noted.
    pub fn take(&self) -> Vec<Missing> {
        let mut list = self.list();
        list.known.clear();
        list.bytes = 0;
        std::mem::take(&mut list.missing)
    }

    /// Every update leaves a list that is consistent enough, so a poisoned lock does no harm.
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn is_full(&self) -> bool {
        self.bytes >= self.max_bytes
    }
}

#[cfg(test)]
mod tests {
    use gix::{ObjectId, hash::Kind};

    use super::{BYTES, Missing, Role, Wanted};

    fn id(byte: u8) -> ObjectId {
        let mut id = ObjectId::null(Kind::Sha1);
        id.as_mut_slice()[0] = byte;
        id
    }

    fn unknown(byte: u8) -> Missing {
        Missing {
            id: id(byte),
            role: Role::Unknown,
        }
    }

    #[test]
    fn each_object_is_wanted_once_and_in_order() {
        let wanted = Wanted::within(2 * BYTES);
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
        let wanted = Wanted::within(BYTES);
        for role in [
            Role::Unknown,
            Role::File("a".into()),
            Role::File("b".into()),
        ] {
            wanted.add(id(1), role);
        }
        let role = Role::File("a".into());
        assert_eq!(wanted.take(), [Missing { id: id(1), role }]);
    }

    #[test]
    fn secrets_have_no_path() {
        let wanted = Wanted::within(BYTES).redacted(true);
        wanted.add(id(1), Role::Tree("hidden".into()));
        assert_eq!(wanted.take()[0].role.shown(), None);
        wanted.add(id(1), Role::File("allowed".into()));
        assert_eq!(wanted.take()[0].role.shown(), Some("allowed".into()));
    }
}
