//! A record of the list: a path, and what is known of it.

use std::{fmt, io::Write};

use sluice_base::error::{Error, Result};

use super::{hash::ContentHash, pax::decimal};

/// What an archive has done at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathRecord<'a> {
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
    /// Something is being written there.
    Begun,
    /// The path is deleted, with all records from before of what is below it.
    Deleted,
}

impl RecordKind {
    /// The content, in bytes.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::File { size, .. } => size,
            _ => 0,
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { mode } => write!(f, "directory {mode:o}"),
            Self::File { mode, size, hash } => write!(f, "file {mode:o} {size} {hash}"),
            Self::Hole { mode, size } => write!(f, "hole {mode:o} {size}"),
            Self::Link { hash } => write!(f, "link {hash}"),
            Self::Begun => f.write_str("begun"),
            Self::Deleted => f.write_str("deleted"),
        }
    }
}

impl<'a> PathRecord<'a> {
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
            b"deleted" => RecordKind::Deleted,
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

#[cfg(test)]
mod tests {
    use super::{ContentHash, PathRecord, RecordKind};

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
            RecordKind::Deleted,
        ] {
            for path in [&b"a"[..], b"a b/\nc", b" ", b"\xff"] {
                let record = PathRecord { path, kind };
                let mut line = Vec::new();
                record.push(&mut line);
                assert_eq!(PathRecord::of_line(&line).ok(), Some(record));
            }
        }
        assert!(PathRecord::of_line(b"begun a").is_err());
        for line in [
            "",
            "file",
            "file 664 1 x a",
            "file 9 1 0 a",
            "link a",
            "other a",
        ] {
            let line = format!("{line}\0");
            assert!(PathRecord::of_line(line.as_bytes()).is_err(), "{line}");
        }
    }
}
