//! Compares the directory with the list of what archives have brought. Must not change anything.
//!
//! Each path has to be there with its kind, its content and its permissions: those of the archive for the owner, and no
//! more for others. What no archive has brought is not looked at.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use bstr::BString;
use cap_std::fs::{Metadata, MetadataExt};
use crossbeam_channel::{Receiver, RecvTimeoutError};

use sluice_base::{
    error::{Error, Result},
    io::each_piece,
    progress::{Console, Done, Meter, Total},
    threads::Workers,
};

use super::{
    cursor::{Cursor, failed},
    delta::Id,
    hash::{ContentHash, Hasher},
    list::{List, LiveRecords},
    path::ArchivePath,
    record::{PathRecord, RecordKind},
    root::LockedDirectory,
};

/// A thread gets records of this many bytes at a time: few, so that no thread waits long for the last one.
const BATCH_LEN: usize = 4 << 10;
/// Bytes of a file that are read at once.
const READ_LEN: usize = 128 << 10;
/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// What is wrong at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    Missing,
    Kind,
    Permissions,
    Content,
}

impl Difference {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Kind => "kind",
            Self::Permissions => "permissions",
            Self::Content => "content",
        }
    }
}

/// The paths that differ.
pub(super) type Differences = BTreeMap<BString, Difference>;

/// Some records of the list.
#[derive(Default)]
struct Batch {
    /// The number of the first.
    first: u64,
    records: Vec<u8>,
}

/// Compare the directory with the list of the files of `commit`.
pub(super) fn verify(
    root: &LockedDirectory,
    commit: &Id,
    console: &mut Console<'_>,
) -> Result<Differences> {
    let unknown = || {
        let unlisted = format!("cannot verify: '.git-sluice.files' does not list commit {commit}");
        Error::fatal(unlisted).hinted("apply a full archive to an empty directory")
    };
    let mut list = List::of(root.directory(), &[commit])?.ok_or_else(unknown)?;
    let latest = list.latest()?;
    let compared = Compared::default();
    let mut progress = VerifyProgress {
        console,
        meter: Meter::new("Verifying", Total::Bytes(latest.bytes)),
        compared: &compared,
    };
    progress.update();
    let found = compare(root, list, &latest, &mut progress)?;
    progress.finish();
    Ok(found)
}

/// Compare the records that count, on several threads.
fn compare(
    root: &LockedDirectory,
    mut list: List,
    latest: &LiveRecords,
    progress: &mut VerifyProgress<'_, '_>,
) -> Result<Differences> {
    thread::scope(|scope| {
        let compared = progress.compared;
        let mut own = Verifier::new(root, latest, compared);
        let threads = Workers::start(scope, root.helpers(), || {
            let mut verifier = Verifier::new(root, latest, compared);
            move |batches: Receiver<Batch>| {
                let compared = batches
                    .iter()
                    .try_for_each(|batch| verifier.compare(&batch));
                compared.map(|()| verifier.found)
            }
        });
        let mut deliver = |batch: Batch| {
            progress.update();
            threads.offer(batch).or_else(|batch| own.compare(&batch))
        };
        let mut batch = Batch::default();
        list.each_line(|number, line| {
            batch.records.extend_from_slice(line);
            if batch.records.len() >= BATCH_LEN {
                let next = Batch {
                    first: number + 1,
                    records: Vec::new(),
                };
                deliver(std::mem::replace(&mut batch, next))?;
            }
            Ok(())
        })?;
        deliver(batch)?;
        let mut all = own.found;
        let results = threads.finish();
        loop {
            match results.recv_timeout(TICK) {
                Ok(found) => all.extend(found?),
                Err(RecvTimeoutError::Timeout) => progress.update(),
                Err(RecvTimeoutError::Disconnected) => return Ok(all),
            }
        }
    })
}

/// What is compared so far.
#[derive(Default)]
struct Compared {
    bytes: AtomicU64,
    entries: AtomicU64,
}

/// Shows how far the comparison is.
struct VerifyProgress<'a, 'c> {
    console: &'a mut Console<'c>,
    meter: Meter,
    compared: &'a Compared,
}

impl VerifyProgress<'_, '_> {
    fn update(&mut self) {
        let done = self.done();
        self.console.update(&mut self.meter, done);
    }

