//! Inflates streams of the sizes that packs have, next to zlib in C and libdeflate.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use flate2::{Decompress, FlushDecompress};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use sluice_inflate::{Inflater, SLACK};

/// The median entry of a pack of source code, a large source file, and a large file.
const SIZES: [usize; 3] = [600, 20_000, 1_000_000];

/// The sources of the crate, over and over: what packs hold is source code.
fn text(size: usize) -> Vec<u8> {
    let sources = concat!(
        include_str!("../crates/inflate/src/symbols.rs"),
        include_str!("../crates/inflate/src/tables.rs"),
        include_str!("../crates/inflate/src/stream.rs"),
    );
    sources.bytes().cycle().take(size).collect()
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut stream = vec![0; compressor.zlib_compress_bound(text.len())];
    let len = compressor
        .zlib_compress(text, &mut stream)
        .expect("there is room");
    stream.truncate(len);
    stream
}

fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("inflate");
    for size in SIZES {
        let stream = packed(&text(size));
        let mut out = vec![0; size + SLACK];
        group.throughput(Throughput::Bytes(size as u64));
        let mut inflater = Inflater::default();
        group.bench_function(BenchmarkId::new("ours", size), |bencher| {
            bencher.iter(|| inflater.whole(black_box(&stream), &mut out));
        });
        let mut zlib = Decompress::new(true);
        group.bench_function(BenchmarkId::new("zlib", size), |bencher| {
            bencher.iter(|| {
                zlib.reset(true);
                zlib.decompress(
                    black_box(&stream),
                    &mut out[..size],
                    FlushDecompress::Finish,
                )
            });
        });
        let mut libdeflate = Decompressor::new();
        group.bench_function(BenchmarkId::new("libdeflate", size), |bencher| {
            bencher.iter(|| libdeflate.zlib_decompress(black_box(&stream), &mut out[..size]));
        });
    }
    group.finish();
}

criterion_group!(benches, whole);
criterion_main!(benches);
