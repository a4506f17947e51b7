//! Deltas that are as they should be: the directory holds the target, whatever has changed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;

use flate2::write::GzEncoder;
use proptest::prelude::*;
use sluice_format::zstd::{FRAME, Level, Zstd};

use super::archive::{Archive, Node, Tree, delta, executable, file, found, link, tree};
use super::{FROM, TO, Target};
use crate::support::Repo;

#[track_caller]
fn assert_applied(base: &Tree, target: &Tree) {
    let archive = delta([FROM, TO], [base, target]);
    let directory = Target::holding(FROM, base);
    let output = directory.apply(&archive);
    assert!(output.code() == 0 && output.stderr.is_empty(), "{output}");
    directory.assert_holds(TO, target);
}

#[test]
fn every_kind_of_change() {
    let base = tree([
        ("changed", file("old\n")),
        ("deleted", file("")),
        ("mode", file("#!\n")),
        ("unmode", executable("#!\n")),
        ("relinked", link("old")),
        ("unlinked", link("x")),
        ("file-to-link", file("x")),
        ("link-to-file", link("outside/../changed")),
        ("file-to-directory", file("x")),
        ("directory-to-file/a/b", file("x")),
        ("directory-to-file/c", link("a")),
        ("directory-to-link/a", file("x")),
        ("link-to-directory", link("../outside")),
        ("gone/a/b/c", file("x")),
        ("gone/a/d", file("x")),
        ("kept/a", file("x")),
        ("kept/b", file("x")),
    ]);
    let target = tree([
        ("changed", file("new\n")),
        ("added/a/b", file("x")),
        ("added/link", link("/nowhere")),
        ("mode", executable("#!\n")),
        ("unmode", file("#!\n")),
        ("relinked", link("new")),
        ("file-to-link", link("/")),
        ("link-to-file", file("x")),
        ("file-to-directory/a", file("x")),
        ("directory-to-file", executable("x")),
        ("directory-to-link", link("../outside")),
        ("link-to-directory/file", file("mine\n")),
        ("kept/b", file("x")),
        ("large", file(&"0123456789abcdef".repeat(70_000))),
    ]);
    assert_applied(&base, &target);
    assert_applied(&target, &base);
    assert_applied(&base, &Tree::new());
    assert_applied(&Tree::new(), &target);
}

#[test]
fn nothing_changes() {
    let same = tree([("a/b", file("x"))]);
    assert_applied(&same, &same);
}

#[test]
fn names_of_all_bytes_and_lengths() {
    let long = [&b"d/".repeat(60)[..], &[b'f'; 255]].concat();
    let deep = [&[b'd'; 250][..], b"/", &[b'e'; 250], b"/", &[b'f'; 250]].concat();
    let all: Vec<u8> = (1..=255).filter(|byte| *byte != b'/').collect();
    let names = [
        &long[..],
        &deep,
        &all[..127],
        &all[127..],
        b"-",
        b"a\\..\\b",
        b"\n",
    ];
    let node = |number: usize, name: &[u8]| match number % 2 {
        0 => file("x"),
        _ => Node::Symlink(name.to_vec()),
    };
    let some = |from: usize| -> Tree {
        let from = names.iter().enumerate().skip(from).step_by(2);
        from.map(|(number, name)| (name.to_vec(), node(number / 2, name)))
            .collect()
    };
    assert_applied(&some(0), &some(1));
    assert_applied(&some(1), &some(0));
}

/// Those of a usual clone: the umask of whoever applies, and never a bit of the archive's beyond.
#[test]
fn modes_are_the_users() {
    let directory = Target::holding(FROM, &Tree::new());
    let archive = Archive::delta([FROM, TO], "pax")
        .raw(b'0', b"setuid", b"", 0o6755, b"")
        .raw(b'0', b"open", b"", 0o666, b"")
        .raw(b'5', b"sub/", b"", 0o7777, b"");
    directory.repo.write("archive", archive.end());
    let script = "umask 027 && git-sluice apply dir archive && rm archive";
    directory.repo.script(script);
    for (name, expected) in [("setuid", 0o750), ("open", 0o640), ("sub", 0o750)] {
        let metadata = fs::metadata(directory.directory().join(name)).expect("extracted");
        assert_eq!(metadata.permissions().mode() & 0o7777, expected, "{name}");
    }
}