    fn finish(mut self) {
        let done = self.done();
        self.console.finish(&mut self.meter, done);
    }

    fn done(&self) -> Done {
        let Compared { bytes, entries } = self.compared;
        Done {
            bytes: bytes.load(Ordering::Relaxed),
            entries: Some(entries.load(Ordering::Relaxed)),
        }
    }
}

/// What a thread does.
struct Verifier<'r> {
    cursor: Cursor<'r>,
    latest: &'r LiveRecords,
    compared: &'r Compared,
    buffer: Vec<u8>,
    found: Differences,
}

impl<'r> Verifier<'r> {
    fn new(root: &'r LockedDirectory, latest: &'r LiveRecords, compared: &'r Compared) -> Self {
        Self {
            cursor: root.cursor(),
            latest,
            compared,
            buffer: vec![0; READ_LEN],
            found: Differences::new(),
        }
    }

    fn compare(&mut self, batch: &Batch) -> Result<()> {
        let lines = batch.records.split_inclusive(|&byte| byte == 0);
        for (number, line) in (batch.first..).zip(lines) {
            let record = PathRecord::of_line(line)?;
            if self.latest.counts(number, &record) {
                if let Some(difference) = self.difference(&record)? {
                    self.found.insert(record.path.into(), difference);
                }
                self.compared.entries.fetch_add(1, Ordering::Relaxed);
            }
            let bytes = record.kind.bytes();
            self.compared.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    fn difference(&mut self, record: &PathRecord<'_>) -> Result<Option<Difference>> {
        if let RecordKind::Begun | RecordKind::Deleted = record.kind {
            return Ok(None);
        }
        let path = ArchivePath::new(record.path)?;
        let Some(status) = self.cursor.status(&path)? else {
            return Ok(Some(Difference::Missing));
        };
        let seen = on_the_surface(&status, record.kind);
        let is_same = match record.kind {
            _ if seen.is_some() => return Ok(seen),
            RecordKind::Directory { .. } | RecordKind::Begun | RecordKind::Deleted => true,
            RecordKind::File { hash, .. } => self.hash(&path)? == hash,
            RecordKind::Hole { .. } => status.blocks() == 0 || self.is_zero(&path)?,
            RecordKind::Link { hash } => ContentHash::of(&self.cursor.link_target(&path)?) == hash,
        };
        Ok((!is_same).then_some(Difference::Content))
    }

    fn hash(&mut self, path: &ArchivePath<'_>) -> Result<ContentHash> {
        let mut hasher = Hasher::default();
        self.read(path, |piece| hasher.update(piece))?;
        Ok(hasher.finish())
    }

    fn is_zero(&mut self, path: &ArchivePath<'_>) -> Result<bool> {
        let mut is_zero = true;
        self.read(path, |piece| is_zero &= piece.iter().all(|&byte| byte == 0))?;
        Ok(is_zero)
    }

    fn read(&mut self, path: &ArchivePath<'_>, mut take: impl FnMut(&[u8])) -> Result<()> {
        let file = self.cursor.open_file(path)?;
        let failed = |error| failed("read", path.bytes(), error);
        each_piece(file, &mut self.buffer, failed, |piece| {
            take(piece);
            Ok(())
        })
    }
}

/// The difference that shows without a look at the content.
fn on_the_surface(status: &Metadata, listed: RecordKind) -> Option<Difference> {
    let kind = status.file_type();
    let (is_kind, mode, size) = match listed {
        // Every directory can be entered, and takes bits of its own from the one that it is in.
        RecordKind::Directory { mode } => (kind.is_dir(), mode | 0o7700, None),
        RecordKind::Link { .. } => (kind.is_symlink(), 0o7777, None),
        RecordKind::File { mode, size, .. } | RecordKind::Hole { mode, size } => {
            (kind.is_file(), mode, Some(size))
        }
        RecordKind::Begun | RecordKind::Deleted => return None,
    };
    // The owner may do what the archive says, and others no more than that.
    let there = status.mode() & 0o7777;
    let is_permitted = there & 0o700 == mode & 0o700 && there & !mode == 0;
    if !is_kind {
        Some(Difference::Kind)
    } else if !is_permitted {
        Some(Difference::Permissions)
    } else if size.is_some_and(|size| size != status.len()) {
        Some(Difference::Content)
    } else {
        None
    }
}
