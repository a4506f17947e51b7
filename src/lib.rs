//! git-sluice streams a git tree as an archive. It writes the bytes of `git archive` several times faster, and keeps its
//! memory within a limit.
//!
//! # The library
//!
//! A [`Session`] keeps repositories open and answers requests. Each request is a [`CommandLine`] whose archive and reports
//! go to [`Outputs`], and a request that fails returns a [`Failure`].
//!
//! ```no_run
//! use std::{env, fs::File};
//!
//! use git_sluice::{CommandLine, Session, Outputs};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::new(env::current_dir()?, |name| env::var_os(name));
//! let words = ["--profile=zoekt", "--manifest=band:4", "--base=v1.0", "v1.1"];
//! let outputs = Outputs::new(File::create("changes.tar")?).band(4, File::create("changes.jsonl")?);
//! session.answer(CommandLine::new("project.git", words), outputs)?;
//! # Ok(())
//! # }
//! ```
//!
//! Semantic versioning covers these four names, together with the options, the JSON and the exit statuses that the
//! documents list. All modules are public for the benchmarks, fuzz targets and tests of this package, and change without notice.
//!
//! # From arguments to archive bytes
//!
//! ```text
//!  arguments ─> request ─> plan ─────────────> objects ─────> format ─> standard output / file
//!  (cli)        (what it   trees, filters,     bytes of a     tar, zip,
//!               means)     attributes, and     blob, then     compressors
//!                          where each blob     converted
//!                          lies
//!                          └──────── pipeline: ordered, bounded in bytes ────────┘
//!
//!  with --cache:
//!               request ─> key ─> cache ──────────────────────> standard output / file
//!                                 │  ^ a file that grows   └──> those of other processes
//!                      on a miss: └──┘ plan ─> … ─> format
//! ```
//!
//! # Folders
//!
//! A file imports only from its own folder and from folders below it in this table, and no two files import each other. The
//! test `layers` checks both.
//!
//! | folder | what it does |
//! |---|---|
//! | [`commands`] | Carries out what the user asks for: an archive, an answer about one, a batch, a server, the [`Session`]. |
//! | [`directory`] | Brings directories up to date without a repository: applies archives, publishes them in buckets. |
//! | [`archive`] | Carries a request out, whole, for a range of bytes, or to measure it. Only this folder knows plan, objects and format. |
//! | [`request`] | Decides what the arguments mean, once: repositories, revision, filters, format, and the key of the archive. |
//! | [`plan`] | Walks trees and lists the entries of the archive in git's order, with the place of each blob. |
//! | [`output`] | Writes the archive to its destination, and the reports about it: manifest, summary, progress. |
//! | [`cache`] | Shares one archive between many readers through a directory. Knows keys, files and bytes only. |
//! | [`filter`] | Decides what the reader does not want or may not see: exclude rules, limits, access rules. |
//! | [`git`] | Reads a repository as git does: environment, configuration, refs, objects, attributes, pathspecs, conversions. |
//! | [`mod@format`] | Turns names and bytes into tar and zip, and compresses them. Does not know git. |
//! | [`unarchive`] | Reads archives that other programs wrote, entry by entry. Writes no file, and does not know git. |
//! | [`cli`] | Holds the command line as it was typed: options, help, completions. |
//! | [`base`] | Provides errors, buffers, threads and the ordered pipeline. Knows nothing of the above. |
//!
//! Two engines are crates of their own, which know nothing of this one: [`sluice_deflate`] makes the bytes of zlib and gzip on
//! several threads, and [`sluice_inflate`] inflates entries of packs.
//!
//! The plan streams: it hands over windows of a few thousand entries and plans the next window while the last is decoded.
//! All threads look up blobs, and threads that would wait for a walk share it. With submodules the plan is a stack of walks,
//! each through the tree of one repository, and every window names its repository.
//!
//! # What holds
//!
//! * The archive is `git archive`'s, byte for byte. Threads, memory limit and caches never change it.
//! * With `--stable`, the bytes follow from the tree-ish and the options alone. `Environment::stable` and
//!   `Repository::unconfigured` leave all settings out, and the checksums in `tests/it/archive/stable.sums` never change.
//! * An archive is complete or visibly broken. A failure before the first byte writes nothing, and a later one ends the
//!   stream inside an entry. A file named with `-o` appears when it is complete.
//! * The plan reads trees, attribute files and headers of pack entries. It reads a blob only if it could be a pointer of Git
//!   LFS whose object is sent. The walk does not read an ignored directory.
//! * If packs are not in memory, a thread reads the trees ahead level by level, and each window of the plan asks the system for
//!   its objects before it looks at one. These are hints: they decide nothing, and they fail in silence.
//! * `format` does not know git, `base::pipeline` knows neither git nor tar, `git::objects` sees no path, and `git::convert`
//!   sees paths but no archive.
//! * An archive in the cache is the donor of the next one of its family (`archive::donor`): files without conversion are copied
//!   by the id of their blob. Only bytes come from there, after their sum was checked; the plan decides everything else.
//! * Every queue and cache has a limit in bytes, and an object above the limit is streamed. The walk returns mapped pages of
//!   packs to the system as it moves on. The memory limit does not count the following, which have limits of their own or that
//!   of their object: the innermost tree and large ones above it, an attribute file while it is read (100 MiB), the attribute
//!   lines that apply (256 MiB), the delta chains of a window, and a few hundred bytes for every level of directories.
//! * An attribute file or a configuration file that exists but cannot be read ends the run, because it could keep files back.
//! * Nothing that a repository claims is believed beyond the bytes that back it: no panic, no endless loop, no entry that
//!   leaves the directory it is extracted to.
//! * git-sluice runs commands of the configuration (filters) only if the attributes of an archived file say so. It asks the
//!   installed git about names of revisions other than ids, refs and their ancestors, and where only git knows the answer or
//!   the message.
//! * A page of a mapped file that cannot be read is an error of the request that reads it, and not the end of the process
//!   (`git::odb::faults`).
//! * Only the binary touches arguments, standard streams, signals and environment variables. `git::environment` reads all
//!   variables that decide something, through its caller, and nothing else in the library asks for one. What the search for
//!   programs (`PATH`), temporary files (`TMPDIR`) and the C library's time zone (`TZ`) need is that of the process.
//! * Missing objects of a partial clone are fetched when `git archive` would fetch them, before the first byte and by the
//!   installed git, and only those that git would fetch. Objects of a submodule come from its own promisor remotes. Answers
//!   about an archive and servers fetch nothing.

pub mod commands;
pub mod directory;
pub mod archive;
pub mod request;
pub mod plan;
pub mod output;
pub mod cache;
pub mod filter;
pub mod git;
pub mod format;
pub mod unarchive;
pub mod cli;
pub mod base;

pub use commands::session::{CommandLine, Failure, Outputs, Session};
