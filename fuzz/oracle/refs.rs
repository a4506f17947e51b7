//! Compares the list of packed refs with gix-ref.

use bstr::BString;
use git_sluice_fuzz::{HASH, refs};
use gix_hash::ObjectId;
use gix_ref::packed::Buffer;

/// Compares what both list of the file `input`, unless we ask git.
pub fn compare(input: &[u8]) {
    let Some(ours) = refs::list(input) else {
        return;
    };
    // git reads only the lines that its search meets, gix all that it lists.
    let Some(theirs) = theirs(input) else {
        return;
    };
    let ours = ours
        .into_iter()
        .map(|it| (it.name, it.id.expect("no ref is symbolic")));
    assert_eq!(ours.collect::<Vec<_>>(), theirs);
}

fn theirs(content: &[u8]) -> Option<Vec<(BString, ObjectId)>> {
    let packed = Buffer::from_bytes(content, HASH).ok()?;
    if !is_in_order(&packed) {
        return None;
    }
    let refs = packed.iter_prefixed("refs/".into()).ok()?;
    refs.map(|it| it.ok().map(|it| (it.name.as_bstr().into(), it.target())))
        .collect()
}

/// git searches in lines out of order, with one name, or without a name that it takes, as it searches in others, gix by other
/// steps.
fn is_in_order(packed: &Buffer) -> bool {
    let names = packed.iter().into_iter().flatten();
    let names: Option<Vec<BString>> = names
        .map(|it| Some(it.ok()?.name.as_bstr().to_owned()))
        .collect();
    names.is_some_and(|names| names.is_sorted_by(|a, b| a < b))
}
