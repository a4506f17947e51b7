//! Configuration files: no text breaks the parser, and what it finds has a name and survives a second look.

use bstr::ByteSlice;
use sluice_git::config::syntax::{parse, parse_key, parse_parameters};

/// Tries `input`.
pub fn run(input: &[u8]) {
    if let Ok(variables) = parse(input, None) {
        // A backslash at the end of the file counts one more, as in git.
        let lines = input.iter().filter(|byte| **byte == b'\n').count() + 2;
        for variable in variables {
            assert!(!variable.key.is_empty());
            assert!((1..=lines).contains(&variable.line), "a line of the file");
        }
    }
    if let Some(key) = parse_key(input.as_bstr()) {
        assert_eq!(parse_key(key.as_bstr()), Some(key));
    }
    let _ = parse_parameters(input);
}
