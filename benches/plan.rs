//! The plan alone: trees walked, blobs located, delta chains laid out; no blob is inflated.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(|| shape.plan(), support::jobs, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
