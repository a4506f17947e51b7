//! Compares attribute lines with gix-attributes: their numbers, what they assign, and which words of the file they match.

#[path = "mark.rs"]
mod mark;
#[path = "patterns.rs"]
mod patterns;

use bstr::{BString, ByteSlice};
use gix_attributes::{AssignmentRef, StateRef, parse::Kind};
use gix_glob::{pattern::Case, wildmatch::Mode};
use mark::has_foreign_mark;
use patterns::is_read_otherwise;
use sluice_git::{
    attributes::file::{FileOrigin, Line, Value, parse},
    pattern::Matcher,
};

/// What a line assigns, and which paths match its pattern. A macro has its name.
type ParsedLine = (Result<Vec<bool>, BString>, Vec<(BString, Value)>);

/// Compares what both find in `input`, whose first byte our target reads.
pub fn compare(input: &[u8]) {
    let content = input.get(1..).unwrap_or_default();
    // gix takes a form feed for a blank.
    if content.contains(&0)
        || content.contains(&0x0c)
        || has_foreign_mark(content)
        || is_read_otherwise(content)
        || has_quoted_macro(content)
    {
        return;
    }
    let words = content.fields().filter(|word| is_path(word));
    let words: Vec<_> = words.take(MAX_WORDS).collect();
    assert_eq!(ours(content, &words), theirs(content, &words));
}

/// git takes the first word in quotes for the name of a macro, gix all of them.
fn has_quoted_macro(content: &[u8]) -> bool {
    content.contains_str("\"[attr]")
}

/// So many words of the file are tried as paths.
const MAX_WORDS: usize = 8;

fn is_path(word: &[u8]) -> bool {
    word.split_str("/").all(|name| !name.is_empty())
}

fn ours(content: &[u8], words: &[&[u8]]) -> Vec<ParsedLine> {
    let origin = FileOrigin {
        name: ".gitattributes".into(),
        macros: true,
        in_tree: false,
    };
    let lines = parse(content, &origin, &mut Vec::new());
    let line = |line| {
        let (subject, assignments) = match line {
            Line::Macro(name, assignments) => (Err(name), assignments),
            Line::Pattern(_, pattern, assignments) => {
                let matcher = Matcher::new(b"", false, vec![(pattern, ())]);
                let is_match = |word: &&[u8]| matcher.matching(word, false).next().is_some();
                (Ok(words.iter().map(is_match).collect()), assignments)
            }
        };
        let assignments = assignments
            .into_iter()
            .map(|(name, value)| (name.into(), value));
        (subject, assignments.collect())
    };
    lines
        .into_iter()
        .filter(|line| !matches!(line, Line::Pattern(_, pattern, _) if is_blank(&pattern.text)))
        .map(line)
        .collect()
}

fn theirs(content: &[u8], words: &[&[u8]]) -> Vec<ParsedLine> {
    let lines = gix_attributes::parse(content).filter_map(Result::ok);
    let line = |(kind, assignments, _): (Kind, gix_attributes::parse::Iter<'_>, usize)| {
        let subject = match kind {
            Kind::Macro(name) => Err(name.as_str().into()),
            Kind::Pattern(pattern) => {
                let is_match = |word: &&[u8]| {
                    let base_name = word.rfind_byte(b'/').map(|slash| slash + 1);
                    let mode = Mode::NO_MATCH_SLASH_LITERAL;
                    let word = word.as_bstr();
                    pattern.matches_repo_relative_path(
                        word,
                        base_name,
                        Some(false),
                        Case::Sensitive,
                        mode,
                    )
                };
                Ok(words.iter().map(is_match).collect())
            }
        };
        // As in git, one bad name spoils the line.
        let assignments: Result<_, _> = assignments.map(|it| it.map(assignment)).collect();
        Some((subject, assignments.ok()?))
    };
    lines
        .filter(|(kind, ..)| !matches!(kind, Kind::Pattern(pattern) if is_blank(&pattern.text)))
        .filter_map(line)
        .collect()
}

/// git keeps blank patterns in quotes, which gix drops.
fn is_blank(pattern: &[u8]) -> bool {
    pattern.trim_ascii().is_empty()
}

fn assignment(assignment: AssignmentRef<'_>) -> (BString, Value) {
    let value = match assignment.state {
        StateRef::Set => Value::Set,
        StateRef::Unset => Value::Unset,
        StateRef::Unspecified => Value::Unspecified,
        StateRef::Value(text) => Value::Text(text.as_bstr().into()),
    };
    (assignment.name.as_str().into(), value)
}
