//! `git sluice` streams a git tree as an archive: the bytes of `git archive`, several times faster,
//! in bounded memory.
//!
//! ```text
//!  arguments ─> request ─> plan ──────────────> decode ──────> emit ─> standard output / file
//!  (cli)        (what it   trees ─> walk ─>     bytes of a     tar, zip,
//!               means)     select ─> locate     blob, then     compressors
//!                                               converted
//!                          └──────── pipeline: ordered, bounded in bytes ────────┘
//!
//!  with --cache:
//!               request ─> key ─> cache ───────────────────────────> standard output / file
//!                                 │  ^ a file that grows        └──> those of other processes
//!                     not there:  └──┘ plan ─> … ─> emit
//! ```
//!
//! # The library
//!
//! [`Session`] answers requests of programs in Rust, each a [`CommandLine`] whose archive and reports go to [`Sinks`], and
//! whose end is a [`Failure`] or none. These four names at the top of the crate are the interface that semantic
//! versioning covers, with the options, the JSON and the exit statuses that the README lists. All modules are public for the
//! benchmarks, fuzz targets and tests of this package, and change without notice.
//!
//! # Layers
//!
//! From the top down: a module imports only modules that stand below it in this list, and no two files import
//! each other. The test `layers` holds both.
//!
//! The doors, each a thing that a user asks for:
//!
//! * [`batch`] answers many requests in one process, each a command line.
//! * [`session`] answers requests of a program in Rust, and those of a batch.
//! * [`remote`] serves archives to `git archive --remote`.
//! * [`invocation`] carries one command line out, on streams that it is given: the binary gives those of the process.
//! * [`fleet`] publishes archives in a bucket, and brings directories to what is published.
//! * [`apply`] is the other side of a delta: reads one back over a directory that holds its base.
//! * [`preview`] tells what would be sent, before the first byte: to a person, with the rule that decides about a
//!   path; to a server, with entity tag and length; to a job, with what the repository lacks.
//! * [`archive`] carries a request out, wholly or for a range of bytes, or measures its archive: joins plan, decode and
//!   emit, and is the one module that knows all three.
//!
//! A request and its plan:
//!
//! * [`request`] is the meaning of the command line, with the key of the archive. No later module looks at a flag. An
//!   archive with submodules has several repositories, its *stores*: the request finds, opens and checks all of them.
//! * [`cli`] is the command line as it was typed.
//! * [`plan`] walks the trees and says what to write, in git's order, with the place of each blob.
//!   The plan streams: windows of a few thousand entries, the next one planned while the last is decoded.
//!   All threads look up where blobs lie and how large they are; a walk that threads would wait for is
//!   divided between them. With submodules the plan is a stack of walks, each through the tree of one repository, and
//!   every window names its store.
//! * [`report`] writes what the calling program reads beside the archive: manifest, summary, progress.
//! * [`pipeline`] runs plan, work and writing on a few threads, in order, within a budget.
//! * [`repository`] opens the repository as git does and resolves the revision, with gix. Its promisor remotes are
//!   asked for what is missing.
//!
//! Decisions about an entry:
//!
//! * [`filter`] says what a reader does not want or may not see: ignore rules, limits, access rules.
//! * [`pathspec`] says what the user asked for.
//! * [`attributes`] says what the repository says of its paths: what stays out, and how content is treated.
//! * [`convert`] turns stored content into archived content: line endings, encodings, filters,
//!   `$Format:…$`. A conversion that depends on the order of the archive waits for the writer's turn.
//!
//! Objects:
//!
//! * [`tree`] reads tree objects: their entries, the names that may be in them, a walk.
//! * [`decode`] turns a place into bytes, in a buffer of the caller's, through the delta chains that
//!   the plan laid out; an object that is too large for memory is streamed.
//! * [`odb`] knows where objects lie: packs, loose files, alternates, replacements.
//! * [`lfs`] tells which blobs are pointers of Git LFS, and reads the objects that they stand for from the local store.
//!
//! Archives:
//!
//! * [`emit`] turns names and bytes into archive bytes.
//! * [`deflate`] makes the bytes of zlib and of gzip, faster and on several threads.
//! * [`cache`] delivers one archive to many readers, through a directory that processes share. The cache knows keys,
//!   files and bytes, and neither git nor archives.
//! * [`bucket`] is a place for published archives: a directory, or an object store. A bucket knows names and bytes.
//! * [`output`] is the destination of an archive: standard output, or a file that appears when it is complete.
//!
//! The ground:
//!
//! * [`process`] starts commands of the configuration, asks the installed git, and reads packets of git's protocols.
//! * [`pool`] runs the jobs of compressors on several threads.
//! * [`buffer`] holds bytes: in memory, or beyond a limit in an unnamed temporary file.
//! * [`error`] says what went wrong, in git's words.
//!
//! # What holds
//!
//! * The archive is `git archive`'s, byte for byte; threads, budget and caches never change it.
//! * It is complete or visibly broken: a failure before the first byte writes nothing, one after it
//!   ends the stream inside of an entry. A file named with `-o` appears when it is complete.
//! * The plan reads trees, attribute files and headers of pack entries, and no blob but pointers of Git LFS
//!   where their objects are sent. An ignored directory is not read.
//! * `emit` does not know git; `pipeline` knows neither git nor tar; `decode` sees no path;
//!   `convert` sees paths and no archive.
//! * Every queue and cache is bounded in bytes; an object above the bound is streamed. Mapped pages of
//!   packs are given back as the walk moves on. Outside the budget, each with a bound of its own or that of
//!   the object it comes from: the innermost tree and large ones above it, an attribute file while it is read (100 MiB), the
//!   attribute lines in force (256 MiB), the delta chains of a window, a few hundred bytes for every level of directories.
//! * An attribute file or a configuration file that is there and cannot be read ends the run, so that
//!   nothing is sent that it keeps back.
//! * Nothing a repository says is believed beyond the bytes that back it: no panic, no endless loop,
//!   no entry that leaves the directory it is extracted to.
//! * Commands of the configuration (filters) are run, and the installed git is asked, only where the
//!   attributes of a file that is archived say so, or where gix cannot go on.
//! * Nothing but the binary touches arguments, standard streams, signals and environment variables
//!   (gix reads git's own).
//! * Objects that a partial clone lacks are fetched where `git archive` fetches, before the first byte and by the
//!   installed git: those that are selected, and none that git would not fetch. What a submodule lacks comes from its own
//!   promisor remotes. An answer about an archive fetches nothing, nor does a server.

pub mod batch;
pub mod session;
pub mod remote;
pub mod invocation;
pub mod fleet;
pub mod apply;
pub mod preview;
pub mod archive;
pub mod request;
pub mod cli;
pub mod plan;
pub mod report;
pub mod pipeline;
pub mod repository;
pub mod filter;
pub mod pathspec;
pub mod attributes;
pub mod convert;
pub mod tree;
pub mod decode;
pub mod odb;
pub mod lfs;
pub mod emit;
pub mod deflate;
pub mod cache;
pub mod bucket;
pub mod output;
pub mod process;
pub mod pool;
pub mod buffer;
pub mod error;

pub use session::{CommandLine, Failure, Session, Sinks};
