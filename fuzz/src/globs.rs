//! Globs of both dialects: compiling and matching end soon, and a path with all its bytes escaped is the
//! pattern of itself.
//!
//! The input is a pattern, and behind a NUL a path.

use sluice_indexers::{doublestar::Doublestar, glob::Glob};

/// Tries `input`.
pub fn run(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let [pattern, path] = [(); 2].map(|()| parts.next().unwrap_or_default());
    if let Ok(glob) = Glob::new(pattern) {
        glob.is_match(path);
    }
    if let Some(glob) = Doublestar::new(pattern) {
        glob.is_match(path);
    }
    // Neither dialect has patterns for other bytes.
    let Ok(text) = str::from_utf8(path) else {
        return;
    };
    if text.contains([char::REPLACEMENT_CHARACTER, '\0']) {
        return;
    }
    let escaped: String = text.chars().flat_map(|c| ['\\', c]).collect();
    let glob = Glob::new(escaped.as_bytes()).expect("nothing in it is special");
    assert!(glob.is_match(path));
    let glob = Doublestar::new(escaped.as_bytes()).expect("nothing in it is special");
    assert!(glob.is_match(path));
}
