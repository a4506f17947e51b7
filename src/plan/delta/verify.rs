//! Verifies that the base with a delta applied equals the target, from the full views of both.
//!
//! The check is independent of the code that found the difference. The check reads every tree and no blob.
//! Views may have millions of entries, so the check compares sums of hashes in constant memory.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use super::{
    change::{Shown, Step},
    diff::{DeltaRules, Diff},
};
use crate::{
    base::error::{Error, Result, filled},
    format::MemberKind,
    git::objects::reader::Reader,
};

/// The number of sums. The path of an entry selects its sum.
const SUMS: usize = 4096;

/// The side of `base − old + new = target` on which an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// An entry of the base, or one that the delta brings.
    Made,
    /// An entry of the target, or one that the delta removes.
    Wanted,
}

/// Takes an entry with its path, and whether the content contains the id of the base commit.
type Taker<'a> = &'a mut dyn FnMut(Term, &[u8], &Shown, bool);

/// Fail unless the old view with the changes of `diff` applied equals the new view.
pub fn verify(diff: &mut Diff, reader: &mut Reader) -> Result<()> {
    let hashers = Hashers::default();
    let rules = diff.rules;
    let mut sums = vec![Sum::default(); SUMS];
    each(diff, reader, &mut |term, path, shown, is_stale| {
        let sum = &mut sums[hashers.number(path)];
        sum.add(term, hashers.entry(path, shown, is_stale, rules));
    })?;
    let Some(wrong) = sums.iter().position(|sum| *sum != Sum::default()) else {
        return Ok(());
    };
    Err(disagreement(wrong, &hashers, diff, reader)?)
}

/// The failure about the first wrong path among those in the sum of this `number`.
fn disagreement(
    number: usize,
    hashers: &Hashers,
    diff: &mut Diff,
    reader: &mut Reader,
) -> Result<Error> {
    let rules = diff.rules;
    let mut paths: BTreeMap<Vec<u8>, Sum> = BTreeMap::new();
    each(diff, reader, &mut |term, path, shown, is_stale| {
        if hashers.number(path) == number {
            let sum = paths.entry(path.to_vec()).or_default();
            sum.add(term, hashers.entry(path, shown, is_stale, rules));
        }
    })?;
    let wrong = paths.iter().find(|(_, sum)| **sum != Sum::default());
    let path = wrong.map_or(&[][..], |(path, _)| path);
    let differ = filled("base and delta do not make the target: '{}'", &[path]);
    Ok(Error::fatal(differ).hinted("the full archive is right"))
}

/// Pass every entry of both views and every change to `taker`.
fn each(diff: &mut Diff, reader: &mut Reader, taker: Taker<'_>) -> Result<()> {
    let other_commit = diff.rules.other_commit;
    let has_commit = |shown: &Shown| other_commit && shown.leaf.treatment.substitute;
    let mut base = |path: &[u8], shown: &Shown| taker(Term::Made, path, shown, has_commit(shown));
    diff.old
        .each(reader, &mut base)
        .map_err(Error::without_base)?;
    let mut target = |path: &[u8], shown: &Shown| taker(Term::Wanted, path, shown, false);
    diff.new.each(reader, &mut target)?;
    loop {
        match diff.step(reader)? {
            Step::End => return Ok(()),
            Step::Nothing | Step::Directory(..) => {}
            Step::Changed(change) => {
                if let Some(old) = &change.old {
                    taker(Term::Wanted, diff.path(), old, has_commit(old));
                }
                if let Some(new) = &change.new {
                    taker(Term::Made, diff.path(), new, false);
                }
            }
        }
    }
}

/// A sum of hashes of entries in any order. The sum is zero if the made and the wanted entries are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum([u64; 2]);

impl Sum {
    fn add(&mut self, term: Term, hashes: [u64; 2]) {
        for (sum, hash) in self.0.iter_mut().zip(hashes) {
            *sum = match term {
                Term::Made => sum.wrapping_add(hash),
                Term::Wanted => sum.wrapping_sub(hash),
            };
        }
    }
}

/// Two independent hash functions with random keys, so that entries with equal sums cannot be forged.
#[derive(Default)]
struct Hashers([RandomState; 2]);

impl Hashers {
    /// The number of the sum for the entry at `path`.
    fn number(&self, path: &[u8]) -> usize {
        usize::try_from(self.0[0].hash_one(path) % SUMS as u64).unwrap_or(0)
    }

    fn entry(&self, path: &[u8], shown: &Shown, is_stale: bool, rules: DeltaRules) -> [u64; 2] {
        let kind = match shown.leaf.kind {
            MemberKind::Executable if rules.ignore_mode => MemberKind::File,
            kind => kind,
        };
        let leaf = &shown.leaf;
        let what = format!(
            "{kind:?} {:?} {:?} {is_stale}",
            leaf.disposition, leaf.treatment
        );
        self.0
            .each_ref()
            .map(|hasher| hasher.hash_one((path, shown.id, &what)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Sum, Term};

    #[test]
    fn a_sum_is_nothing_if_the_same_is_made_and_wanted() {
        let mut sum = Sum::default();
        sum.add(Term::Made, [u64::MAX, 7]);
        sum.add(Term::Made, [3, u64::MAX]);
        sum.add(Term::Wanted, [3, u64::MAX]);
        assert_ne!(sum, Sum::default());
        sum.add(Term::Wanted, [u64::MAX, 7]);
        assert_eq!(sum, Sum::default());
    }
}
