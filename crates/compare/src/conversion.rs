//! Decides about the files that attributes convert: `git archive` of these files is made in memory and read back.

use std::{
    ffi::OsString,
    io::{Read, Write},
    os::unix::ffi::OsStringExt,
    thread,
};

use super::{
    class::Class,
    classes::{member_kind, needs_content, with_kind},
    ids::SMALL,
    table::Table,
};
use sluice_base::{
    error::{Error, Result},
    progress::{Console, Meter, Total},
};
use sluice_core::{
    archive::{self, ArchiveOutputs, RunStats},
    request::Request,
};
use sluice_format::unarchive::{self, Item, Kind, Visitor, feed, unreadable};

/// More pathspecs than this cost more than to archive all files.
const PATHSPECS_MAX: usize = 1000;

/// The pathspecs for the entries of `table` that `is_wanted` picks, from the top of the tree; nothing if they are too many. Names
/// begin with `prefix`, which stands for the directory `below`.
pub(super) fn pathspecs(
    table: &Table,
    is_wanted: impl Fn(Class) -> bool,
    (prefix, below): (&[u8], &[u8]),
) -> Vec<OsString> {
    let wanted = table.sorted().filter(|it| is_wanted(table.get(*it).class));
    let below_prefix = wanted.filter_map(|it| table.path(it).strip_prefix(prefix));
    let pathspec = |path: &[u8]| [b":(top,literal)", below, path].concat();
    let pathspecs = below_prefix.take(PATHSPECS_MAX + 1).map(pathspec);
    let pathspecs: Vec<_> = pathspecs.map(OsString::from_vec).collect();
    if pathspecs.len() > PATHSPECS_MAX {
        Vec::new()
    } else {
        pathspecs
    }
}

pub(super) type Messages = dyn Write + Send + 'static;

/// Writes the archive that `request` asks for to `destination`. Messages go to `messages`.
pub(super) fn write_archive(
    request: Request,
    destination: &mut (dyn Write + Send),
    messages: &mut Messages,
) -> Result<()> {
    let outputs = ArchiveOutputs {
        destination,
        console: Console::new(messages, None),
        meter: Meter::new("Archiving", Total::Unknown),
    };
    archive::run(request, outputs, &mut RunStats::default())
}

/// Passes the entries of the tar that `request` asks for to `visitor`. Messages go to `messages`.
pub(super) fn make(
    request: Request,
    visitor: &mut dyn Visitor,
    messages: &mut Messages,
) -> Result<()> {
    let (mut feeder, mut feed) = feed();
    thread::scope(|scope| {
        let made = scope.spawn(move || {
            write_archive(request, &mut feeder, messages)?;
            feeder.flush().map_err(|error| Error::write(&error))
        });
        let read = unarchive::read_tar(&mut feed, visitor);
        drop(feed);
        let made = made
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // A reader that stopped made the writer fail.
        read.and(made)
    })
}

/// Decides about the entries of a table whose content is needed. Those of which no archive is made keep their class.
pub(super) struct Decider<'a>(pub(super) &'a mut Table);

impl Visitor for Decider<'_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        let number = self.0.find(item.path);
        let Some(number) = number.filter(|it| needs_content(self.0.get(*it).class)) else {
            return Ok(());
        };
        let ids = &self.0.ids;
        let (own, text) = match item.kind {
            Kind::Symlink => ids.of(item.link),
            _ if item.size > SMALL => ids.of_stream(item.size, content, || ())?,
            _ => {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(unreadable)?;
                ids.of(&bytes)
            }
        };
        let is_same = own == Some(ids.get(number));
        let is_text = text == Some(ids.text(number));
        let record = self.0.get(number);
        let content = match record.class {
            _ if is_same => Class::Same,
            Class::Changed if is_text => Class::LineEndings,
            class => class,
        };
        let class = member_kind(item.kind, item.mode)
            .map_or(content, |kind| with_kind(content, kind, record));
        self.0.set(number, class);
        Ok(())
    }
}
