//! Decode alone: blobs that are located already, through their delta chains, on one thread.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sluice_base::buffer::Buffer;
use sluice_core::plan::Blob;
use sluice_git::objects::{Decoder, slot::Allowance};

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        let mut decoder = Decoder::new(Allowance::new(32 << 20));
        let mut out = Buffer::default();
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(
                // A plan serves once: it counts how often each link is still needed.
                || support::jobs(shape.plan(&[])),
                |jobs| {
                    for job in &jobs {
                        out.clear();
                        for entry in job.entries() {
                            if let Blob::Packed(node) = entry.blob {
                                let chains = &job.window.chains;
                                decoder
                                    .packed(chains, node, 64 << 20, &mut out)
                                    .expect("sound");
                            }
                        }
                    }
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
