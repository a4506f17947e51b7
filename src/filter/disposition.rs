//! What becomes of an entry, and why.

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is sent with its content.
    Content,
    /// Its name is sent, and this in the place of its content.
    Placeholder(OmissionReason, StandIn),
    /// It is not sent.
    Omitted(OmissionReason),
}

impl Disposition {
    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Placeholder(..) => "placeholder",
            Self::Omitted(_) => "omitted",
        }
    }

    /// Why it is not sent as it is, if so.
    pub fn reason(self) -> Option<OmissionReason> {
        match self {
            Self::Content => None,
            Self::Placeholder(reason, _) | Self::Omitted(reason) => Some(reason),
        }
    }
}

/// Why an entry is not sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// An ignore rule matches its path.
    Ignored,
    /// It has more bytes than the limit allows.
    TooLarge,
    /// Its content is binary.
    Binary,
    /// Its content is not in the repository.
    Missing,
    /// It is a submodule.
    Submodule,
}

impl OmissionReason {
    /// All of them, each at the index that it is as a number.
    pub const ALL: [Self; 5] = [
        Self::Ignored,
        Self::TooLarge,
        Self::Binary,
        Self::Missing,
        Self::Submodule,
    ];

    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::TooLarge => "too-large",
            Self::Binary => "binary",
            Self::Missing => "missing",
            Self::Submodule => "submodule",
        }
    }
}

/// What is sent in the place of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// Nothing.
    Empty,
    /// Three NUL bytes: too short for anything but a binary file.
    Nuls,
    /// A hole of so many bytes.
    Sparse(u64),
}

impl StandIn {
    /// Its bytes, if they are written out.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Nuls => &[0; 3],
            Self::Empty | Self::Sparse(_) => &[],
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
