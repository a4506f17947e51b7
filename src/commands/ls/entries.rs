//! The entries that an archive would have, one after another. Of all blobs only the targets of links are read.

use sluice_base::{buffer::Buffer, error::Result, pipeline::Source};
use sluice_core::{
    filter::Disposition,
    plan::{Entry, Planner, Window, view::Sizes},
    portability::{Doubles, PathHashes},
    request::Content,
};
use sluice_format::MemberKind;
use sluice_git::objects::reader::Reader;

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

/// The names in `content` that have a double on another system. Keeps a few bytes of each entry.
pub(super) fn doubles(content: Content) -> Result<Doubles> {
    let mut paths = Vec::new();
    each_entry(content, |listed| {
        if !listed.entry.is_omitted() {
            paths.push(PathHashes::of(listed.window.path(listed.entry)));
        }
        Ok(())
    })?;
    Ok(Doubles::among(paths))
}

/// Whether the content of the entry, which was not read, may be that of a binary file.
fn may_be_binary(entry: &Entry) -> bool {
    let is_file = matches!(entry.kind, MemberKind::File | MemberKind::Executable);
    is_file && entry.disposition == Disposition::Content && entry.size != Some(0)
}

/// The readers of the repositories of an archive, for what a list reads of them.
pub(super) struct Readers {
    readers: Vec<Reader>,
    target: Buffer,
}

impl Readers {
    pub(super) fn of(content: &Content) -> Self {
        let repositories = content.repositories.iter();
        Self {
            readers: repositories
                .map(|repository| repository.tree.reader.clone())
                .collect(),
            target: Buffer::default(),
        }
    }

    /// The reader of the repository that `window` is of.
    pub(super) fn reader(&mut self, window: &Window) -> &mut Reader {
        &mut self.readers[window.store.0]
    }

    /// The target of `entry` if it is a link that can be read. What cannot be read is for the archive to report.
    pub(super) fn target(&mut self, window: &Window, entry: &Entry) -> Option<&[u8]> {
        if entry.kind != MemberKind::Symlink {
            return None;
        }
        let reader = &mut self.readers[window.store.0];
        let kind = reader.read(&entry.id, &mut self.target).ok()?;
        kind.map(|_| &self.target[..])
    }
}
