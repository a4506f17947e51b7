//! Deflate against the programs whose bytes it makes: zlib through its C library, and `gzip`.
//!
//! What is deflated is made from seeds. The sizes are those at which windows slide, blocks end and
//! codes change.

mod programs;
mod samples;

use std::io::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use sluice_deflate::{Compressor, CompressorSettings, Dialect, Encoder, Level};

use programs::{gzip, has_gzip, wrapped, zlib, zlib_framed, zlib_stored};
use samples::{KINDS, Kind};

/// Where something changes: blocks, windows, the reach of a match.
const EDGES: [usize; 8] = [16383, 32506, 32768, 49149, 65274, 65536, 98042, 131072];

fn level(number: u8) -> Level {
    Level::new(number).expect("a level")
}

/// What we make of it at once.
fn ours(number: u8, dialect: Dialect, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new(level(number), dialect).compress(input, &mut out);
    out
}

/// What we make of it as a gzip member, written `feed` bytes at a time.
fn member(settings: CompressorSettings, feed: usize, input: &[u8]) -> Vec<u8> {
    let mut stream = Compressor::gzip(settings, Vec::new());
    for bytes in input.chunks(feed) {
        stream.write_all(bytes).expect("a vector takes it");
    }
    stream.finish().expect("a vector takes it")
}

#[track_caller]
fn assert_same(ours: &[u8], theirs: &[u8], what: impl std::fmt::Debug) {
    let same = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    assert!(
        ours == theirs,
        "{what:?}: differs at {same} of {} and {} bytes",
        ours.len(),
        theirs.len()
    );
}

#[track_caller]
fn assert_zlib(number: u8, input: &[u8], what: impl std::fmt::Debug) {
    let ours = ours(number, Dialect::Zlib, input);
    assert_same(&ours, &zlib(number, input), (number, what));
}

#[track_caller]
fn assert_gzip(number: u8, input: &[u8], what: impl std::fmt::Debug) {
    let ours = ours(number, Dialect::Gzip, input);
    assert_same(
        &wrapped(number, &ours, input),
        &gzip(number, input),
        (number, what),
    );
}

/// Every kind at lengths around every edge: each level at its share of them.
fn around_edges(step: usize) -> impl Iterator<Item = (Kind, usize)> {
    let lengths = EDGES.into_iter().flat_map(move |edge| {
        let first = edge.saturating_sub(300) + edge % step.min(97);
        (first..edge + 300)
            .step_by(step)
            .chain([edge - 1, edge, edge + 1])
    });
    lengths.flat_map(|length| KINDS.map(|kind| (kind, length)))
}

#[test]
fn short_inputs_are_zlibs() {
    for kind in KINDS {
        for length in (0..40).chain((40..700).step_by(31)) {
            let input = kind.bytes(length, length as u64);
            for number in 1..=9 {
                assert_zlib(number, &input, (kind, length));
            }
        }
    }
}

#[test]
fn inputs_around_the_edges_are_zlibs() {
    for (turn, (kind, length)) in around_edges(600).step_by(2).enumerate() {
        let input = kind.bytes(length, turn as u64);
        assert_zlib(1 + (turn % 9) as u8, &input, (kind, length));
    }
}

#[test]
fn inputs_around_the_edges_are_gzips() {
    if !has_gzip() {
        return;
    }
    for (turn, (kind, length)) in around_edges(600).step_by(4).enumerate() {
        let input = kind.bytes(length, turn as u64);
        assert_gzip(1 + (turn % 9) as u8, &input, (kind, length));
    }
}

#[test]
fn short_inputs_are_gzips() {
    if !has_gzip() {
        return;
    }
    for (turn, kind) in KINDS.into_iter().cycle().take(90).enumerate() {
        let length = turn * turn / 11;
        let input = kind.bytes(length, turn as u64);
        assert_gzip(1 + (turn / 9 % 9) as u8, &input, (kind, length));
    }
}

#[test]
fn every_period_is_zlibs() {
    for period in 1..=300 {
        let input = Kind::Period(period).bytes(3000, 1);
        assert_zlib(1 + (period % 9) as u8, &input, period);
    }
}

#[test]
fn stored_blocks_are_zlibs() {
    for records in [0, 1, 3, 4, 5, 8, 9, 13] {
        let input = Kind::Source.bytes(records * 10240, 1);
        let settings = CompressorSettings::new(level(0), Dialect::Zlib).threads(2);
        let theirs = wrapped(0, &zlib_stored(&input), &input);
        assert_same(&member(settings, 512, &input), &theirs, records);
    }
}