/// Those of the archive where the umask takes nothing from them; git's where the archive has none.
#[test]
fn modes_are_the_archives() {
    let directory = Target::empty();
    let archive = Archive::full(TO)
        .raw(b'0', b"file", b"", 0o664, b"")
        .raw(b'0', b"program", b"", 0o775, b"")
        .raw(b'0', b"own", b"", 0o600, b"")
        .raw(b'0', b"setuid", b"", 0o6755, b"")
        .raw(b'5', b"sub/", b"", 0o1775, b"")
        .raw(b'5', b"closed/", b"", 0, b"")
        .raw(b'0', b"closed/file", b"", 0o444, b"")
        .raw(b'0', b"between/file", b"", 0o644, b"");
    directory.repo.write("archive", archive.end());
    let script = "umask 0 && git-sluice apply new archive && stat -c '%n %a' new && cd new && \
         stat -c '%n %a' .git-sluice file program own setuid sub closed closed/file between between/file";
    let modes = directory.repo.shell(script).success();
    assert_eq!(
        String::from_utf8_lossy(&modes),
        "new 775\n.git-sluice 644\nfile 664\nprogram 775\nown 600\nsetuid 755\nsub 775\n\
         closed 700\nclosed/file 444\nbetween 775\nbetween/file 644\n"
    );
}

/// A file that others know under another name is theirs as it was.
#[test]
fn hard_links_are_cut() {
    let base = tree([("a", file("untouched\n"))]);
    let directory = Target::holding(FROM, &base);
    let outside = directory.repo.path().join("outside/file");
    fs::remove_file(directory.directory().join("a")).expect("our own");
    fs::hard_link(outside, directory.directory().join("a")).expect("our own");
    let target = tree([("a", file("new\n"))]);
    let archive = delta([FROM, TO], [&base, &target]);
    directory.assert_brings(&archive, TO, &target);
}

#[test]
fn placeholders_are_holes() {
    let archive = Archive::delta([FROM, TO], "pax")
        .hole("dir/", "large", &[("GITSLUICE.size", b"99999999999")])
        .file("next", "x");
    let holds = tree([
        ("dir/large", Node::File(false, vec![0; 1_048_577])),
        ("next", file("x")),
    ]);
    Target::holding(FROM, &Tree::new()).assert_brings(&archive.end(), TO, &holds);
}

/// The first versions did not number the deletions.
#[test]
fn deletions_without_a_number() {
    let directory = Target::holding(FROM, &tree([("a", file("")), ("b", file(""))]));
    let archive = Archive::delta([FROM, TO], "pax")
        .global(&[("GITSLUICE.delete", b"a"), ("GITSLUICE.delete", b"b")])
        .file("c", "x");
    directory.assert_brings(&archive.end(), TO, &tree([("c", file("x"))]));
}

#[test]
fn very_many_deletions() {
    let paths: Vec<String> = (0..100_000)
        .map(|number| format!("directory-{:03}/file-{number:06}", number / 1000))
        .collect();
    let some = paths
        .iter()
        .step_by(50)
        .map(|path| (path.as_str(), file("")));
    let directory = Target::holding(FROM, &tree(some));
    let directories = (0..100).map(|number| format!("directory-{number:03}/"));
    let archive = Archive::delta([FROM, TO], "pax")
        .delete(paths.iter())
        .delete(directories);
    directory.assert_brings(&archive.end(), TO, &Tree::new());
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn compressed_archives() {
    let [base, target] = [tree([("a", file("old\n"))]), tree([("b", file("new\n"))])];
    let plain = delta([FROM, TO], [&base, &target]);
    let zstd = zstd::encode_all(&plain[..], 3).expect("memory takes it");
    let halves = plain.split_at(plain.len() / 2);
    let members = [gzip(halves.0), gzip(halves.1)].concat();
    for compressed in [gzip(&plain), members, zstd] {
        let directory = Target::holding(FROM, &base);
        directory.assert_brings(&compressed, TO, &target);
        // The last byte is of the check sum, or of the last block.
        let directory = Target::holding(FROM, &base);
        let cut = directory.apply(&compressed[..compressed.len() - 1]);
        assert_eq!(cut.code(), 11, "{cut}");
        assert_ne!(directory.state(), format!("holds {TO}\n"), "{cut}");
        if compressed.starts_with(b"\x1f\x8b") {
            let mut other = compressed.clone();
            other[compressed.len() - 8] ^= 1;
            let refused = directory.apply(&other);
            refused.assert_refused(11, &["the archive is damaged"]);
        }
        directory.assert_brings(&compressed, TO, &target);
    }
}

/// Frames as our own command writes them: the last one is the table.
fn frames(compressed: &[u8]) -> Vec<&[u8]> {
    let mut rest = compressed;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let length = zstd::zstd_safe::find_frame_compressed_size(rest).expect("frames only");
        let (frame, later) = rest.split_at(length);
        frames.push(frame);
        rest = later;
    }
    frames
}

