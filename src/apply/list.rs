//! Reads and writes the list of what archives have brought into the directory, `.git-sluice.files`.
//!
//! A first line `git-sluice files 1 <commit>`, then records that end in a NUL, in no order; the last record of a path
//! counts:
//!
//! * `directory <mode> <path>`
//! * `file <mode> <size> <hash> <path>`, `hole <mode> <size> <path>` for a file of zeros that takes no room
//! * `link <hash> <path>`, the hash of the target
//! * `begun <path>`: something is being written there
//!
//! Modes are octal and those of the archive, before the umask. Hashes are hexadecimal.
//!
//! While an archive is applied, `.git-sluice.files.new` grows. Each path stands there before anything is created at it,
//! so that after an interruption both lists together name all that archives have brought.

use std::{
    fmt,
    io::{BufRead, BufReader, Write},
};

use cap_std::fs::{Dir, File};

use crate::error::{Error, Result};

use super::{
    changes::Changes,
    delta::Id,
    hash::ContentHash,
    own::{self, LIST, NEW_LIST, NEXT_LIST, failed},
    pax::decimal,
};

/// The first line, up to the commit.
const HEADER: &str = "git-sluice files 1 ";
const BUFFER: usize = 128 << 10;

/// A path, and what an archive has brought there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) path: &'a [u8],
    pub(super) kind: RecordKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Directory {
        mode: u32,
    },
    File {
        mode: u32,
        size: u64,
        hash: ContentHash,
    },
    Hole {
        mode: u32,
        size: u64,
    },
    Link {
        hash: ContentHash,
    },
    Begun,
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { mode } => write!(f, "directory {mode:o}"),
            Self::File { mode, size, hash } => write!(f, "file {mode:o} {size} {hash}"),
            Self::Hole { mode, size } => write!(f, "hole {mode:o} {size}"),
            Self::Link { hash } => write!(f, "link {hash}"),
            Self::Begun => f.write_str("begun"),
        }
    }
}

impl<'a> Record<'a> {
    /// Append the record to `lines`.
    pub(super) fn push(&self, lines: &mut Vec<u8>) {
        let _ = write!(lines, "{} ", self.kind);
        lines.extend_from_slice(self.path);
        lines.push(0);
    }

    /// Parse a record with its NUL.
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self> {
        let record = line.strip_suffix(b"\0").and_then(Self::parse);
        record.ok_or_else(|| Error::fatal("the list of the directory is damaged"))
    }

    fn parse(mut line: &'a [u8]) -> Option<Self> {
        let kind = match word(&mut line)? {
            b"directory" => RecordKind::Directory {
                mode: mode(&mut line)?,
            },
            b"file" => RecordKind::File {
                mode: mode(&mut line)?,
                size: decimal(word(&mut line)?)?,
                hash: hash(&mut line)?,
            },
            b"hole" => RecordKind::Hole {
                mode: mode(&mut line)?,
                size: decimal(word(&mut line)?)?,
            },
            b"link" => RecordKind::Link {
                hash: hash(&mut line)?,
            },
            b"begun" => RecordKind::Begun,
            _ => return None,
        };
        Some(Self { path: line, kind })
    }
}

/// Take the word before the next space.
fn word<'a>(line: &mut &'a [u8]) -> Option<&'a [u8]> {
    let space = line.iter().position(|&byte| byte == b' ')?;
    let word = &line[..space];
    *line = &line[space + 1..];
    Some(word)
}

fn hash(line: &mut &[u8]) -> Option<ContentHash> {
    ContentHash::parse(std::str::from_utf8(word(line)?).ok()?)
}

fn mode(line: &mut &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(word(line)?).ok()?, 8).ok()
}

/// A list that is read.
pub(super) struct List {
    records: BufReader<File>,
    /// The commit whose files are listed.
    commit: Id,
}

impl List {
    /// Open the list called `name`, if it exists.
    pub(super) fn open(root: &Dir, name: &str) -> Result<Option<Self>> {
        let Some(file) = own::open(root, name)? else {
            return Ok(None);
        };
        let mut records = BufReader::with_capacity(BUFFER, file);
        let mut header = Vec::new();
        let read = records.read_until(b'\n', &mut header);
        read.map_err(|error| failed(name, &error))?;
        let id = header.strip_prefix(HEADER.as_bytes());
        let id = id.and_then(|id| Id::new(id.strip_suffix(b"\n")?));
        // An interrupted application may leave a list without a whole first line, and without a record.
        Ok(id.map(|commit| Self { records, commit }))
    }

