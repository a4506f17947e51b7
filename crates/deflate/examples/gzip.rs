//! `gzip -cn` on all processors: standard input to standard output, with gzip's bytes.
//!
//! ```text
//! $ cargo run --release -p sluice-deflate --example gzip <README.md | cmp - <(gzip -cn <README.md)
//! ```

use std::{io, thread};

use sluice_deflate::{Compressor, CompressorSettings, Dialect, Level};

fn main() -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let settings = CompressorSettings::new(Level::DEFAULT, Dialect::Gzip).threads(threads);
    let mut member = Compressor::gzip(settings, io::stdout().lock());
    io::copy(&mut io::stdin().lock(), &mut member)?;
    drop(member.finish()?);
    Ok(())
}
