//! `gzip -cn` on all processors: standard input to standard output, with gzip's bytes.
//!
//! ```text
//! $ cargo run --release -p sluice-deflate --example gzip <README.md | cmp - <(gzip -cn <README.md)
//! ```

use std::{io, thread};

use sluice_deflate::{Dialect, Gzip, GzipSettings};

fn main() -> io::Result<()> {
    let settings = GzipSettings {
        dialect: Dialect::Gzip,
        threads: thread::available_parallelism().map_or(1, usize::from),
        ..GzipSettings::default()
    };
    let mut member = Gzip::new(settings, io::stdout().lock());
    io::copy(&mut io::stdin().lock(), &mut member)?;
    drop(member.finish()?);
    Ok(())
}
