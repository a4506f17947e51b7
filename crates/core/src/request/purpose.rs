//! What a request is for. Must not know how the request is carried out.

/// The purpose of a request, as far as its meaning depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To make the archive.
    Archive,
    /// To list its entries.
    List,
    /// To print the rules that decide about paths.
    Explain,
    /// To print what is known before the first byte.
    Info,
    /// To compare an archive of others with it.
    Compare,
    /// To list missing objects.
    Missing,
    /// To publish the archive.
    Publish,
}

impl Purpose {
    /// Whether missing objects are fetched. Questions about an archive are answered with what is there.
    pub(super) fn fetches(self) -> bool {
        matches!(self, Self::Archive | Self::Compare | Self::Publish)
    }

    /// Whether the user wants to know more about rules than that they are bad.
    pub(super) fn explains_rules(self) -> bool {
        matches!(self, Self::List | Self::Explain)
    }
}
