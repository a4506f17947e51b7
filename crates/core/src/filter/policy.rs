//! The policy for entries that are large, binary, missing, links or submodules.

use bstr::ByteSlice;

use super::{
    disposition::{Disposition, OmissionReason, PlaceholderContent},
    large::LargeFiles,
};

/// The number of leading bytes that decide whether content is binary: all of them.
pub const WITHIN_ALL: usize = usize::MAX;

/// The policy for entries whose path passes all rules. By default every entry is sent.
#[derive(Clone, Default)]
pub struct Policy {
    /// The limit on the size of files.
    pub limit: Option<Limit>,
    /// The treatment of binary files.
    pub binary: Option<Binary>,
    /// Whether symbolic links are sent as regular files with the target as content.
    pub links_as_files: bool,
    /// Whether submodules are omitted. Otherwise they are empty directories.
    pub no_submodules: bool,
    /// The treatment of content that a partial clone lacks. If `None`, missing content fails the run.
    pub missing: Option<Fallback>,
    /// The treatment of LFS objects that are not in the local store. If `None`, a missing object fails the run.
    pub missing_lfs_object: Option<Fallback>,
}

/// A limit on the size of files.
#[derive(Clone)]
pub struct Limit {
    /// The largest size in bytes that is sent.
    pub bytes: u64,
    /// Files that may be larger.
    pub exceptions: LargeFiles,
    /// The treatment of all other larger files.
    pub remedy: Fallback,
}

/// The treatment of content that contains a NUL.
#[derive(Clone, Copy)]
pub struct Binary {
    /// The number of leading bytes that are examined.
    pub within: usize,
    /// The treatment.
    pub remedy: Fallback,
}

/// The treatment of an entry that is not sent unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The entry is omitted.
    Omit,
    /// A stand-in replaces the content.
    Replace(PlaceholderContent),
}

impl Fallback {
    /// The disposition of an entry for this `reason`.
    pub fn disposition(self, reason: OmissionReason) -> Disposition {
        match self {
            Self::Omit => Disposition::Omitted(reason),
            Self::Replace(stand_in) => Disposition::Placeholder(reason, stand_in),
        }
    }
}

impl Policy {
    /// Whether decisions depend on the sizes of files or on their presence.
    pub fn depends_on_sizes(&self) -> bool {
        self.limit.is_some() || self.missing.is_some()
    }

    /// The disposition of a file of `size` bytes, as far as it is independent of the content. `path` is
    /// called only if the size is above the limit.
    pub fn by_size<P: AsRef<[u8]>>(&self, size: u64, path: impl FnOnce() -> P) -> Disposition {
        match &self.limit {
            Some(limit) if size > limit.bytes && !limit.exceptions.allows(path().as_ref()) => {
                limit.remedy.disposition(OmissionReason::TooLarge)
            }
            _ => Disposition::Content,
        }
    }

    /// The disposition of a file whose LFS object has `size` bytes, and `is_here`, in the local store, or not. On slow storage
    /// the second question takes time, so it is put only if the answer decides.
    pub fn by_lfs_object<P: AsRef<[u8]>>(
        &self,
        (size, is_here): (u64, impl FnOnce() -> bool),
        path: impl FnOnce() -> P,
    ) -> Disposition {
        match (self.by_size(size, path), self.missing_lfs_object) {
            (Disposition::Content, Some(remedy)) if !is_here() => {
                remedy.disposition(OmissionReason::Missing)
            }
            (disposition, _) => disposition,
        }
    }

    /// The disposition of a file that is not in the repository. If the repository is not `is_partial`, the repository
    /// is damaged, and the file fails the run.
    pub fn missing(&self, is_partial: bool) -> Disposition {
        match self.missing {
            Some(remedy) if is_partial => remedy.disposition(OmissionReason::Missing),
            Some(_) | None => Disposition::Content,
        }
    }
}

impl Binary {
    /// The disposition of a binary file of `size` bytes. `None` if the file is sent unchanged.
    pub fn disposition(self, size: u64) -> Option<Disposition> {
        match self.remedy {
            // A stand-in would save nothing, and an indexer has another message for such short files.
            Fallback::Replace(stand_in) if size < stand_in.bytes().len() as u64 => None,
            remedy => Some(remedy.disposition(OmissionReason::Binary)),
        }
    }

    /// Whether `bytes`, which begin at byte `at` of the content, show that the content is binary.
    pub fn shows_in(self, bytes: &[u8], at: u64) -> bool {
        let left = (self.within as u64).saturating_sub(at);
        let looked_at = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        looked_at.find_byte(0).is_some()
    }
}
