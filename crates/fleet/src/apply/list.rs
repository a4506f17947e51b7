//! Reads the list of what archives have brought into the directory, `.git-sluice.files`.
//!
//! A first line `git-sluice files 1 <length> <commit>`, then records that end in a NUL:
//!
//! * `directory <mode> <path>`
//! * `file <mode> <size> <hash> <path>`, `hole <mode> <size> <path>` for a file of zeros that takes no room
//! * `link <hash> <path>`, the hash of the target
//! * `begun <path>`: something is being written there
//! * `deleted <path>`: the path is deleted, with all paths below it
//!
//! Modes are octal and those of the archive, before the umask. Hashes are hexadecimal. The last record of a path counts
//! ([`LiveRecords`]). The length is that of the list, in bytes, when it was last written as a whole; the commit is
//! padded with spaces, so that the first line can be replaced where it is.
//!
//! While an archive is applied, the list grows: `.git-sluice.files.new` with a full archive, the list itself with a
//! delta. Each path stands there before anything is created at it, so that after an interruption both lists together,
//! read as one, name all that archives have brought.

use std::{
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    str,
};

use bstr::BString;
use cap_std::fs::File;
use rustc_hash::FxHashMap;

use sluice_base::error::Result;

use super::{
    delta::Id,
    hash::ContentHash,
    path::above,
    pax::decimal,
    record::{PathRecord, RecordKind},
    state_files::{self, LIST, NEW_LIST, StateDirectory, failed},
};

/// The beginning of the first line.
const MAGIC: &[u8] = b"git-sluice files 1 ";
/// Bytes of the first line.
pub(super) const HEADER_LEN: usize = MAGIC.len() + 20 + 1 + 64 + 1;
const BUFFER: usize = 128 << 10;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListHeader {
    /// The bytes of the list when it was last written as a whole. Zero while it is made.
    pub(super) len: u64,
    /// The commit whose files are listed.
    pub(super) commit: Id,
}

impl ListHeader {
    pub(super) fn line(&self) -> String {
        let magic = str::from_utf8(MAGIC).expect("ASCII");
        format!("{magic}{:020} {:64}\n", self.len, self.commit.to_string())
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let (len, commit) = line.strip_prefix(MAGIC)?.split_at_checked(20)?;
        Some(Self {
            len: decimal(len)?,
            commit: Id::new(commit.trim_ascii())?,
        })
    }
}

/// A list that is read.
pub(super) struct List {
    pub(super) header: ListHeader,
    records: BufReader<File>,
    /// The path for messages.
    path: BString,
}

impl List {
    /// Open the list called `name`, if it exists.
    pub(super) fn open(root: &StateDirectory, name: &str) -> Result<Option<Self>> {
        let Some(file) = state_files::open(root, name)? else {
            return Ok(None);
        };
        let mut records = BufReader::with_capacity(BUFFER, file);
        let mut line = Vec::with_capacity(HEADER_LEN);
        let read = (&mut records)
            .take(HEADER_LEN as u64)
            .read_to_end(&mut line);
        read.map_err(|error| root.failed(name, &error))?;
        // An interrupted application may leave a list without a whole first line, and without a record.
        Ok(ListHeader::parse(&line).map(|header| Self {
            header,
            records,
            path: root.shown(name),
        }))
    }

    /// Open the list of the directory, if it names the files of one of `commits`.
    pub(super) fn of(root: &StateDirectory, commits: &[&Id]) -> Result<Option<Self>> {
        let list = Self::open(root, LIST)?;
        Ok(list.filter(|list| commits.contains(&&list.header.commit)))
    }

