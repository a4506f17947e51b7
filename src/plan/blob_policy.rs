//! Decisions about an entry that need its blob's size, presence or content.
//!
//! Locators apply the policy, on any thread, so that the walk need not locate blobs. The directories above
//! an omitted file keep their entries. Where empty directories must not show, and where two trees are
//! compared, the walk itself decides by sizes.

use gix::ObjectId;

use super::{
    entry::{Blob, Entry},
    naming::Naming,
};
use crate::{
    decode::size::{Size, Sizer},
    emit::MemberKind,
    filter::{Disposition, Policy},
    odb::{Odb, Place},
};

/// Decides about files by the size, presence and content of their blobs.
pub struct BlobPolicy {
    /// The treatment of large, missing and binary files.
    pub policy: Policy,
    /// Maps names to the paths in the tree, to which the exceptions refer.
    pub naming: Naming,
}

impl BlobPolicy {
    /// Decide about the file of `size` bytes that is called `name` in the archive.
    pub fn by_size(&self, name: &[u8], size: u64) -> Disposition {
        self.policy.by_size(size, || self.naming.path_in_tree(name))
    }

    /// Decide about the file that is called `name` in the archive by the `size` of its blob.
    pub fn decide(&self, name: &[u8], size: Size) -> Disposition {
        match size {
            Size::Missing => self.policy.missing(),
            Size::Exactly(size) => self.by_size(name, size),
            Size::Small | Size::Unknown => Disposition::Content,
        }
    }

    /// Apply the policy to `entry`, called `name`, whose blob `id` is at `place`.
    pub(super) fn apply(
        &self,
        (sizer, odb): (&mut Sizer, &mut Odb),
        (id, place): (&ObjectId, Option<Place>),
        (entry, name): (&mut Entry, &[u8]),
    ) {
        let Some(place) = place else {
            return leave_out(entry, self.policy.missing());
        };
        if let (Some(limit), None) = (&self.policy.limit, entry.size)
            && let Size::Exactly(size) = sizer.size_near(odb, id, place, limit.bytes)
        {
            entry.size = Some(size);
            leave_out(entry, self.by_size(name, size));
        }
    }
}

/// Omit `entry` or its content, if `disposition` demands it.
fn leave_out(entry: &mut Entry, disposition: Disposition) {
    if disposition == Disposition::Content {
        return;
    }
    entry.disposition = disposition;
    entry.blob = Blob::None;
    if entry.kind == MemberKind::Symlink && matches!(disposition, Disposition::Placeholder(..)) {
        // A placeholder cannot be the target of a link.
        entry.kind = MemberKind::File;
    }
}
