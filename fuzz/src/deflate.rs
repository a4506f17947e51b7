//! Deflate: the bytes are zlib's, and threads, pieces and writes do not change them.
//!
//! ```text
//! cargo +nightly fuzz run deflate -- -len_control=0
//! ```
//!
//! The first bytes choose how, the others what. They are short as fuzzers go, so most inputs are
//! grown from them: several pieces, full of matches at every distance.

use std::io::Write;

use flate2::{Compress, Compression, FlushCompress, Status};
use sluice_deflate::{Compressor, CompressorSettings, Dialect, Encoder, Level};

/// The bytes that choose.
const CHOICES: usize = 6;
/// An input grows by so much a step.
const STEP: usize = 1 << 9;
/// What a gzip member has around the stream.
const HEAD: usize = 10;
const TAIL: usize = 8;

/// Tries `bytes`.
pub fn run(bytes: &[u8]) {
    let Some((&[level, dialect, threads, piece, cut, growth], seed)) =
        bytes.split_first_chunk::<CHOICES>()
    else {
        return;
    };
    let Some(level) = Level::new(level % 10) else {
        return;
    };
    let dialect = [Dialect::Zlib, Dialect::Gzip][usize::from(dialect % 2)];
    let settings = CompressorSettings::new(level, dialect)
        .threads(1 + usize::from(threads % 4))
        .piece(usize::from(piece % 4) << 16);
    let input = grown(seed, STEP * usize::from(growth));
    let once = once(level, dialect, &input);
    // What zlib makes at level 0 depends on its buffers.
    if level.number() > 0 && dialect == Dialect::Zlib {
        assert!(once == zlib(level.number(), &input), "zlib differs");
    }
    let member = member(settings, cut, &input);
    assert!(
        once == member[HEAD..member.len() - TAIL],
        "a stream differs"
    );
}

/// `seed`, and behind it slices of what is there already and of the seed, up to `length`.
fn grown(seed: &[u8], length: usize) -> Vec<u8> {
    let mut text = seed.to_vec();
    let mut state = seed.iter().fold(1, |state, &byte| stir(state, byte));
    while text.len() < length && !seed.is_empty() {
        state = stir(state, 0);
        let from = (state >> 33) as usize % text.len();
        let count = 1 + (state >> 25) as usize % 40;
        text.extend_from_within(from..text.len().min(from + count));
        text.push(seed[(state >> 41) as usize % seed.len()]);
    }
    text
}

fn stir(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte))
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1)
}

/// One raw stream.
fn once(level: Level, dialect: Dialect, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new(level, dialect).compress(input, &mut out);
    out
}

/// A gzip member, written in parts whose lengths come from `cut`.
fn member(settings: CompressorSettings, cut: u8, mut input: &[u8]) -> Vec<u8> {
    let mut stream = Compressor::gzip(settings, Vec::new());
    let mut length = 1 + usize::from(cut);
    while !input.is_empty() {
        let (now, later) = input.split_at(length.min(input.len()));
        stream.write_all(now).expect("a vector takes it");
        input = later;
        // From a few bytes to more than a piece.
        length = length * 3 % 200_003;
    }
    stream.finish().expect("a vector takes it")
}

/// What zlib makes of it, with room for all.
fn zlib(level: u8, input: &[u8]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::new(level.into()), false);
    let mut out = Vec::with_capacity(input.len() + input.len() / 8 + 4096);
    let status = stream.compress_vec(input, &mut out, FlushCompress::Finish);
    assert_eq!(status.expect("zlib compresses"), Status::StreamEnd);
    out
}
