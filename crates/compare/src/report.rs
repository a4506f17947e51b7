//! The lines of a comparison, for people and for programs, and the counts of its differences. Must not decide about an entry.

use std::{ffi::OsString, io::Write, os::unix::ffi::OsStrExt};

use bstr::ByteSlice;

use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, counted, format_bytes, printable_path},
};
use sluice_core::{
    filter::exclude::{Exclude, rules},
    output::report::{ArchiveDifference, ArchiveResult, json_line},
};

/// The classes of lines, in the order of their counts. The first is no difference.
pub(super) const CLASSES: [&str; 9] = [
    "same",
    "as stored",
    "added",
    "changed",
    "missing",
    "mode",
    "type",
    "twice",
    "doubt",
];
/// The classes that are no difference.
const EQUAL: [&str; 2] = ["same", "as stored"];
/// The classes whose counts are shown even if they are 0.
const MAIN: [&str; 3] = ["added", "changed", "missing"];

/// The longest path that is compared with patterns, in bytes.
const PATH_MAX: usize = 64 << 10;

/// Patterns of paths whose differences are accepted.
pub(super) struct Accepted(Exclude);

impl Accepted {
    /// The `patterns` of an option, in the grammar of gitignore.
    pub(super) fn new(patterns: &[OsString]) -> Self {
        let text = patterns.iter().map(|pattern| pattern.as_bytes());
        let text: Vec<u8> = text.collect::<Vec<_>>().join(&b'\n');
        Self(Exclude::new(rules("the command line", &text)))
    }

    /// Whether a pattern matches `path` or a directory above it.
    fn accepts(&self, path: &[u8]) -> bool {
        let excludes = |path: &[u8], is_directory| {
            let decision = self.0.decide(path, is_directory);
            decision.is_some_and(|decision| decision.excludes)
        };
        let mut above = path.find_iter("/").map(|end| &path[..end]);
        // No file system takes a longer path, and each directory of it would be looked at.
        let is_short = path.len() <= PATH_MAX;
        is_short
            && !self.0.is_empty()
            && (above.any(|it| excludes(it, true)) || excludes(path, false))
    }
}

/// A line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) class: &'static str,
    /// The path in the tree, or in the archive if it is not below the prefix.
    pub(super) path: &'a [u8],
    pub(super) reason: Option<&'a str>,
    /// The size in the archive in bytes.
    pub(super) size: Option<u64>,
    /// Whether `git archive` would do the same, so that it is no difference.
    pub(super) is_expected: bool,
}

impl<'a> Line<'a> {
    /// A line without a reason and a size.
    pub(super) fn new(class: &'static str, path: &'a [u8]) -> Self {
        Self {
            class,
            path,
            reason: None,
            size: None,
            is_expected: false,
        }
    }
}

/// Writes lines, and counts them.
pub(super) struct Report<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) json: bool,
    pub(super) verbose: bool,
    pub(super) added: Accepted,
    pub(super) missing: Accepted,
    /// The number of lines of each class that are no accepted difference.
    pub(super) counts: [u64; CLASSES.len()],
    /// The number of differences that the user accepts.
    pub(super) accepted: u64,
}

impl Report<'_> {
    /// Writes `line`, unless it is no difference and those are not wanted.
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<()> {
        let is_accepted = match line.class {
            "added" => self.added.accepts(line.path),
            "missing" => self.missing.accepts(line.path),
            _ => false,
        };
        let is_counted = !line.is_expected && !is_accepted;
        self.accepted += u64::from(is_accepted && !line.is_expected);
        let slot = CLASSES.iter().position(|class| *class == line.class);
        self.counts[slot.unwrap_or_default()] += u64::from(is_counted);
        let is_difference = is_counted && !EQUAL.contains(&line.class);
        if !is_difference && !self.verbose {
            return Ok(());
        }
        if self.json {
            let mut text = Buffer::default();
            ArchiveDifference {
                class: line.class,
                path: line.path,
                reason: line.reason,
                size: line.size,
                is_difference,
            }
            .write(&mut text);
            return self.write(&text);
        }
        let size = line.size.map(|size| counted(size, "byte"));
        let words: Vec<&str> = size.as_deref().into_iter().chain(line.reason).collect();
        let words = if words.is_empty() {
            String::new()
        } else {
            format!(" ({})", words.join(", "))
        };
        let class = format!("{:<9}", line.class);
        let values = [
            class.as_bytes(),
            &printable_path(line.path),
            words.as_bytes(),
        ];
        self.write(&format_bytes("{} {}{}\n", &values))
    }

    /// Whether no line is a difference.
    pub(super) fn is_same(&self) -> bool {
        let mut counts = CLASSES.iter().zip(self.counts);
        counts.all(|(class, count)| count == 0 || EQUAL.contains(class))
    }

    /// The number of lines of `class`.
    pub(super) fn count(&self, class: &str) -> u64 {
        let mut counts = CLASSES.iter().zip(self.counts);
        counts
            .find(|(it, _)| **it == class)
            .map_or(0, |(_, count)| count)
    }

    /// Writes the last line.
    pub(super) fn end(&mut self, mut result: ArchiveResult) -> Result<()> {
        if self.json {
            result.counts = CLASSES
                .iter()
                .zip(self.counts)
                .map(|(class, count)| (class.replace(' ', "_"), count))
                .collect();
            return json_line(&result, self.out);
        }
        let text = match (&result.command, &result.bytes) {
            _ if result.result == "damaged" && self.is_same() => return Ok(()),
            _ if !self.is_same() => {
                let counts = CLASSES.iter().zip(self.counts).skip(EQUAL.len());
                let shown = counts.filter(|(class, count)| *count > 0 || MAIN.contains(class));
                let shown: Vec<_> = shown
                    .map(|(class, count)| format!("{count} {class}"))
                    .collect();
                format!(
                    "differs: {} of {}",
                    shown.join(", "),
                    counted(result.files, "file")
                )
            }
            (Some(command), bytes) => {
                let note = bytes.as_ref().map(|note| format!("     ({note})"));
                format!("identical: {command}{}", note.unwrap_or_default())
            }
            (None, Some(words)) => format!("same files, other bytes: {words}"),
            (None, None) => "same files".to_owned(),
        };
        self.write(&[&printable_path(text.as_bytes())[..], b"\n"].concat())
    }

    /// Writes text without characters that control a terminal.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<()> {
        let mut printable = text.to_vec();
        for at in 0..text.len() {
            // In UTF-8, the other control characters have two bytes.
            let is_second = at > 0 && text[at - 1] == 0xc2 && matches!(text[at], 0x80..=0x9f);
            if is_second || (text[at].is_ascii_control() && !matches!(text[at], b'\n' | b'\t')) {
                printable[at] = b'?';
            }
            if is_second {
                printable[at - 1] = b'?';
            }
        }
        let written = self.out.write_all(&printable);
        written.map_err(|error| Error::write(&error))
    }
}
