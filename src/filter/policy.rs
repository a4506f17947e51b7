//! What is done about entries that are large, binary, missing, links or submodules.

use gix::bstr::ByteSlice;

use super::{
    disposition::{Disposition, OmissionReason, StandIn},
    large::LargeFiles,
};

/// The first bytes of a content that decide whether it is binary: all of them.
pub const WITHIN_ALL: usize = usize::MAX;

/// What is done about entries whose path nothing speaks against. By default nothing.
#[derive(Clone, Default)]
pub struct Policy {
    /// How large a file may be.
    pub limit: Option<Limit>,
    /// What is done about binary files.
    pub binary: Option<Binary>,
    /// Symbolic links are sent as regular files that hold the target.
    pub links_as_files: bool,
    /// Submodules are left out; otherwise they are empty directories.
    pub no_submodules: bool,
    /// What is done about content that is not in the repository; otherwise the run fails.
    pub missing: Option<Remedy>,
}

/// A limit on size.
#[derive(Clone)]
pub struct Limit {
    /// The largest size in bytes that is sent.
    pub bytes: u64,
    /// Files that may be larger.
    pub exceptions: LargeFiles,
    /// What is done about others.
    pub remedy: Remedy,
}

/// What is done about content with a NUL in it.
#[derive(Clone, Copy)]
pub struct Binary {
    /// How many bytes are looked at, from the first on.
    pub within: usize,
    /// What is done.
    pub remedy: Remedy,
}

/// What is done about an entry that is not sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It is left out.
    Omit,
    /// Something takes the place of the content.
    Replace(StandIn),
}

impl Remedy {
    /// What becomes of an entry, for this `reason`.
    pub fn disposition(self, reason: OmissionReason) -> Disposition {
        match self {
            Self::Omit => Disposition::Omitted(reason),
            Self::Replace(stand_in) => Disposition::Placeholder(reason, stand_in),
        }
    }
}

impl Policy {
    /// Whether the sizes of files decide, or whether they are there at all.
    pub fn depends_on_sizes(&self) -> bool {
        self.limit.is_some() || self.missing.is_some()
    }

    /// What becomes of a file that has `size` bytes, as far as that can be told without its content. Its
    /// `path` is asked for if it is above the limit.
    pub fn by_size<P: AsRef<[u8]>>(&self, size: u64, path: impl FnOnce() -> P) -> Disposition {
        match &self.limit {
            Some(limit) if size > limit.bytes && !limit.exceptions.allows(path().as_ref()) => {
                limit.remedy.disposition(OmissionReason::TooLarge)
            }
            _ => Disposition::Content,
        }
    }

    /// What becomes of a file that is not in the repository.
    pub fn missing(&self) -> Disposition {
        match self.missing {
            Some(remedy) => remedy.disposition(OmissionReason::Missing),
            None => Disposition::Content,
        }
    }
}

impl Binary {
    /// What becomes of a binary file of `size` bytes, if it is not sent as it is.
    pub fn disposition(self, size: u64) -> Option<Disposition> {
        match self.remedy {
            // Nothing is won, and an indexer has other words for what is as short as that.
            Remedy::Replace(stand_in) if size < stand_in.bytes().len() as u64 => None,
            remedy => Some(remedy.disposition(OmissionReason::Binary)),
        }
    }

    /// Whether `bytes`, which begin at byte `at` of a content, show that it is binary.
    pub fn shows_in(self, bytes: &[u8], at: u64) -> bool {
        let left = (self.within as u64).saturating_sub(at);
        let looked_at = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        looked_at.find_byte(0).is_some()
    }
}
