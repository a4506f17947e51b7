//! Attribute lines: each line counts or is dropped, whatever is in it, and what counts is well formed.
//!
//! The first byte chooses where the file lies.

use sluice_git::attributes::file::{FileOrigin, Line, is_valid_name, parse};

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((&choices, content)) = input.split_first() else {
        return;
    };
    let origin = FileOrigin {
        name: ".gitattributes".into(),
        macros: choices & 1 != 0,
        in_tree: choices & 2 != 0,
    };
    let mut complaints = Vec::new();
    for line in parse(content, &origin, &mut complaints) {
        let assignments = match line {
            Line::Pattern(_, pattern, assignments) => {
                assert!(pattern.literal <= pattern.text.len());
                assert_eq!(pattern.is_literal(), pattern.literal == pattern.text.len());
                assert!(
                    pattern
                        .ending()
                        .is_none_or(|ending| pattern.text.ends_with(ending))
                );
                assignments
            }
            Line::Macro(name, assignments) => {
                assert!(origin.macros && is_valid_name(&name));
                assignments
            }
        };
        assert!(assignments.iter().all(|(name, _)| is_valid_name(name)));
    }
    assert!(complaints.is_empty() || complaints.ends_with(b"\n"));
}
