//! The deletions of a diff, in the order of trees. A short list stays in memory, a longer one goes to an unnamed
//! temporary file: there may be millions of deletions, which must never all be in memory.

use std::{
    io::{self, Write},
    sync::Arc,
};

use gix::ObjectId;

use crate::{
    base::{
        buffer::spool::{Spool, Spooled},
        error::{Error, Result},
    },
    git::tree::Mode,
    output::report::Status,
};

/// Bytes read at once.
const BLOCK_LEN: usize = 64 << 10;
/// The size in bytes of the length field in front of each record.
const LEN: usize = size_of::<u64>();
/// A record stores the position of the status in this table, and of the mode in the next.
const STATUSES: [Status; 4] = [
    Status::Added,
    Status::Modified,
    Status::Deleted,
    Status::TypeChanged,
];
const MODES: [Mode; 5] = [
    Mode::File,
    Mode::Executable,
    Mode::Symlink,
    Mode::Submodule,
    Mode::Directory,
];

/// A path that is deleted, changes its type, or may turn out to be omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The old name in the archive; a directory ends in a slash.
    pub name: Vec<u8>,
    /// The kind of change.
    pub status: Status,
    /// The old mode.
    pub mode: Mode,
    /// The old id.
    pub id: ObjectId,
}

impl Deletion {
    fn parse(record: &[u8]) -> Option<Self> {
        let ([status, mode, id_len], rest) = record.split_first_chunk()?;
        let (id, name) = rest.split_at_checked(usize::from(*id_len))?;
        Some(Self {
            name: name.to_vec(),
            status: *STATUSES.get(usize::from(*status))?,
            mode: *MODES.get(usize::from(*mode))?,
            id: ObjectId::try_from(id).ok()?,
        })
    }
}

/// Collects deletions during the diff.
pub(super) struct DeletionLog {
    records: RecordWriter,
}

impl DeletionLog {
    /// An empty log that holds up to `max_memory` bytes in memory.
    pub(super) fn new(max_memory: usize) -> Self {
        Self {
            records: RecordWriter::new(max_memory),
        }
    }

    /// Append `deletion`.
    pub(super) fn add(&mut self, deletion: &Deletion) -> Result<()> {
        let is_status = |status: &Status| *status == deletion.status;
        let is_mode = |mode: &Mode| *mode == deletion.mode;
        let id = deletion.id.as_bytes();
        let codes = [
            STATUSES.iter().position(is_status),
            MODES.iter().position(is_mode),
            Some(id.len()),
        ];
        let codes = codes.map(|code| code.and_then(|code| u8::try_from(code).ok()));
        let codes = codes.map(|code| code.expect("few statuses, few modes, short ids"));
        self.records.push(&[&codes, id, &deletion.name])
    }

    /// Finish the log and return its deletions.
    pub(super) fn finish(self) -> Result<Deletions> {
        Ok(Deletions {
            own: Arc::new(self.records.finish()?),
            inner: Vec::new(),
        })
    }
}

/// All deletions of a diff.
pub struct Deletions {
    own: Arc<DeletionRecords>,
    /// Those in submodules.
    inner: Vec<Arc<Deletions>>,
}

impl Deletions {
    /// Whether there is no deletion.
    pub fn is_empty(&self) -> bool {
        self.own.0.size() == 0 && self.inner.iter().all(|inner| inner.is_empty())
    }

    /// These deletions, preceded by those inside submodules.
    pub fn behind(&self, inner: Vec<Arc<Self>>) -> Self {
        Self {
            own: Arc::clone(&self.own),
            inner,
        }
    }

    /// Pass all deletions to `taker`, those in submodules first, in the order of trees. A directory follows its entries.
    pub fn each(&self, taker: &mut dyn FnMut(&Deletion) -> Result<()>) -> Result<()> {
        let mut at = Cursor::default();
        self.inner.iter().try_for_each(|inner| inner.each(taker))?;
        while let Some(record) = self.own.next(&mut at)? {
            taker(&parsed(&record)?)?;
        }
        Ok(())
    }
}

fn parsed(record: &[u8]) -> Result<Deletion> {
    Deletion::parse(record).ok_or_else(|| cannot_keep(io::ErrorKind::InvalidData.into()))
}

