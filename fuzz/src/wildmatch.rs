//! Wildcards of git: matching ends soon, and a text with all its bytes escaped is the pattern of itself.
//!
//! The first byte chooses how wildcards match; a pattern follows, and behind a NUL a text.

use sluice_git::wildmatch::Wildmatch;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((wildmatch, pattern, text)) = parts(input) else {
        return;
    };
    wildmatch.matches(pattern, text);
    let wildmatch = Wildmatch {
        ignores_case: false,
        ..wildmatch
    };
    let escaped: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
    assert!(wildmatch.matches(&escaped, text));
}

/// What `input` describes: how wildcards match, a pattern and a text. Neither has a NUL, as in git.
pub fn parts(input: &[u8]) -> Option<(Wildmatch, &[u8], &[u8])> {
    let (&choices, rest) = input.split_first()?;
    let wildmatch = Wildmatch {
        slashes_count: choices & 1 != 0,
        ignores_case: choices & 2 != 0,
    };
    let mut parts = rest.split(|&byte| byte == 0);
    Some((wildmatch, parts.next()?, parts.next()?))
}
