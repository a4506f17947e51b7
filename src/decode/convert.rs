//! From stored bytes to archived bytes: `$Id$` and line endings (gitattributes(5)).
//!
//! What is done to a blob was settled in the plan from its path; here it is done, from the content
//! alone. Only regular files come here, and none above `core.bigFileThreshold`.

use std::sync::Arc;

use gix::bstr::BString;

use crate::buffer::Buffer;

/// What is done to the content of a file on its way into the archive, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Expand `$Id$`.
    pub ident: bool,
    /// Turn LF into CRLF.
    pub crlf: Option<Crlf>,
    /// The encoding to convert it to from UTF-8.
    pub encoding: Option<Arc<str>>,
    /// The filter to run it through.
    pub filter: Option<Arc<Driver>>,
    /// Expand `$Format:…$`.
    pub substitute: bool,
    /// Whether it counts as text in formats that say so; by its content if unknown.
    pub text: Option<bool>,
}

/// A filter that is configured (gitattributes(5), "filter").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// What attributes call it.
    pub name: BString,
    /// `filter.<name>.smudge`: a command for each file.
    pub smudge: Option<BString>,
    /// `filter.<name>.process`: a command for all files.
    pub process: Option<BString>,
    /// `filter.<name>.required`: without it there is no archive.
    pub required: bool,
}

/// When line endings become CRLF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crlf {
    /// Always, even if the content looks binary.
    Always,
    /// If the content looks like text and has no CR yet.
    Auto,
}

impl Treatment {
    /// Whether the content stays as it is stored.
    pub fn is_none(&self) -> bool {
        let Self {
            ident,
            crlf,
            encoding,
            filter,
            substitute,
            text: _,
        } = self;
        !ident && crlf.is_none() && encoding.is_none() && filter.is_none() && !substitute
    }
}

/// Append `content`, treated, to `out`; `id` is the hexadecimal id of the content.
pub fn convert(treatment: &Treatment, id: &str, content: &[u8], out: &mut Buffer) {
    if !treatment.ident {
        return line_endings(treatment.crlf, content, out);
    }
    let mut expanded = Buffer::default();
    ident(id, content, &mut expanded);
    line_endings(treatment.crlf, &expanded, out);
}

/// Expand `$Id$` and renew `$Id: … $`, but leave what another system expanded: that has a space
/// between two words.
fn ident(id: &str, mut rest: &[u8], out: &mut Buffer) {
    while let Some(start) = find(rest, b"$Id") {
        let (before, keyword) = rest.split_at(start + 3);
        out.extend(before);
        rest = keyword;
        match keyword.first() {
            Some(b'$') => rest = &keyword[1..],
            Some(b':') => {
                let Some(end) = keyword.iter().position(|&byte| byte == b'$') else {
                    break;
                };
                let inside = &keyword[1..end];
                let foreign = |inside: &[u8]| {
                    let space = inside.iter().skip(1).position(|&byte| byte == b' ');
                    space.is_some_and(|at| at + 1 < inside.len() - 1)
                };
                if inside.contains(&b'\n') || foreign(inside) {
                    continue;
                }
                rest = &keyword[end + 1..];
            }
            _ => continue,
        }
        out.extend(format!(": {id} $").as_bytes());
    }
    out.extend(rest);
}

fn line_endings(crlf: Option<Crlf>, content: &[u8], out: &mut Buffer) {
    let wanted = match crlf {
        None => false,
        Some(Crlf::Always) => true,
        Some(Crlf::Auto) => !content.contains(&b'\r') && !looks_binary(content),
    };
    if !wanted {
        return out.extend(content);
    }
    let mut start = 0;
    for (at, &byte) in content.iter().enumerate() {
        if byte == b'\n' && (at == 0 || content[at - 1] != b'\r') {
            out.extend(&content[start..at]);
            out.extend(b"\r");
            start = at;
        }
    }
    out.extend(&content[start..]);
}

/// git's guess: a NUL, or more than one unprintable byte in 128.
fn looks_binary(content: &[u8]) -> bool {
    let content = content.strip_suffix(b"\x1a").unwrap_or(content);
    let (mut printable, mut unprintable) = (0_usize, 0_usize);
    for &byte in content {
        match byte {
            0 => return true,
            b'\r' | b'\n' => {}
            8 | b'\t' | 0x1b | 0x0c => printable += 1,
            0..32 | 127 => unprintable += 1,
            _ => printable += 1,
        }
    }
    unprintable > printable >> 7
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    gix::bstr::ByteSlice::find(haystack, needle)
}

#[cfg(test)]
mod tests {
    use super::{Crlf, Treatment, convert};
    use crate::buffer::Buffer;

    fn converted(ident: bool, crlf: Option<Crlf>, content: &str) -> String {
        let mut out = Buffer::default();
        let treatment = Treatment {
            ident,
            crlf,
            ..Treatment::default()
        };
        convert(&treatment, "abc", content.as_bytes(), &mut out);
        String::from_utf8(out.to_vec()).expect("text stays text")
    }

    #[test]
    fn ident_is_expanded_and_renewed() {
        for (content, expected) in [
            ("a $Id$ b", "a $Id: abc $ b"),
            ("$Id: old $", "$Id: abc $"),
            ("$Id:old$", "$Id: abc $"),
            ("$Id: v 1.2 foo $", "$Id: v 1.2 foo $"),
            ("$Id: cut\n$Id$", "$Id: cut\n$Id: abc $"),
            ("$Id: open", "$Id: open"),
            ("$Idx $Id$", "$Idx $Id: abc $"),
        ] {
            assert_eq!(converted(true, None, content), expected, "{content:?}");
        }
    }

    #[test]
    fn line_endings_are_added_where_they_lack() {
        assert_eq!(
            converted(false, Some(Crlf::Always), "\na\r\nb\n"),
            "\r\na\r\nb\r\n"
        );
        assert_eq!(converted(false, Some(Crlf::Auto), "a\nb"), "a\r\nb");
        assert_eq!(converted(false, Some(Crlf::Auto), "a\r\nb\n"), "a\r\nb\n");
        assert_eq!(converted(false, Some(Crlf::Auto), "a\n\0"), "a\n\0");
    }
}
