//! Converts LF to CRLF (gitattributes(5), "text" and "eol"), by the content alone.

/// When line endings become CRLF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crlf {
    /// Always, even if the content looks binary.
    Always,
    /// If the content looks like text and has no CR yet.
    Auto,
}

/// Convert the line endings of `content`. `None` if nothing is to be converted.
pub(super) fn line_endings(crlf: Option<Crlf>, content: &[u8]) -> Option<Vec<u8>> {
    let wanted = match crlf {
        None => false,
        Some(Crlf::Always) => true,
        Some(Crlf::Auto) => !content.contains(&b'\r') && !looks_binary(content),
    };
    if !wanted {
        return None;
    }
    let mut converted = Vec::with_capacity(content.len() + content.len() / 16);
    let mut start = 0;
    for (at, &byte) in content.iter().enumerate() {
        if byte == b'\n' && (at == 0 || content[at - 1] != b'\r') {
            converted.extend(&content[start..at]);
            converted.push(b'\r');
            start = at;
        }
    }
    converted.extend(&content[start..]);
    Some(converted)
}

/// git's heuristic: a NUL, or more than one unprintable byte in 128.
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
