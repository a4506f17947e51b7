//! What is decided about an entry once it is known where its blob lies, or what is in it.
//!
//! Asked by whoever locates blobs, on any thread, so that the walk need not look for them: the directories
//! above a file that is left out here have their entries all the same. Where they must not, and where two
//! trees are compared, the walk knows already.

use gix::ObjectId;

use super::{
    entry::{Blob, Entry},
    naming::Naming,
};
use crate::{
    decode::size::{Size, Sizer},
    emit::Kind,
    filter::{Disposition, Policy},
    odb::{Odb, Place},
};

/// What a reader wants of the blobs.
pub struct Terms {
    /// What is done about those that are large, missing or binary.
    pub policy: Policy,
    /// Tells the paths that exceptions are about.
    pub naming: Naming,
}

impl Terms {
    /// What becomes of the file called `name` in the archive, which has `size` bytes.
    pub fn by_size(&self, name: &[u8], size: u64) -> Disposition {
        self.policy.by_size(size, || self.naming.path_in_tree(name))
    }

    /// Decide about `entry`, called `name`, whose blob `id` is at `place`.
    pub(super) fn settle(
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

/// Leave out `entry` or its content, if `disposition` says so.
fn leave_out(entry: &mut Entry, disposition: Disposition) {
    if disposition == Disposition::Content {
        return;
    }
    entry.disposition = disposition;
    entry.blob = Blob::None;
    if entry.kind == Kind::Symlink && matches!(disposition, Disposition::Placeholder(..)) {
        // What takes the place of a target is none.
        entry.kind = Kind::File;
    }
}