    /// Open the list of the directory, if it names the files of one of `commits`.
    pub(super) fn of(root: &Dir, commits: &[&Id]) -> Result<Option<Self>> {
        let list = Self::open(root, LIST)?;
        Ok(list.filter(|list| commits.contains(&&list.commit)))
    }

    /// Take the next record into `line`, with its NUL and unchecked. `false` at the end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        let read = self.records.read_until(0, line);
        read.map_err(|error| failed(LIST, &error))?;
        Ok(!line.is_empty())
    }

    /// Call `take` for each record.
    pub(super) fn each(self, mut take: impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
        self.each_line(|line| take(Record::of_line(line)?))
    }

    /// Call `take` for each record. What is no record, as at the end of an interrupted write, is left out.
    pub(super) fn each_sound(self, mut take: impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
        self.each_line(|line| Record::of_line(line).map_or(Ok(()), &mut take))
    }

    fn each_line(mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut line = Vec::new();
        while self.next(&mut line)? {
            take(&line)?;
        }
        Ok(())
    }
}

/// The list of an application in progress.
pub(super) struct NewList {
    file: File,
}

impl NewList {
    /// Begin the list of what `commit` will have.
    pub(super) fn create(root: &Dir, commit: &Id) -> Result<Self> {
        let list = Self::prepare(root, commit)?;
        own::rename(root, NEXT_LIST, NEW_LIST)?;
        Ok(list)
    }

    /// Begin the list of what `commit` will have with the records of `base`, except those of paths that `changes`
    /// have. An earlier application of the same changes may have been interrupted: the list names all its paths.
    pub(super) fn continued(
        root: &Dir,
        commit: &Id,
        base: List,
        changes: &Changes,
    ) -> Result<Self> {
        let list = Self::prepare(root, commit)?;
        let mut records = Vec::new();
        let flush = |records: &mut Vec<u8>| {
            let appended = list.append(records);
            records.clear();
            appended
        };
        if let Some(interrupted) = List::open(root, NEW_LIST)? {
            interrupted.each_sound(|record| {
                if changes.have(record.path) {
                    let kind = RecordKind::Begun;
                    Record { kind, ..record }.push(&mut records);
                }
                Ok(())
            })?;
        }
        base.each_line(|line| {
            let record = Record::of_line(line)?;
            if record.kind != RecordKind::Begun && !changes.have(record.path) {
                records.extend_from_slice(line);
            }
            match records.len() < BUFFER {
                true => Ok(()),
                false => flush(&mut records),
            }
        })?;
        list.append(&records)?;
        own::rename(root, NEXT_LIST, NEW_LIST)?;
        Ok(list)
    }

    fn prepare(root: &Dir, commit: &Id) -> Result<Self> {
        let file = own::create(root, NEXT_LIST)?;
        let list = Self { file };
        list.append(format!("{HEADER}{commit}\n").as_bytes())?;
        Ok(list)
    }

    /// Append records, each with its NUL. Threads may do so at the same time.
    pub(super) fn append(&self, records: &[u8]) -> Result<()> {
        let written = (&self.file).write_all(records);
        written.map_err(|error| failed(NEW_LIST, &error))
    }

    /// The list is complete, and is now that of the directory.
    pub(super) fn complete(self, root: &Dir) -> Result<()> {
        own::replace(root, &self.file, NEW_LIST, LIST)
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentHash, Record, RecordKind};

    #[test]
    fn records_are_read_as_they_were_written() {
        let hash = ContentHash::of(b"content");
        for kind in [
            RecordKind::Directory { mode: 0o775 },
            RecordKind::File {
                mode: 0o664,
                size: u64::MAX,
                hash,
            },
            RecordKind::Hole {
                mode: 0o775,
                size: 0,
            },
            RecordKind::Link { hash },
            RecordKind::Begun,
        ] {
            for path in [&b"a"[..], b"a b/\nc", b" ", b"\xff"] {
                let record = Record { path, kind };
                let mut line = Vec::new();
                record.push(&mut line);
                assert_eq!(Record::of_line(&line).ok(), Some(record));
            }
        }
        assert!(Record::of_line(b"begun a").is_err());
        for line in [
            "",
            "file",
            "file 664 1 x a",
            "file 9 1 0 a",
            "link a",
            "other a",
        ] {
            let line = format!("{line}\0");
            assert!(Record::of_line(line.as_bytes()).is_err(), "{line}");
        }
    }
}
