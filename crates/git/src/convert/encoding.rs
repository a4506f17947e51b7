//! Converts UTF-8 to another encoding (gitattributes(5), "working-tree-encoding") and back. The names are those of
//! the C library and a few of git's own.

#[cfg(not(target_env = "musl"))]
use super::iconv::convert;
#[cfg(target_env = "musl")]
use super::iconv_program::convert;

/// Whether `name` is a spelling of UTF-8.
pub(crate) fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

/// Convert `content` from UTF-8 to the encoding `name`. `None` if the encoding is unknown or lacks a
/// character, or if the content is no UTF-8.
pub(super) fn encode(name: &str, content: &[u8]) -> Option<Vec<u8>> {
    let (name, mark): (_, &[u8]) = match utf(name) {
        Some(rest) if rest.eq_ignore_ascii_case("16LE-BOM") => ("UTF-16LE", b"\xff\xfe"),
        Some(rest) if rest.eq_ignore_ascii_case("16BE-BOM") => ("UTF-16BE", b"\xfe\xff"),
        _ => (name, b""),
    };
    let converted = |name: &str| {
        let mut encoded = Vec::with_capacity(mark.len() + content.len() * 2);
        encoded.extend(mark);
        convert(name, "UTF-8", content, &mut encoded).then_some(encoded)
    };
    let other = fallback(name);
    converted(name).or_else(|| converted(other?))
}

/// The part of an encoding's name after `UTF` and an optional hyphen.
fn utf(name: &str) -> Option<&str> {
    let (utf, rest) = name.split_at_checked(3)?;
    utf.eq_ignore_ascii_case("utf")
        .then(|| rest.strip_prefix('-').unwrap_or(rest))
}

/// The usual name of an encoding, where git knows another name that the C library does not.
fn fallback(name: &str) -> Option<&'static str> {
    if name.eq_ignore_ascii_case("latin-1") {
        Some("ISO-8859-1")
    } else {
        is_utf8(name).then_some("UTF-8")
    }
}
