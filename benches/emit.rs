//! Emit alone: entries in memory to tar bytes, by shape of name and size of body.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluice_format::{
    Format, Layout, Member, MemberKind, Part,
    tar::{Globals, Tar},
};

fn tar(criterion: &mut Criterion) {
    let tar = Tar {
        mtime: 1_117_231_200,
        umask: 0o002,
        comment: None,
        globals: Globals::default(),
    };
    let long = format!("{}/{}", "directory/".repeat(12), "f".repeat(90));
    let longer = "n".repeat(300);
    let names = [("short", "src/main.rs"), ("split", &long), ("pax", &longer)];
    let mut group = criterion.benchmark_group("emit");
    for (shape, name) in names {
        for size in [0, 4 << 10, 256 << 10] {
            let body = vec![b'x'; size];
            let mut part = Part::default();
            group.throughput(Throughput::Bytes(512 + size as u64));
            group.bench_function(format!("{shape}/{size}"), |bencher| {
                bencher.iter(|| {
                    part.bytes.clear();
                    let member = Member {
                        name: name.as_bytes(),
                        kind: MemberKind::File,
                        id: &[7; 20],
                        text: None,
                        vendor: &[],
                    };
                    let begun = tar.begin_file(&member, &mut part);
                    part.bytes.extend(&body);
                    tar.end_file(&mut (), begun, &member, Layout::Whole, &mut part);
                    part.bytes.len()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, tar);
criterion_main!(benches);
