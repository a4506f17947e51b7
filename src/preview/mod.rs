//! What a run would send, told to a person: all of it, or why one path is sent or not.
//!
//! Reads trees, attribute files and headers, and no blob; writes no archive. Paths that nobody may know
//! are not there.

mod explain;
mod rules;

pub use explain::explain;

use std::io::{BufWriter, Write};

use crate::{
    emit::MemberKind,
    error::{Error, Result, listed},
    filter::Disposition,
    pipeline::Source,
    plan::{Entry, Planner, Route, delta::DeltaWalk, view::Sizes, walk::Walk},
    request::{Delta, Request, Scope},
};

/// Sums over what was listed.
#[derive(Default)]
struct Totals {
    sent: u64,
    bytes: u64,
    placeholders: u64,
    omitted: u64,
}

/// List to `out` what `request` would send, an entry a line: what becomes of it, the size of its content
/// in the repository, its path, and why it is not sent as it is. At the end a line of totals.
pub fn list(request: Request, out: &mut dyn Write) -> Result<()> {
    let tree = request.treeish.tree;
    let route: Route = match request.scope {
        Scope::Whole(view) => {
            Walk::new(tree, view.with(Sizes::All), request.rules, request.extras).into()
        }
        Scope::Delta(delta) => {
            gone(&delta, out)?;
            let changes = delta.changes.with(Sizes::All);
            DeltaWalk::new(changes, None, request.extras).into()
        }
    };
    let mut planner = Planner::new(route, request.reader);
    let mut out = BufWriter::new(out);
    let mut totals = Totals::default();
    let failed = |error: std::io::Error| Error::write(&error);
    loop {
        let made = planner.next()?;
        for entry in &made.batch.entries {
            line(entry, made.batch.path(entry), &mut out).map_err(failed)?;
            totals.add(entry);
        }
        if made.last {
            break;
        }
    }
    let Totals {
        sent,
        bytes,
        placeholders,
        omitted,
    } = totals;
    let sums =
        format!("{sent} sent with {bytes} bytes, {placeholders} placeholders, {omitted} omitted");
    writeln!(out, "total: {sums}").map_err(failed)?;
    out.flush().map_err(failed)
}

/// What the base has and the target has not.
fn gone(delta: &Delta, out: &mut dyn Write) -> Result<()> {
    delta.deletions.each(&mut |deletion| {
        let mut line = format!("{:<11} {:>12} ", "gone", "-").into_bytes();
        line.extend_from_slice(&listed(&deletion.name));
        line.push(b'\n');
        out.write_all(&line).map_err(|error| Error::write(&error))
    })
}

fn line(entry: &Entry, path: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
    let what = entry.disposition.as_str();
    let size = match entry.size {
        Some(size) => size.to_string(),
        None => "-".to_owned(),
    };
    write!(out, "{what:<11} {size:>12} ")?;
    out.write_all(&listed(path))?;
    match entry.disposition.reason() {
        Some(reason) => writeln!(out, " ({})", reason.as_str()),
        None => writeln!(out),
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
