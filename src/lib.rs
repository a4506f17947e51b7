//! `git sluice` streams a git tree as an archive: the bytes of `git archive`, several times faster,
//! in bounded memory.
//!
//! ```text
//!  arguments ─> request ─> plan ──────────────> decode ──────> emit ─> standard output / file
//!  (cli)        (what it   trees ─> walk ─>     bytes of a     tar, zip,
//!               means)     select ─> locate     blob, then     compressors
//!                                               converted
//!                          └──────── pipeline: ordered, bounded in bytes ────────┘
//! ```
//!
//! * [`cli`] is what was typed, [`request`] what it means; after it nobody looks at a flag.
//! * [`repository`] opens the repository as git does and resolves the revision, with gix.
//! * [`odb`] knows where objects lie: packs, loose files, alternates, replacements.
//! * [`plan`] walks the trees and says what to write, in git's order, with the place of each blob.
//!   It streams: windows of a few thousand entries, the next one planned while the last is decoded.
//! * [`decode`] turns a place into bytes, in a buffer of the caller's, through the delta chains that
//!   the plan laid out; what is too large for memory is streamed.
//! * [`convert`] makes of stored content what is archived: line endings, encodings, filters,
//!   `$Format:…$`. What depends on the order of the archive is left to the writer's turn.
//! * [`emit`] turns names and bytes into archive bytes.
//! * [`deflate`] makes the bytes of zlib and of gzip, faster and on several threads.
//! * [`pipeline`] runs plan, work and writing on a few threads, in order, within a budget.
//! * [`archive`] joins them: the one module that knows plan, decode and emit at once.
//! * [`remote`] serves archives to `git archive --remote`, and hands our own `--remote` to git.
//!
//! # What holds
//!
//! * The archive is `git archive`'s, byte for byte; threads, budget and caches never change it.
//! * It is complete or visibly broken: a failure before the first byte writes nothing, one after it
//!   ends the stream inside of an entry. A file named with `-o` appears when it is complete.
//! * The plan reads trees, attribute files and headers of pack entries, and no blob. An ignored
//!   directory is not read.
//! * `emit` does not know git; `pipeline` knows neither git nor tar; `decode` sees no path;
//!   `convert` sees paths and no archive.
//! * Every queue and cache is bounded in bytes; an object above the bound is streamed. Mapped pages of
//!   packs are given back as the walk moves on.
//! * Nothing a repository says is believed beyond the bytes that back it: no panic, no endless loop,
//!   no entry that leaves the directory it is extracted to.
//! * Commands of the configuration (filters) are run, and the installed git is asked, only where the
//!   attributes of a file that is archived say so, or where gix cannot go on.
//! * Nothing but the binary touches arguments, standard streams, signals and environment variables
//!   (gix reads git's own).
//! * Nothing is fetched from a promisor remote.

pub mod cli;
pub mod request;
pub mod repository;
pub mod odb;
pub mod plan;
pub mod decode;
pub mod convert;
pub mod emit;
pub mod pipeline;
pub mod archive;
pub mod output;
pub mod progress;
pub mod remote;
pub mod command;
pub mod probe;
pub mod buffer;
pub mod deflate;
pub mod error;

use std::{io::Write, sync::Arc};

use archive::{Archiver, Writer};
use convert::{Converter, Origin};
use decode::chain::Allowance;
use deflate::{Dialect, Gzip};
use emit::{deflate::Engine, gzip::ZlibGzip, tar::Tar, zip::Zip, zstd::Zstd};
use error::{Error, Result};
use pipeline::Limits;
use plan::{Planner, walk::Walk};
use progress::Meter;
use repository::settings::Umask;
use request::{Request, format::Format};

/// Make the archive that `request` asks for. What goes through a command goes to `destination` as it
/// is before that.
pub fn run(
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: &mut (dyn Write + Send),
    meter: Option<Meter>,
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
    };
    match request.format {
        Format::Tar | Format::Filtered(_) => {
            stream(tar(&request), request, destination, diagnostics, meter)
        }
        Format::TarGz(level) => match request.deflate {
            Engine::Own(dialect) => {
                let settings = deflate::Settings {
                    level,
                    dialect,
                    threads: request.threads.unwrap_or_else(pipeline::default_threads),
                    piece: request.gzip_piece,
                };
                // Half of the memory is for those that deflate.
                let settings = settings.within(request.memory / 2);
                let mut gzip = Gzip::new(settings, destination);
                stream(tar(&request), request, &mut gzip, diagnostics, meter)?;
                gzip.finish().map(drop).map_err(failed)
            }
            Engine::Zlib => {
                let mut gzip = ZlibGzip::new(destination, level);
                stream(tar(&request), request, &mut gzip, diagnostics, meter)?;
                gzip.finish().map_err(failed)
            }
        },
        Format::TarZst(level) => {
            let threads = request.threads.unwrap_or_else(pipeline::default_threads);
            let mut zstd = Zstd::new(destination, level, threads).map_err(failed)?;
            stream(tar(&request), request, &mut zstd, diagnostics, meter)?;
            zstd.finish().map_err(failed)
        }
        Format::Zip(level) => {
            let zip = Zip {
                times: request.times,
                level,
                // What other dialects there are is gzip's.
                engine: match request.deflate {
                    Engine::Own(_) => Engine::Own(Dialect::Zlib),
                    Engine::Zlib => Engine::Zlib,
                },
                comment,
            };
            stream(zip, request, destination, diagnostics, meter)
        }
    }
}

fn stream<F: emit::Format>(
    format: F,
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: &mut (dyn Write + Send),
    meter: Option<Meter>,
) -> Result<()> {
    // A quarter of the memory for delta bases, a quarter for what is in flight, an eighth for any one
    // object; the plan, the threads' scratch buffers and the allocator take the rest.
    let origin = Origin {
        commit: request.treeish.commit,
        content: request.treeish.content,
        tree: request.treeish.tree,
        reference: request.treeish.reference,
    };
    let archiver = Archiver {
        format,
        odb: request.reader.odb.config().clone(),
        extras: Arc::clone(&request.extras),
        in_memory: request.memory as u64 / 8,
        big_file: request.big_file,
        converter: Converter::new(origin, request.surroundings),
        prefix_len: request.prefix.len(),
        allowance: Allowance::new(request.memory / 4),
        scratch_max: request.memory / 128,
        verbose: request.verbose,
    };
    let limits = Limits {
        threads: request.threads,
        budget: match request.format {
            // What waits for a compressor needs no more room than to keep it busy.
            Format::TarGz(_) | Format::TarZst(_) => request.memory / 16,
            _ => request.memory / 4,
        },
    };
    let walk = Walk::new(
        request.treeish.tree,
        request.prefix,
        request.selection,
        request.rules,
        request.extras,
    );
    let planner = Planner::new(walk, request.reader);
    let mut writer = Writer::new(destination, diagnostics, &archiver.format, meter);
    let (_, outcome) = pipeline::run(planner, &archiver, &mut writer, limits);
    outcome?;
    writer.finish()
}
