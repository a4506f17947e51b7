//! Deflate against the programs whose bytes it makes: zlib through its C library, and `gzip`.

use flate2::{Compress, Compression, FlushCompress, Status};
use git_sluice::deflate::{Dialect, Encoder, Level};

/// What zlib makes of `input`.
fn zlib(level: u8, input: &[u8]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::new(level.into()), false);
    let mut out = Vec::new();
    loop {
        out.reserve(input.len() / 2 + 4096);
        let rest = &input[stream.total_in() as usize..];
        let status = stream.compress_vec(rest, &mut out, FlushCompress::Finish);
        if status.expect("zlib compresses") == Status::StreamEnd {
            return out;
        }
    }
}

/// What we make of it.
fn ours(level: u8, dialect: Dialect, input: &[u8]) -> Vec<u8> {
    let level = Level::new(level).expect("a level");
    let mut out = Vec::new();
    Encoder::new(level, dialect).compress(input, &mut out);
    out
}

#[test]
fn nothing_at_all_is_one_fixed_block() {
    for level in 1..=9 {
        assert_eq!(ours(level, Dialect::Zlib, b""), zlib(level, b""));
    }
}

#[test]
fn repeated_text_is_zlibs() {
    let input = b"it was the best of times, it was the worst of times, ".repeat(4000);
    for level in 1..=9 {
        assert!(ours(level, Dialect::Zlib, &input) == zlib(level, &input));
    }
}
