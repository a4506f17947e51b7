//! What may be wrong with a name on another system, for reports. Must not look at names.

/// Why a name breaks on another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unportable {
    /// Another path differs in case alone.
    Case,
    /// Another path differs in Unicode normalization alone.
    Normalization,
    /// Windows reserves the name for a device.
    Reserved,
    /// Windows drops the dot or the space at the end.
    Ending,
    /// Windows allows no such character.
    Character,
    /// The name or the path is too long.
    Long,
    /// The target of the link is outside the archive.
    Link,
}

impl Unportable {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Case => "case",
            Self::Normalization => "normalization",
            Self::Reserved => "reserved",
            Self::Ending => "ending",
            Self::Character => "character",
            Self::Long => "long",
            Self::Link => "link",
        }
    }

    /// What is said of a path, after its name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Case => "differs from another path in case alone",
            Self::Normalization => "differs from another path in Unicode normalization alone",
            Self::Reserved => "has a name that Windows reserves for a device",
            Self::Ending => "ends in a dot or a space, which Windows drops",
            Self::Character => "contains a character that Windows does not allow",
            Self::Long => "is longer than 255 bytes in a name or 260 in all",
            Self::Link => "links to a place outside the archive",
        }
    }
}
