//! Follows refs that point to other refs, as far as git follows them.

/// The most consecutive refs that git reads. The last of them must hold an id.
const MAX_REFS: usize = 5;

/// The ref with an id at the end of the chain from `reference`. `None` if the chain has no end, ends at a
/// missing ref, or is longer than git follows.
pub(super) fn followed(mut reference: gix::Reference<'_>) -> Option<gix::Reference<'_>> {
    for _ in 0..MAX_REFS {
        if reference.try_id().is_some() {
            return Some(reference);
        }
        reference = reference.follow()?.ok()?;
    }
    None
}
