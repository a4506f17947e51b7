//! Inflates a zlib stream from standard input to standard output, given its size:
//!
//! ```text
//! $ pigz -z <README.md | cargo run -p sluice-inflate --example inflate -- "$(wc -c <README.md)"
//! ```

use std::io::{Read, Write, stdin, stdout};

use sluice_inflate::{Inflater, SLACK};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let size: usize = std::env::args()
        .nth(1)
        .ok_or("the size is missing")?
        .parse()?;
    let mut stream = Vec::new();
    stdin().read_to_end(&mut stream)?;
    let mut out = vec![0; size + SLACK];
    let refused = Inflater::default().whole(&stream, &mut out);
    refused.map_err(|_| "no zlib stream of this size")?;
    stdout().write_all(&out[..size])?;
    Ok(())
}
