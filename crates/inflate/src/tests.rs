//! Compares with zlib in C and with libdeflate: the same bytes, or a refusal.

use std::io::Read;

use flate2::{Compress, Compression, FlushCompress, read::ZlibDecoder};
use libdeflater::{CompressionLvl, Compressor};
use proptest::prelude::*;

use super::{Inflater, Refused, SLACK, literals, stream::zlib_body, symbols};

/// Fills the memory around the buffer, which must not change.
const CANARY: u8 = 0xa5;
const GUARD: usize = 64;

/// Inflate with every instruction set. Returns the output without its slack.
fn inflate(stream: &[u8], size: usize) -> Result<Vec<u8>, Refused> {
    let best = guarded(size, |out| Inflater::default().whole(stream, out));
    let plain = guarded(size, |out| {
        symbols::with_any_instructions(&mut Inflater::default(), stream, out)
    });
    assert_eq!(best, plain, "it depends on the processor");
    best
}

fn guarded(
    size: usize,
    inflate: impl Fn(&mut [u8]) -> Result<(), Refused>,
) -> Result<Vec<u8>, Refused> {
    let mut memory = vec![CANARY; GUARD + size + SLACK + GUARD];
    let (before, rest) = memory.split_at_mut(GUARD);
    let (out, after) = rest.split_at_mut(size + SLACK);
    let outcome = inflate(out);
    let untouched = before.iter().chain(&*after).all(|&byte| byte == CANARY);
    assert!(untouched, "bytes outside the buffer changed");
    outcome.map(|()| out[..size].to_vec())
}

/// The literals at the beginning, at most eight, where more of a pack follows.
fn beginning(stream: &[u8]) -> Vec<u8> {
    let followed = [stream, &[0; 200]].concat();
    let mut out = [0; 8];
    let len = literals(&followed, &mut out).unwrap_or(0);
    out[..len].to_vec()
}

/// The output of zlib for a stream of `size` bytes.
fn zlib(stream: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    ZlibDecoder::new(stream).read_to_end(&mut out).ok()?;
    (out.len() == size).then_some(out)
}

/// `content` as a stream of zlib at `level`, flushed every `flush` bytes.
fn strategic(content: &[u8], level: u32, flush: usize) -> Vec<u8> {
    let mut stream = Compress::new(Compression::new(level), true);
    let mut out = Vec::with_capacity(2 * content.len() + 4096);
    for (nth, part) in content.chunks(flush).enumerate() {
        let kind = [
            FlushCompress::Sync,
            FlushCompress::Partial,
            FlushCompress::Full,
        ][nth % 3];
        stream
            .compress_vec(part, &mut out, kind)
            .expect("zlib compresses");
    }
    stream
        .compress_vec(&[], &mut out, FlushCompress::Finish)
        .expect("zlib compresses");
    out
}

fn libdeflate(content: &[u8], level: i32) -> Vec<u8> {
    let level = CompressionLvl::new(level).expect("a level");
    let mut compressor = Compressor::new(level);
    let mut out = vec![0; compressor.zlib_compress_bound(content.len())];
    let length = compressor
        .zlib_compress(content, &mut out)
        .expect("there is room");
    out.truncate(length);
    out
}

/// A stream with a zlib strategy that flate2 does not offer.
fn zlib_rs(content: &[u8], strategy: zlib_rs::Strategy, level: i32) -> Vec<u8> {
    let config = zlib_rs::DeflateConfig {
        level,
        strategy,
        ..Default::default()
    };
    let mut out = vec![0; zlib_rs::compress_bound(content.len()) + 64];
    let (out, code) = zlib_rs::compress_slice(&mut out, content, config);
    assert_eq!(code, zlib_rs::ReturnCode::Ok);
    out.to_vec()
}

fn streams(content: &[u8]) -> Vec<Vec<u8>> {
    use zlib_rs::Strategy::{Default, Filtered, Fixed, HuffmanOnly, Rle};
    let mut streams = Vec::new();
    for strategy in [Default, Filtered, HuffmanOnly, Rle, Fixed] {
        streams.extend([1, 6].map(|level| zlib_rs(content, strategy, level)));
    }
    streams.extend((0..10).map(|level| strategic(content, level, 1 << 20)));
    streams.push(strategic(content, 6, 1 + content.len() / 5));
    streams.extend((0..=12).map(|level| libdeflate(content, level)));
    streams
}

