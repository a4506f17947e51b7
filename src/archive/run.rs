//! A request carried out: the format chosen, memory divided, plan and writer joined by the pipeline.
//!
//! Opens nothing and ends nothing that others have opened.

use std::{
    io::{self, IoSlice, Write},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use gix::ObjectId;

use super::{archiver::Archiver, writer::Writer};
use crate::{
    buffer::Buffer,
    cli::Deletions,
    convert::{Converter, Origin},
    decode::slot::Allowance,
    deflate::{self, Gzip},
    emit::{
        self,
        tar::{Globals, Tar},
        zip::Zip,
        zstd::Zstd,
    },
    error::{Error, Result},
    output::{self, Records},
    pipeline::{self, Limits},
    plan::{
        Locators, Planner, Route,
        delta::{Deletion, DeltaWalk},
        walk::Walk,
    },
    report::{Figures, Manifest, Meter, Past, Seconds, Status, gone},
    repository::settings::Umask,
    request::{Delta, Request, Scope, format::Format},
    tree::Mode,
};

/// Bytes of lines of the manifest that are written at once.
const LINES_LEN: usize = 64 << 10;

/// Where the archive and what is said about it go.
pub struct Outputs<'a> {
    /// Takes the archive.
    pub destination: &'a mut (dyn Write + Send),
    /// Takes what is said to the user.
    pub diagnostics: &'a mut (dyn Write + Send),
    /// Shows progress.
    pub meter: Option<Meter>,
}

/// What a run did, whether it failed or not.
#[derive(Default)]
pub struct Tally {
    /// What it came to.
    pub figures: Figures,
    /// Takes a line for each entry. Has no end yet after a run: that is for whoever knows that the
    /// archive arrived.
    pub manifest: Option<Manifest>,
}

/// Make the archive that `request` asks for, and note in `tally` what was done. What goes through a
/// command goes to the destination as it is before that.
pub fn run(request: Request, outputs: Outputs<'_>, tally: &mut Tally) -> Result<()> {
    let mut destination = Counted {
        inner: outputs.destination,
        bytes: 0,
    };
    let told = Told {
        diagnostics: outputs.diagnostics,
        meter: outputs.meter,
    };
    let outcome = formatted(request, &mut destination, told, tally);
    tally.figures.bytes = destination.bytes;
    outcome
}

/// What is told while the archive is made.
struct Told<'a> {
    diagnostics: &'a mut (dyn Write + Send),
    meter: Option<Meter>,
}

fn formatted(
    request: Request,
    destination: &mut (dyn Write + Send),
    told: Told<'_>,
    tally: &mut Tally,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::write(&error);
    let comment = request.treeish.commit.map(|id| id.to_hex().to_string());
    let tar = |request: &Request| Tar {
        mtime: request.treeish.time,
        umask: match request.umask {
            Umask::Bits(bits) => bits,
            Umask::User => output::umask(),
        },
        comment: comment.clone(),
        globals: match &request.scope {
            Scope::Whole(_) => Globals::default(),
            Scope::Delta(delta) => globals(delta),
        },
    };
    match request.format {
        Format::Tar | Format::Filtered(_) => {
            let mut records = Records::new(destination);
            let outcome = stream(tar(&request), request, &mut records, told, tally);
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
            stream(tar(&request), request, &mut gzip, told, tally)?;
            gzip.finish().map(drop).map_err(failed)
        }
        Format::TarZst(level) => {
            let threads = request.threads.unwrap_or_else(pipeline::default_threads);
            let mut zstd = Zstd::new(destination, level, threads).map_err(failed)?;
            stream(tar(&request), request, &mut zstd, told, tally)?;
            zstd.finish().map_err(failed)
        }
        Format::Zip(level) => {
            let zip = Zip {
                times: request.times,
                level,
                comment,
                directory_memory: request.budget.zip_directory(),
            };
            stream(zip, request, destination, told, tally)
        }
    }
}

