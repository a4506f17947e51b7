//! The plan alone: trees walked, blobs located, delta chains laid out; no blob is inflated.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(|| shape.plan(&[]), support::jobs, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Two hundred files, alone and beside a directory of 30,000 that is left out.
fn pruned(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pruned");
    for (name, files, arguments) in [
        ("nothing", 200, &[][..]),
        ("a directory of 30000", 30_200, &["--exclude=d0/"]),
    ] {
        let shape = support::Shape::new(name, files, 2, 30_000, 1);
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(
                || shape.plan(arguments),
                support::jobs,
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, plan, pruned);
criterion_main!(benches);
