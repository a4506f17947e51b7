//! Parses the lines of an attribute file (gitattributes(5)) and words git's warnings about dropped lines.
//!
//! Of a file's origin the parser knows only the name for messages and the rules for its content.

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice};

use crate::pattern::Pattern;
use sluice_base::error::{format_bytes, push_line};

/// Files of this many bytes are ignored.
pub const MAX_FILE: u64 = 100 << 20;
/// Lines of this many bytes are ignored.
const MAX_LINE: usize = 2048;
const BLANK: &[u8] = b" \t\r\n";
const MACRO: &[u8] = b"[attr]";
/// Attributes that only git itself sets.
const RESERVED: &[u8] = b"builtin_";

/// The origin of an attribute file.
pub struct FileOrigin<'a> {
    /// The file's name in messages.
    pub name: &'a BStr,
    /// The file may define macros.
    pub macros: bool,
    /// The file is an object of a tree: a NUL ends the file, and a byte order mark spoils the first line.
    pub in_tree: bool,
}

/// A valid line.
pub enum Line<'a> {
    /// Assigns attributes to all paths that match. The number of the line counts from 1.
    Pattern(usize, Pattern, Vec<(&'a [u8], Value)>),
    /// Defines a macro: the attributes that come with an attribute of this name.
    Macro(BString, Vec<(&'a [u8], Value)>),
}

/// The state that a line gives an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `name`
    Set,
    /// `-name`
    Unset,
    /// `!name`: the state of an attribute that no line mentions.
    Unspecified,
    /// `name=text`
    Text(BString),
}

/// Parse the valid lines of `content`. Warnings about the dropped lines are appended to `complaints`.
pub fn parse<'a>(
    content: &'a [u8],
    origin: &FileOrigin<'_>,
    complaints: &mut Vec<u8>,
) -> Vec<Line<'a>> {
    let content = if origin.in_tree {
        up_to_nul(content)
    } else {
        content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content)
    };
    let mut lines = Vec::new();
    for (at, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = match line.strip_suffix(b"\n") {
            // git reads lines of a file without the carriage return at their end.
            Some(line) if !origin.in_tree => line.strip_suffix(b"\r").unwrap_or(line),
            other => other.unwrap_or(line),
        };
        let mut complain = |what: Complaint<'_>| what.tell(origin.name, at + 1, complaints);
        match parse_line(at + 1, up_to_nul(line), origin.macros) {
            Ok(line) => lines.extend(line),
            Err(complaint) => complain(complaint),
        }
    }
    lines
}

fn up_to_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.find_byte(0).unwrap_or(bytes.len())]
}

/// Why a line is dropped.
enum Complaint<'a> {
    TooLong,
    MacroNotAllowed(Cow<'a, [u8]>),
    InvalidName(Cow<'a, [u8]>),
    Negative,
}

impl Complaint<'_> {
    fn tell(self, file: &BStr, line: usize, out: &mut Vec<u8>) {
        let line = line.to_string();
        // Not by way of git's warnings, which keep control characters from the terminal.
        let mut tell_plainly = |template, what: &[u8]| {
            out.extend_from_slice(&format_bytes(template, &[what, file, line.as_bytes()]));
            out.push(b'\n');
        };
        let warning = match self {
            Self::TooLong => format_bytes(
                "warning: ignoring overly long attributes line {}",
                &[line.as_bytes()],
            ),
            Self::Negative => "warning: Negative patterns are ignored in git attributes\n\
                               Use '\\!' for literal leading exclamation."
                .into(),
            Self::MacroNotAllowed(what) => return tell_plainly("{} not allowed: {}:{}", &what),
            Self::InvalidName(name) => {
                return tell_plainly("{} is not a valid attribute name: {}:{}", &name);
            }
        };
        push_line(out, "", &warning);
    }
}

fn parse_line(number: usize, line: &[u8], macros: bool) -> Result<Option<Line<'_>>, Complaint<'_>> {
    let text = skip_blank(line);
    if text.is_empty() || text.starts_with(b"#") {
        return Ok(None);
    }
    if line.len() >= MAX_LINE {
        return Err(Complaint::TooLong);
    }
    let (first, rest) = first_word(text);
    if first.len() > MACRO.len() && first.starts_with(MACRO) {
        if !macros {
            // git shows the rest of the line, or the word alone if it is quoted.
            return Err(Complaint::MacroNotAllowed(match first {
                Cow::Borrowed(_) => text.into(),
                quoted => quoted,
            }));
        }
        let name = first_of(skip_blank(&first[MACRO.len()..])).to_owned();
        if !may_be_assigned(&name) {
            return Err(Complaint::InvalidName(name.into()));
        }
        return Ok(Some(Line::Macro(name.into(), assignments(rest)?)));
    }
    let assignments = assignments(rest)?;
    if first.starts_with(b"!") {
        Err(Complaint::Negative)
    } else {
        let pattern = Pattern::parse(&first);
        Ok(Some(Line::Pattern(number, pattern, assignments)))
    }
}

/// Split off the first word, which may be quoted as in C.
fn first_word(text: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    if text.starts_with(b"\"")
        && let Ok((word, len)) = gix_quote::ansi_c::undo(text.as_bstr())
    {
        return (word.into_owned().to_vec().into(), &text[len..]);
    }
    let word = first_of(text);
    (word.into(), &text[word.len()..])
}

