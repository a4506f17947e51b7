//! Random repositories: whatever git can store, we write as git does. Names, depths, modes, sizes
//! and deltas are drawn; git's own importer builds them, which takes milliseconds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::Repo;

/// What a random path leads to.
#[derive(Clone, Debug)]
enum Node {
    File { executable: bool, content: Content },
    Link(Vec<u8>),
    Submodule,
}

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
    let file = (any::<bool>(), content());
    prop_oneof![
        12 => file.prop_map(|(executable, content)| Node::File { executable, content }),
        2 => vec(1..=255_u8, 1..130).prop_map(Node::Link),
        1 => Just(Node::Submodule),
    ]
}

type Tree = BTreeMap<Vec<Vec<u8>>, Node>;

fn tree() -> impl Strategy<Value = Tree> {
    let path = vec(name(), 1..6);
    vec((path, node()), 0..40).prop_map(|entries| {
        let mut tree = Tree::new();
        for (path, node) in entries {
            let taken = tree
                .keys()
                .any(|other| other.starts_with(&path) || path.starts_with(other));
            if !taken {
                tree.insert(path, node);
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

/// The importer's quoting: octal for everything.
fn quoted(path: &[Vec<u8>]) -> String {
    let digits = path
        .join(&b'/')
        .into_iter()
        .map(|byte| format!("\\{byte:03o}"));
    format!("\"{}\"", digits.collect::<String>())
}

fn import(trees: &[Tree]) -> Vec<u8> {
    let mut stream = Vec::new();
    for (number, tree) in trees.iter().enumerate() {
        let time = 1_117_231_200 + number;
        stream.extend(
            format!("commit refs/heads/main\ncommitter C <c@example.com> {time} +0000\n").bytes(),
        );
        stream.extend(b"data 6\nrandom\ndeleteall\n");
        for (path, node) in tree {
            let (mode, data) = match node {
                Node::File {
                    executable: true,
                    content,
                } => ("100755", content.bytes()),
                Node::File {
                    executable: false,
                    content,
                } => ("100644", content.bytes()),
                Node::Link(target) => ("120000", target.clone()),
                Node::Submodule => {
                    stream
                        .extend(format!("M 160000 {} {}\n", "1".repeat(40), quoted(path)).bytes());
                    continue;
                }
            };
            stream
                .extend(format!("M {mode} inline {}\ndata {}\n", quoted(path), data.len()).bytes());
            stream.extend(data);
            stream.push(b'\n');
        }
    }
    stream
}

fn build(trees: &[Tree], storage: &Storage) -> Repo {
    let repo = Repo::init();
    let unpack = if matches!(storage, Storage::Loose) {
        "100000"
    } else {
        "0"
    };
    let limit = format!("fastimport.unpackLimit={unpack}");
    repo.git_with_input(["-c", &limit, "fast-import", "--quiet"], import(trees));
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

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        max_shrink_iters: 200,
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("regressions"),
        )),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_repositories(
        trees in vec(tree(), 1..4),
        storage in storage(),
        prefix in prop_oneof![3 => Just(Vec::new()), 1 => name()],
        slash in any::<bool>(),
    ) {
        let repo = build(&trees, &storage);
        let mut option = b"--prefix=".to_vec();
        option.extend(prefix);
        option.extend(slash.then_some(b'/'));
        let [verbose, newest] = ["-v", "HEAD"].map(OsString::from);
        repo.assert_same([OsString::from_vec(option), verbose, newest]);
        repo.assert_same([format!("HEAD~{}", trees.len() - 1)]);
    }
}
