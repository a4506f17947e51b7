//! Objects that replace others (`git replace`).
//!
//! Chains of replacements are resolved when they are read. A lookup is therefore one search and meets no
//! cycle.

use gix_hash::{ObjectId, oid};

use sluice_base::error::{Error, Result};

/// The most consecutive replacements that git follows.
const MAX_IN_A_ROW: usize = 4;

/// The objects that have replacements.
#[derive(Clone, Default)]
pub struct Replacements(Vec<Replaced>);

#[derive(Clone)]
struct Replaced {
    object: ObjectId,
    /// The end of the chain. `None` if git would not follow the whole chain, as with a cycle.
    replacement: Option<ObjectId>,
}

impl Replacements {
    /// Create the table from pairs of an object and its replacement. Each object occurs once.
    pub fn new(mut pairs: Vec<(ObjectId, ObjectId)>) -> Self {
        pairs.sort();
        let next = |id: &ObjectId| {
            let at = pairs.binary_search_by(|(object, _)| object.cmp(id)).ok()?;
            Some(pairs[at].1)
        };
        let end = |id| {
            let mut row = std::iter::successors(Some(id), next).take(MAX_IN_A_ROW);
            row.find(|id| next(id).is_none())
        };
        let replaced = |&(object, replacement)| Replaced {
            object,
            replacement: end(replacement),
        };
        Self(pairs.iter().map(replaced).collect())
    }

    /// Whether no object is replaced.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The objects that are replaced, in order, each with its replacement. `None` for a chain that git
    /// does not follow.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, Option<ObjectId>)> {
        self.0.iter().map(|it| (it.object, it.replacement))
    }

    /// The replacement of `id`, or `id` itself.
    pub fn of(&self, id: &oid) -> Result<ObjectId> {
        match self.0.binary_search_by(|it| (*it.object).cmp(id)) {
            Err(_) => Ok(id.to_owned()),
            Ok(at) => self.0[at]
                .replacement
                .ok_or_else(|| Error::fatal(format!("replace depth too high for object {id}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;

    use super::Replacements;

    fn id(number: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[number; 20])
    }

    /// The final replacement of each object of these pairs.
    fn ends(pairs: &[(u8, u8)]) -> Vec<Option<ObjectId>> {
        let ids = pairs.iter().map(|&(from, to)| (id(from), id(to)));
        let replacements = Replacements::new(ids.collect());
        let end = |&(from, _): &(u8, u8)| replacements.of(&id(from)).ok();
        pairs.iter().map(end).collect()
    }

    #[test]
    fn rows_end_where_git_ends_them() {
        let row = [(5, 6), (1, 2), (4, 5), (2, 3), (3, 4)];
        let end = Some(id(6));
        assert_eq!(ends(&row), [end, None, end, end, end]);
        let others = Replacements::new(vec![(id(1), id(2))]);
        assert_eq!(others.of(&id(2)).unwrap(), id(2));
    }

    #[test]
    fn circles_are_refused() {
        assert_eq!(ends(&[(1, 1)]), [None]);
        assert_eq!(ends(&[(1, 2), (2, 1)]), [None, None]);
        assert_eq!(ends(&[(7, 1), (1, 2), (2, 3), (3, 1)]), [None; 4]);
        let circle = Replacements::new(vec![(id(1), id(1))]);
        let message = format!("fatal: replace depth too high for object {}", id(1));
        assert_eq!(circle.of(&id(1)).unwrap_err().to_string(), message);
    }
}
