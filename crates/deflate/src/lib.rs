//! Deflate, with the very bytes of two programs: classic zlib, as git drives it, and `gzip -cn`.
//!
//! Both programs are called the originals here. The encoder takes the same decisions as they do, by a search that is
//! faster on source code and a tenth slower on words in random order, and on several threads. The number of threads
//! and the sizes of writes never change a byte.
//!
//! ```
//! use std::{io::Write, thread};
//!
//! use sluice_deflate::{Gzip, GzipSettings};
//!
//! let threads = thread::available_parallelism().map_or(1, usize::from);
//! let settings = GzipSettings { threads, ..GzipSettings::default() };
//! let mut member = Gzip::new(settings, Vec::new());
//! member.write_all(b"what git hands to zlib")?;
//! let bytes = member.finish()?; // those of `gzip` as git has it inside: `git archive --format=tgz`
//! # assert!(bytes.starts_with(&[0x1f, 0x8b]));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # How it works
//!
//! ```text
//!  input ─> parser ──────────> tokens ─> cut ─> block ───────> bits
//!           fast: levels 1–3             into   trees, form
//!           lazy: levels 4–9             blocks
//! ```
//!
//! A parser searches its index of the window. Near the end of the input, and only there, the dialects search
//! differently, and the originals' own search is used (`reference`). Everywhere else `search` finds the same matches
//! faster. One thread parses and codes block by block (`serial`). Several threads parse pieces speculatively, each from
//! its own start (`piece`). `stitch` joins the parses at resync points, from which two parses are provably identical
//! (`resync`). The blocks of the joined parse are coded apart (`coded`).

mod bits;
mod block;
mod chains;
mod coded;
mod cut;
mod dialect;
mod encoder;
mod fast;
mod gzip;
mod huffman;
mod lazy;
mod level;
mod parallel;
mod parser;
mod piece;
mod reference;
mod resync;
mod search;
mod serial;
mod stitch;
mod stored;
pub mod threads;
mod token;
mod words;

/// The version of this crate, for programs that keep compressed bytes and compare them with new ones.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use dialect::Dialect;
pub use encoder::Encoder;
pub use gzip::{Gzip, GzipSettings};
pub use level::Level;
