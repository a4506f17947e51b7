//! The plan alone: trees walked, blobs located, delta chains laid out; no blob is inflated.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use git_sluice::{
    pipeline::Source,
    plan::{Planner, walk::Walk},
    request::Scope,
};

fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(
                || {
                    let request = shape.request(&[]);
                    let tree = request.treeish.tree;
                    let Scope::Whole(view) = request.scope else {
                        unreachable!("there is no base");
                    };
                    let walk = Walk::new(tree, *view, request.rules, request.extras);
                    Planner::new(walk, request.reader)
                },
                |mut planner| {
                    let mut jobs = 0;
                    loop {
                        let batch = planner.next().expect("the repository is sound");
                        jobs += batch.jobs.len();
                        if batch.last {
                            return jobs;
                        }
                    }
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
