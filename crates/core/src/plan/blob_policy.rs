//! Decisions about an entry that need its blob's size, presence or content.
//!
//! Locators apply the policy, on any thread, so that the walk need not locate blobs. The directories above
//! an omitted file keep their entries. Where empty directories must not show, and where two trees are
//! compared, the walk itself decides by sizes.

use gix_hash::ObjectId;

use super::{
    entry::{Blob, Entry},
    naming::Naming,
};
use crate::filter::{Disposition, PlaceholderContent, Policy};
use sluice_format::MemberKind;
use sluice_git::{
    lfs::LfsObject,
    objects::size::{Size, Sizer},
    odb::{ObjectLocation, Odb},
};

/// The size of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentSize {
    /// The content is in a blob.
    Blob(Size),
    /// The content is an LFS object.
    LfsObject {
        /// Bytes.
        size: u64,
        /// Whether the local store has the object.
        is_here: bool,
    },
}

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

    /// Decide about the file that is called `name` in the archive by the `size` of its content, which may be missing if the
    /// repository `is_partial`.
    pub fn decide(&self, name: &[u8], size: ContentSize, is_partial: bool) -> Disposition {
        match size {
            ContentSize::Blob(Size::Missing) => self.policy.missing(is_partial),
            ContentSize::Blob(Size::Exactly(size)) => self.by_size(name, size),
            ContentSize::Blob(Size::Small | Size::Unknown) => Disposition::Content,
            ContentSize::LfsObject { size, is_here } => {
                self.by_lfs_object(name, (size, || is_here))
            }
        }
    }

    fn by_lfs_object(&self, name: &[u8], found: (u64, impl FnOnce() -> bool)) -> Disposition {
        self.policy
            .by_lfs_object(found, || self.naming.path_in_tree(name))
    }

    /// Apply the policy to `entry`, called `name`, whose blob `id` is at `place`.
    pub(super) fn apply(
        &self,
        (sizer, odb): (&mut Sizer, &mut Odb),
        (id, place): (&ObjectId, Option<ObjectLocation>),
        (entry, name): (&mut Entry, &[u8]),
    ) {
        let Some(place) = place else {
            return leave_out(entry, self.policy.missing(odb.config().is_partial));
        };
        if let (Some(limit), None) = (&self.policy.limit, entry.size)
            && let Size::Exactly(size) = sizer.size_near(odb, id, place, limit.bytes)
        {
            entry.size = Some(size);
            leave_out(entry, self.by_size(name, size));
        }
    }

    /// Apply the policy to `entry`, called `name`, whose blob has `size` bytes.
    pub(super) fn apply_size(&self, entry: &mut Entry, name: &[u8], size: u64) {
        leave_out(entry, self.by_size(name, size));
    }

    /// Apply the policy to `entry`, called `name`, whose content is `object`.
    pub(super) fn apply_to_lfs(&self, object: &LfsObject, entry: &mut Entry, name: &[u8]) {
        let found = (object.size(), || object.is_here());
        entry.size = Some(object.size());
        entry.treatment = std::mem::take(&mut entry.treatment).of_lfs_object();
        entry.disposition = self.by_lfs_object(name, found);
        match entry.disposition {
            Disposition::Content | Disposition::Placeholder(_, PlaceholderContent::Pointer) => {}
            _ => entry.blob = Blob::None,
        }
    }
}

impl ContentSize {
    /// The size in bytes, if it is known.
    pub fn exactly(self) -> Option<u64> {
        match self {
            Self::Blob(size) => size.exactly(),
            Self::LfsObject { size, .. } => Some(size),
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
