//! Refs that lead to other refs, followed as far as git follows them.

/// As many refs in a row as git reads; the last of them holds an id.
const MAX_REFS: usize = 5;

/// The ref with an id at the end of the row that begins with `reference`. Nothing if there is none: the row ends
/// nowhere, goes in a circle, or is longer than git follows.
pub(super) fn followed(mut reference: gix::Reference<'_>) -> Option<gix::Reference<'_>> {
    for _ in 0..MAX_REFS {
        if reference.try_id().is_some() {
            return Some(reference);
        }
        reference = reference.follow()?.ok()?;
    }
    None
}
