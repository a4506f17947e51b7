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
//!   Where blobs lie and how large they are, all threads look up; a walk that threads would wait for is
//!   divided between them.
//! * [`filter`] says what a reader does not want or may not see: ignore rules, limits, access rules.
//! * [`decode`] turns a place into bytes, in a buffer of the caller's, through the delta chains that
//!   the plan laid out; what is too large for memory is streamed.
//! * [`convert`] makes of stored content what is archived: line endings, encodings, filters,
//!   `$Format:…$`. What depends on the order of the archive is left to the writer's turn.
//! * [`emit`] turns names and bytes into archive bytes.
//! * [`deflate`] makes the bytes of zlib and of gzip, faster and on several threads.
//! * [`pipeline`] runs plan, work and writing on a few threads, in order, within a budget.
//! * [`archive`] joins them: the one module that knows plan, decode and emit at once.
//! * [`report`] is what the calling program reads beside the archive: manifest and summary.
//! * [`preview`] tells a person what would be sent, and which rule decides about a path.
//! * [`apply`] is the other side: a delta, read back over a directory that holds its base.
//! * [`buffer`] holds bytes: in memory, or beyond a limit in an unnamed temporary file.
//! * [`process`] starts commands of the configuration, and asks the installed git.
//! * [`tree`], [`attributes`] and [`pathspec`] are tree objects, and what selects in a tree.
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
//! * An attribute file or a configuration file that is there and cannot be read ends the run, so that
//!   nothing is sent that it keeps back.
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
pub mod process;
pub mod odb;
pub mod tree;
pub mod attributes;
pub mod pathspec;
pub mod plan;
pub mod filter;
pub mod decode;
pub mod convert;
pub mod emit;
pub mod pipeline;
pub mod archive;
pub mod output;
pub mod report;
pub mod preview;
pub mod remote;
pub mod apply;
pub mod buffer;
pub mod deflate;
pub mod error;

pub use archive::{Outputs, Tally, run};
