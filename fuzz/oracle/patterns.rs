//! Patterns that gix reads otherwise than git.

use bstr::ByteSlice;

/// Whether a part of `text` is such a pattern.
pub fn is_read_otherwise(text: &[u8]) -> bool {
    has_open_class(text) || is_deep(text)
}

/// git takes `[:` for two members of a set if `:]` does not end it.
fn has_open_class(pattern: &[u8]) -> bool {
    pattern.find_iter("[:").any(|at| {
        let name = pattern[at + 2..].split_str("]").next();
        name.is_some_and(|name| !name.ends_with(b":"))
    })
}

/// git goes as deep as the stars lead, gix 64 deep.
fn is_deep(pattern: &[u8]) -> bool {
    pattern.iter().filter(|byte| **byte == b'*').count() >= 60
}