    /// Take the next record into `line`, with its NUL and unchecked. `false` at the end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        let read = self.records.read_until(0, line);
        read.map_err(|error| failed(&self.path, &error))?;
        Ok(!line.is_empty())
    }

    /// Call `take` for each record, with its number, its NUL and unchecked.
    pub(super) fn each_line(
        &mut self,
        mut take: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut line = Vec::new();
        for number in 0.. {
            if self.next(&mut line)? {
                take(number, &line)?
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Find out which records count. The next one is then the first one again.
    pub(super) fn latest(&mut self) -> Result<LiveRecords> {
        let mut latest = LiveRecords::default();
        self.each_line(|number, line| {
            latest.add(number, line);
            Ok(())
        })?;
        let begin = SeekFrom::Start(HEADER_LEN as u64);
        let sought = self.records.seek(begin);
        sought.map_err(|error| failed(&self.path, &error))?;
        Ok(latest)
    }
}

/// Call `take` for each record of both lists of the directory, as if they were one list.
pub(super) fn each_line_of_both(
    root: &StateDirectory,
    mut take: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut number = 0;
    for name in [LIST, NEW_LIST] {
        if let Some(mut list) = List::open(root, name)? {
            list.each_line(|_, line| {
                number += 1;
                take(number, line)
            })?;
        }
    }
    Ok(())
}

/// Which records of a list count: the last one of each path, unless its path, or one that it is in, was deleted since.
///
/// Records are numbered from zero. Holds hashes of paths, which take less room than the paths.
#[derive(Default)]
pub(super) struct LiveRecords {
    /// The content of all records, those that do not count included, in bytes.
    pub(super) bytes: u64,
    last: FxHashMap<ContentHash, LastRecord>,
    deleted: FxHashMap<ContentHash, u64>,
}

/// The last record of a path.
struct LastRecord {
    number: u64,
    kind: ListedKind,
}

/// What archives have brought to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListedKind {
    Directory,
    /// A file or a link, perhaps not written yet.
    Other,
}

impl LiveRecords {
    /// Those of both lists of the directory.
    pub(super) fn of_both(root: &StateDirectory) -> Result<Self> {
        let mut live = Self::default();
        each_line_of_both(root, |number, line| {
            live.add(number, line);
            Ok(())
        })?;
        Ok(live)
    }

    fn add(&mut self, number: u64, line: &[u8]) {
        let Ok(record) = PathRecord::of_line(line) else {
            return;
        };
        self.bytes = self.bytes.saturating_add(record.kind.bytes());
        let path = ContentHash::of(record.path);
        match record.kind {
            RecordKind::Deleted => {
                self.deleted.insert(path, number);
            }
            kind => {
                let kind = match kind {
                    RecordKind::Directory { .. } => ListedKind::Directory,
                    _ => ListedKind::Other,
                };
                self.last.insert(path, LastRecord { number, kind });
            }
        };
    }

    /// What archives have brought to `path` and not deleted since.
    pub(super) fn kind(&self, path: &[u8]) -> Option<ListedKind> {
        let last = self.last.get(&ContentHash::of(path))?;
        let is_deleted = !self.deleted.is_empty() && self.is_deleted_since(last.number, path);
        (!is_deleted).then_some(last.kind)
    }

    /// The record of `path` counts no longer.
    pub(super) fn remove(&mut self, path: &[u8]) {
        self.last.remove(&ContentHash::of(path));
    }

    /// Whether the record with this `number` counts.
    pub(super) fn counts(&self, number: u64, record: &PathRecord<'_>) -> bool {
        record.kind != RecordKind::Deleted
            && self
                .last
                .get(&ContentHash::of(record.path))
                .is_some_and(|last| last.number == number)
            && (self.deleted.is_empty() || !self.is_deleted_since(number, record.path))
    }

    fn is_deleted_since(&self, number: u64, path: &[u8]) -> bool {
        above(path).chain([path]).any(|path| {
            self.deleted
                .get(&ContentHash::of(path))
                .is_some_and(|&deleted| deleted > number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, ListHeader, ListedKind, LiveRecords, PathRecord};

    #[test]
    fn a_first_line_is_read_as_it_was_written() {
        for digits in [40, 64] {
            for len in [0, 117, u64::MAX] {
                let commit = Id::new("a".repeat(digits).as_bytes()).expect("an id");
                let header = ListHeader { len, commit };
                let line = header.line();
                assert_eq!(line.len(), super::HEADER_LEN);
                assert_eq!(ListHeader::parse(line.as_bytes()), Some(header));
                assert_eq!(ListHeader::parse(&line.as_bytes()[..60]), None);
            }
        }
    }

    /// The numbers of the records that count, of those in a list.
    fn counting(lines: &[&str]) -> Vec<usize> {
        let line = |number: usize| [lines[number].as_bytes(), b"\0"].concat();
        let mut latest = LiveRecords::default();
        (0..lines.len()).for_each(|number| latest.add(number as u64, &line(number)));
        let counts = |&number: &usize| {
            PathRecord::of_line(&line(number))
                .is_ok_and(|record| latest.counts(number as u64, &record))
        };
        (0..lines.len()).filter(counts).collect()
    }

    #[test]
    fn the_last_record_of_a_path_counts() {
        assert_eq!(counting(&["begun a", "begun b", "hole 644 1 a"]), [1, 2]);
        assert_eq!(counting(&["begun a", "nothing", "deleted a"]), [0; 0]);
        assert_eq!(counting(&["begun a", "deleted a", "begun a"]), [2]);
        assert_eq!(
            counting(&["begun a/b", "begun ab", "begun a/b/c"]),
            [0, 1, 2]
        );
        assert_eq!(
            counting(&["begun a", "begun a/b", "deleted a", "begun a/c", "begun ab"]),
            [3, 4]
        );
        assert_eq!(counting(&["begun a", "begun a/b", "deleted a/b"]), [0]);
    }

    #[test]
    fn what_is_listed_has_a_kind() {
        let mut latest = LiveRecords::default();
        let lines = [
            "directory 775 a",
            "begun a/b",
            "begun c",
            "deleted c",
            "begun d/e",
            "deleted d",
        ];
        for (number, line) in (0..).zip(lines) {
            latest.add(number, format!("{line}\0").as_bytes());
        }
        let kinds = ["a", "a/b", "b", "c", "d", "d/e"].map(|path| latest.kind(path.as_bytes()));
        let [directory, other] = [ListedKind::Directory, ListedKind::Other].map(Some);
        assert_eq!(kinds, [directory, other, None, None, None, None]);
    }
}
