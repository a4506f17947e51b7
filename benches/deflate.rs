//! Deflate next to zlib's C library: whole inputs on one thread, and streams on several.

use std::hint::black_box;
use std::io::{Write, sink};
use std::time::Duration;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use flate2::{Compress, Compression, FlushCompress};
use sluice_deflate::{Compressor, CompressorSettings, Dialect, Encoder, Level};

const LEVELS: [u8; 3] = [1, 6, 9];
const SIZE: usize = 8 << 20;

/// What looks like source: indented lines of words out of a dictionary.
fn source() -> Vec<u8> {
    let mut state = 1u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % limit
    };
    let words: Vec<Vec<u8>> = (0..3000)
        .map(|_| {
            let letters = 2 + below(9);
            (0..letters).map(|_| b'a' + below(26) as u8).collect()
        })
        .collect();
    let mut text = Vec::with_capacity(SIZE + 512);
    while text.len() < SIZE {
        text.resize(text.len() + 4 * below(5) as usize, b' ');
        for _ in 0..1 + below(6) {
            // Some words are much more common than others.
            let rank = below(3000) * below(3000) / 3000;
            text.extend_from_slice(&words[rank as usize]);
            text.push(b" ();=_.,"[below(8) as usize]);
        }
        text.push(b'\n');
    }
    text
}

fn level(number: u8) -> Level {
    Level::new(number).expect("a level")
}

/// Throughput in bytes of `text`; few samples, for each takes long.
fn group<'a>(
    criterion: &'a mut Criterion,
    name: String,
    text: &[u8],
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(100));
    group.measurement_time(Duration::from_millis(500));
    group
}

fn whole(criterion: &mut Criterion) {
    let text = source();
    for number in LEVELS {
        let mut group = group(criterion, format!("deflate/level {number}"), &text);
        let mut out = Vec::with_capacity(text.len());
        group.bench_function("zlib", |bencher| {
            bencher.iter(|| {
                out.clear();
                let mut stream = Compress::new(Compression::new(number.into()), false);
                stream.compress_vec(&text, &mut out, FlushCompress::Finish)
            });
        });
        for dialect in [Dialect::Zlib, Dialect::Gzip] {
            let mut encoder = Encoder::new(level(number), dialect);
            group.bench_function(format!("as {dialect:?}"), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    encoder.compress(&text, &mut out);
                    black_box(out.len())
                });
            });
        }
        for threads in [1, 2] {
            let settings = CompressorSettings::new(level(number), Dialect::Zlib).threads(threads);
            group.bench_function(format!("stream, {threads} threads"), |bencher| {
                bencher.iter(|| {
                    let mut stream = Compressor::gzip(settings, sink());
                    for bytes in text.chunks(10240) {
                        stream.write_all(bytes).expect("a sink takes all");
                    }
                    stream.finish()
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, whole);
criterion_main!(benches);
