//! The lines of a comparison, for people and for programs, and the counts of its differences. Must not decide about an entry.

use std::io::Write;

use bstr::ByteSlice;

use super::{
    class::{Class, Counts},
    collector::{Contents, Doubt},
    expect::{Expectations, Met},
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

    /// A line with a `reason`.
    pub(super) fn because(class: Class, path: &'a [u8], reason: &'a str) -> Self {
        Self {
            reason: Some(reason),
            ..Self::new(class, path)
        }
    }
}

/// Writes lines, and counts them.
pub(super) struct Report<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) json: bool,
    pub(super) verbose: bool,
    pub(super) expected: &'a Expectations,
    pub(super) met: Met,
    /// The number of lines of each class that are no accepted difference.
    pub(super) counts: Counts,
    /// The number of differences that the user accepts.
    pub(super) accepted: u64,
    /// Whether there are files that the user did not select.
    pub(super) has_others: bool,
    /// The number of files that are as stored and that `git archive` leaves out.
    pub(super) left_out: u64,
}

impl Report<'_> {
    /// Writes a line for each of the `doubts`.
    pub(super) fn doubts(&mut self, doubts: &[Doubt], prefix: &[u8]) -> Result<()> {
        for doubt in doubts {
            let path = doubt.path.strip_prefix(prefix).unwrap_or(&doubt.path);
            self.line(Line::because(Class::Doubt, path, doubt.reason))?;
        }
        Ok(())
    }

    /// Counts the files in `result`, after all lines. Ends the report and fails if there is a difference or damage.
    pub(super) fn count_files(
        &mut self,
        contents: &mut Contents,
        result: &mut ArchiveResult,
        messages: &mut dyn Write,
    ) -> Result<()> {
        let table = &contents.table;
        let kinds = table.sorted().map(|it| table.get(it).kind);
        result.files = kinds.filter(|it| *it != Kind::Directory).count() as u64;
        if let Some(damage) = contents.damage.take() {
            result.result = "damaged";
            let cause = std::error::Error::source(&damage);
            result.damage = cause.map(ToString::to_string);
            self.end(result)?;
            return Err(damage);
        }
        self.expected.warn(&self.met, messages);
        if !self.is_same() {
            result.result = "differs";
            self.end(result)?;
            return Err(Error::archive_differs());
        }
        Ok(())
    }

    /// Writes `line`, unless it is no difference and those are not wanted.
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<()> {
        let is_accepted = self.expected.expects(line.class, line.path, &mut self.met);
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
        let class = format!("{:<9}", line.class.as_str());
        let path = printable_path(line.path);
        let line = match words.join(", ") {
            words if words.is_empty() => format_bytes("{} {}\n", &[class.as_bytes(), &path]),
            // About the archive itself.
            words if path.is_empty() => format!("{class} ({words})\n").into(),
            words => format_bytes("{} {} ({})\n", &[class.as_bytes(), &path, words.as_bytes()]),
        };
        self.write(&line)
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
    pub(super) fn end(&mut self, result: &mut ArchiveResult) -> Result<()> {
        if self.json {
            let counts = self.counts.all();
            let counts = counts.map(|(class, count)| (class.as_str().to_owned(), count));
            result.counts = counts.collect();
            return json_line(result, self.out);
        }
        let text = match (&result.command, &result.bytes) {
            _ if !self.is_same() => {
                let counts = self.counts.all().filter(|(class, _)| class.is_difference());
                let shown = counts.filter(|(class, count)| *count > 0 || class.is_always_shown());
                let shown = shown.map(|(class, count)| format!("{count} {}", class.as_str()));
                let shown = shown.collect::<Vec<_>>().join(", ");
                format!(
                    "differs: {shown} ({} in the archive)",
                    counted(result.files, "file")
                )
            }
            _ if result.result == "damaged" => return Ok(()),
            (Some(command), None) => format!("identical: {command}"),
            (Some(command), Some(note)) => format!("identical: {command}     ({note})"),
            (None, Some(words)) => format!("same files, other bytes: {words}"),
            (None, None) => "same files".to_owned(),
        };
        self.write(&[&printable_path(text.as_bytes())[..], b"\n"].concat())
    }

    /// Writes text without characters that control a terminal.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<()> {
        let mut printable = Vec::with_capacity(text.len());
        for (start, end, character) in text.char_indices() {
            if character.is_control() && !matches!(character, '\n' | '\t') {
                printable.extend(std::iter::repeat_n(b'?', end - start));
            } else {
                printable.extend_from_slice(&text[start..end]);
            }
        }
        let written = self.out.write_all(&printable);
        written.map_err(|error| Error::write(&error))
    }
}
