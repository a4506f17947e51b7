//! Random repositories: whatever git can store, we write as git does. Names, depths, modes, sizes
//! and deltas are drawn; git's own importer builds them, which takes milliseconds.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::Repo;
use crate::support::import::{Files, Node, write_commit};

/// Contents that are alike in groups, so that a repack finds deltas.
#[derive(Clone, Debug)]
struct Content {
    group: u8,
    length: usize,
    /// Places where it is not like the others.
    edits: Vec<(usize, u8)>,
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        // A multiplicative sequence: does not compress to nothing, and needs no table.
        let word = |place: usize| {
            (place as u32 + u32::from(self.group) * 7919).wrapping_mul(2_654_435_761)
        };
        let mut bytes: Vec<u8> = (0..self.length)
            .map(|place| (word(place / 3) >> 24) as u8)
            .collect();
        for &(place, byte) in &self.edits {
            if let Some(old) = bytes.get_mut(place) {
                *old = byte;
            }
        }
        bytes
    }
}

/// Sizes where padding, records and blocks end.
const AROUND_RECORDS: &[usize] = &[
    0, 1, 511, 512, 513, 1023, 1024, 1025, 9728, 10239, 10240, 10241,
];

fn content() -> impl Strategy<Value = Content> {
    let length = prop_oneof![
        3 => 0..2000_usize,
        2 => prop::sample::select(AROUND_RECORDS),
        1 => 2000..200_000_usize,
    ];
    (0..4_u8, length, vec((0..2000_usize, any::<u8>()), 0..4)).prop_map(|(group, length, edits)| {
        Content {
            group,
            length,
            edits,
        }
    })
}

/// One component of a path: any bytes but slash and NUL, mostly short, sometimes very long.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![8 => b'a'..=b'f', 1 => any::<u8>()];
    let length =
        prop_oneof![20 => 1..4_usize, 2 => 30..60_usize, 1 => 90..160_usize, 1 => 240..300_usize];
    length
        .prop_flat_map(move |length| vec(byte.clone(), length))
        .prop_map(|mut name| {
            name.iter_mut()
                .filter(|byte| matches!(**byte, 0 | b'/'))
                .for_each(|byte| *byte = b'_');
            // What git would refuse is for hostile.rs.
            if name[0] == b'.' || name.eq_ignore_ascii_case(b"git~1") {
                name[0] = b'-';
            }
            name
        })
}

fn node() -> impl Strategy<Value = Node> {
    let file = |node: fn(Vec<u8>) -> Node| content().prop_map(move |content| node(content.bytes()));
    prop_oneof![
        6 => file(Node::File),
        6 => file(Node::Executable),
        2 => vec(1..=255_u8, 1..130).prop_map(Node::Link),
        1 => Just(Node::Submodule('1')),
    ]
}

fn tree() -> impl Strategy<Value = Files> {
    let path = vec(name(), 1..6);
    vec((path, node()), 0..40).prop_map(|entries| {
        let mut taken = Vec::<Vec<Vec<u8>>>::new();
        let mut tree = Files::new();
        for (path, node) in entries {
            let overlaps =
                |other: &Vec<Vec<u8>>| other.starts_with(&path) || path.starts_with(other);
            if !taken.iter().any(overlaps) {
                tree.insert(path.join(&b'/'), node);
                taken.push(path);
            }
        }
        tree
    })
}

/// How the objects are kept.
#[derive(Clone, Debug)]
enum Storage {
    /// As the importer leaves them.
    Imported,
    Loose,
    Repacked {
        depth: u8,
        by_id: bool,
    },
}

fn storage() -> impl Strategy<Value = Storage> {
    prop_oneof![
        Just(Storage::Imported),
        Just(Storage::Loose),
        (1..60_u8, any::<bool>()).prop_map(|(depth, by_id)| Storage::Repacked { depth, by_id }),
    ]
}

fn build(trees: &[Files], storage: &Storage) -> Repo {
    let repo = Repo::init();
    let mut stream = Vec::new();
    for tree in trees {
        write_commit(&mut stream, "main", None, tree);
    }
    let unpack = if matches!(storage, Storage::Loose) {
        "100000"
    } else {
        "0"
    };
    let limit = format!("fastimport.unpackLimit={unpack}");
    repo.git_with_input(["-c", &limit, "fast-import", "--quiet"], stream);
    if let Storage::Repacked { depth, by_id } = storage {
        let offsets = format!("repack.useDeltaBaseOffset={}", !by_id);
        repo.git([
            "-c",
            &offsets,
            "repack",
            "-adfq",
            &format!("--depth={depth}"),
            "--window=10",
        ]);
    }
    repo
}

/// Threads and memory. Each case draws one of them: a run costs more than a case.
const LIMITS: &[(&str, &str)] = &[("1", "1m"), ("1", "256m"), ("8", "1m"), ("8", "256m")];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        max_shrink_iters: 200,
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("regressions"),
        )),
        ..ProptestConfig::default()
    })]

    #[test]
    #[ignore = "slow"]
    fn random_repositories(
        trees in vec(tree(), 1..4),
        storage in storage(),
        prefix in prop_oneof![3 => Just(Vec::new()), 1 => name()],
        slash in any::<bool>(),
        limits in prop::sample::select(LIMITS),
    ) {
        let repo = build(&trees, &storage);
        let mut option = b"--prefix=".to_vec();
        option.extend(prefix);
        option.extend(slash.then_some(b'/'));
        let [verbose, newest] = ["-v", "HEAD"].map(OsString::from);
        let args = [OsString::from_vec(option), verbose, newest];
        let (threads, memory) = limits;
        repo.assert_same_within(&[threads], &[memory], args);
        repo.assert_same_within(&["2"], &["1m"], [format!("HEAD~{}", trees.len() - 1)]);
    }

    /// Parts of an archive, put together in any order, are the archive.
    #[test]
    #[ignore = "slow"]
    fn random_ranges(
        tree in tree(),
        storage in storage(),
        cuts in vec((any::<prop::sample::Index>(), any::<u32>()), 1..5),
        threads in 1..4_u8,
    ) {
        let repo = build(&[tree], &storage);
        let whole = repo.archive(["HEAD"]).success();
        let mut order = vec![(0, 0)];
        order.extend(cuts.iter().map(|(cut, place)| (cut.index(whole.len()), *place)));
        let mut starts: Vec<_> = order.iter().map(|&(start, _)| start).collect();
        starts.push(whole.len());
        starts.sort_unstable();
        starts.dedup();
        order.sort_by_key(|&(_, place)| place);
        let mut together = vec![0xff; whole.len()];
        for (start, _) in order {
            let end = starts[starts.partition_point(|&other| other <= start)];
            let range = format!("--byte-range={start}-{}", end - 1);
            let part = repo.sluice([&range, &format!("-j{threads}"), "HEAD"]).success();
            together[start..end].copy_from_slice(&part);
        }
        prop_assert!(together == whole);
    }
}
