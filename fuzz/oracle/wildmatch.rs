//! Compares wildcards with gix-glob.

#[path = "patterns.rs"]
mod patterns;

use bstr::ByteSlice;
use gix_glob::wildmatch::Mode;
use patterns::is_read_otherwise;
use sluice_git::wildmatch::Wildmatch;

/// Compares what both say of `input`.
pub fn compare(input: &[u8]) {
    let Some((wildmatch, pattern, text)) = git_sluice_fuzz::wildmatch::parts(input) else {
        return;
    };
    if wildmatch.ignores_case && (has_set(pattern) || has_escaped_capital(pattern))
        || is_read_otherwise(pattern)
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
