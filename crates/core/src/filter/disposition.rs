//! How an entry is sent, and why.

/// How an entry is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// With its content.
    Content,
    /// With a stand-in for its content.
    Placeholder(OmissionReason, PlaceholderContent),
    /// Not at all.
    Omitted(OmissionReason),
}

impl Disposition {
    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Placeholder(..) => "placeholder",
            Self::Omitted(_) => "omitted",
        }
    }

    /// The reason, if the entry is not sent unchanged.
    pub fn reason(self) -> Option<OmissionReason> {
        match self {
            Self::Content => None,
            Self::Placeholder(reason, _) | Self::Omitted(reason) => Some(reason),
        }
    }
}

/// Why an entry is not sent unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// A rule excludes the path.
    Excluded,
    /// The content has more bytes than the limit allows.
    TooLarge,
    /// The content is binary.
    Binary,
    /// The content is not in the repository.
    Missing,
    /// The entry is a submodule.
    Submodule,
    /// The attribute `export-ignore` excludes the entry. Only plans of all entries have it.
    ExportIgnore,
}

impl OmissionReason {
    /// All reasons that a summary counts. The index of each is its discriminant.
    pub const ALL: [Self; 5] = [
        Self::Excluded,
        Self::TooLarge,
        Self::Binary,
        Self::Missing,
        Self::Submodule,
    ];

    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::TooLarge => "too-large",
            Self::Binary => "binary",
            Self::Missing => "missing",
            Self::Submodule => "submodule",
            Self::ExportIgnore => "export-ignore",
        }
    }
}

/// Replaces the content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceholderContent {
    /// No bytes.
    Empty,
    /// Three NUL bytes: too short for anything but a binary file.
    Nuls,
    /// A hole of this many bytes.
    Sparse(u64),
    /// The pointer to an LFS object.
    Pointer,
}

impl PlaceholderContent {
    /// The written bytes. A hole has none, and a pointer those of its blob.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Nuls => &[0; 3],
            Self::Empty | Self::Sparse(_) | Self::Pointer => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OmissionReason;

    #[test]
    fn reasons_are_indices() {
        for (at, reason) in OmissionReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at);
        }
    }
}
