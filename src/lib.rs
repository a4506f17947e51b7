//! `git sluice` streams a git tree as an archive: the bytes of `git archive`, several times faster,
//! in bounded memory.
//!
//! ```text
//!  arguments ─> request ─> plan ──────────────> decode ──────> emit ─> standard output / file
//!  (cli)        (what it   trees ─> walk ─>     bytes of a     tar
//!               means)     select ─> locate     blob
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
//! * [`emit`] turns names and bytes into archive bytes.
//! * [`pipeline`] runs plan, work and writing on a few threads, in order, within a budget.
//! * [`archive`] joins them: the one module that knows plan, decode and emit at once.
//!
//! # What holds
//!
//! * The archive is `git archive`'s, byte for byte; threads, budget and caches never change it.
//! * It is complete or visibly broken: a failure before the first byte writes nothing, one after it
//!   ends the stream inside of an entry. A file named with `-o` appears when it is complete.
//! * The plan reads trees, attribute files and headers of pack entries, and no blob. An ignored
//!   directory is not read.
//! * `emit` does not know git; `pipeline` knows neither git nor tar; `decode` sees no path.
//! * Every queue and cache is bounded in bytes; an object above the bound is streamed. Mapped pages of
//!   packs are given back as the walk moves on.
//! * Nothing a repository says is believed beyond the bytes that back it: no panic, no endless loop,
//!   no entry that leaves the directory it is extracted to.
//! * Nothing but the binary touches arguments, standard streams, signals and environment variables
//!   (gix reads git's own).
//! * Nothing is fetched from a promisor remote.

pub mod cli;
pub mod request;
pub mod repository;
pub mod odb;
pub mod plan;
pub mod decode;
pub mod emit;
pub mod pipeline;
pub mod archive;
pub mod output;
pub mod progress;
pub mod buffer;
pub mod deflate;
pub mod error;

use std::io::Write;

use archive::{Archiver, Writer};
use buffer::Buffer;
use decode::chain::Allowance;
use emit::tar::Tar;
use error::Result;
use pipeline::Limits;
use plan::{Planner, walk::Walk};
use progress::Meter;
use repository::settings::Umask;
use request::Request;

/// Make the archive that `request` asks for.
pub fn run(
    request: Request,
    destination: &mut (dyn Write + Send),
    diagnostics: &mut (dyn Write + Send),
    meter: Option<Meter>,
) -> Result<()> {
    let umask = match request.umask {
        Umask::Bits(bits) => bits,
        Umask::User => output::umask(),
    };
    let tar = Tar {
        mtime: request.treeish.time,
        umask,
    };
    let mut head = Buffer::default();
    tar.begin(
        request
            .treeish
            .commit
            .map(|id| id.to_hex().to_string())
            .as_deref(),
        &mut head,
    );
    // A quarter of the memory for delta bases, a quarter for what is in flight, an eighth for any one
    // object; the plan, the threads' scratch buffers and the allocator take the rest.
    let archiver = Archiver {
        tar: tar.clone(),
        odb: request.reader.odb.config().clone(),
        in_memory: request.memory as u64 / 8,
        big_file: request.big_file,
        allowance: Allowance::new(request.memory / 4),
        scratch_max: request.memory / 128,
        verbose: request.verbose,
    };
    let limits = Limits {
        threads: request.threads,
        budget: request.memory / 4,
    };
    let tree = request.treeish.tree;
    let walk = Walk::new(tree, request.prefix, request.selection, request.rules);
    let planner = Planner::new(walk, request.reader);
    let mut writer = Writer::new(destination, diagnostics, &tar, head, meter);
    pipeline::run(planner, &archiver, &mut writer, limits)?;
    writer.finish()
}