/// Content with many or few matches, near or far, of few byte values or all.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        prop::collection::vec(b'a'..b'e', 0..400),
        (any::<u8>(), 1..700_usize).prop_map(|(byte, count)| vec![byte; count]),
        (prop::collection::vec(any::<u8>(), 1..40), 1..30_usize)
            .prop_map(|(piece, count)| piece.repeat(count)),
    ];
    (prop::collection::vec(piece, 0..12), 1..4_usize)
        .prop_map(|(pieces, count)| pieces.concat().repeat(count))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_stream_inflates_to_its_content(content in contents()) {
        for stream in streams(&content) {
            let followed = [&stream[..], b"more of the pack, and more of it after that"].concat();
            prop_assert_eq!(inflate(&stream, content.len()), Ok(content.clone()));
            prop_assert_eq!(inflate(&followed, content.len()), Ok(content.clone()));
            prop_assert_eq!(inflate(&followed, content.len() + 1), Err(Refused));
            prop_assert!(content.starts_with(&beginning(&stream)));
            if let Some(less) = content.len().checked_sub(1) {
                prop_assert_eq!(inflate(&followed, less), Err(Refused));
            }
        }
    }

    #[test]
    fn what_is_not_refused_is_what_zlib_says(
        content in contents(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        for mut stream in streams(&content) {
            for (at, byte) in &changes {
                let at = at.index(stream.len());
                stream[at] = *byte;
            }
            if let Ok(out) = inflate(&stream, content.len()) {
                prop_assert!(out.starts_with(&beginning(&stream)));
                prop_assert_eq!(zlib(&stream, content.len()), Some(out));
            }
        }
    }

    /// Raw streams have no checksum. Every accepted stream yields the same bytes as zlib.
    #[test]
    fn anything_at_all_is_inflated_as_by_zlib(
        body in prop::collection::vec(any::<u8>(), 0..300),
        kind in 0..4_u8,
    ) {
        let mut body = body;
        if let Some(first) = body.first_mut() {
            *first = *first & !7 | 1 | kind << 1;
        }
        let mut raw = Vec::new();
        let mut decoder = flate2::read::DeflateDecoder::new(&body[..]);
        let whole = decoder.read_to_end(&mut raw).is_ok();
        let used = decoder.total_in() as usize;
        let size = raw.len();
        let sum = adler32furious::adler32(&raw).to_be_bytes();
        let stream = [&[0x78, 0x9c][..], &body[..used.min(body.len())], &sum[..]].concat();
        match inflate(&stream, size) {
            Ok(out) => prop_assert_eq!(out, raw),
            Err(Refused) => prop_assert!(!whole || kind == 2, "zlib takes it"),
        }
    }
}

/// The deltas of packs begin so, in a dynamic or in a fixed block.
#[test]
fn a_beginning_without_matches_is_inflated() {
    let few = *b"\x90\x4e\x92\x4e\xb3\x10\x27\x04";
    let many = Vec::from_iter((0..900_u32).map(|at| (at * at / 7) as u8 % 61));
    for content in [few.to_vec(), [&few[..], &many].concat()] {
        for level in [1, 6, 9] {
            assert_eq!(beginning(&strategic(&content, level, 1 << 20)), few);
        }
    }
    assert_eq!(beginning(&strategic(&few, 0, 1 << 20)), b"", "stored");
    let same = strategic(&b"abc".repeat(100), 6, 1 << 20);
    let before = beginning(&same);
    assert!(
        b"abcab".starts_with(&before) && before.len() >= 3,
        "{before:?}"
    );
    let mut out = [0; 8];
    assert_eq!(
        literals(&same, &mut out),
        Err(Refused),
        "the input ends soon"
    );
}

#[test]
fn every_truncation_is_refused() {
    let content: Vec<u8> = (0..3000_u32).map(|at| (at * at / 7) as u8 % 61).collect();
    for stream in streams(&content) {
        for length in (0..stream.len()).step_by(7).chain([stream.len() - 1]) {
            assert_eq!(inflate(&stream[..length], content.len()), Err(Refused));
        }
    }
}

