//! Compares wildcards with gix-glob.

use bstr::ByteSlice;
use sluice_git::wildmatch::Wildmatch;
use gix_glob::wildmatch::Mode;

/// Compares what both say of `input`.
pub fn compare(input: &[u8]) {
    let Some((wildmatch, pattern, text)) = git_sluice_fuzz::wildmatch::parts(input) else {
        return;
    };
    if wildmatch.ignores_case && (has_set(pattern) || has_escaped_capital(pattern))
        || has_open_class(pattern)
        || is_deep(pattern)
    {
        return;
    }
    let theirs = gix_glob::wildmatch(pattern.as_bstr(), text.as_bstr(), mode(wildmatch));
    assert_eq!(wildmatch.matches(pattern, text), theirs);
}

fn mode(wildmatch: Wildmatch) -> Mode {
    let mut mode = Mode::empty();
    mode.set(Mode::NO_MATCH_SLASH_LITERAL, wildmatch.slashes_count);
    mode.set(Mode::IGNORE_CASE, wildmatch.ignores_case);
    mode
}

/// git does not fold the bytes of a set, and a range from `c` to `a` is empty.
fn has_set(pattern: &[u8]) -> bool {
    pattern.contains(&b'[')
}

/// git does not fold a byte after a backslash.
fn has_escaped_capital(pattern: &[u8]) -> bool {
    let mut pairs = pattern.windows(2);
    pairs.any(|pair| pair[0] == b'\\' && pair[1].is_ascii_uppercase())
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
