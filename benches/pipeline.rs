//! The whole: from a resolved request to archive bytes that nobody keeps, by shape and threads; as many as
//! there are processors for.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use git_sluice::{Outputs, Tally, pipeline::default_threads, run};

fn pipeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    let counts = [1, 2, 4, 8, 16].map(|threads| (threads, threads.to_string()));
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        for (_, threads) in counts
            .iter()
            .filter(|(count, _)| *count <= default_threads())
        {
            group.bench_function(format!("{}/{threads}", shape.name), |bencher| {
                bencher.iter_batched(
                    || shape.request(&["-j", threads]),
                    |request| {
                        let (mut archive, mut log) = (std::io::sink(), std::io::sink());
                        let outputs = Outputs {
                            destination: &mut archive,
                            diagnostics: &mut log,
                            meter: None,
                        };
                        run(request, outputs, &mut Tally::default()).expect("it works");
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, pipeline);
criterion_main!(benches);
