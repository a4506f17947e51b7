//! Rules that decide by name: a thousand patterns of all kinds against the paths of a large tree.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluice_core::filter::{access::AccessRules, ignore::Ignore};

const PATHS: usize = 40_000;
const PATTERNS: usize = 1_000;

const WORDS: [&str; 24] = [
    "arch", "block", "cache", "config", "core", "crypto", "docs", "driver", "example", "fixture",
    "include", "internal", "kernel", "lib", "module", "net", "package", "server", "source", "test",
    "tools", "util", "vendor", "web",
];
const EXTENSIONS: [&str; 8] = ["c", "h", "go", "js", "json", "md", "rs", "txt"];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % limit
    }

    fn word(&mut self) -> String {
        let number = self.below(40);
        format!("{}{number}", WORDS[self.below(WORDS.len())])
    }

    fn extension(&mut self) -> &'static str {
        EXTENSIONS[self.below(EXTENSIONS.len())]
    }
}

fn paths() -> Vec<String> {
    let mut dice = Dice(1);
    let path = |_| {
        let depth = dice.below(5);
        let mut path: String = (0..depth).map(|_| dice.word() + "/").collect();
        path += &format!("{}_{}.{}", dice.word(), dice.word(), dice.extension());
        path
    };
    (0..PATHS).map(path).collect()
}

fn patterns(prefix: &str) -> String {
    let mut dice = Dice(2);
    let mut pattern = |number| {
        let (a, b, c) = (dice.word(), dice.word(), dice.word());
        let extension = dice.extension();
        match number % 16 {
            0..3 => format!("{a}/{b}/"),
            3 => format!("third_party_{a}"),
            4..6 => format!("{a}/{b}/{c}.{extension}"),
            6..8 => format!("**/{a}/{b}/**"),
            8 => format!("**.{a}.{extension}"),
            9 => format!("**/*_{a}_{b}.{extension}"),
            10 => format!("**/{a}.{extension}"),
            11 => format!("{a}/**/{b}/*.{extension}"),
            12 => format!("{a}/*/{b}_*.{extension}"),
            13 => format!("**/*{a}{b}*"),
            14 => format!("[0-9]*{a}.*"),
            _ => format!("{a}/{{{b},{c}}}/**.{{js,css}}"),
        }
    };
    (0..PATTERNS)
        .map(|number| format!("{prefix}{}\n", pattern(number)))
        .collect()
}

fn filter(criterion: &mut Criterion) {
    let paths = paths();
    let mut ignore = Ignore::new();
    let added = ignore.add("bench", patterns("").as_bytes());
    added.expect("all lines are patterns");
    let rules = format!("/**\n{}", patterns("-/"));
    let access = AccessRules::parse(rules.as_bytes()).expect("all lines are rules");
    let count =
        |is_so: &dyn Fn(&[u8]) -> bool| paths.iter().filter(|path| is_so(path.as_bytes())).count();

    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements((PATHS * PATTERNS) as u64));
    group.bench_function("ignores", |bencher| {
        bencher.iter(|| count(&|path| ignore.ignores(black_box(path))));
    });
    group.bench_function("prunes", |bencher| {
        bencher.iter(|| count(&|path| ignore.prunes(black_box(path))));
    });
    group.bench_function("allows", |bencher| {
        bencher.iter(|| count(&|path| access.allows(black_box(path))));
    });
    group.bench_function("admits_all", |bencher| {
        bencher.iter(|| count(&|path| access.admits_all(black_box(path))));
    });
    group.finish();
}

criterion_group!(benches, filter);
criterion_main!(benches);