fn first_of(text: &[u8]) -> &[u8] {
    &text[..text.find_byteset(BLANK).unwrap_or(text.len())]
}

fn skip_blank(text: &[u8]) -> &[u8] {
    &text[text.find_not_byteset(BLANK).unwrap_or(text.len())..]
}

fn assignments(text: &[u8]) -> Result<Vec<(&[u8], Value)>, Complaint<'_>> {
    let mut assignments = Vec::new();
    let mut rest = skip_blank(text);
    while !rest.is_empty() {
        let word = first_of(rest);
        rest = skip_blank(&rest[word.len()..]);
        let equals = word.find_byte(b'=');
        let (name, value) = word.split_at(equals.unwrap_or(word.len()));
        let (name, value) = match (name, value) {
            ([b'-', name @ ..], _) => (name, Value::Unset),
            ([b'!', name @ ..], _) => (name, Value::Unspecified),
            (name, []) => (name, Value::Set),
            (name, value) => (name, Value::Text(value[1..].into())),
        };
        if !may_be_assigned(name) {
            return Err(Complaint::InvalidName(name.into()));
        }
        assignments.push((name, value));
    }
    Ok(assignments)
}

/// Whether a file may assign or define the attribute `name`.
fn may_be_assigned(name: &[u8]) -> bool {
    is_valid_name(name) && !name.starts_with(RESERVED)
}

/// Whether `name` is a valid attribute name.
pub fn is_valid_name(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !name.is_empty() && !name.starts_with(b"-") && name.iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::{FileOrigin, Line, Value, parse};

    fn parsed(content: &[u8], macros: bool, in_tree: bool) -> (Vec<Line<'_>>, String) {
        let mut complaints = Vec::new();
        let origin = FileOrigin {
            name: "d/.gitattributes".into(),
            macros,
            in_tree,
        };
        let lines = parse(content, &origin, &mut complaints);
        (lines, String::from_utf8(complaints).expect("text"))
    }

    #[track_caller]
    fn patterns(content: &[u8], in_tree: bool) -> Vec<String> {
        let (lines, complaints) = parsed(content, true, in_tree);
        assert_eq!(complaints, "");
        let text = |line| match line {
            Line::Pattern(_, pattern, _) => pattern.text.to_string(),
            Line::Macro(name, _) => format!("[attr]{name}"),
        };
        lines.into_iter().map(text).collect()
    }

    #[test]
    fn words_say_what_becomes_of_attributes() {
        let (lines, complaints) = parsed(b"  *.c\ta -b !c d=e=f g=\r\n", false, true);
        let [Line::Pattern(1, pattern, assignments)] = &lines[..] else {
            panic!("one line, {complaints}")
        };
        assert_eq!(pattern.ending(), Some(&b".c"[..]));
        let expected: [(&[u8], Value); 5] = [
            (b"a", Value::Set),
            (b"b", Value::Unset),
            (b"c", Value::Unspecified),
            (b"d", Value::Text("e=f".into())),
            (b"g", Value::Text("".into())),
        ];
        assert_eq!(assignments[..], expected);
    }

    #[test]
    fn files_and_trees_end_differently() {
        assert_eq!(patterns(b"a x\nb\0c x\nd x", true), ["a", "b"]);
        assert_eq!(patterns(b"a x\nb\0c x\nd x", false), ["a", "b", "d"]);
        assert_eq!(patterns(b"\xef\xbb\xbfa x", false), ["a"]);
        assert_eq!(
            patterns(b"#a\n \n\"a\\040b\" x\n\"c x", true),
            ["a b", "\"c"]
        );
        assert_eq!(
            patterns(b"[attr]m x\n[attr] x", true),
            ["[attr]m", "[attr]"]
        );
    }

    #[test]
    fn dropped_lines_are_complained_about() {
        let long = [&b"a "[..], &b"x ".repeat(1023)].concat();
        for (line, complaint) in [
            (
                &b"a x bad@name y"[..],
                "bad@name is not a valid attribute name: d/.gitattributes:1\n",
            ),
            (
                b"a --x",
                "-x is not a valid attribute name: d/.gitattributes:1\n",
            ),
            (
                b"a =x",
                " is not a valid attribute name: d/.gitattributes:1\n",
            ),
            (
                b"a builtin_objectmode",
                "builtin_objectmode is not a valid attribute name: d/.gitattributes:1\n",
            ),
            (b"[attr]m x", "[attr]m x not allowed: d/.gitattributes:1\n"),
            (
                b"!a x",
                "warning: Negative patterns are ignored in git attributes\n\
                 Use '\\!' for literal leading exclamation.\n",
            ),
            (&long, "warning: ignoring overly long attributes line 1\n"),
        ] {
            let (lines, complaints) = parsed(line, false, true);
            assert_eq!((lines.len(), complaints.as_str()), (0, complaint));
        }
        assert_eq!(parsed(&long[..2047], false, true).0.len(), 1);
        // Only lines of a file lose a carriage return.
        let ended = [&long[..2047], b"\r\n"].concat();
        let count = |in_tree| parsed(&ended, false, in_tree).0.len();
        assert_eq!((count(false), count(true)), (1, 0));
        let (lines, complaints) = parsed(b"[attr]builtin_m x", true, true);
        let complaint = "builtin_m is not a valid attribute name: d/.gitattributes:1\n";
        assert_eq!((lines.len(), complaints.as_str()), (0, complaint));
    }
}
