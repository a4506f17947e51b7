//! The first look at what changed: what is gone, and how much there is.
//!
//! Taken before the first byte is written, so that whoever wants less, or everything instead, can be
//! told in time, and so that deletions can go in front.

use gix::ObjectId;

use super::{Change, Diff, Kept, Step};
use crate::{
    decode::reader::Reader,
    error::{Error, Result, sanitised},
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
    /// The first path with a name that would be taken for a whiteout.
    odd_name: Option<Vec<u8>>,
}

/// What a whiteout's name starts with (OCI image layer specification, "Whiteouts").
const WHITEOUT: &[u8] = b".wh.";

impl Survey {
    /// Look at all that differs, unless more than `limit` paths do, and keep as much of it as `kept` takes.
    pub fn take(
        diff: &mut Diff,
        reader: &mut Reader,
        limit: Option<u64>,
        kept: Kept,
    ) -> Result<Self> {
        let mut survey = Self {
            deletions: Vec::new(),
            changes: Changes::default(),
            kept,
            odd_name: None,
        };
        loop {
            let step = diff.step(reader)?;
            match &step {
                Step::Nothing => {}
                Step::End => return Ok(survey),
                Step::Changed(change) => {
                    survey.changed(diff, change);
                    let total = survey.changes.total();
                    if let Some(limit) = limit.filter(|limit| total > *limit) {
                        return Err(Error::too_many_changes(limit));
                    }
                }
                Step::Directory(status, id) => survey.directory(diff, *status, *id),
            }
            survey.kept.add(diff, step);
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
