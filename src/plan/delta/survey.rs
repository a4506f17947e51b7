//! The first look at what changed: what is gone, and how much there is.
//!
//! Taken before the first byte is written, so that whoever wants less, or everything instead, can be
//! told in time, and so that deletions can go in front.

use gix::ObjectId;

use super::{Change, Diff, Kept, Step};
use crate::{
    decode::reader::Reader,
    error::{Error, Result, sanitised},
    pipeline::{self, Limits, Made, Sink, Source, Worker},
    plan::entry::Mode,
    report::{Changes, Status},
};

/// What is gone, makes room for something of another type, or may turn out to be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// What it was called in the archive; a directory ends in a slash.
    pub name: Vec<u8>,
    /// What happened to it.
    pub status: Status,
    /// What it was.
    pub mode: Mode,
    /// Its id.
    pub id: ObjectId,
}

/// What changed, as far as it has to be known beforehand.
pub struct Survey {
    /// In the order of trees; a directory after all that was in it.
    pub deletions: Vec<Deletion>,
    /// Paths that differ, by [`Status`].
    pub changes: Changes,
    /// What need not be found again.
    pub kept: Kept,
    /// Directories that were read.
    pub directories: u64,
    /// What there is to complain of about attribute files of the new tree.
    pub complaints: Vec<u8>,
    /// The first path with a name that would be taken for a whiteout.
    odd_name: Option<Vec<u8>>,
    bounds: Bounds,
}

/// What limits a survey.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// More paths than this are too many to differ.
    pub changes: Option<u64>,
    /// Bytes of what need not be found again.
    pub kept: usize,
    /// Threads; by default as many as there are cores to run on.
    pub threads: Option<usize>,
}

/// What a whiteout's name starts with (OCI image layer specification, "Whiteouts").
const WHITEOUT: &[u8] = b".wh.";

/// Directories read, or paths that differ, in a part of a survey, before another thread may go on with
/// the rest.
const PART: u64 = 64;
/// Bytes that such a part takes, about.
const PART_BYTES: usize = 16 << 10;
/// More threads take longer to start than they save.
const MAX_THREADS: usize = 8;

impl Survey {
    fn new(bounds: Bounds) -> Self {
        Self {
            deletions: Vec::new(),
            changes: Changes::default(),
            kept: Kept::new(bounds.kept),
            directories: 0,
            complaints: Vec::new(),
            odd_name: None,
            bounds,
        }
    }

    /// Look at all that differs, within these `bounds`.
    pub fn take(diff: Diff, reader: Reader, bounds: Bounds) -> Result<Self> {
        let source = Looker {
            diff,
            reader,
            bounds,
        };
        let limits = Limits {
            threads: bounds.threads,
            max_threads: MAX_THREADS,
            budget: usize::MAX,
            queued: bounds.kept / PART_BYTES,
        };
        let mut survey = Self::new(bounds);
        let (_, outcome) = pipeline::run(source, &Parts, &mut survey, limits);
        outcome.map(|()| survey)
    }

    /// Add what `part` has found behind this.
    fn append(&mut self, part: Self) -> Result<()> {
        self.deletions.extend(part.deletions);
        self.changes += part.changes;
        self.kept.append(part.kept);
        self.directories += part.directories;
        self.complaints.extend(part.complaints);
        self.odd_name = self.odd_name.take().or(part.odd_name);
        self.within_bounds()
    }

    fn within_bounds(&self) -> Result<()> {
        match self.bounds.changes {
            Some(limit) if self.changes.total() > limit => Err(Error::too_many_changes(limit)),
            _ => Ok(()),
        }
    }

    fn changed(&mut self, diff: &mut Diff, change: &Change) {
        self.changes.count(change.status);
        self.look_at(diff.path());
        let is_gone = match change.status {
            Status::Deleted | Status::TypeChanged => true,
            // Then nobody would take the old one away.
            Status::Modified => diff.view().may_omit_binary(),
            Status::Added => false,
        };
        if let Some(old) = change.old.as_ref().filter(|_| is_gone) {
            self.deletions.push(Deletion {
                name: diff.name(old.mode),
                status: change.status,
                mode: old.mode,
                id: old.id,
            });
        }
    }

