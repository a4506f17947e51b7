//! What a user means who mistypes a name.

use strsim::normalized_damerau_levenshtein;

/// How much a name has to be like another one: a slip or two in a name of common length.
const LIKENESS: f64 = 0.6;

/// The one of `known`, each with its name, whose name is most like the `typed` one.
pub(super) fn most_like<T>(typed: &str, known: impl Iterator<Item = (String, T)>) -> Option<T> {
    let likenesses = known.map(|(name, it)| (normalized_damerau_levenshtein(typed, &name), it));
    let similar = likenesses
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    similar.map(|(_, it)| it)
}
