//! Whether a delta makes of the base what the target is: both views are made in full, and compared.
//!
//! Knows nothing of how the difference was found; that is the point. Reads every tree, and no blob.

use std::collections::BTreeMap;

use gix::ObjectId;

use super::{Diff, Shown, Side, Step};
use crate::{
    decode::reader::Reader,
    emit::Kind,
    error::{Error, Result, sanitised},
    plan::view::Leaf,
    report::Status,
};

/// All that a view shows, by path.
type Everything = BTreeMap<Vec<u8>, Content>;

struct Content {
    id: ObjectId,
    leaf: Leaf,
    /// It is from the base, whose commit is in it.
    is_stale: bool,
}

/// Fail if what differs in `diff`, done to all that the old view shows, is not all that the new view
/// shows.
pub fn verify(diff: &mut Diff, reader: &mut Reader) -> Result<()> {
    let other_commit = diff.rules.other_commit;
    let mut made = everything(&mut diff.old, reader, other_commit).map_err(Error::without_base)?;
    let target = everything(&mut diff.new, reader, false)?;
    loop {
        match diff.step(reader)? {
            Step::End => break,
            Step::Nothing | Step::Directory(..) => {}
            Step::Changed(change) => {
                let path = diff.path().to_vec();
                let was = match change.new {
                    Some(Shown { id, leaf, .. }) => {
                        let is_stale = false;
                        made.insert(path, Content { id, leaf, is_stale })
                    }
                    None => made.remove(&path),
                };
                if was.is_none() != (change.status == Status::Added) {
                    return Err(wrong(diff.path()));
                }
            }
        }
    }
    let ignore_mode = diff.rules.ignore_mode;
    for (path, entry) in &target {
        let is_same = made
            .remove(path)
            .is_some_and(|it| !it.is_stale && it.is_same(entry, ignore_mode));
        if !is_same {
            return Err(wrong(path));
        }
    }
    match made.first_key_value() {
        Some((path, _)) => Err(wrong(path)),
        None => Ok(()),
    }
}

impl Content {
    fn is_same(&self, other: &Self, ignore_mode: bool) -> bool {
        let kind = |content: &Self| match content.leaf.kind {
            Kind::Executable if ignore_mode => Kind::File,
            kind => kind,
        };
        let rest = |content: &Self| (content.id, content.leaf.disposition);
        kind(self) == kind(other)
            && rest(self) == rest(other)
            && self.leaf.treatment == other.leaf.treatment
    }
}

/// All that `side` shows; what has a commit in it is stale if that is another one.
fn everything(side: &mut Side, reader: &mut Reader, other_commit: bool) -> Result<Everything> {
    let mut everything = Everything::new();
    side.each(reader, &mut |path, shown| {
        let Shown { id, leaf, .. } = shown.clone();
        let is_stale = other_commit && leaf.treatment.substitute;
        everything.insert(path.to_vec(), Content { id, leaf, is_stale });
    })?;
    Ok(everything)
}

fn wrong(path: &[u8]) -> Error {
    let path = sanitised(path);
    Error::fatal(format!("base and delta do not make the target: '{path}'"))
        .hinted("the full archive is right")
}
