//! The lines of a comparison, for people and for programs, and the counts of its differences. Must not decide about an entry.

use std::io::Write;

use super::{
    class::{Class, Counts},
    collector::{Contents, Doubt},
    expect::Expectations,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, counted, format_bytes, printable_path},
};
use sluice_core::output::report::{ArchiveDifference, ArchiveResult, json_line};
use sluice_format::unarchive::Kind;

/// A line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) class: Class,
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
    pub(super) fn new(class: Class, path: &'a [u8]) -> Self {
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
    pub(super) expected: Expectations,
    /// The number of lines of each class that are no accepted difference.
    pub(super) counts: Counts,
    /// The number of differences that the user accepts.
    pub(super) accepted: u64,
    /// The number of files that are as stored and that `git archive` leaves out.
    pub(super) left_out: u64,
}

impl Report<'_> {
    /// Writes a line for each of the `doubts`.
    pub(super) fn doubts(&mut self, doubts: &[Doubt], prefix: &[u8]) -> Result<()> {
        for doubt in doubts {
            let path = doubt.path.strip_prefix(prefix).unwrap_or(&doubt.path);
            self.line(Line {
                reason: Some(doubt.reason),
                ..Line::new(Class::Doubt, path)
            })?;
        }
        Ok(())
    }

    /// The `result` with the number of files, after all lines. Ends the report and fails if there is a difference or damage.
    pub(super) fn count_files(
        &mut self,
        contents: &mut Contents,
        mut result: ArchiveResult,
        messages: &mut dyn Write,
    ) -> Result<ArchiveResult> {
        let table = &contents.table;
        let files = table
            .sorted()
            .filter(|it| table.get(*it).kind != Kind::Directory);
        result.files = files.count() as u64;
        if let Some(damage) = contents.damage.take() {
            result.result = "damaged";
            let cause = std::error::Error::source(&damage);
            result.damage = cause.map(ToString::to_string);
            self.end(result)?;
            return Err(damage);
        }
        self.expected.warn(messages);
        if !self.is_same() {
            result.result = "differs";
            self.end(result)?;
            return Err(Error::archive_differs());
        }
        Ok(result)
    }

    /// Writes `line`, unless it is no difference and those are not wanted.
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<()> {
        let is_accepted = self.expected.expects(line.class, line.path);
        let is_counted = !line.is_expected && !is_accepted;
        self.accepted += u64::from(is_accepted && !line.is_expected);
        if is_counted {
            self.counts.add(line.class);
        }
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
        self.counts.differences() == 0
    }

    /// The number of lines of `class`.
    pub(super) fn count(&self, class: Class) -> u64 {
        self.counts.of(class)
    }

    /// Writes the last line.
    pub(super) fn end(&mut self, mut result: ArchiveResult) -> Result<()> {
        if self.json {
            let counts = self.counts.all();
            let counts = counts.map(|(class, count)| (class.as_str().to_owned(), count));
            result.counts = counts.collect();
            return json_line(&result, self.out);
        }
        let text = match (&result.command, &result.bytes) {
            _ if result.result == "damaged" && self.is_same() => return Ok(()),
            _ if !self.is_same() => {
                let counts = self.counts.all().filter(|(class, _)| class.is_difference());
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
