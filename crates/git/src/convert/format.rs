//! Takes formats (git-log(1), "PRETTY FORMATS") apart, into text and the placeholders that are common in archives.
//!
//! Nothing is expanded here. Only git knows all placeholders, and some of them read or change the text around them.

use bstr::ByteSlice;

/// The most bytes of a placeholder with options, so that git can be asked for all common ones on one command line.
const MAX_OPTIONS: usize = 4 << 10;

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatPiece<'a> {
    /// Literal text.
    Text(&'a [u8]),
    /// A byte that a placeholder names.
    Byte(u8),
    /// A common placeholder without its `%`. Its expansion depends on the commit alone, and not on the text around it.
    Placeholder(&'a [u8]),
    /// Any other placeholder, or a `%` that is none, and the rest of the format.
    Other(&'a [u8]),
}

/// The pieces of `format`.
pub(super) fn pieces(format: &[u8]) -> impl Iterator<Item = FormatPiece<'_>> {
    // To git, the format is a string that ends in NUL.
    let mut rest = format.split(|&byte| byte == 0).next().unwrap_or_default();
    std::iter::from_fn(move || {
        let (piece, len) = match rest {
            [] => return None,
            [b'%', placeholder @ ..] => {
                let (piece, len) = piece(placeholder);
                (piece, 1 + len)
            }
            text => {
                let text = &text[..text.find_byte(b'%').unwrap_or(text.len())];
                (FormatPiece::Text(text), text.len())
            }
        };
        rest = &rest[len..];
        Some(piece)
    })
}

/// The piece at the start of `rest`, which follows a `%`, and its length.
fn piece(rest: &[u8]) -> (FormatPiece<'_>, usize) {
    match rest {
        [b'%', ..] => (FormatPiece::Byte(b'%'), 1),
        [b'n', ..] => (FormatPiece::Byte(b'\n'), 1),
        [b'x', digits @ ..] => match byte(digits) {
            Some(byte) => (FormatPiece::Byte(byte), 3),
            None => (FormatPiece::Other(rest), 0),
        },
        _ => match common(rest) {
            Some(len) => (FormatPiece::Placeholder(&rest[..len]), len),
            None => (FormatPiece::Other(rest), 0),
        },
    }
}

/// The byte whose two hexadecimal digits `text` begins with.
fn byte(text: &[u8]) -> Option<u8> {
    let digits = text.get(..2)?;
    let valid = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = digits.to_str().ok().filter(|_| valid)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The length of the common placeholder at the start of `rest`.
fn common(rest: &[u8]) -> Option<usize> {
    match rest {
        [
            b'H' | b'h' | b'T' | b't' | b'P' | b'p' | b'd' | b'D' | b's' | b'f' | b'b' | b'B',
            ..,
        ] => Some(1),
        [b'a' | b'c', kind, ..] => b"nNeElLdDrtiIsh".contains(kind).then_some(2),
        _ if is_description(rest) => {
            let end = rest.find_byteset(b")%").filter(|&end| rest[end] == b')')?;
            Some(end + 1).filter(|&len| len <= MAX_OPTIONS)
        }
        _ => None,
    }
}

/// Whether `placeholder` describes the commit. git describes it once for each archive.
pub(super) fn is_description(placeholder: &[u8]) -> bool {
    placeholder.starts_with(b"(describe")
}

/// Whether git expands the common `placeholder` by more than the commit: refs, a mailmap, the time of day, the depth of a
/// shallow clone, or the number of objects, which decides how long a short id is.
pub(super) fn varies(placeholder: &[u8]) -> bool {
    match placeholder {
        [b'h' | b't' | b'p' | b'P' | b'd' | b'D', ..] => true,
        [b'a' | b'c', b'N' | b'E' | b'L' | b'r' | b'h', ..] => true,
        _ => is_description(placeholder),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FormatPiece::{self, Byte, Other, Placeholder, Text},
        pieces,
    };

    fn parsed(format: &str) -> Vec<FormatPiece<'_>> {
        pieces(format.as_bytes()).collect()
    }

    #[test]
    fn common_placeholders_are_known_to_their_end() {
        let expected = [
            Text(b"a"),
            Byte(b'%'),
            Text(b"b "),
            Placeholder(b"H"),
            Byte(b'\n'),
            Byte(b'A'),
            Placeholder(b"an"),
            Placeholder(b"(describe:tags,match=v*)"),
            Text(b"."),
        ];
        assert_eq!(
            parsed("a%%b %H%n%x41%an%(describe:tags,match=v*).\0%H"),
            expected
        );
        assert_eq!(parsed(""), []);
    }

    #[test]
    fn other_placeholders_are_for_git() {
        let table = "% | %q | %aq | %a | %+H | %w(3)%s | %<(3)%s | %C(auto)%h | %Cred | %xzz | %x+f | \
                     %x4 | %(trailers) | %(describe | %(describe:%h) | %G? | %N";
        for format in table.split(" | ") {
            let is_other = |piece: &FormatPiece<'_>| matches!(piece, Other(_));
            assert!(parsed(format).iter().any(is_other), "{format}");
        }
        let long = format!("%(describe:match={})", "x".repeat(10_000));
        assert_eq!(parsed(&long)[0], Other(&long.as_bytes()[1..]));
    }
}