    fn directory(&mut self, diff: &Diff, status: Status, id: ObjectId) {
        self.look_at(diff.path());
        if status == Status::Deleted {
            self.deletions.push(Deletion {
                name: diff.name(Mode::Directory),
                status,
                mode: Mode::Directory,
                id,
            });
        }
    }

    fn look_at(&mut self, path: &[u8]) {
        let mut names = path.split(|byte| *byte == b'/');
        if self.odd_name.is_none() && names.any(|name| name.starts_with(WHITEOUT)) {
            self.odd_name = Some(path.to_vec());
        }
    }

    /// Fail if the names of whiteouts could not be told from others.
    pub fn refuse_odd_names(&self) -> Result<()> {
        let Some(path) = &self.odd_name else {
            return Ok(());
        };
        let path = sanitised(path);
        Err(
            Error::fatal(format!("cannot tell '{path}' from a whiteout"))
                .hinted("--deletions=pax can carry it"),
        )
    }
}

impl Deletion {
    /// The names of what stands for all `deletions`: a directory for all that was in it.
    pub fn topmost(deletions: &[Self]) -> Vec<&[u8]> {
        let mut names: Vec<&[u8]> = Vec::new();
        for deletion in deletions {
            let name = &deletion.name[..];
            if deletion.mode == Mode::Directory {
                while names.last().is_some_and(|last| last.starts_with(name)) {
                    names.pop();
                }
            }
            names.push(name);
        }
        names
    }
}

/// `dir/name` as `dir/.wh.name`; the slash at the end of a directory's name goes.
pub fn whiteout(name: &[u8]) -> Vec<u8> {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let base = name
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    [&name[..base], WHITEOUT, &name[base..]].concat()
}

/// Takes surveys, part after part.
struct Looker {
    diff: Diff,
    reader: Reader,
    bounds: Bounds,
}

impl Looker {
    /// Look at what comes next; whether it was the last.
    fn look(&mut self, survey: &mut Survey) -> Result<bool> {
        let read = self.diff.directories();
        loop {
            let step = self.diff.step(&mut self.reader)?;
            survey.directories = self.diff.directories() - read;
            match &step {
                Step::Nothing => {}
                Step::End => return Ok(true),
                Step::Changed(change) => {
                    survey.changed(&mut self.diff, change);
                    survey.within_bounds()?;
                }
                Step::Directory(status, id) => survey.directory(&self.diff, *status, *id),
            }
            survey.kept.add(&mut self.diff, step);
            if survey.directories.max(survey.changes.total()) >= PART {
                return Ok(false);
            }
        }
    }
}

impl Source for Looker {
    type Batch = Survey;

    fn next(&mut self) -> Result<Made<Survey>> {
        let mut batch = Survey::new(self.bounds);
        let last = self.look(&mut batch);
        // What was not found may be there: nothing may be made of that.
        if let Some(refusal) = self.reader.odb.refusal() {
            return Err(refusal);
        }
        batch.complaints = self.diff.note().before;
        Ok(Made { batch, last: last? })
    }

    fn fork(&mut self) -> Option<Self> {
        Some(Self {
            diff: self.diff.fork()?,
            reader: self.reader.another(),
            bounds: self.bounds,
        })
    }
}

/// Parts of a survey, with which nothing is left to be done but to put them together.
struct Parts;

impl Worker for Parts {
    type Batch = Survey;
    type Job = Survey;
    type Output = Option<Survey>;
    type Scratch = ();

    fn scratch(&self) {}

    fn split(&self, batch: Survey) -> Result<Vec<Survey>> {
        Ok(vec![batch])
    }

    fn cost(&self, _: &Survey) -> usize {
        0
    }

    fn held(&self, _: &Option<Survey>) -> usize {
        0
    }

    fn len(&self, _: &Option<Survey>) -> usize {
        0
    }

    fn work(&self, (): &mut (), part: Survey, out: &mut Option<Survey>) -> Result<Option<Survey>> {
        *out = Some(part);
        Ok(None)
    }

    fn finish(&self, (): &mut (), _: Survey, _: &mut dyn Sink<Option<Survey>>) -> Result<()> {
        unreachable!("no work is left to the writer")
    }
}

impl Sink<Option<Survey>> for Survey {
    fn write(&mut self, part: &mut Option<Survey>) -> Result<()> {
        part.take().map_or(Ok(()), |part| self.append(part))
    }

    fn abandon(&mut self, _: &mut Option<Survey>) {}
}
