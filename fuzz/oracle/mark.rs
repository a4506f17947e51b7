//! Marks of an encoding at the beginning of a file.

/// git skips the mark of UTF-8 alone, gix those of other encodings too.
pub fn has_foreign_mark(text: &[u8]) -> bool {
    let has_mark = matches!(
        text,
        [0x80..=0xff, ..] | [0x0e, 0xfe, ..] | [b'+', b'/', ..]
    );
    has_mark && !text.starts_with(b"\xef\xbb\xbf")
}
