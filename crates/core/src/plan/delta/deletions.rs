//! The deletions of a diff and the paths that it may add, in the order of trees. A short list stays in memory, a longer one goes to an
//! unnamed temporary file: there may be millions of paths, which must never all be in memory.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    sync::Arc,
};

use gix_hash::ObjectId;

use crate::output::report::Status;
use sluice_base::{
    buffer::spool::{Spool, Spooled},
    error::{Error, Result},
};
use sluice_git::tree::Mode;

/// Bytes read at once.
const BLOCK_LEN: usize = 64 << 10;
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

/// Collects deletions during the diff, and the names of files that the archive of the base may lack.
pub(super) struct DeletionLog {
    deletions: Spool,
    /// The names, each with a NUL at its end.
    added: Spool,
}

impl DeletionLog {
    /// An empty log that holds up to `max_memory` bytes of deletions in memory, and as many of additions.
    pub(super) fn new(max_memory: usize) -> Self {
        Self {
            deletions: Spool::new(max_memory),
            added: Spool::new(max_memory),
        }
    }

    /// Append names of files that the archive of the base may lack, each with a NUL at its end.
    pub(super) fn add_names(&mut self, added: &[u8]) -> Result<()> {
        self.added.write_all(added).map_err(cannot_keep)
    }

    /// Append `deletion`, as a record after its length.
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
        let len = codes.len() + id.len() + deletion.name.len();
        for part in [&len.to_le_bytes()[..], &codes, id, &deletion.name] {
            self.deletions.write_all(part).map_err(cannot_keep)?;
        }
        Ok(())
    }

    /// Finish the log and return what it holds.
    pub(super) fn finish(self) -> Result<Deletions> {
        Ok(Deletions {
            own: Arc::new(self.deletions.finish().map_err(cannot_keep)?),
            added: Arc::new(self.added.finish().map_err(cannot_keep)?),
            inner: Vec::new(),
        })
    }
}

/// All deletions of a diff, and the names of files that the archive of the base may lack.
pub struct Deletions {
    own: Arc<Spooled>,
    /// The names, each with a NUL at its end.
    added: Arc<Spooled>,
    /// Those in submodules.
    inner: Vec<Arc<Deletions>>,
}

impl Deletions {
    /// Whether there is no deletion.
    pub fn is_empty(&self) -> bool {
        self.own.size() == 0 && self.inner.iter().all(|inner| inner.is_empty())
    }

    /// These deletions, preceded by those inside submodules.
    pub fn after(&self, inner: Vec<Arc<Self>>) -> Self {
        Self {
            own: Arc::clone(&self.own),
            added: Arc::clone(&self.added),
            inner,
        }
    }

    /// Pass all deletions to `taker`, those in submodules first, in the order of trees. A directory follows its entries.
    pub fn each(&self, taker: &mut dyn FnMut(&Deletion) -> Result<()>) -> Result<()> {
        self.inner.iter().try_for_each(|inner| inner.each(taker))?;
        let mut records = BufReader::with_capacity(BLOCK_LEN, self.own.reader());
        while !records.fill_buf().map_err(cannot_keep)?.is_empty() {
            taker(&next(&mut records).map_err(cannot_keep)?)?;
        }
        Ok(())
    }

    /// Pass the names of all files and links to `taker` that the archive of the base lacks, or may lack. Some may turn out to be
    /// omitted again.
    pub fn each_added(&self, taker: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.inner
            .iter()
            .try_for_each(|inner| inner.each_added(taker))?;
        let mut names = BufReader::with_capacity(BLOCK_LEN, self.added.reader());
        let mut name = Vec::new();
        while names.read_until(0, &mut name).map_err(cannot_keep)? > 0 {
            name.pop();
            taker(&name)?;
            name.clear();
        }
        Ok(())
    }
}

/// The deletion of the next record.
fn next(records: &mut impl Read) -> io::Result<Deletion> {
    let mut len = usize::to_le_bytes(0);
    records.read_exact(&mut len)?;
    let mut record = vec![0; usize::from_le_bytes(len)];
    records.read_exact(&mut record)?;
    Deletion::parse(&record).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn cannot_keep(error: io::Error) -> Error {
    Error::fatal("cannot store deleted paths").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gix_hash::{Kind, ObjectId};

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

    #[test]
    fn added_names_come_back_those_of_submodules_first() {
        let log = |names: &[u8]| {
            let mut log = DeletionLog::new(1);
            log.add_names(names).expect("room");
            log.finish().expect("room")
        };
        let inner = Arc::new(log(b"sub/a\0"));
        let all = log(b"b\0\xff c\0").after(vec![inner]);
        let mut found = Vec::new();
        all.each_added(&mut |name| {
            found.push(name.to_vec());
            Ok(())
        })
        .expect("readable");
        assert_eq!(found, [&b"sub/a"[..], b"b", b"\xff c"]);
        assert!(all.is_empty(), "nothing is deleted");
    }
}
