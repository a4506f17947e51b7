//! Determines which part of a file precedes a format when git expands the format.
//!
//! git appends an expansion to the file so far, and some placeholders read or change the preceding text.
//! The git process that is asked sees only a format, so a part of the file is put before it.

use gix::bstr::ByteSlice;

use super::format::Format;
use crate::base::error::{Error, Result};

/// Makes git start the wrapped text here.
const WRAPS_FROM_HERE: &[u8] = b"%w(1)%w()";
/// Text that no placeholder removes, in place of a NUL, which no placeholder removes either.
const STOPPER: &[u8] = b".";

/// The part of a file that is put before a format.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// The number of bytes of the file that stay. The answer replaces the rest.
    pub(super) kept: usize,
    /// The format to put before the asked format.
    pub(super) asked: Vec<u8>,
    /// The number of bytes at the start of the answer that are in the file already.
    pub(super) repeated: usize,
}

impl Context {
    /// The context of `format` after `text`.
    pub(super) fn of(text: &[u8], format: &Format) -> Result<Self> {
        if format.wraps_all && format.wraps_before && text.contains(&0) {
            return Err(cannot_expand(
                "it wraps lines twice, behind a NUL in the file",
            ));
        }
        let mut context = if format.wraps_all {
            Self {
                kept: 0,
                asked: escape(text),
                repeated: 0,
            }
        } else {
            Self::of_line(text, format)?
        };
        // To git, wrapped text ends at a NUL: a file that is wrapped from its start is cut there anyway.
        let is_cut = format.wraps_all && text.contains(&0);
        if format.wraps && !is_cut {
            context.asked.extend(WRAPS_FROM_HERE);
        }
        Ok(context)
    }

    /// The context of a format that reads at most one line back. Text before a NUL is never changed, and
    /// columns are counted up to the first NUL.
    fn of_line(text: &[u8], format: &Format) -> Result<Self> {
        let line = line(text);
        let after_nul = text[line..].rfind_byte(0).map(|at| line + at + 1);
        let kept = after_nul.unwrap_or(line);
        let first_nul = text.find_byte(0).filter(|_| format.counts_columns);
        let shown = match (first_nul, after_nul) {
            (Some(_), _) if format.wraps => {
                return Err(cannot_expand(
                    "it counts columns and wraps lines, behind a NUL in the file",
                ));
            }
            (Some(nul), _) => &text[text[..nul].rfind_byte(b'\n').unwrap_or(0)..=nul],
            (None, Some(_)) => STOPPER,
            (None, None) => b"",
        };
        Ok(Self {
            kept,
            asked: [escape(shown), escape(&text[kept..])].concat(),
            repeated: shown.len(),
        })
    }
}

pub(super) fn cannot_expand(why: &'static str) -> Error {
    Error::fatal("cannot expand '$Format:…$'").caused_by(why)
}

/// The start of the part of `text` that a format after it may read or change: the trailing line ends, and
/// the line before them.
fn line(text: &[u8]) -> usize {
    let line = text.trim_end_with(|c| c == '\n');
    line.rfind_byte(b'\n').unwrap_or(0)
}

/// A format that expands to `text`.
fn escape(text: &[u8]) -> Vec<u8> {
    text.replace("%", "%%").replace("\0", "%x00")
}

#[cfg(test)]
mod tests {
    use super::{Context, Format, line};
    use crate::git::convert::format::SharedFormatState;

    #[test]
    fn a_format_may_look_at_one_line() {
        for (text, expected) in [
            ("", 0),
            ("ab", 0),
            ("ab\n\n", 0),
            ("ab\ncd", 2),
            ("ab\n\ncd\n\n", 3),
            ("\n\n", 0),
        ] {
            assert_eq!(line(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_put_in_front_of_a_format() {
        for (text, format, kept, asked, repeated) in [
            ("a\nb%", "%-b", 1, "\nb%%", 0),
            ("a\nb\n", "%-b%w(9)", 1, "\nb\n%w(1)%w()", 0),
            ("a\nb\0c ", "%>>(9)%s", 4, ".c ", 1),
            ("a\nb\0c ", "%-b%w(9)", 4, ".c %w(1)%w()", 1),
            ("a\nb\0c\nd\0e", "%<|(9)%s", 8, "\nb%x00e", 3),
            ("a\nb\0c\nd", "%<|(9)%s", 5, "\nb%x00\nd", 3),
            ("a\0", "%<|(9)%s", 2, "a%x00", 2),
            ("a\nb\nc", "%<(5)%w(20)%s", 0, "a\nb\nc%w(1)%w()", 0),
            ("a\nb\0c", "%<(5)%w(20)%s", 0, "a\nb%x00c", 0),
        ] {
            let format =
                Format::parse(format.as_bytes(), &mut SharedFormatState::default()).expect(format);
            let expected = Context {
                kept,
                asked: asked.into(),
                repeated,
            };
            let context = Context::of(text.as_bytes(), &format).expect(asked);
            assert_eq!(context, expected, "{text:?}");
        }
        let both = Format::parse(b"%<|(9)%s%w(20)%s", &mut SharedFormatState::default())
            .expect("it is one");
        assert!(Context::of(b"\0", &both).is_err());
    }
}
