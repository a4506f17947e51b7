//! Turns a request into an archive: joins plan, decode and emit.
//!
//! Every entry is decoded right after its header, so the output of a job is written without a copy.
//! A file that is too large for a job is left to the writer, which streams it in archive order: see
//! `large`.
//!
//! # Who walks the trees
//!
//! Resolving a request walks trees as far as its pathspecs, submodules or base need it. After that, each of these walks the plan,
//! from a clone of the request that begins at the first entry. A plain run makes one walk:
//!
//! | walk | when |
//! |---|---|
//! | [`run()`], [`share()`], [`send_range()`] | once, to make the archive |
//! | `fetch` | before that, until no object is missing that a promisor remote could have; never without such a remote |
//! | [`archive_length()`] | for the manifest of a plain tar, and for the last line of `ls` |
//! | [`refuse_varying()`] | for `--stable` and `--fail-if-varies`, before the first byte |
//! | [`tar_length()`] | for a progress line, on a thread of its own, unless the length is known already |
//! | [`send_range()`] | to find the entries of a range in a plain tar, and the end of the archive if the range counts from there |
//! | [`measure()`], [`survey()`] | for `info` and `missing`, which make no archive |
//! | [`frame()`] | for `compare`, to tell whether a tar has git's bytes |

mod archiver;
mod donor;
mod entry;
mod entry_error;
mod extra;
mod fetch;
mod find_in_tar;
mod frame;
mod large;
mod measure;
mod prepare;
mod range;
mod run;
mod share;
mod store;
mod survey;
mod varying;
mod worker;
mod writer;

pub use archiver::{Archiver, Piece, Scratch};
pub use donor::{Donor, Inheritance};
pub use entry::record;
pub use fetch::with_rules;
pub use frame::frame;
pub use measure::{
    Known, Measurement, UnknownReason, archive_length, measure, refuse_large, tar_length,
};
pub use range::send_range;
pub use run::{ArchiveOutputs, RunStats, list_deletions, run};
pub use share::share;
pub use survey::survey;
pub use varying::refuse_varying;
pub use writer::ArchiveWriter;