fn stream<F: emit::Format>(
    format: F,
    request: Request,
    destination: &mut (dyn Write + Send),
    told: Told<'_>,
    tally: &mut Tally,
) -> Result<()> {
    let origin = Origin {
        commit: request.treeish.commit,
        content: request.treeish.content,
        tree: request.treeish.tree,
        reference: request.treeish.reference,
    };
    let archiver = Archiver {
        format,
        locators: Locators::new(
            request.reader.odb.clone(),
            Arc::clone(&request.blob_policy),
            request.budget.repeated_blobs(),
        ),
        odb: request.reader.odb.config().clone(),
        extras: Arc::clone(&request.extras),
        in_memory: request.budget.whole_object(),
        big_file: request.big_file,
        converter: Converter::new(origin, request.command_context),
        blob_policy: request.blob_policy,
        pax_notes: request.pax_notes,
        redacted: request.rules.redacted,
        verified: request.rules.protect.is_some(),
        manifest: tally.manifest.is_some(),
        allowance: Allowance::new(request.budget.delta_bases()),
        scratch_max: request.budget.scratch(),
        verbose: request.verbose,
    };
    let limits = Limits {
        threads: request.threads,
        max_threads: usize::MAX,
        budget: match request.format {
            Format::TarGz(_) | Format::TarZst(_) => request.budget.in_flight_to_compressor(),
            _ => request.budget.in_flight(),
        },
        queued: request.budget.queued_windows(),
    };
    let tree = request.treeish.tree;
    let route: Route = match request.scope {
        Scope::Whole(view) => Walk::new(tree, *view, request.rules, request.extras).into(),
        Scope::Delta(delta) => {
            tally.figures.changes = Some(delta.counts);
            tell_gone(&delta, archiver.redacted, tally)?;
            let whiteouts = delta.whiteouts()?;
            DeltaWalk::new(delta.changes, whiteouts, request.extras).into()
        }
    };
    let planner = Planner::new(route, request.reader);
    let directories = planner.directories();
    let Told { diagnostics, meter } = told;
    let manifest = tally.manifest.take();
    let mut writer = Writer::new(destination, diagnostics, &archiver.format, manifest, meter);
    let (times, outcome) = pipeline::run(planner, &archiver, &mut writer, limits);
    let outcome = outcome.and_then(|()| writer.finish());
    (tally.figures.counts, tally.manifest) = writer.told();
    tally.figures.counts.directories.read = directories.load(Ordering::Relaxed);
    tally.figures.seconds = Seconds {
        wall: Duration::ZERO,
        plan: times.plan,
        work: times.work,
        write: times.write,
    };
    outcome
}

/// What is gone comes first in the manifest.
fn tell_gone(delta: &Delta, redacted: bool, tally: &mut Tally) -> Result<()> {
    let Some(manifest) = &mut tally.manifest else {
        return Ok(());
    };
    let mut lines = Buffer::default();
    delta.deletions.each(&mut |deletion| {
        // What may be left out in the end has a line that says whether it is.
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

/// What a tar says of being a delta, in global headers.
fn globals(delta: &Delta) -> Globals {
    let hex = |id: ObjectId| id.to_hex().to_string();
    let (base, target) = (hex(delta.base), hex(delta.target));
    let deletions = Arc::clone(&delta.deletions);
    let (carrier, are_told) = match delta.carrier {
        Deletions::None => ("none", false),
        Deletions::Pax => ("pax", true),
        Deletions::Whiteout => ("whiteout", false),
    };
    Globals::new(move |headers| {
        headers.record("GITSLUICE.delta", b"1")?;
        headers.record("GITSLUICE.base", base.as_bytes())?;
        headers.record("GITSLUICE.target", target.as_bytes())?;
        headers.record("GITSLUICE.deletions", carrier.as_bytes())?;
        headers.end()?;
        if are_told {
            let told =
                &mut |deletion: &Deletion| headers.record("GITSLUICE.delete", &deletion.name);
            deletions.each(told)?;
        }
        Ok(())
    })
}

/// Counts what goes through.
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
