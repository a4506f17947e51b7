//! Deflate, with the very bytes of two programs: classic zlib, as git drives it, and `gzip -cn`.
//!
//! The same decisions are reached another way, which is faster than the originals on source code and
//! slower by a tenth on words in random order, and on several threads; no byte may depend on how.
//! Knows neither git nor tar.
//!
//! ```text
//!  input ─> parser ──────────> tokens ─> cut ─> block ───────> bits
//!           fast: levels 1–3             into   trees, form
//!           lazy: levels 4–9             blocks
//! ```
//!
//! A parser searches its index of the window. Where the end of the input is in sight, and only there,
//! the dialects search differently (`plain`); everywhere else `search` finds the same quickly.
//! One thread goes block by block (`serial`). Several parse pieces that begin anywhere (`piece`);
//! they are joined where two parses are provably in the same state (`seam`, `stitch`), and
//! their blocks are coded apart (`coded`).

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
mod plain;
mod pool;
mod seam;
mod search;
mod serial;
mod shelf;
mod stitch;
mod stored;
mod token;
mod words;

pub use dialect::Dialect;
pub use encoder::Encoder;
pub use gzip::{Gzip, Settings};
pub use level::Level;
