//! `explain` with `--base`: what has become of a path, and the rules on both sides. The change is the one that the archive
//! has.

use bstr::BString;

use super::{
    answer::Answer,
    rules::{Explanation, Verdict},
    search::explanation,
};
use crate::{
    base::error::{Error, Result, format_bytes},
    output::report::Status,
    plan::{Naming, PlannedTree},
    request::{ArchivedRepository, Delta},
};

/// The changes of a request.
pub(super) struct Comparison {
    pub(super) delta: Box<Delta>,
    /// The repositories with changes.
    pub(super) repositories: Vec<ArchivedRepository>,
}

impl Comparison {
    /// The verdict on `path`. `None` if the path is on neither side.
    pub(super) fn verdict(&self, path: &[u8]) -> Result<Option<Answer>> {
        let [old, new] = self.delta.sides.as_ref();
        let was = explanation(old, path).map_err(Error::without_base)?;
        let is = explanation(new, path)?;
        if was.is_none() && is.is_none() {
            return Ok(None);
        }
        let change = self.change(&new[0].tree.view.naming, path)?;
        let mut words = of_target(change, was.is_some(), is.as_ref());
        if let Some(was) = was.filter(|was| decides(was, is.as_ref())) {
            words.extend_from_slice(&format_bytes("; in the base {}", &[&was.words]));
        }
        Ok(Some(Answer {
            outcome: is.map(|is| is.outcome),
            change,
            words,
        }))
    }

    /// The change of `path` in the archive, whose names are those of `naming`.
    fn change(&self, naming: &Naming, path: &[u8]) -> Result<Option<Status>> {
        let Some(name) = naming.find_name(path) else {
            return Ok(None);
        };
        for PlannedTree {
            changes, reader, ..
        } in self.repositories.iter().map(|repository| &repository.tree)
        {
            let Some(changes) = changes.clone() else {
                continue;
            };
            let status = changes.status_of(&name, &mut reader.clone())?;
            if status.is_some() {
                return Ok(status);
            }
        }
        let mut is_deleted = false;
        self.delta.deletions.each(&mut |deletion| {
            let deleted = &deletion.name[..];
            let is_it = deleted.strip_suffix(b"/").unwrap_or(deleted) == name;
            is_deleted |= is_it && deletion.status == Status::Deleted;
            Ok(())
        })?;
        Ok(is_deleted.then_some(Status::Deleted))
    }
}

/// Whether the rule of the base says more than that of the target.
fn decides(was: &Explanation, is: Option<&Explanation>) -> bool {
    was.outcome != Verdict::Directory && !was.is_plain() && is != Some(was)
}

/// The `change` and the explanation in the target, in words. The base has the path if `has_old`.
fn of_target(change: Option<Status>, has_old: bool, is: Option<&Explanation>) -> BString {
    const NOT_THERE: &str = "the target does not have it";
    let label = change.map(|change| match change {
        Status::Added => "added: ",
        // A directory above a change.
        Status::Modified if !has_old => "added: ",
        Status::Modified => "changed: ",
        Status::TypeChanged => "type changed: ",
        Status::Deleted => "deleted: ",
    });
    let Some(is) = is else {
        return [label.unwrap_or_default(), NOT_THERE].concat().into();
    };
    match (label, is.outcome) {
        (Some(label), Verdict::Directory) => [label, "sent, because it contains sent files"]
            .concat()
            .into(),
        (Some(label), _) => format_bytes("{}{}", &[label.as_bytes(), &is.words]),
        (None, Verdict::Omitted) => is.words.clone(),
        (None, Verdict::Directory) => "not sent: nothing below it is".into(),
        (None, Verdict::Sent) if is.is_plain() => "unchanged: not sent".into(),
        (None, Verdict::Sent) => {
            format_bytes("unchanged: not sent; in a full archive {}", &[&is.words])
        }
    }
}
