//! The lines of `explain --json`, `verify --json` and `compare --json`. Each line says all by itself, and has a version.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::ObjectLine;
use sluice_base::buffer::Buffer;

/// Count changes that a reader must know of; see `schema/explain.schema.json`, `schema/verify.schema.json` and
/// `schema/compare.schema.json`.
const EXPLAIN: u64 = 1;
const VERIFY: u64 = 1;
const COMPARE: u64 = 1;

/// The line of an entry that was compared with a tree.
pub struct ArchiveDifference<'a> {
    /// The class of the entry.
    pub class: &'a str,
    /// The path in the tree, or in the archive.
    pub path: &'a [u8],
    /// More about the class.
    pub reason: Option<&'a str>,
    /// The size in the archive in bytes.
    pub size: Option<u64>,
    /// Whether the entry counts as a difference.
    pub is_difference: bool,
}

impl ArchiveDifference<'_> {
    /// Appends the line.
    pub fn write(&self, out: &mut Buffer) {
        let mut line = begin("compare", COMPARE, self.path, out);
        line.word("class", self.class);
        if let Some(reason) = self.reason {
            line.text("reason", reason.as_bytes());
        }
        if let Some(size) = self.size {
            line.number("size", size);
        }
        line.flag("difference", self.is_difference);
        line.end();
    }
}

/// The last line of `compare`.
#[derive(Default, Serialize)]
pub struct ArchiveResult {
    compare: u64,
    /// `identical`, `same`, `differs` or `damaged`.
    pub result: &'static str,
    /// The commit in hexadecimal, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree in hexadecimal, unless another archive takes its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What names the commit, if neither the user nor a search does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// The names of the commit, if the commit was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// The directory that all paths begin with.
    pub prefix: String,
    /// The number of files, links and other entries of the archive, without directories.
    pub files: u64,
    /// The number of entries of each class.
    pub counts: BTreeMap<String, u64>,
    /// The command that makes these bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Which program makes these bytes, or how they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Why the rest of the archive was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

impl ArchiveResult {
    /// The result of a comparison without differences.
    pub fn new() -> Self {
        Self {
            compare: COMPARE,
            result: "same",
            ..Self::default()
        }
    }
}

/// What an archive does with a path, and why.
pub struct PathAnswer<'a> {
    /// The path in the archived tree.
    pub path: &'a [u8],
    /// What the archive does with it: `sent`, `directory` or `omitted`.
    pub outcome: &'a str,
    /// The line of the answer for people.
    pub words: &'a [u8],
}

impl PathAnswer<'_> {
    /// Appends the line.
    pub fn write(&self, out: &mut Buffer) {
        let mut line = begin("explain", EXPLAIN, self.path, out);
        line.word("outcome", self.outcome);
        let words = String::from_utf8_lossy(self.words);
        line.text("words", words.as_bytes());
        line.end();
    }
}

/// Appends the line of a `path` that differs from what archives wrote.
pub fn difference(path: &[u8], difference: &str, out: &mut Buffer) {
    let mut line = begin("verify", VERIFY, path, out);
    line.word("difference", difference);
    line.end();
}

fn begin<'a>(name: &str, version: u64, path: &[u8], out: &'a mut Buffer) -> ObjectLine<'a> {
    let mut line = ObjectLine::new(out);
    line.number(name, version);
    line.text("path", path);
    line
}
