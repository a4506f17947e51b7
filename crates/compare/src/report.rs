//! The lines of a comparison, for people and for programs, and the counts of its differences. Must not decide about an entry.

use std::{cmp::Reverse, ffi::OsString, io::Write, os::unix::ffi::OsStrExt};

use bstr::ByteSlice;

use super::commit::Rank;
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, counted, format_bytes, printable_path},
};
use sluice_core::{
    filter::exclude::{Exclude, rules},
    output::report::{ArchiveDifference, ArchiveResult, json_line},
};

/// The class of a line. Counts are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineClass {
    /// As `git archive` writes it.
    Same,
    /// Equal to the blob, though an attribute would change it.
    AsStored,
    /// The tree lacks the path.
    Added,
    /// The content differs.
    Changed,
    /// The archive lacks the path.
    Missing,
    /// The permission differs.
    Mode,
    /// The type differs.
    Type,
    /// The path occurs more than once.
    Twice,
    /// Readers may disagree about the entry.
    Doubt,
}

impl LineClass {
    /// All classes, in order.
    const ALL: [Self; 9] = [
        Self::Same,
        Self::AsStored,
        Self::Added,
        Self::Changed,
        Self::Missing,
        Self::Mode,
        Self::Type,
        Self::Twice,
        Self::Doubt,
    ];

    /// The word in lines and counts.
    fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::AsStored => "as stored",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Mode => "mode",
            Self::Type => "type",
            Self::Twice => "twice",
            Self::Doubt => "doubt",
        }
    }

    /// Whether a line of the class is a difference.
    fn is_difference(self) -> bool {
        !matches!(self, Self::Same | Self::AsStored)
    }

    /// Whether the count is shown even if it is 0.
    fn is_always_shown(self) -> bool {
        matches!(self, Self::Added | Self::Changed | Self::Missing)
    }
}

/// The number of lines of each class.
pub(super) struct Counts(pub(super) [u64; LineClass::ALL.len()]);

impl Counts {
    fn of(&self, class: LineClass) -> u64 {
        self.0[class as usize]
    }

    /// The number of differences.
    pub(super) fn differences(&self) -> u64 {
        let differences = LineClass::ALL.into_iter().filter(|it| it.is_difference());
        differences.map(|it| self.of(it)).sum()
    }

    /// How near a tag of this `time` is.
    pub(super) fn rank(&self, time: u64) -> Rank {
        let changed = [LineClass::Changed, LineClass::Mode, LineClass::Type];
        Rank {
            equal: self.of(LineClass::Same) + self.of(LineClass::AsStored),
            changed: Reverse(changed.map(|it| self.of(it)).iter().sum()),
            missing: Reverse(self.of(LineClass::Missing)),
            time,
        }
    }
}

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
    pub(super) class: LineClass,
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
    pub(super) fn new(class: LineClass, path: &'a [u8]) -> Self {
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
    pub(super) counts: [u64; LineClass::ALL.len()],
    /// The number of differences that the user accepts.
    pub(super) accepted: u64,
}

impl Report<'_> {
    /// Writes `line`, unless it is no difference and those are not wanted.
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<()> {
        let is_accepted = match line.class {
            LineClass::Added => self.added.accepts(line.path),
            LineClass::Missing => self.missing.accepts(line.path),
            _ => false,
        };
        let is_counted = !line.is_expected && !is_accepted;
        self.accepted += u64::from(is_accepted && !line.is_expected);
        self.counts[line.class as usize] += u64::from(is_counted);
        let is_difference = is_counted && line.class.is_difference();
        if !is_difference && !self.verbose {
            return Ok(());
        }
        if self.json {
            let mut text = Buffer::default();
            ArchiveDifference {
                class: line.class.as_str(),
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
        let class = format!("{:<9}", line.class.as_str());
        let values = [
            class.as_bytes(),
            &printable_path(line.path),
            words.as_bytes(),
        ];
        self.write(&format_bytes("{} {}{}\n", &values))
    }

    /// Whether no line is a difference.
    pub(super) fn is_same(&self) -> bool {
        self.counted()
            .all(|(class, count)| count == 0 || !class.is_difference())
    }

    /// The number of lines of `class`.
    pub(super) fn count(&self, class: LineClass) -> u64 {
        self.counts[class as usize]
    }

    /// Each class with the number of its lines.
    fn counted(&self) -> impl Iterator<Item = (LineClass, u64)> {
        LineClass::ALL.into_iter().zip(self.counts)
    }

    /// Writes the last line.
    pub(super) fn end(&mut self, mut result: ArchiveResult) -> Result<()> {
        if self.json {
            result.counts = self
                .counted()
                .map(|(class, count)| (class.as_str().replace(' ', "_"), count))
                .collect();
            return json_line(&result, self.out);
        }
        let text = match (&result.command, &result.bytes) {
            _ if result.result == "damaged" && self.is_same() => return Ok(()),
            _ if !self.is_same() => {
                let counts = self.counted().filter(|(class, _)| class.is_difference());
                let shown = counts.filter(|(class, count)| *count > 0 || class.is_always_shown());
                let shown: Vec<_> = shown
                    .map(|(class, count)| format!("{count} {}", class.as_str()))
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
