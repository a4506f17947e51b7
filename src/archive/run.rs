//! Carries a request out: chooses the format, divides the memory, joins plan and writer by the pipeline.
//!
//! The caller opens and closes all files and streams. This module never does.

use std::{
    io::{self, IoSlice, Write},
    sync::atomic::Ordering,
    time::Duration,
};

use super::{
    prepare::{self, Prepared},
    writer::Writer,
};
use crate::{
    buffer::Buffer,
    deflate::{self, Gzip},
    emit::{self, zip::Zip, zstd::Zstd},
    error::{Error, Result},
    output::RecordWriter,
    pipeline,
    report::{Figures, Manifest, Meter, Past, Seconds, Status, gone},
    request::{Delta, Request, Scope, format::Format},
    tree::Mode,
};

/// Bytes of lines of the manifest that are written at once.
const LINES_LEN: usize = 64 << 10;

/// The destinations of a run: archive, messages and progress.
pub struct Outputs<'a> {
    /// Takes the archive.
    pub destination: &'a mut (dyn Write + Send),
    /// Takes messages to the user.
    pub diagnostics: &'a mut (dyn Write + Send),
    /// Shows progress.
    pub meter: Option<Meter>,
}

/// Counters of one run. Filled in on success and on failure.
#[derive(Default)]
pub struct RunStats {
    /// The numbers of the summary.
    pub figures: Figures,
    /// Takes a line for each entry. The caller ends the manifest after the archive is delivered; a run
    /// leaves the end open.
    pub manifest: Option<Manifest>,
}

/// Makes the archive that `request` asks for, and counts in `stats`. A tar for a filter command is written
/// unfiltered: the destination has to be the input of the command.
pub fn run(request: Request, outputs: Outputs<'_>, stats: &mut RunStats) -> Result<()> {
    let mut destination = Counted {
        inner: outputs.destination,
        bytes: 0,
    };
    let diagnostics = Diagnostics {
        output: outputs.diagnostics,
        meter: outputs.meter,
    };
    let outcome = formatted(request, &mut destination, diagnostics, stats);
    stats.figures.bytes = destination.bytes;
    outcome
}

/// Tells the user of a running archive: messages and progress.
struct Diagnostics<'a> {
    output: &'a mut (dyn Write + Send),
    meter: Option<Meter>,
}

fn formatted(
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: Diagnostics<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::write(&error);
    match request.format {
        Format::Tar | Format::Filtered(_) => {
            let mut records = RecordWriter::new(destination);
            let outcome = stream(
                prepare::tar(&request),
                request,
                &mut records,
                diagnostics,
                stats,
            );
            let flushed = records.flush().map_err(failed);
            outcome.and(flushed)
        }
        Format::TarGz(level) => {
            let settings = deflate::GzipSettings {
                level,
                dialect: request.gzip_dialect,
                threads: request.threads.unwrap_or_else(pipeline::default_threads),
                piece: None,
            };
            let settings = settings.within(request.budget.deflate());
            let mut gzip = Gzip::new(settings, destination);
            stream(
                prepare::tar(&request),
                request,
                &mut gzip,
                diagnostics,
                stats,
            )?;
            gzip.finish().map(drop).map_err(failed)
        }
        Format::TarZst(level) => {
            let threads = request.threads.unwrap_or_else(pipeline::default_threads);
            let mut zstd = Zstd::new(destination, level, threads).map_err(failed)?;
            stream(
                prepare::tar(&request),
                request,
                &mut zstd,
                diagnostics,
                stats,
            )?;
            zstd.finish().map_err(failed)
        }
        Format::Zip(level) => {
            let zip = Zip {
                times: request.times,
                level,
                comment: prepare::comment(&request),
                directory_memory: request.budget.zip_directory(),
            };
            stream(zip, request, destination, diagnostics, stats)
        }
    }
}

fn stream<F: emit::Format>(
    format: F,
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: Diagnostics<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    if let Scope::Delta(delta) = &request.scope {
        stats.figures.changes = Some(delta.counts);
        list_deletions(delta, request.rules.redacted, stats)?;
    }
    let manifest = stats.manifest.take();
    let Prepared {
        archiver,
        planner,
        limits,
        shareable,
    } = Prepared::new(format, request, manifest.is_some())?;
    let directories = planner.directories();
    let Diagnostics { output, meter } = diagnostics;
    let mut writer = Writer::new(
        destination,
        output,
        &archiver.format,
        manifest,
        meter,
        shareable,
    );
    let (times, outcome) = pipeline::run(planner, &archiver, &mut writer, limits);
    let outcome = outcome.and_then(|()| writer.finish());
    (stats.figures.counts, stats.manifest) = writer.into_stats();
    stats.figures.counts.directories.read = directories.load(Ordering::Relaxed);
    stats.figures.seconds = Seconds {
        wall: Duration::ZERO,
        plan: times.plan,
        work: times.work,
        write: times.write,
    };
    outcome
}

/// Lists the deleted paths at the start of the manifest.
fn list_deletions(delta: &Delta, redacted: bool, stats: &mut RunStats) -> Result<()> {
    let Some(manifest) = &mut stats.manifest else {
        return Ok(());
    };
    let mut lines = Buffer::default();
    delta.deletions.each(&mut |deletion| {
        // The archive may still leave this path out; the line of the entry says whether it does.
        if deletion.status == Status::Modified {
            return Ok(());
        }
        let id = match deletion.mode {
            Mode::Directory if redacted => &[],
            _ => deletion.id.as_bytes(),
        };
        let past = Past {
            status: deletion.status,
            old: Some((deletion.mode.bits(), id)),
        };
        gone(&deletion.name, past, &mut lines);
        if lines.len() >= LINES_LEN {
            manifest.write(&lines)?;
            lines.clear();
        }
        Ok(())
    })?;
    manifest.write(&lines)
}

/// Counts the bytes that pass.
struct Counted<'a> {
    inner: &'a mut (dyn Write + Send),
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.inner.write_vectored(slices)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
