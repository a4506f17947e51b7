//! The lines of `explain --json` and `verify --json`. Each line says all by itself, and has a version.

use super::{Status, json};
use crate::base::buffer::Buffer;

/// Count changes that a reader must know of; see `schema/explain.schema.json` and `schema/verify.schema.json`.
const EXPLAIN: u64 = 1;
const VERIFY: u64 = 1;

/// What an archive does with a path, and why.
pub struct PathAnswer<'a> {
    /// The path in the archived tree.
    pub path: &'a [u8],
    /// What the target does with it, unless the target lacks it: `sent`, `directory` or `omitted`.
    pub outcome: Option<&'a str>,
    /// The change since the base, if the archive has it.
    pub status: Option<Status>,
    /// The line of the answer for people.
    pub words: &'a [u8],
}

impl PathAnswer<'_> {
    /// Appends the line.
    pub fn write(&self, out: &mut Buffer) {
        begin("explain", EXPLAIN, self.path, out);
        if let Some(outcome) = self.outcome {
            text("outcome", outcome.as_bytes(), out);
        }
        if let Some(status) = self.status {
            text("status", status.as_str().as_bytes(), out);
        }
        let words = String::from_utf8_lossy(self.words);
        text("words", words.as_bytes(), out);
        out.extend(b"}\n");
    }
}

/// Appends the line of a `path` that differs from what archives wrote.
pub fn difference(path: &[u8], difference: &str, out: &mut Buffer) {
    begin("verify", VERIFY, path, out);
    text("difference", difference.as_bytes(), out);
    out.extend(b"}\n");
}

fn begin(name: &str, version: u64, path: &[u8], out: &mut Buffer) {
    out.extend(b"{\"");
    out.extend(name.as_bytes());
    out.extend(b"\":");
    json::number::<10>(version, 1, out);
    text("path", path, out);
}

fn text(name: &str, value: &[u8], out: &mut Buffer) {
    out.extend(b",");
    json::field(name, value, out);
}
