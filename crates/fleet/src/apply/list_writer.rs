//! Writes the list of what archives have brought into the directory.
//!
//! A full archive has a new list. A delta goes on with the list that is there, so that applying it costs what it changes.
//! A list of which half is old is written again first. Must not read the archive.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use bstr::BString;
use cap_std::fs::{File, MetadataExt as _};

use sluice_base::{
    error::{Error, Result, format_bytes},
    threads::Lock,
};

use super::{
    delta::Id,
    list::{HEADER_LEN, List, ListHeader},
    record::PathRecord,
    state_files::{self, LIST, NEW_LIST, NEXT_LIST, StateDirectory, failed},
};

/// A list may grow by this many bytes before it is written again, however short it is.
const GROWTH_MIN: u64 = 64 << 10;
/// Bytes that are looked at at once, from the end of a list.
const BLOCK_LEN: u64 = 4 << 10;

/// The list of an application in progress.
pub(super) struct ListWriter {
    name: &'static str,
    /// The path for messages.
    path: BString,
    commit: Id,
    /// `None` after a failed write: no record may follow a part of one.
    file: Lock<Option<File>>,
}

impl ListWriter {
    /// Begin a list of what `commit` will have.
    pub(super) fn create(root: &StateDirectory, commit: &Id) -> Result<Self> {
        let mut file = state_files::create(root, NEXT_LIST)?;
        let header = ListHeader {
            len: 0,
            commit: commit.clone(),
        };
        write_header(&mut file, &header).map_err(|error| root.failed(NEXT_LIST, &error))?;
        state_files::rename(root, NEXT_LIST, NEW_LIST)?;
        Ok(Self::new(root, NEW_LIST, commit, file))
    }

    /// Go on with the list of the directory, which must be [`tidy`], for what `commit` will have.
    pub(super) fn go_on(root: &StateDirectory, commit: &Id, tidy: &ListHeader) -> Result<Self> {
        let mut file = state_files::open_to_change(root, LIST)?;
        let header = ListHeader {
            commit: commit.clone(),
            ..*tidy
        };
        write_header(&mut file, &header)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(|error| root.failed(LIST, &error))?;
        Ok(Self::new(root, LIST, commit, file))
    }

    fn new(root: &StateDirectory, name: &'static str, commit: &Id, file: File) -> Self {
        Self {
            name,
            path: root.shown(name),
            commit: commit.clone(),
            file: Lock::new(Some(file)),
        }
    }

    /// Append records, each with its NUL. Threads may do so at the same time.
    pub(super) fn append(&self, records: &[u8]) -> Result<()> {
        let mut file = self.file.lock();
        let written = match &mut *file {
            Some(file) => file.write_all(records),
            None => return Err(self.is_torn()),
        };
        written.map_err(|error| {
            *file = None;
            failed(&self.path, &error)
        })
    }

    fn is_torn(&self) -> Error {
        Error::fatal(format_bytes(
            "cannot write '{}' after a failure",
            &[&self.path],
        ))
    }

    /// The list is complete and on the disk, and is now that of the directory.
    pub(super) fn complete(self, root: &StateDirectory) -> Result<()> {
        let torn = self.is_torn();
        let file = self.file.into_inner();
        let file = file.ok_or(torn)?;
        match self.name {
            NEW_LIST => put_in_place(root, file, NEW_LIST, self.commit),
            name => file.sync_all().map_err(|error| root.failed(name, &error)),
        }
    }
}

/// Prepare the list of the directory for more records, if it names the files of one of `commits`. The rest of an
/// interrupted write is cut off. A list that is also in another directory, by a hard link, is left to that one.
pub(super) fn tidy(root: &StateDirectory, commits: &[&Id]) -> Result<Option<ListHeader>> {
    let Some(list) = List::of(root, commits)? else {
        return Ok(None);
    };
    let mut file = state_files::open_to_change(root, LIST)?;
    let metadata = file.metadata().map_err(|error| root.failed(LIST, &error))?;
    if metadata.nlink() == 1 {
        let len = cut(&mut file).map_err(|error| root.failed(LIST, &error))?;
        if len <= 2 * list.header.len + GROWTH_MIN {
            return Ok(Some(list.header));
        }
    }
    compact(root, list)?;
    Ok(List::of(root, commits)?.map(|list| list.header))
}

/// Cut off what follows the last record. Returns the length of the list.
fn cut(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > HEADER_LEN as u64 {
        let start = end.saturating_sub(BLOCK_LEN).max(HEADER_LEN as u64);
        let mut block = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        let last = block.iter().rposition(|&byte| byte == 0);
        end = start + last.map_or(0, |last| last as u64 + 1);
        if last.is_some() {
            break;
        }
    }
    file.set_len(end)?;
    Ok(end)
}

/// Writes the list again, with only the records that count.
fn compact(root: &StateDirectory, mut list: List) -> Result<()> {
    let write = |error: io::Error| root.failed(NEXT_LIST, &error);
    let mut file = state_files::create(root, NEXT_LIST)?;
    write_header(&mut file, &list.header).map_err(write)?;
    let latest = list.latest()?;
    let mut records = BufWriter::new(file);
    list.each_line(|number, line| {
        if latest.counts(number, &PathRecord::of_line(line)?) {
            records.write_all(line).map_err(write)
        } else {
            Ok(())
        }
    })?;
    let file = records
        .into_inner()
        .map_err(|error| write(error.into_error()))?;
    put_in_place(root, file, NEXT_LIST, list.header.commit)
}

/// Put the list called `name`, which is written as a whole, in place of that of the directory.
fn put_in_place(root: &StateDirectory, mut file: File, name: &str, commit: Id) -> Result<()> {
    let len = file.stream_position();
    len.and_then(|len| write_header(&mut file, &ListHeader { len, commit }))
        .map_err(|error| root.failed(name, &error))?;
    state_files::replace(root, &file, name, LIST)
}

/// Write the first line, and return the position after it.
fn write_header(file: &mut File, header: &ListHeader) -> io::Result<()> {
    file.rewind()?;
    file.write_all(header.line().as_bytes())
}