/// Everything there is, one after another.
fn medley(scale: usize) -> Vec<u8> {
    let mut medley = Vec::new();
    for (turn, kind) in KINDS
        .into_iter()
        .chain([Kind::Compressed])
        .cycle()
        .take(13)
        .enumerate()
    {
        medley.extend(kind.bytes(scale + turn * 1001, turn as u64));
    }
    medley
}

#[test]
fn streams_do_not_depend_on_threads_and_pieces() {
    let input = medley(16_000);
    for (dialect, number) in [
        (Dialect::Zlib, 1),
        (Dialect::Zlib, 3),
        (Dialect::Zlib, 6),
        (Dialect::Zlib, 9),
        (Dialect::Gzip, 2),
        (Dialect::Gzip, 6),
    ] {
        let theirs = wrapped(number, &ours(number, dialect, &input), &input);
        for (threads, piece, feed) in [
            (1, None, 10240),
            (2, Some(1), 10240),
            (3, Some(1 << 17), 777),
            (8, Some(1 << 16), usize::MAX),
            (2, None, 65536),
        ] {
            let settings = CompressorSettings::new(level(number), dialect).threads(threads);
            let settings = piece.map_or(settings, |bytes| settings.piece(bytes));
            let ours = member(settings, feed, &input);
            assert_same(&ours, &theirs, (dialect, number, threads, piece));
        }
    }
}

/// The input of the golden streams.
const MEDLEY: usize = 12_000;

#[test]
fn the_medley_is_theirs() {
    let input = medley(MEDLEY);
    let has_gzip = has_gzip();
    for number in 1..=9 {
        assert_zlib(number, &input, "medley");
        if has_gzip {
            assert_gzip(number, &input, "medley");
        }
    }
}

/// A frame of zlib around the input of `settings`.
fn zlib_stream(settings: CompressorSettings, input: &[u8]) -> Vec<u8> {
    let mut stream = Compressor::zlib(settings, Vec::new());
    stream.write_all(input).expect("a vector takes it");
    stream.finish().expect("a vector takes it")
}

#[test]
fn zlib_streams_are_zlibs() {
    for input in [&b""[..], b"a", &Kind::Source.bytes(777, 1), &medley(20_000)] {
        for number in 1..=9 {
            let theirs = zlib_framed(number, input);
            for threads in [1, 3] {
                let settings = CompressorSettings::new(level(number), Dialect::Zlib);
                let ours = zlib_stream(settings.threads(threads).piece(1), input);
                assert_same(&ours, &theirs, (number, threads));
            }
        }
    }
}

/// Level 0, whose blocks depend on the writes, and gzip's blocks in a frame of zlib.
#[test]
fn other_zlib_streams_are_valid() {
    let input = medley(5000);
    for (number, dialect) in [(0, Dialect::Zlib), (6, Dialect::Gzip)] {
        let settings = CompressorSettings::new(level(number), dialect)
            .threads(2)
            .piece(1);
        let stream = zlib_stream(settings, &input);
        let mut out = vec![0; input.len()];
        let length = libdeflater::Decompressor::new().zlib_decompress(&stream, &mut out);
        assert_eq!(length, Ok(input.len()), "{number}");
        assert!(out == input, "{number}");
    }
}

/// Where nothing meets for many pieces most are not parsed ahead; what follows is, again.
#[test]
fn runs_of_many_pieces_are_zlibs() {
    const PIECE: usize = 1 << 16;
    let run = |kind: Kind, length: usize| [kind.bytes(length, 7), medley(30_000)].concat();
    for (turn, input) in [
        run(Kind::Zeros, 14 * PIECE - 1),
        run(Kind::Zeros, 15 * PIECE),
        run(Kind::Zeros, 17 * PIECE + 300),
        // A match ends just where a piece begins that is not parsed ahead: 15 * PIECE is 60 + 3810 * 258, and
        // nothing matches the first byte.
        run(Kind::Period(59), 18 * PIECE + 20_000),
    ]
    .into_iter()
    .enumerate()
    {
        for number in [1 + turn as u8, 6 + turn as u8] {
            let theirs = wrapped(number, &zlib(number, &input), &input);
            let settings = CompressorSettings::new(level(number), Dialect::Zlib)
                .threads(2)
                .piece(PIECE);
            let ours = member(settings, 10240, &input);
            assert_same(&ours, &theirs, (turn, number));
        }
    }
}

