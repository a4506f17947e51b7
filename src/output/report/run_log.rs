//! The log of runs: the summary of each run as one line, appended to a file that many processes share, and as events of git's
//! Trace2.
//!
//! A line is appended in one write, so lines of different processes never mix. A run never fails because its line cannot be
//! written: `git sluice stand-in --check` reports that.

use std::{io::Write, path::PathBuf};

use super::{
    Summary,
    run_origin::{RunOrigin, open_log},
    trace2::Trace2,
};
use crate::base::error::Error;

/// The places that get the summary of a run, whether or not `--summary` asks for it.
#[derive(Debug)]
pub struct RunLog {
    /// The run.
    pub origin: RunOrigin,
    /// The file of `sluice.log`.
    pub file: Option<PathBuf>,
    /// The place of `GIT_TRACE2_EVENT`.
    pub trace: Option<Trace2>,
}

impl RunLog {
    /// Appends the `summary` of a run that ended with `status`.
    pub(super) fn write(self, mut summary: Summary, failure: Option<&Error>, status: u8) {
        summary.run = Some(self.origin.clone());
        let document = summary.document(failure);
        if let Some(trace) = &self.trace {
            trace.write(&document, &self.origin, status);
        }
        if let Some(file) = &self.file
            && let Ok(mut line) = serde_json::to_vec(&document)
        {
            line.push(b'\n');
            let _ = open_log(file).and_then(|mut file| file.write(&line));
        }
    }
}
