//! Writes JSON text: many lines straight into a buffer, without allocating anything else, or one line from a value.

use std::io::Write;

use serde::Serialize;

use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};

/// Write `value` as one line.
pub fn json_line(value: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| Error::fatal("cannot write JSON").caused_by(error))?;
    line.push(b'\n');
    out.write_all(&line).map_err(|error| Error::write(&error))
}

/// A line with one object, written field by field.
pub(super) struct ObjectLine<'a> {
    out: &'a mut Buffer,
    /// What stands before the next field.
    before: &'static [u8],
}

impl<'a> ObjectLine<'a> {
    /// The bytes after the last field.
    pub(super) const END: &'static [u8] = b"}\n";

    /// Begins a line at the end of `out`.
    pub(super) fn new(out: &'a mut Buffer) -> Self {
        Self { out, before: b"{" }
    }

    /// Goes on with a line, whose fields so far are the end of `out`.
    pub(super) fn continued(out: &'a mut Buffer) -> Self {
        Self { out, before: b"," }
    }

    /// Adds `value`. One that is not UTF-8 goes to a field of its own, in Base64.
    pub(super) fn text(&mut self, name: &str, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(value) => {
                self.name(name, b"\":");
                string(value, self.out);
            }
            Err(_) => {
                self.name(name, b"_base64\":\"");
                base64(value, self.out);
                self.out.extend(b"\"");
            }
        }
    }

    /// Adds a word of ours, in which nothing has to be escaped.
    pub(super) fn word(&mut self, name: &str, value: &str) {
        self.name(name, b"\":\"");
        self.out.extend(value.as_bytes());
        self.out.extend(b"\"");
    }

    /// Adds words of ours, unless there are none.
    pub(super) fn words(&mut self, name: &str, values: impl Iterator<Item = &'static str>) {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return;
        }
        self.name(name, b"\":[");
        let mut before = &b"\""[..];
        for value in values {
            self.out.extend(before);
            self.out.extend(value.as_bytes());
            before = b"\",\"";
        }
        self.out.extend(b"\"]");
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name, b"\":");
        number::<10>(value, 1, self.out);
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.name(name, b"\":");
        self.out.extend(if value { b"true" } else { b"false" });
    }

    /// Adds the mode of a file as git writes it: six octal digits.
    pub(super) fn mode(&mut self, name: &str, mode: u32) {
        self.name(name, b"\":\"");
        number::<8>(mode.into(), 6, self.out);
        self.out.extend(b"\"");
    }

    /// Adds the id of an object, which is in binary, unless it is empty.
    pub(super) fn id(&mut self, name: &str, id: &[u8]) {
        if !id.is_empty() {
            self.name(name, b"\":\"");
            hex(id, self.out);
            self.out.extend(b"\"");
        }
    }

    pub(super) fn end(self) {
        self.out.extend(Self::END);
    }

    fn name(&mut self, name: &str, after: &[u8]) {
        self.out.extend(self.before);
        self.out.extend(b"\"");
        self.out.extend(name.as_bytes());
        self.out.extend(after);
        self.before = b",";
    }
}

/// Append `text` as a string. In addition to JSON's rules, every control character and the two separators
/// of Unicode are escaped, so that a line is one line to every reader, and harmless on a terminal.
fn string(text: &str, out: &mut Buffer) {
    out.extend(b"\"");
    let mut written = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_escaped(*c)) {
        out.extend(&text.as_bytes()[written..at]);
        written = at + c.len_utf8();
        match c {
            '"' => out.extend(b"\\\""),
            '\\' => out.extend(b"\\\\"),
            c => {
                out.extend(b"\\u");
                hex(&(c as u16).to_be_bytes(), out);
            }
        }
    }
    out.extend(&text.as_bytes()[written..]);
    out.extend(b"\"");
}

/// Whether `c` is escaped. Every such character has at most 16 bits.
fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}') || c.is_control()
}

/// Append `bytes` in hexadecimal.
fn hex(bytes: &[u8], out: &mut Buffer) {
    let digit = |value: u8| b"0123456789abcdef"[value as usize];
    let pairs = out.space(2 * bytes.len()).chunks_exact_mut(2);
    for (pair, byte) in pairs.zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
}

/// Append `bytes` in base64, with padding.
fn base64(bytes: &[u8], out: &mut Buffer) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks(3);
    let places = out.space(4 * groups.len()).chunks_exact_mut(4);
    for (place, group) in places.zip(groups) {
        let mut three = [0; 3];
        three[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        place.copy_from_slice(&[18, 12, 6, 0].map(|at| ALPHABET[(bits >> at & 63) as usize]));
        place[group.len() + 1..].fill(b'=');
    }
}

/// Append `value` to the base `RADIX`, with at least `width` digits.
fn number<const RADIX: u64>(mut value: u64, width: usize, out: &mut Buffer) {
    let mut digits = [b'0'; 64];
    let mut start = digits.len();
    while value > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (value % RADIX) as u8;
        value /= RADIX;
    }
    out.extend(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::number;
    use sluice_base::buffer::Buffer;

    fn written(write: impl FnOnce(&mut Buffer)) -> String {
        let mut out = Buffer::default();
        write(&mut out);
        String::from_utf8(out.to_vec()).expect("ASCII or copied from a string")
    }

    #[test]
    fn numbers_have_a_width() {
        assert_eq!(written(|out| number::<8>(0o40000, 6, out)), "040000");
        assert_eq!(written(|out| number::<10>(0, 1, out)), "0");
        assert_eq!(
            written(|out| number::<10>(u64::MAX, 1, out)),
            u64::MAX.to_string()
        );
    }
}
