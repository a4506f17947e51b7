//! The whole: from a resolved request to archive bytes that nobody keeps, by shape and threads; as many as
//! there are processors for.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sluice_base::{
    pipeline::processor_count,
    progress::{Console, Meter, Total},
};
use sluice_core::archive::{ArchiveOutputs, RunStats, run};

fn pipeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        let counts = [1, 2, 4, 8, 16].into_iter();
        for threads in counts.filter(|&threads| threads <= processor_count()) {
            let threads = threads.to_string();
            group.bench_function(format!("{}/{threads}", shape.name), |bencher| {
                bencher.iter_batched(
                    || shape.request(&["-j", &threads]),
                    |request| {
                        let (mut archive, mut log) = (std::io::sink(), std::io::sink());
                        let outputs = ArchiveOutputs {
                            destination: &mut archive,
                            console: Console::new(&mut log, None),
                            meter: Meter::new("Archiving", Total::Unknown),
                        };
                        run(request, outputs, &mut RunStats::default()).expect("it works");
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
