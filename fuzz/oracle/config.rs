//! Compares the variables of configuration files with gix-config.

#[path = "mark.rs"]
mod mark;

use bstr::{BString, ByteSlice};
use gix_config::{
    parse::{EventRef, Events},
    value::normalize,
};
use mark::has_foreign_mark;
use sluice_git::config::syntax;

/// The variables in the order of the file: name and value.
type Variables = Vec<(BString, Option<BString>)>;

/// Compares what both find in `input`.
pub fn compare(input: &[u8]) {
    if input.contains(&0)
        || has_foreign_mark(input)
        || has_bare_return(input)
        || ends_with_backslash(input)
    {
        return;
    }
    let ours = syntax::parse(input, None).ok();
    let ours: Option<Variables> =
        ours.map(|it| it.into_iter().map(|it| (it.key, it.value)).collect());
    let theirs = Events::from_bytes(input, None).ok();
    if theirs.as_ref().is_some_and(has_bare_name_in_line) {
        return;
    }
    assert_eq!(ours, theirs.map(|events| variables(&events)));
}

/// git refuses an open quote before a backslash at the end of the file.
fn ends_with_backslash(text: &[u8]) -> bool {
    text.ends_with(b"\\")
}

/// git takes a carriage return inside a line for a space, gix only in a value.
fn has_bare_return(text: &[u8]) -> bool {
    let mut returns = text.find_iter("\r");
    returns.any(|at| text.get(at + 1) != Some(&b'\n'))
}

/// git refuses a name without value that does not end its line.
fn has_bare_name_in_line(events: &Events) -> bool {
    let events: Vec<_> = events.iter().collect();
    let mut follows_separator = false;
    events.iter().enumerate().any(|(at, event)| {
        let is_bare = matches!(event, EventRef::Value(_)) && !follows_separator;
        match event {
            EventRef::KeyValueSeparator => follows_separator = true,
            EventRef::SectionValueName(_) => follows_separator = false,
            _ => {}
        }
        is_bare && !matches!(events.get(at + 1), None | Some(EventRef::Newline(_)))
    })
}

fn variables(events: &Events) -> Variables {
    let mut variables = Variables::new();
    let (mut section, mut raw) = (BString::default(), Vec::new());
    for event in events.iter() {
        match event {
            EventRef::SectionHeader {
                name,
                separator,
                subsection_name,
            } => {
                section = name.to_ascii_lowercase().into();
                if let Some(subsection) = subsection_name {
                    section.push(b'.');
                    let is_old = separator.is_some_and(|it| it == ".");
                    section.extend(if is_old {
                        subsection.to_ascii_lowercase()
                    } else {
                        subsection.to_vec()
                    });
                }
                section.push(b'.');
            }
            EventRef::SectionValueName(name) => {
                let key = [&section[..], &name.to_ascii_lowercase()].concat();
                variables.push((key.into(), None));
            }
            EventRef::KeyValueSeparator => {
                variables.last_mut().expect("a name").1 = Some(BString::default())
            }
            EventRef::ValueNotDone(part) => raw.extend_from_slice(part),
            EventRef::Value(part) | EventRef::ValueDone(part) => {
                raw.extend_from_slice(part);
                let (_, value) = variables.last_mut().expect("a name");
                *value = value.take().map(|_| normalize(raw.as_slice()).into_owned());
                raw.clear();
            }
            EventRef::Comment { .. } | EventRef::Newline(_) | EventRef::Whitespace(_) => {}
        }
    }
    variables
}
