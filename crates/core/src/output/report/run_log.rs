//! The log of runs: the summary of each run as one line, appended to a file that many processes share.
//!
//! A line is appended in one write, so lines of different processes never mix. A run never fails because its line cannot be
//! written: `git sluice stand-in --check` reports that.

use std::{io::Write, path::PathBuf};

use super::{
    Summary,
    run_origin::{RunOrigin, open_log},
};
use sluice_base::error::Error;

/// The file that gets the summary of a run, whether or not `--summary` asks for it.
#[derive(Debug)]
pub struct RunLog {
    /// The run.
    pub origin: RunOrigin,
    /// The file of `sluice.log`.
    pub file: PathBuf,
}

impl RunLog {
    /// Appends the `summary` of a run.
    pub(super) fn write(self, mut summary: Summary, failure: Option<&Error>) {
        summary.run = Some(self.origin);
        if let Ok(mut line) = serde_json::to_vec(&summary.document(failure)) {
            line.push(b'\n');
            let _ = open_log(&self.file).and_then(|mut file| file.write(&line));
        }
    }
}
