//! Manifest and summary of one run: opened before the run begins, finished after the run ends.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path, time::Instant};

use super::{
    Bands, Channel, Manifest, ManifestHeader, ReportWriter, RunLog, Summary, summary::peak_memory,
};
use sluice_base::{
    error::{Error, Result, format_bytes},
    working_directory::WorkingDirectory,
};

/// The requested reports.
pub struct Reports {
    manifest: Option<ReportWriter>,
    summary: Option<ReportWriter>,
    log: Option<RunLog>,
    started: Instant,
    /// Bytes that the archive was expected to have before it was made.
    expected: Option<u64>,
}

impl Reports {
    /// Open the channels that are named in `directory`, before any other step. A channel must differ from the
    /// destination of the archive: the file `output`, or else standard output.
    pub fn open(
        manifest: Option<&OsStr>,
        summary: Option<&OsStr>,
        output: Option<&Path>,
        directory: &WorkingDirectory,
        bands: Bands<'_>,
    ) -> Result<Self> {
        let output = output.map(|output| directory.file(output).path);
        let open = |option: &str, name: Option<&OsStr>| {
            let Some(name) = name else { return Ok(None) };
            let channel = Channel::parse(name, directory).map_err(|why| {
                let values = [name.as_bytes(), option.as_bytes(), why.as_bytes()];
                Error::usage(format_bytes("invalid value '{}' for '--{}': {}", &values))
            })?;
            if channel.is_of_archive(output.as_deref()) {
                let values = [option.as_bytes(), name.as_bytes()];
                let message = format_bytes("--{}={} is where the archive goes", &values);
                return Err(Error::fatal(message));
            }
            channel.open(bands).map(Some)
        };
        Ok(Self {
            manifest: open("manifest", manifest)?,
            summary: open("summary", summary)?,
            log: None,
            started: Instant::now(),
            expected: None,
        })
    }

    /// Adds `log`, which gets a line at the end of the run.
    pub fn with_log(self, log: Option<RunLog>) -> Self {
        Self { log, ..self }
    }

    /// Begin the manifest, if one is requested. `length` works out the bytes of the archive, if they can be known.
    pub fn manifest(
        &mut self,
        header: &ManifestHeader,
        length: impl FnOnce() -> Option<u64>,
    ) -> Result<Option<Manifest>> {
        let Some(outlet) = self.manifest.take() else {
            return Ok(None);
        };
        self.expected = length();
        Manifest::begin(outlet, header, self.expected).map(Some)
    }

    /// Completes `summary` and writes it. After a run without a failure, no later step may fail.
    pub fn finish(self, mut summary: Summary, outcome: Result<()>) -> Result<()> {
        if self.summary.is_none() && self.log.is_none() {
            return outcome;
        }
        let failure = outcome.as_ref().err().filter(|error| error.is_cut());
        summary.content_length = self.expected.or_else(|| {
            let is_whole = failure.is_none() && summary.range.is_none();
            (is_whole && !summary.is_filtered).then_some(summary.bytes_out)
        });
        summary.seconds.wall = self.started.elapsed();
        summary.peak_memory = peak_memory();
        let reported = match self.summary {
            Some(outlet) => summary.write(outlet, failure),
            None => Ok(()),
        };
        if let Some(log) = self.log {
            log.write(summary, failure);
        }
        outcome.and(reported)
    }
}
