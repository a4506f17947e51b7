//! The entries that an archive would have, one after another. No file is read.

use crate::{
    base::{error::Result, pipeline::Source},
    filter::Disposition,
    format::MemberKind,
    plan::{Entry, Planner, Window, view::Sizes},
    request::Content,
};

/// An entry that the archive would have.
pub(super) struct Listed<'a> {
    pub(super) window: &'a Window,
    pub(super) entry: &'a Entry,
    /// Whether only its content decides.
    pub(super) is_undecided: bool,
}

/// Calls `take` with each entry of `content`, in the order of the archive.
pub(super) fn each_entry(
    content: Content,
    mut take: impl FnMut(Listed<'_>) -> Result<()>,
) -> Result<()> {
    let content_decides = content.blob_policy.policy.binary.is_some();
    let repositories = content.repositories.into_iter();
    let trees = repositories.map(|repository| repository.tree.with(Sizes::All));
    let mut planner = Planner::new(trees, content.extras);
    loop {
        let made = planner.next()?;
        for entry in &made.batch.entries {
            take(Listed {
                window: &made.batch,
                entry,
                is_undecided: content_decides && may_be_binary(entry),
            })?;
        }
        if made.last {
            return Ok(());
        }
    }
}

/// Whether the content of the entry, which nobody has read, may be that of a binary file.
fn may_be_binary(entry: &Entry) -> bool {
    let is_file = matches!(entry.kind, MemberKind::File | MemberKind::Executable);
    is_file && entry.disposition == Disposition::Content && entry.size != Some(0)
}