fn cannot_keep(error: io::Error) -> Error {
    Error::fatal("cannot keep what is gone").caused_by(error)
}

/// Writes records.
struct RecordWriter(Spool);

impl RecordWriter {
    fn new(max_memory: usize) -> Self {
        Self(Spool::new(max_memory))
    }

    /// Append a record that consists of these `parts`.
    fn push(&mut self, parts: &[&[u8]]) -> Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let len = (len as u64).to_le_bytes();
        for piece in std::iter::once(&len[..]).chain(parts.iter().copied()) {
            self.0.write_all(piece).map_err(cannot_keep)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<DeletionRecords> {
        Ok(DeletionRecords(self.0.finish().map_err(cannot_keep)?))
    }
}

/// Records, each after its length.
struct DeletionRecords(Spooled);

/// The position of a reader of records, with the block read last.
#[derive(Default)]
struct Cursor {
    offset: u64,
    block: Vec<u8>,
    block_start: u64,
}

impl Cursor {
    /// `len` bytes of the block from `offset` on; `None` if the block is shorter.
    fn held(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.block_start)?).ok()?;
        self.block.get(start..)?.get(..len)
    }
}

impl DeletionRecords {
    /// Read the record behind the cursor and move the cursor behind it.
    fn next(&self, at: &mut Cursor) -> Result<Option<Vec<u8>>> {
        if at.offset == self.0.size() {
            return Ok(None);
        }
        let len = self.bytes(at, at.offset, LEN)?;
        let len = len.try_into().ok().map(u64::from_le_bytes);
        let len = len.and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| cannot_keep(io::ErrorKind::InvalidData.into()))?;
        let start = at.offset + LEN as u64;
        let record = self.bytes(at, start, len)?.to_vec();
        at.offset = start + len as u64;
        Ok(Some(record))
    }

    /// Reads `len` bytes from `offset` on, from the block in memory if they are in it.
    fn bytes<'a>(&self, at: &'a mut Cursor, offset: u64, len: usize) -> Result<&'a [u8]> {
        if at.held(offset, len).is_none() {
            let rest = usize::try_from(self.0.size() - offset).unwrap_or(usize::MAX);
            at.block.resize(BLOCK_LEN.max(len).min(rest), 0);
            at.block_start = offset;
            let read = self.0.read_exact_at(&mut at.block, offset);
            read.map_err(cannot_keep)?;
        }
        let bytes = at.held(offset, len);
        bytes.ok_or_else(|| cannot_keep(io::ErrorKind::UnexpectedEof.into()))
    }
}

#[cfg(test)]
mod tests {
    use gix::{ObjectId, hash::Kind};

    use super::{Deletion, DeletionLog, Mode, Status};

    /// As many as do not fit into a block, and more than a directory of the same beginning.
    fn deletions() -> Vec<Deletion> {
        let deletion = |name: String, mode| Deletion {
            name: name.into(),
            status: Status::Deleted,
            mode,
            id: ObjectId::null(Kind::Sha1),
        };
        let files = |directory: &str, count: usize| {
            let file = |number| deletion(format!("{directory}f{number:05}"), Mode::File);
            (0..count).map(file).collect::<Vec<_>>()
        };
        let long = "n".repeat(100_000);
        [
            files("a/b/", 2000),
            vec![deletion("a/b/".into(), Mode::Directory)],
            files("a/c", 3),
            vec![deletion("a/".into(), Mode::Directory)],
            vec![deletion("a-b".into(), Mode::Executable)],
            vec![deletion(long, Mode::Symlink)],
            files("z/", 3000),
        ]
        .concat()
    }

    #[test]
    fn deletions_come_back_from_memory_and_from_a_file() {
        let deletions = deletions();
        for max_memory in [0, 1000, 1 << 30] {
            let mut log = DeletionLog::new(max_memory);
            for deletion in &deletions {
                log.add(deletion).expect("room");
            }
            let kept = log.finish().expect("room");
            let mut found = Vec::new();
            kept.each(&mut |deletion| {
                found.push(deletion.clone());
                Ok(())
            })
            .expect("readable");
            assert!(found == deletions && !kept.is_empty());
        }
        let none = DeletionLog::new(0).finish().expect("nothing to write");
        assert!(none.is_empty());
    }
}