#[test]
fn every_change_of_a_byte_is_noticed() {
    let content = b"a byte is changed, a byte is changed, and another byte".repeat(2);
    for stream in [
        libdeflate(&content, 9),
        libdeflate(&content[..40], 1),
        strategic(&content, 0, 50),
    ] {
        let size = zlib_size(&stream);
        for at in 0..stream.len() {
            for change in 1..=255 {
                let mut stream = stream.clone();
                stream[at] ^= change;
                if let Ok(out) = inflate(&stream, size) {
                    assert_eq!(zlib(&stream, size), Some(out));
                }
            }
        }
    }
}

fn zlib_size(stream: &[u8]) -> usize {
    let mut out = Vec::new();
    ZlibDecoder::new(stream)
        .read_to_end(&mut out)
        .expect("zlib takes it")
}

#[test]
fn a_large_stream_at_the_end_of_the_input_is_inflated() {
    let mut state = 1_u32;
    let content: Vec<u8> = (0..700_000_u32)
        .map(|at| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            if at % 97 < 60 {
                (state >> 16) as u8
            } else {
                (at >> 7) as u8
            }
        })
        .collect();
    for level in [0, 1, 6, 9] {
        let stream = strategic(&content, level, 1 << 20);
        assert!(
            inflate(&stream, content.len()) == Ok(content.clone()),
            "level {level}"
        );
    }
}

#[test]
fn empty_content_is_inflated() {
    for stream in streams(b"") {
        assert_eq!(inflate(&stream, 0), Ok(Vec::new()));
    }
}

/// Go's compress/flate writes such a code where there are no matches.
#[test]
fn a_code_of_a_single_offset_is_taken() {
    let mut bits = Writer::default();
    bits.write(&[(1, 1), (2, 2), (0, 5), (0, 5), (14, 4)]);
    // Codeword lengths for the code lengths 0 (as a run, 18), 1 and 2, in the order of the format.
    for symbol in [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1_u32,
    ] {
        bits.write(&[(u32::from(symbol == 1 || symbol == 18), 3)]);
    }
    // `a` and the end of the block have one bit each, an offset has one bit: 97 zeros, 1, 138 and 20 zeros,
    // 1, 1.
    bits.write(&[
        (1, 1),
        (97 - 11, 7),
        (0, 1),
        (1, 1),
        (127, 7),
        (1, 1),
        (20 - 11, 7),
        (0, 1),
        (0, 1),
    ]);
    bits.write(&[(0, 1), (0, 1), (0, 1), (1, 1)]);
    let sum = adler32furious::adler32(b"aaa").to_be_bytes();
    let stream = [&[0x78, 0x9c][..], &bits.done(), &sum].concat();
    assert_eq!(zlib(&stream, 3).as_deref(), Some(&b"aaa"[..]));
    assert_eq!(inflate(&stream, 3).as_deref(), Ok(&b"aaa"[..]));
}

#[derive(Default)]
struct Writer {
    bits: Vec<bool>,
}

impl Writer {
    fn write(&mut self, numbers: &[(u32, u32)]) {
        for &(number, count) in numbers {
            self.bits
                .extend((0..count).map(|bit| number >> bit & 1 == 1));
        }
    }

    fn done(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter()
                .rev()
                .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
        };
        self.bits.chunks(8).map(byte).collect()
    }
}

#[test]
fn headers_that_are_not_ours_are_refused() {
    assert!(zlib_body(&[0x78, 0x9c]).is_ok());
    // Another method, a window too large, a wrong check, a dictionary, too short.
    for header in [
        &[0x79, 0x9b][..],
        &[0x88, 0x1c],
        &[0x78, 0x9d],
        &[0x78, 0xbb],
        &[0x78],
    ] {
        assert_eq!(zlib_body(header), Err(Refused));
    }
}

#[test]
fn a_refusal_is_an_error() {
    let refused = zlib_body(b"x").map(drop);
    let error = refused
        .map_err(Box::<dyn std::error::Error>::from)
        .expect_err("too short");
    assert!(!error.to_string().is_empty());
}
