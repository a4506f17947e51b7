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
//! documents list. The crates below are for this program alone, and change without notice.
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
//! # Crates
//!
//! git-sluice is several products in one workspace. Each is a crate that can be read, tested and left out alone. A crate imports
//! only crates below its own in this table, and Cargo refuses anything else.
//!
//! | crate | what it does | left out without the feature |
//! |---|---|---|
//! | `git-sluice` (`src`) | The program: `commands`, one for each thing that a user asks for, and the [`Session`]. | |
//! | [`sluice_compare`](../sluice_compare/index.html) | Compares an archive with the commit that it claims to be. | `compare` |
//! | [`sluice_fleet`](../sluice_fleet/index.html) | Brings directories up to date without a repository: applies archives, publishes them in buckets. | `fleet` |
//! | [`sluice_core`] | A request becomes an archive: `request`, `plan`, `filter`, `archive`, `output`, `cache`. | |
//! | [`sluice_git`] | Reads a repository as git does: environment, configuration, refs, objects, attributes, pathspecs, conversions. | |
//! | [`sluice_format`] | Turns names and bytes into tar and zip, and reads archives that other programs wrote. Does not know git. | |
//! | [`sluice_indexers`](../sluice_indexers/index.html) | Matches paths by the patterns of code-search indexers. | |
//! | [`sluice_cli`] | Holds the command line as it was typed: options, help, completions. | |
//! | [`sluice_base`] | Provides errors, buffers, threads and the ordered pipeline. Knows nothing of the above. | |
//!
//! Two engines know nothing of these crates: [`sluice_deflate`](../sluice_deflate/index.html) makes the bytes of zlib and gzip
//! on several threads, and [`sluice_inflate`](../sluice_inflate/index.html) inflates entries of packs.
//!
//! `cargo build --no-default-features` builds the plain replacement of `git archive`. `tests/it/budgets.txt` limits the lines of
//! each crate.
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
//! * `format` does not know git, `pipeline` knows neither git nor tar, `objects` sees no path, and `convert` sees paths but no archive.
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
//!   installed git about names of revisions other than ids, their beginnings, refs, ancestors, and trees and directories of
//!   these, and where only git knows the answer or the message.
//! * An archive that is read has a grammar (`sluice_format::unarchive`): each byte is content, a header that a known program
//!   writes, or zero padding. `compare` has a doubt about everything else, and `apply` refuses it.
//! * A page of a mapped file that cannot be read is an error of the request that reads it, and not the end of the process
//!   (`git::odb::faults`).
//! * Only the binary touches arguments, standard streams, signals and environment variables. `git::environment` reads all
//!   variables that decide something, through its caller, and nothing else in the library asks for one. What the search for
//!   programs (`PATH`), temporary files (`TMPDIR`) and the C library's time zone (`TZ`) need is that of the process.
//! * Missing objects of a partial clone are fetched when `git archive` would fetch them, before the first byte and by the
//!   installed git, and only those that git would fetch. Objects of a submodule come from its own promisor remotes. Answers
//!   about an archive and servers fetch nothing.

#[doc(hidden)]
pub mod commands;

pub use commands::session::{CommandLine, Failure, Outputs, Session};
