//! Decode alone: blobs that are located already, through their delta chains, on one thread.

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use git_sluice::{
    buffer::Buffer,
    decode::{Decoder, chain::Allowance},
    pipeline::Source,
    plan::{Blob, Job, Planner, walk::Walk},
    request::Scope,
};

fn jobs(shape: &support::Shape) -> Vec<Job> {
    let request = shape.request(&[]);
    let tree = request.treeish.tree;
    let Scope::Whole(view) = request.scope else {
        unreachable!("there is no base");
    };
    let walk = Walk::new(tree, *view, request.rules, request.extras);
    let mut planner = Planner::new(walk, request.reader);
    let mut jobs = Vec::new();
    loop {
        let batch = planner.next().expect("the repository is sound");
        jobs.extend(batch.jobs);
        if batch.last {
            return jobs;
        }
    }
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for shape in support::Shape::all() {
        group.throughput(shape.throughput());
        let mut decoder = Decoder::new(Allowance::new(32 << 20));
        let mut out = Buffer::default();
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched(
                // A plan serves once: it counts how often each link is still needed.
                || jobs(&shape),
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