/// The first bytes of a stream come long before its end, and its pieces are not all kept.
#[test]
fn bytes_come_out_early() {
    let input = Kind::Random.bytes(2 << 20, 1);
    for threads in [1, 2] {
        let settings = CompressorSettings::new(Level::DEFAULT, Dialect::Zlib)
            .threads(threads)
            .piece(1 << 16);
        let mut stream = Compressor::gzip(settings, Vec::new());
        stream.write_all(&input).expect("a vector takes it");
        stream.flush().expect("a vector takes it");
        assert!(stream.get_ref().len() > 1 << 19, "{threads} threads");
    }
}

/// A writer that is full.
#[test]
fn a_failure_comes_through() {
    for threads in [1, 2] {
        let settings = CompressorSettings::new(Level::DEFAULT, Dialect::Zlib)
            .threads(threads)
            .piece(1 << 16);
        let mut room = [0; 70_000];
        let mut stream = Compressor::gzip(settings, &mut room[..]);
        let input = Kind::Random.bytes(1 << 20, 1);
        let written = stream.write_all(&input);
        let failure = written.and_then(|()| stream.finish().map(drop));
        let failure = failure.expect_err("there is no room");
        assert_eq!(failure.kind(), std::io::ErrorKind::WriteZero);
    }
}

/// zlib-rs and libdeflate, each with its own idea of what is allowed.
#[test]
fn other_decoders_give_the_input_back() {
    let input = medley(MEDLEY);
    for dialect in [Dialect::Zlib, Dialect::Gzip] {
        let settings = CompressorSettings::new(Level::DEFAULT, dialect);
        let member = member(settings, 10240, &input);
        let mut out = vec![0; input.len()];
        let length = libdeflater::Decompressor::new().gzip_decompress(&member, &mut out);
        assert_eq!(length, Ok(input.len()), "libdeflate");
        assert!(out == input, "libdeflate");
        out.fill(0);
        let config = zlib_rs::InflateConfig { window_bits: 31 };
        let (content, code) = zlib_rs::decompress_slice(&mut out, &member, config);
        assert!(
            code == zlib_rs::ReturnCode::Ok && content == input,
            "zlib-rs"
        );
    }
}

#[test]
fn golden_streams() {
    let input = medley(MEDLEY);
    let sums = |dialect| (1..=9).map(move |number| (number, dialect));
    let found: Vec<u32> = sums(Dialect::Zlib)
        .chain(sums(Dialect::Gzip))
        .map(|(number, dialect)| crc32fast::hash(&ours(number, dialect, &input)))
        .collect();
    assert_eq!(found, GOLDEN, "{found:#010x?}");
}

/// Checksums of what zlib and gzip made of the medley.
const GOLDEN: [u32; 18] = [
    0x7ce2_359a,
    0xc1d7_9891,
    0xaacf_7148,
    0x9d05_0059,
    0xd6ae_9111,
    0xd989_5d85,
    0xaa3e_09ee,
    0x0445_5b82,
    0x7bb1_747a,
    0x44c6_1e8c,
    0x501b_bd29,
    0x9d99_8c1a,
    0x2460_cee9,
    0x0a44_4f28,
    0x3f58_235f,
    0xca67_fcd3,
    0x26cb_5779,
    0xa9e6_c6fb,
];

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Zeros),
        Just(Kind::Random),
        (2u8..5).prop_map(Kind::Letters),
        (1usize..40_000).prop_map(Kind::Period),
        Just(Kind::Source),
        Just(Kind::Mixed),
        Just(Kind::Compressed),
    ]
}

/// A kind, its length, and a seed.
fn part() -> impl Strategy<Value = (Kind, usize, u64)> {
    let long = prop_oneof![Just(Kind::Zeros), (1usize..600).prop_map(Kind::Period)];
    prop_oneof![
        4 => (kind(), 0usize..40_000, any::<u64>()),
        1 => (long, 0usize..1_500_000, any::<u64>()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20,
        max_shrink_iters: 100,
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("regressions"),
        )),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_medleys(
        parts in vec(part(), 0..5),
        number in 1u8..=9,
        threads in 1usize..4,
        feed in 100usize..50_000,
    ) {
        let parts = parts.into_iter();
        let input: Vec<u8> = parts.flat_map(|(kind, length, seed)| kind.bytes(length, seed)).collect();
        let theirs = wrapped(number, &zlib(number, &input), &input);
        let settings = CompressorSettings::new(level(number), Dialect::Zlib).threads(threads).piece(1);
        prop_assert!(member(settings, feed, &input) == theirs);
    }
}
