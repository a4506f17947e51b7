//! Carries a request out: chooses the format, divides the memory, joins plan and writer by the pipeline.
//!
//! The caller opens and closes all files and streams. This module never does.

use std::{
    io::{self, IoSlice, Write},
    sync::atomic::Ordering,
    time::Duration,
};

use super::{
    donor::Inheritance,
    fetch,
    prepare::{self, Prepared},
    writer::ArchiveWriter,
};
use sluice_deflate::{Compressor, CompressorSettings};

use crate::{
    output::{
        RecordWriter,
        report::{Manifest, ManifestChange, Seconds, Status, Summary, write_deletion},
    },
    plan::{
        Window,
        part::{Entries, EntryRange},
    },
    request::{Delta, Request, Run, format::Format},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
    pipeline,
    progress::{Console, Meter},
};
use sluice_format as format;
use sluice_format::{zip::Zip, zstd::Zstd};
use sluice_git::tree::Mode;

/// Bytes of lines of the manifest that are written at once.
const LINES_LEN: usize = 64 << 10;

/// The destinations of a run: archive, messages and progress.
pub struct ArchiveOutputs<'a> {
    /// Takes the archive.
    pub destination: &'a mut (dyn Write + Send),
    /// Takes messages to the user, and shows progress.
    pub console: Console<'a>,
    /// Measures the progress of the archive.
    pub meter: Meter,
}

/// Counters of one run. Filled in on success and on failure.
#[derive(Default)]
pub struct RunStats {
    /// The facts for the summary.
    pub summary: Summary,
    /// Takes a line for each entry. The caller ends the manifest after the archive is delivered; a run
    /// leaves the end open.
    pub manifest: Option<Manifest>,
    /// What the archive copies from an earlier one, and leaves for the next one.
    pub inheritance: Inheritance,
}

/// Makes the archive that `request` asks for, and counts in `stats`. A tar for a filter command is written
/// unfiltered: the destination has to be the input of the command.
pub fn run(request: Request, mut outputs: ArchiveOutputs<'_>, stats: &mut RunStats) -> Result<()> {
    let request = fetch::completed(request, &mut outputs.console)?;
    let mut destination = Counted {
        inner: outputs.destination,
        bytes: 0,
    };
    let diagnostics = Diagnostics {
        console: outputs.console,
        meter: outputs.meter,
    };
    let outcome = formatted(request, &mut destination, diagnostics, stats);
    stats.summary.bytes_out = destination.bytes;
    outcome
}

/// Tells the user of a running archive: messages and progress.
struct Diagnostics<'a> {
    console: Console<'a>,
    meter: Meter,
}

fn formatted(
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: Diagnostics<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::write(&error);
    let Run {
        threads, budget, ..
    } = request.run;
    let threads = || threads.unwrap_or_else(pipeline::default_threads);
    match request.content.format {
        Format::Tar | Format::Filtered(_) => {
            let mut records = RecordWriter::new(destination);
            let outcome = stream_tar(request, &mut records, diagnostics, stats);
            let flushed = records.flush().map_err(failed);
            outcome.and(flushed)
        }
        Format::TarGz(level, dialect) => {
            let settings = CompressorSettings::new(level, dialect)
                .threads(threads())
                .within(budget.compressors());
            let mut gzip = Compressor::gzip(settings, destination);
            stream_tar(request, &mut gzip, diagnostics, stats)?;
            gzip.finish().map(drop).map_err(failed)
        }
        Format::TarZst(level) => {
            let threads = level.threads_within(threads().max(1), budget.compressors());
            let mut zstd = Zstd::new(destination, level, threads);
            stream_tar(request, &mut zstd, diagnostics, stats)?;
            zstd.finish().map(drop).map_err(failed)
        }
        Format::Zip(level) => {
            let zip = Zip {
                times: request.content.times,
                level,
                comment: prepare::comment(&request.content),
                directory_memory: budget.zip_directory(),
            };
            stream(
                zip,
                request,
                Slice::default(),
                destination,
                diagnostics,
                stats,
            )
        }
    }
}

/// Makes the whole tar that `request` asks for.
fn stream_tar(
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: Diagnostics<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    let (tar, all) = (prepare::tar(&request.content), Slice::default());
    stream(tar, request, all, destination, diagnostics, stats)
}

/// A part of an archive, from one entry to another.
#[derive(Default)]
pub(super) struct Slice {
    /// The windows of the plan in which the part begins and ends, if they are at hand.
    pub(super) windows: Option<Vec<Window>>,
    /// The entries, of these windows or of the plan.
    pub(super) entries: Entries,
    /// The position of the first entry in the archive, in bytes; `None` for a part with the beginning of the archive.
    pub(super) position: Option<u64>,
}

/// Makes the part `slice` of the tar that `request` asks for, and the end of an archive after the part.
pub(super) fn run_slice(
    request: Request,
    slice: Slice,
    outputs: ArchiveOutputs<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    let diagnostics = Diagnostics {
        console: outputs.console,
        meter: outputs.meter,
    };
    let tar = prepare::tar(&request.content);
    stream(tar, request, slice, outputs.destination, diagnostics, stats)
}

fn stream<F: format::Format>(
    format: F,
    request: Request,
    slice: Slice,
    destination: &mut (dyn Write + Send),
    diagnostics: Diagnostics<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    if let Some(delta) = &request.content.delta {
        stats.summary.changes = Some(delta.counts);
        if let Some(manifest) = &mut stats.manifest {
            let redacted = request.content.archived().tree.rules.redacted;
            list_deletions(delta, redacted, |lines| manifest.write(lines))?;
        }
    }
    let mut manifest = stats.manifest.take();
    if let Some(manifest) = &mut manifest {
        manifest.tell(request.content.format.row().positions);
    }
    let most = request.run.limits;
    let Prepared {
        archiver,
        planner,
        limits,
        shareable,
        read_ahead: _until_the_end,
    } = Prepared::new(format, request, manifest.is_some())?.inheriting(&stats.inheritance);
    let directories = planner.directories();
    let Diagnostics { console, meter } = diagnostics;
    let mut writer = ArchiveWriter::new(
        destination,
        console,
        &archiver.format,
        manifest,
        meter,
        shareable,
    );
    writer.limits = most;
    writer.index_files(stats.inheritance.max_index);
    if let Some(position) = slice.position {
        writer.begin_at(position);
    }
    writer.show_progress();
    let plan = match slice.windows {
        Some(windows) => EntryRange::kept(windows, slice.entries),
        None => EntryRange::new(planner, slice.entries),
    };
    let (times, outcome) = pipeline::run(plan, &archiver, &mut writer, limits);
    let outcome = outcome.and_then(|()| writer.finish());
    (
        stats.summary.counts,
        stats.inheritance.index,
        stats.manifest,
    ) = writer.into_stats();
    stats.summary.counts.directories.read = directories.load(Ordering::Relaxed);
    stats.summary.seconds = Seconds {
        wall: Duration::ZERO,
        plan: times.plan,
        work: times.work,
        write: times.write,
    };
    outcome
}

/// Passes the manifest's lines of the deleted paths to `write`, some at a time.
pub fn list_deletions(
    delta: &Delta,
    redacted: bool,
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
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
        let change = ManifestChange {
            status: deletion.status,
            old: Some((deletion.mode.bits(), id)),
        };
        write_deletion(&deletion.name, change, &mut lines);
        if lines.len() >= LINES_LEN {
            write(&lines)?;
            lines.clear();
        }
        Ok(())
    })?;
    write(&lines)
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
