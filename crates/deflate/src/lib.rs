//! Deflate, with the very bytes of two programs: classic zlib, as git drives it, and `gzip -cn`.
//!
//! Both programs are called the originals here. The encoder takes the same decisions as they do, by a search that is
//! faster on source code and a tenth slower on words in random order, and on several threads. The number of threads
//! and the sizes of writes never change a byte.
//!
//! Compress a buffer to a gzip member on all processors. [`Compressor::zlib`] makes a zlib stream in the same way:
//!
//! ```
//! use std::{io::Write, thread};
//!
//! use sluice_deflate::{Compressor, CompressorSettings, Dialect, Level};
//!
//! let threads = thread::available_parallelism().map_or(1, usize::from);
//! let settings = CompressorSettings::new(Level::DEFAULT, Dialect::Zlib).threads(threads);
//! let mut gzip = Compressor::gzip(settings, Vec::new());
//! gzip.write_all(b"what git hands to zlib")?;
//! let bytes = gzip.finish()?; // the bytes that `git archive --format=tgz` makes of this input
//! # assert!(bytes.starts_with(&[0x1f, 0x8b]));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Compress everything that a reader returns, with at most 16 MiB of memory:
//!
//! ```
//! # let (mut reader, writer) = (&b"hello"[..], Vec::new());
//! use std::io;
//!
//! use sluice_deflate::{Compressor, CompressorSettings};
//!
//! let settings = CompressorSettings::default().threads(8).within(16 << 20);
//! let mut gzip = Compressor::gzip(settings, writer);
//! io::copy(&mut reader, &mut gzip)?;
//! let writer = gzip.finish()?;
//! # assert!(writer.starts_with(&[0x1f, 0x8b]));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`Encoder`] makes raw deflate streams of inputs that are in memory, one after another:
//!
//! ```
//! use sluice_deflate::{Dialect, Encoder, Level};
//!
//! let mut raw = Vec::new();
//! Encoder::new(Level::DEFAULT, Dialect::Zlib).compress(b"hello", &mut raw);
//! assert_eq!(raw, b"\xcb\x48\xcd\xc9\xc9\x07\x00");
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
mod compressor;
mod cut;
mod dialect;
mod encoder;
mod fast;
mod frame;
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
#[doc(hidden)]
pub mod threads;
mod token;
mod words;

/// The version of this crate, for programs that keep compressed bytes and compare them with new ones.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use compressor::{Compressor, CompressorSettings};
pub use dialect::Dialect;
pub use encoder::Encoder;
pub use level::Level;
