//! Decides about the files that attributes convert: `git archive` of these files is made in memory and read back.

use std::{
    ffi::OsString,
    io::{Read, Write},
    os::unix::ffi::OsStringExt,
    thread,
};

use gix_hash::{Kind as HashKind, ObjectId};

use super::{
    classes::{needs_content, with_mode},
    collector::{SMALL, blob, id, with_newlines},
    table::{Class, Table},
};
use sluice_base::{
    error::{Error, Result},
    progress::{Console, Meter, Total},
};
use sluice_core::{
    archive::{self, ArchiveOutputs, RunStats},
    request::Request,
};
use sluice_format::{
    MemberKind,
    unarchive::{self, Item, Kind, Visitor, feed, unreadable},
};

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

/// Passes the entries of the tar that `request` asks for to `visitor`. Messages go to `messages`.
pub(super) fn make(
    request: Request,
    visitor: &mut dyn Visitor,
    messages: &mut (dyn Write + Send + 'static),
) -> Result<()> {
    let (mut feeder, mut feed) = feed();
    thread::scope(|scope| {
        let made = scope.spawn(move || {
            let outputs = ArchiveOutputs {
                destination: &mut feeder,
                console: Console::new(messages, None),
                meter: Meter::new("Archiving", Total::Unknown),
            };
            archive::run(request, outputs, &mut RunStats::default())?;
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

/// Decides about the undecided entries of a table.
pub(super) struct Decider<'a> {
    pub(super) table: &'a mut Table,
    pub(super) hash: HashKind,
}

/// Decides about entries of `table` of which no archive was made: they differ from the blob, or they do not.
pub(super) fn settle(table: &mut Table) {
    for number in 0..table.len() {
        match table.get(number).class {
            Class::Undecided => table.set(number, Class::Changed),
            Class::UndecidedAsStored => table.set(number, Class::AsStored),
            _ => {}
        }
    }
}

impl Visitor for Decider<'_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        let number = self.table.find(item.path);
        let Some(number) = number.filter(|it| needs_content(self.table.get(*it).class)) else {
            return Ok(());
        };
        let (found, text) = self.ids(item, content)?;
        let is_same = found.is_some_and(|id| id == self.table.id(number));
        let is_text = text.is_some_and(|id| id == self.table.text(number));
        let kind = match item.mode & 0o100 {
            _ if item.kind != Kind::File => MemberKind::Symlink,
            0 => MemberKind::File,
            _ => MemberKind::Executable,
        };
        let record = self.table.get(number);
        let class = match (is_same, record.class) {
            (true, _) if item.kind == Kind::Symlink => Class::Same,
            (true, _) => with_mode(Class::Same, kind, record),
            (false, Class::UndecidedAsStored) => with_mode(Class::AsStored, kind, record),
            (false, _) if is_text => with_mode(Class::LineEndings, kind, record),
            (false, _) => Class::Changed,
        };
        self.table.set(number, class);
        Ok(())
    }
}

impl Decider<'_> {
    /// The id of what `item` has, and the id that it has if each line ends in `\n`.
    fn ids(
        &self,
        item: &Item<'_>,
        content: &mut dyn Read,
    ) -> Result<(Option<ObjectId>, Option<ObjectId>)> {
        if item.kind == Kind::Symlink {
            return Ok((id(self.hash, item.link), None));
        }
        if item.size <= SMALL {
            let mut bytes = Vec::new();
            let _ = content.read_to_end(&mut bytes).map_err(unreadable)?;
            let found = id(self.hash, &bytes);
            let text = with_newlines(&bytes).map(|text| id(self.hash, &text));
            return Ok((found, text.unwrap_or(found)));
        }
        let mut hasher = blob(self.hash, item.size);
        let mut piece = vec![0; 64 << 10];
        loop {
            match content.read(&mut piece).map_err(unreadable)? {
                0 => break,
                read => hasher.update(&piece[..read]),
            }
        }
        Ok((hasher.try_finalize().ok(), None))
    }
}