#[test]
fn archives_of_many_frames() {
    let large = "0123456789abcdef".repeat(FRAME / 16);
    let names = ["b", "c", "d"];
    let base = tree([("a", file("old\n"))]);
    let target = tree(names.map(|name| (name, file(&large))));
    let plain = delta([FROM, TO], [&base, &target]);
    let mut stream = Zstd::new(Vec::new(), Level::DEFAULT, 1);
    stream.write_all(&plain).expect("memory takes it");
    let compressed = stream.finish().expect("memory takes it");
    let frames = frames(&compressed);
    assert_eq!(frames.len(), plain.len().div_ceil(FRAME) + 1);
    let (table, content) = frames.split_last().expect("there is a table");

    let everywhere = frames
        .iter()
        .flat_map(|frame| [*table, *frame])
        .collect::<Vec<_>>();
    for sound in [&frames[..], content, &everywhere] {
        let directory = Target::holding(FROM, &base);
        directory.assert_brings(&sound.concat(), TO, &target);
    }
    let cuts = (1..content.len()).map(|cut| content[..cut].concat());
    let cuts = cuts.flat_map(|cut| [[&cut[..], table].concat(), cut]);
    for cut in cuts.chain([compressed[..compressed.len() - 1].to_vec()]) {
        let directory = Target::holding(FROM, &base);
        let output = directory.apply(&cut);
        output.assert_refused(11, &["incomplete"]);
        assert_ne!(directory.state(), format!("holds {TO}\n"), "{output}");
    }
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        4 => (any::<bool>(), "[a-c]{0,2}")
            .prop_map(|(executable, content)| Node::File(executable, content.into_bytes())),
        1 => "(\\.\\./outside|[a-c])".prop_map(|target| Node::Symlink(target.into_bytes())),
        // A submodule.
        1 => Just(Node::Directory),
    ]
}

/// Few names, so that each is a file here and a directory there.
pub(super) fn any_tree() -> impl Strategy<Value = Tree> {
    let path = proptest::collection::vec("[a-c]", 1..4).prop_map(|names| names.join("/"));
    proptest::collection::vec((path, node()), 0..12).prop_map(|nodes| {
        let mut tree = Tree::new();
        for (path, node) in nodes {
            let path = path.into_bytes();
            let clash = |other: &Vec<u8>| {
                let [short, long] = if other.len() < path.len() {
                    [other, &path]
                } else {
                    [&path, other]
                };
                long.strip_prefix(&short[..])
                    .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
            };
            if !tree.keys().any(clash) {
                tree.insert(path, node);
            }
        }
        tree
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_tree_becomes_any_other(base in any_tree(), target in any_tree()) {
        assert_applied(&base, &target);
    }
}

/// From what our own command archives, in all its formats.
#[test]
fn a_base_is_laid_down_and_moved_on() {
    let repo = Repo::copy("basic");
    let commit = repo.git(["rev-parse", "HEAD"]);
    for format in ["tar", "tar.gz", "tar.zst"] {
        let script = format!(
            "git sluice --format={format} HEAD | git sluice apply ../laid-{format} && \
             mkdir ../git-{format} && git archive HEAD | tar -xf - -C ../git-{format}"
        );
        repo.script(&script);
        let [laid, expected] =
            ["laid", "git"].map(|name| found(&repo.path().join(format!("../{name}-{format}"))));
        assert!(
            laid == expected && !laid.is_empty(),
            "{laid:?}\n{expected:?}"
        );
        let state = repo.path().join(format!("../laid-{format}/.git-sluice"));
        assert_eq!(
            fs::read_to_string(state).expect("written"),
            format!("holds {commit}\n")
        );
    }
}
