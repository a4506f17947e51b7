//! The list for people: a line for each entry, and one of totals.

use std::io::Write;

use super::entries::{Listed, Readers, doubles, each_entry};
use sluice_base::{
    error::{Error, Result, counted, format_bytes, printable_path},
    io::print_line,
};
use sluice_core::{
    archive::archive_length,
    filter::Disposition,
    output::report::Unportable,
    plan::Entry,
    request::{Delta, Request},
};
use sluice_format::MemberKind;

/// The word for a file that is sent with its content unless the content turns out to be binary.
const UNDECIDED: &str = "content?";

/// Sums over the listed entries.
#[derive(Default)]
struct Totals {
    sent: u64,
    bytes: u64,
    placeholders: u64,
    omitted: u64,
}

/// Lists to `out` the entries that `request` would send, one a line: the disposition, the size of the
/// content in the repository, the path, and the reason if the entry is not sent unchanged. A line of totals
/// follows, with the length of a tar if the length is known. Warnings about names go to `diagnostics`.
pub(super) fn list(
    request: Request,
    out: &mut dyn Write,
    diagnostics: &mut dyn Write,
) -> Result<()> {
    let length = archive_length(&request);
    if let Some(delta) = &request.content.delta {
        deleted(delta, out)?;
    }
    let doubles = doubles(request.content.clone())?;
    let mut readers = Readers::of(&request.content);
    let mut totals = Totals::default();
    let failed = |error: std::io::Error| Error::write(&error);
    each_entry(request.content, |listed| {
        let Listed { window, entry, .. } = listed;
        let what = if listed.is_undecided {
            UNDECIDED
        } else {
            entry.disposition.as_str()
        };
        line(what, entry, window.path(entry), out).map_err(failed)?;
        totals.add(entry);
        if !entry.is_omitted() {
            let path = window.path(entry);
            warn(
                path,
                &doubles.problems(path, readers.target(window, entry)),
                diagnostics,
            );
        }
        Ok(())
    })?;
    let Totals {
        sent,
        bytes,
        placeholders,
        omitted,
    } = totals;
    let bytes = counted(bytes, "byte");
    let placeholders = counted(placeholders, "placeholder");
    let sums = format!("{sent} sent with {bytes}, {placeholders}, {omitted} omitted");
    let archive = length.map_or_else(String::new, |len| format!(", an archive of {len} bytes"));
    writeln!(out, "total: {sums}{archive}").map_err(failed)
}

/// Warns of a path that breaks on other systems.
fn warn(path: &[u8], problems: &[Unportable], diagnostics: &mut dyn Write) {
    if problems.is_empty() {
        return;
    }
    let words: Vec<_> = problems.iter().map(|problem| problem.words()).collect();
    let words = words.join(", and ");
    let warning = format_bytes("'{}' {}", &[&printable_path(path), words.as_bytes()]);
    print_line(diagnostics, "warning: ", &warning);
}

/// List the paths of the base that the target lacks.
fn deleted(delta: &Delta, out: &mut dyn Write) -> Result<()> {
    delta.deletions.each(&mut |deletion| {
        let mut line = format!("{:<11} {:>12} ", "deleted", "-").into_bytes();
        line.extend_from_slice(&printable_path(&deletion.name));
        line.push(b'\n');
        out.write_all(&line).map_err(|error| Error::write(&error))
    })
}

fn line(what: &str, entry: &Entry, path: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
    let size = match entry.size {
        Some(size) => size.to_string(),
        None => "-".to_owned(),
    };
    write!(out, "{what:<11} {size:>12} ")?;
    out.write_all(&printable_path(path))?;
    match (entry.disposition.reason(), entry.kept) {
        (Some(reason), _) => writeln!(out, " ({})", reason.as_str()),
        (None, Some(kept)) => writeln!(out, " (link: {})", kept.as_str()),
        (None, None) => writeln!(out),
    }
}

impl Totals {
    fn add(&mut self, entry: &Entry) {
        match entry.disposition {
            Disposition::Content if entry.kind == MemberKind::Directory => {}
            Disposition::Content => {
                self.sent += 1;
                self.bytes += entry.size.unwrap_or(0);
            }
            Disposition::Placeholder(..) => self.placeholders += 1,
            Disposition::Omitted(_) => self.omitted += 1,
        }
    }
}
