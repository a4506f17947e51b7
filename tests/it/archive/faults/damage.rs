//! Accidents: objects, packs and indices that are missing, cut short or flipped, with and without a
//! second copy.
//!
//! git does not check the id of a blob that it archives, so a flipped bit that leaves everything
//! well formed is invisible to it and to us. What is claimed here is: right bytes, or git's wrong
//! ones, or a failure.

use std::fs;
use std::path::PathBuf;

use super::{assert_orderly_failure, assert_right_or_orderly_failure};
use crate::support::forge::{self, BLOB, Pack, TREE, made_up, packed};
use crate::support::{Repo, cases, git_version};

/// A cut archive may end with one header whose body never comes, so that readers notice.
const TORN: usize = 512;

/// git's files are read-only, and often one file with others' by hard links.
fn overwrite(file: &PathBuf, bytes: &[u8]) {
    fs::remove_file(file).expect("our own");
    fs::write(file, bytes).expect("our own");
}

/// For each of `places`, turn over a bit there and look what becomes of `revision`.
fn assert_flips_are_noticed(
    repo: &Repo,
    file: &PathBuf,
    revision: &str,
    places: impl Iterator<Item = usize>,
) {
    let whole = fs::read(file).expect("our own");
    let right = repo.archive([revision]).success();
    let mut noticed = 0;
    for (number, place) in places.enumerate() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (number % 8);
        overwrite(file, &flipped);
        let output = repo.sluice(["-j", ["1", "2", "8"][number % 3], revision]);
        if output.code() == 0 && output.stdout != right {
            let theirs = repo.archive([revision]);
            assert!(
                output.stdout == theirs.stdout && theirs.code() == 0,
                "byte {place}\n{output}\n{theirs}"
            );
        } else {
            assert_right_or_orderly_failure(&output, &right);
            noticed += i32::from(output.code() != 0);
        }
    }
    assert!(noticed > 0, "not one of them did any harm");
    overwrite(file, &whole);
}

#[test]
#[ignore = "slow"]
fn flipped_bits_in_a_pack() {
    for (fixture, revision) in [
        ("deltas", "HEAD~55"),
        ("deltas", "HEAD"),
        ("ref-deltas", "HEAD~3"),
    ] {
        let repo = Repo::copy(fixture);
        let pack = packed(&repo, "pack");
        let length = fs::metadata(&pack).expect("our own").len() as usize;
        assert_flips_are_noticed(&repo, &pack, revision, (0..length).step_by(length / 60));
    }
}

/// A crash may leave an empty file for an object. A copy in another object directory serves as well.
#[test]
fn an_empty_loose_file_next_to_a_copy() {
    let repo = Repo::init();
    repo.write("file", "content\n");
    repo.git(["add", "."]);
    repo.git(["commit", "-q", "-m", "one"]);
    let expected = repo.archive(["HEAD"]).success();
    let setup = "cp -r .git/objects copy; echo ../../copy >.git/objects/info/alternates";
    let _ = repo.shell(setup).success();
    for name in ["HEAD:file", "HEAD^{tree}", "HEAD"] {
        overwrite(&forge::loose_file(&repo, name), b"");
        assert!(repo.sluice(["HEAD"]).success() == expected, "{name}");
    }
    if git_version() >= (2, 55) {
        repo.assert_same(["HEAD"]);
    }
}

#[test]
fn flipped_bits_in_an_index() {
    let repo = Repo::copy("deltas");
    let index = packed(&repo, "idx");
    let length = fs::metadata(&index).expect("our own").len() as usize;
    assert_flips_are_noticed(
        &repo,
        &index,
        "HEAD",
        (0..16).chain((16..length).step_by(length / 60)),
    );
}

#[test]
fn flipped_bits_in_a_multi_pack_index() {
    let repo = Repo::copy("packs-midx");
    let midx = repo.path().join(".git/objects/pack/multi-pack-index");
    let length = fs::metadata(&midx).expect("our own").len() as usize;
    let whole = fs::read(&midx).expect("our own");
    let right = repo.archive(["HEAD~2"]).success();
    for place in (0..120).chain((120..length).step_by(length / 60)) {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        overwrite(&midx, &flipped);
        assert_right_or_orderly_failure(&repo.sluice(["-j", "2", "HEAD~2"]), &right);
    }
}

/// The packs have indices of their own, and those are right: whatever is wrong with a multi-pack index, it
/// does not matter. git ends with 128 for some of it, and misses objects for some.
#[test]
fn a_multi_pack_index_that_says_nothing_right() {
    let repo = Repo::copy("packs-midx");
    let midx = repo.path().join(".git/objects/pack/multi-pack-index");
    let whole = fs::read(&midx).expect("our own");
    let chunk = |name: &[u8]| {
        let at = whole.windows(4).position(|window| window == name);
        let entry = &whole[at.expect("every one has it")..];
        let number = |at: usize| u64::from_be_bytes(entry[at..at + 8].try_into().expect("eight"));
        number(4) as usize..number(16) as usize
    };
    let inverted = |range: std::ops::Range<usize>| {
        let mut bytes = whole.clone();
        bytes[range].iter_mut().for_each(|byte| *byte ^= 0xff);
        bytes
    };
    let mut from_the_other_end = whole.clone();
    from_the_other_end[chunk(b"OIDL")].reverse();
    for bytes in [
        vec![0; whole.len()],
        whole[..whole.len() / 2].to_vec(),
        inverted(chunk(b"OIDF")),
        inverted(chunk(b"OIDL")),
        inverted(chunk(b"OOFF")),
        inverted(chunk(b"PNAM")),
        from_the_other_end,
    ] {
        overwrite(&midx, &bytes);
        for revision in ["HEAD", "HEAD~2", "HEAD~9"] {
            let right = repo
                .clone()
                .with(["-c", "core.multiPackIndex=false"])
                .archive([revision])
                .success();
            for threads in ["1", "8"] {
                let output = repo.sluice(["-j", threads, revision]);
                assert!(output.stdout == right && output.code() == 0, "{output}");
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn flipped_bits_in_loose_objects() {
    let repo = Repo::copy("basic");
    for object in cases("HEAD | HEAD^{tree} | HEAD:dir | HEAD:file.txt | HEAD:dir/link") {
        let file = forge::loose_file(&repo, object);
        let length = fs::metadata(&file).expect("it is loose").len() as usize;
        assert_flips_are_noticed(
            &repo,
            &file,
            "HEAD",
            (0..length).step_by((length / 12).max(1)),
        );
    }
}

#[test]
fn truncated_packs() {
    let repo = Repo::copy("deltas");
    let pack = packed(&repo, "pack");
    let whole = fs::read(&pack).expect("our own");
    for length in [
        0,
        1,
        11,
        12,
        13,
        32,
        whole.len() / 4,
        whole.len() / 2,
        whole.len() - 21,
        whole.len() - 1,
    ] {
        overwrite(&pack, &whole[..length]);
        for threads in ["1", "8"] {
            assert_orderly_failure(&repo.sluice(["-j", threads, "HEAD"]));
        }
    }
    // Longer is no better.
    overwrite(&pack, &[whole.as_slice(), b"and more"].concat());
    assert_orderly_failure(&repo.sluice(["HEAD"]));
}

#[test]
fn truncated_and_garbage_indices() {
    let repo = Repo::copy("deltas");
    let index = packed(&repo, "idx");
    let whole = fs::read(&index).expect("our own");
    let cuts = [
        0,
        1,
        7,
        8,
        100,
        1031,
        1032,
        1033,
        whole.len() / 2,
        whole.len() - 41,
        whole.len() - 1,
    ];
    for bytes in cuts
        .into_iter()
        .map(|length| &whole[..length])
        .chain([&[0xff; 3000][..], &[0; 3000]])
    {
        overwrite(&index, bytes);
        assert_orderly_failure(&repo.sluice(["HEAD"]));
    }
    fs::remove_file(&index).expect("our own");
    assert_orderly_failure(&repo.sluice(["HEAD"]));
}

#[test]
fn missing_pack() {
    let repo = Repo::copy("deltas");
    fs::remove_file(packed(&repo, "pack")).expect("our own");
    assert_orderly_failure(&repo.sluice(["HEAD"]));
}

/// Whatever is wrong with one pack, a second one that has everything is enough.
#[test]
fn a_second_pack_is_enough() {
    let repo = Repo::copy("deltas");
    let right = repo.archive(["HEAD~30"]).success();
    let (pack, index) = (packed(&repo, "pack"), packed(&repo, "idx"));
    let [pack_bytes, index_bytes] = [&pack, &index].map(|file| fs::read(file).expect("our own"));
    let ids = repo.git(["rev-list", "--objects", "--no-object-names", "--all"]);
    repo.git_with_input(
        ["pack-objects", "-q", "--window=0", ".git/objects/pack/pack"],
        ids,
    );

    let assert_right = |what: &str| {
        for threads in ["1", "8"] {
            let output = repo.sluice(["-j", threads, "HEAD~30"]);
            assert!(
                output.stdout == right && output.code() == 0,
                "{what}\n{output}"
            );
        }
    };
    for length in [0, 12, 100, pack_bytes.len() / 2, pack_bytes.len() - 1] {
        overwrite(&pack, &pack_bytes[..length]);
        assert_right("truncated pack");
    }
    let mut flipped = pack_bytes.clone();
    flipped[12..]
        .iter_mut()
        .step_by(50)
        .for_each(|byte| *byte ^= 4);
    let trailer = pack_bytes.len() - 20;
    flipped[trailer..].copy_from_slice(&pack_bytes[trailer..]);
    overwrite(&pack, &flipped);
    assert_right("flipped pack");
    overwrite(&pack, &pack_bytes);
    for length in [0, 8, 1032, index_bytes.len() / 2, index_bytes.len() - 1] {
        overwrite(&index, &index_bytes[..length]);
        assert_right("truncated index");
    }
    overwrite(&index, &[0xff; 4000]);
    assert_right("garbage index");
    overwrite(&index, &index_bytes);
    fs::remove_file(&pack).expect("our own");
    assert_right("missing pack");
}

/// The place of an object's data in a pack: where it begins and how long it is.
fn place_in_pack(repo: &Repo, object: &str) -> std::ops::Range<usize> {
    let id = repo.git(["rev-parse", object]);
    let index = packed(repo, "idx");
    let listing = repo.git(["verify-pack".as_ref(), "-v".as_ref(), index.as_os_str()]);
    let line = listing
        .lines()
        .find(|line| line.starts_with(&id))
        .expect("it is packed");
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [length, offset] =
        [fields[3], fields[4]].map(|field| field.parse::<usize>().expect("a number"));
    offset..offset + length
}

/// One object is damaged in its pack and has a good copy, loose: as itself, and as the base of a
/// delta.
#[test]
fn a_loose_copy_is_enough() {
    for damaged in cases(
        "HEAD:history.txt | HEAD~40:history.txt | HEAD:similar/20.txt | HEAD:similar | HEAD^{tree}",
    ) {
        let repo = Repo::copy("deltas");
        let pack = packed(&repo, "pack");
        let bytes = fs::read(&pack).expect("our own");
        let place = place_in_pack(&repo, damaged);
        let id = repo.git(["rev-parse", damaged]);
        let kind = repo.git(["cat-file", "-t", damaged]);
        let content = repo
            .command("git")
            .args(["cat-file", &kind, damaged])
            .output()
            .expect("git runs")
            .stdout;
        let right = ["HEAD", "HEAD~40"].map(|revision| repo.archive([revision]).success());

        let mut flipped = bytes.clone();
        // Its check sum is the last of it.
        flipped[place.end - 2] ^= 0x55;
        overwrite(&pack, &flipped);
        if repo.archive(["HEAD"]).code() == 0 && repo.archive(["HEAD~40"]).code() == 0 {
            panic!("{damaged} was not needed");
        }
        let mut loose = format!("{kind} {}\0", content.len()).into_bytes();
        loose.extend_from_slice(&content);
        forge::loose(&repo, &id, &loose);
        for (revision, right) in ["HEAD", "HEAD~40"].iter().zip(&right) {
            for threads in ["1", "8"] {
                let output = repo.sluice(["-j", threads, revision]);
                assert!(
                    output.code() == 0 && output.stdout == *right,
                    "{damaged} in {revision}\n{output}"
                );
            }
        }
    }
}

/// One file in three versions, each of which may be stored as a delta of the one before it.
struct Versions {
    repo: Repo,
    commit: String,
    contents: [Vec<u8>; 3],
    /// What `commit` is without damage.
    right: Vec<u8>,
}

/// Which of three versions.
type Which = [bool; 3];

impl Versions {
    /// Versions of `size` bytes, and a commit of one of them.
    fn new(size: usize, wanted: usize) -> Versions {
        let repo = Repo::init();
        let wanted = version_id(wanted);
        let entry: (_, &[u8], _) = ("100644", b"file", wanted.as_str());
        let commit = forge::commit(&repo, &[entry]);
        let contents = [b'1', b'2', b'3'].map(|version| {
            let rest = (1..size).map(|at| (at * at / 7) as u8);
            std::iter::once(version).chain(rest).collect()
        });
        let mut versions = Versions {
            repo,
            commit,
            contents,
            right: Vec::new(),
        };
        versions.pack(3, [false; 3], false);
        versions.right = versions.repo.archive([&versions.commit]).success();
        versions
    }

    /// A pack of `count` objects that has all versions in one chain, in which those that are `damaged` are so
    /// at their beginnings or at their ends.
    fn pack(&self, count: u8, damaged: Which, at_end: bool) {
        let size = self.contents[0].len() as u64;
        let mut pack = Pack::new();
        for other in 3..count {
            pack.whole(&made_up(0xd0 + other), BLOB, 1, b"x");
        }
        let mut before = pack.offset();
        for (number, content) in self.contents.iter().enumerate() {
            let start = pack.offset();
            let (mut header, mut stream);
            if number == 0 {
                header = forge::entry_header(BLOB, size);
                stream = forge::zlib(content);
            } else {
                let rest = forge::copy(1, size as u32 - 1);
                let delta = forge::delta(size, size, &[&forge::insert(&content[..1]), &rest]);
                header = forge::entry_header(6, delta.len() as u64);
                header.extend(forge::base_distance(start - before));
                stream = forge::zlib(&delta);
            }
            if damaged[number] && at_end {
                *stream.last_mut().expect("a check sum") ^= 1;
            } else if damaged[number] {
                // No entry has the type that this makes.
                header[0] ^= 0x30;
            }
            pack.entry(&version_id(number), &header, &stream);
            before = start;
        }
        pack.write(&self.repo);
    }

    /// Loose files of those versions that are `wanted`, and of no others.
    fn loose(&self, wanted: Which) {
        for (number, content) in self.contents.iter().enumerate() {
            let id = version_id(number);
            if wanted[number] {
                let header = format!("blob {}\0", content.len()).into_bytes();
                forge::loose(&self.repo, &id, &[&header[..], content].concat());
            } else {
                let _ = fs::remove_dir_all(self.repo.path().join(".git/objects").join(&id[..2]));
            }
        }
    }

    /// What git delivers, we deliver, and right bytes if any.
    fn assert_as_git(&self, number: usize) {
        let theirs = self.repo.archive([&self.commit]);
        let (threads, memory) = [("1", "16m"), ("2", "128m"), ("8", "16m")][number % 3];
        let arguments = ["-j", threads, "--memory", memory, &self.commit];
        let ours = self.repo.sluice(arguments);
        let is_as_it_should = match ours.code() {
            0 => ours.stdout == self.right,
            _ => theirs.code() != 0,
        };
        assert!(is_as_it_should, "{ours}\n{theirs}");
    }
}

fn version_id(number: usize) -> String {
    made_up(0xa1 + number as u8)
}

/// Every choice of the three versions.
fn choices() -> impl Iterator<Item = Which> {
    (0..8).map(|bits| [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0])
}

/// Half of the choices, to go with choice number `number`.
fn half_of_them(number: usize) -> impl Iterator<Item = (usize, Which)> {
    choices().enumerate().skip(number / 2 % 2).step_by(2)
}

/// Files that are held in memory, and files that are streamed.
const SMALL_AND_LARGE: [usize; 2] = [20_000, 2_200_000];

/// Two packs, each with damage of its own.
#[test]
#[ignore = "slow"]
fn two_damaged_packs() {
    for versions in SMALL_AND_LARGE.map(|size| Versions::new(size, 2)) {
        for (number, first) in choices().enumerate() {
            versions.pack(3, first, number % 2 == 0);
            for (other, second) in half_of_them(number) {
                versions.pack(4, second, other % 3 == 0);
                versions.assert_as_git(number + other);
            }
        }
    }
}

/// The same for a file that is no delta: most of it is read before its damage shows.
#[test]
fn a_whole_file_in_a_second_pack_is_enough() {
    for versions in SMALL_AND_LARGE.map(|size| Versions::new(size, 0)) {
        for damaged in [3, 4] {
            for count in [3, 4] {
                versions.pack(count, [count == damaged, false, false], true);
            }
            (0..3).for_each(|number| versions.assert_as_git(number));
        }
    }
}

/// A damaged pack, and some of what is in it loose.
#[test]
#[ignore = "slow"]
fn a_damaged_pack_and_loose_files() {
    for versions in SMALL_AND_LARGE.map(|size| Versions::new(size, 2)) {
        for (number, damaged) in choices().enumerate() {
            versions.pack(3, damaged, number % 2 == 0);
            for (other, loose) in half_of_them(number) {
                versions.loose(loose);
                versions.assert_as_git(number + other);
            }
        }
    }
}

/// A damaged entry of a pack may claim any size: of a tree as well, which is never so large.
#[test]
fn a_tree_that_claims_too_much_has_a_copy() {
    let repo = Repo::init();
    let id = made_up(0xa1);
    let blob = forge::blob(&repo, "content");
    let tree = [&b"100644 file\0"[..], &forge::id_bytes(&blob)].concat();
    let commit = forge::commit(&repo, &[("40000", b"directory", &id)]);
    let header = format!("tree {}\0", tree.len()).into_bytes();
    forge::loose(&repo, &id, &[&header[..], &tree].concat());
    let right = repo.archive([&commit]).success();
    let mut pack = Pack::new();
    pack.whole(&id, TREE, 200 << 20, &vec![0; 1 << 20])
        .write(&repo);
    let theirs = repo.archive([&commit]).success();
    let ours = repo.sluice([&commit]).success();
    assert!(theirs == right && ours == right);
}

/// 300 loose files, of which one is gone: the first, one in the middle, the last.
#[test]
#[ignore = "slow"]
fn missing_object_anywhere() {
    let repo = Repo::init();
    for number in 100..400 {
        repo.write(format!("file-{number}"), format!("{number}\n").repeat(300));
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "many"]);
    let right = repo.archive(["HEAD"]).success();
    for number in [100, 101, 250, 398, 399] {
        let object = format!("HEAD:file-{number}");
        let id = repo.git(["rev-parse", &object]);
        let file = forge::loose_file(&repo, &object);
        let bytes = fs::read(&file).expect("it is loose");
        for damaged in [
            None,
            Some(&b""[..]),
            Some(b"garbage"),
            Some(&bytes[..bytes.len() / 2]),
        ] {
            fs::remove_file(&file).expect("our own");
            if let Some(damaged) = damaged {
                fs::write(&file, damaged).expect("our own");
            }
            for (threads, memory) in [("1", "1m"), ("2", "256m"), ("8", "1m")] {
                let output = repo.sluice(["-j", threads, "--memory", memory, "HEAD"]);
                assert_orderly_failure(&output);
                let sound = output.stdout.len().saturating_sub(TORN);
                assert!(right.starts_with(&output.stdout[..sound]), "{output}");
                assert!(
                    output.messages().contains(&id),
                    "it does not say which\n{output}"
                );
            }
            fs::write(&file, &bytes).expect("our own");
        }
    }
}

/// A file of megabytes that ends early: at once, soon, late. What comes before it is on its way.
#[test]
#[ignore = "slow"]
fn damage_in_a_large_file() {
    for damaged in ["dense", "zeros"] {
        let repo = Repo::copy("big-loose");
        let file = forge::loose_file(&repo, &format!("HEAD:{damaged}"));
        let bytes = fs::read(&file).expect("it is loose");
        for length in [0, 20, 1000, bytes.len() / 2, bytes.len() - 1] {
            overwrite(&file, &bytes[..length]);
            for threads in ["1", "8"] {
                assert_orderly_failure(&repo.sluice(["-j", threads, "--memory=4m", "HEAD"]));
            }
        }
    }
}

/// The same for a file that is a delta, of which nothing can be written before it fails.
#[test]
#[ignore = "slow"]
fn damage_in_a_large_delta() {
    let repo = Repo::copy("big-delta");
    let pack = packed(&repo, "pack");
    let mut bytes = fs::read(&pack).expect("our own");
    let delta = place_in_pack(&repo, "HEAD:changed");
    bytes[delta.start + delta.len() / 2] ^= 0x20;
    overwrite(&pack, &bytes);
    for (threads, memory) in [("1", "1m"), ("8", "1m"), ("8", "256m")] {
        assert_orderly_failure(&repo.sluice(["-j", threads, "--memory", memory, "HEAD"]));
    }
}

/// A failure leaves no file behind, however much of it was written.
#[test]
fn a_failure_in_the_middle_leaves_no_file() {
    let repo = Repo::copy("big-loose");
    let file = forge::loose_file(&repo, "HEAD:zeros");
    let bytes = fs::read(&file).expect("it is loose");
    overwrite(&file, &bytes[..bytes.len() / 2]);
    let output = repo.sluice(["--memory=4m", "-o", "out.tar", "HEAD"]);
    assert_orderly_failure(&output);
    let left: Vec<_> = fs::read_dir(repo.path())
        .expect("our own")
        .map(|file| file.expect("ours").path())
        .collect();
    assert_eq!(left, [repo.path().join(".git")]);
}

/// git dies of damage (128), unless it streams the object: then the writer of the archive fails (255). What has
/// no readable header is never streamed, and what is not there is no damage.
#[test]
fn statuses_of_damaged_files() {
    let content = b"some text, and some more of it; ".repeat(200);
    for (is_packed, is_streamed, has_header, expected) in [
        (false, false, true, 128),
        (false, true, true, 255),
        (false, true, false, 128),
        (true, false, true, 128),
        (true, true, true, 255),
        (true, true, false, 128),
    ] {
        let repo = Repo::init();
        repo.write("file", &content);
        repo.git(["add", "-A"]);
        repo.git(["commit", "-qm", "one"]);
        let id = repo.git(["rev-parse", "HEAD:file"]);
        let (file, start, end) = if !is_packed {
            let file = forge::loose_file(&repo, &id);
            let len = fs::read(&file).expect("it is loose").len();
            (file, 2, len)
        } else {
            repo.git(["repack", "-adfq"]);
            let file = packed(&repo, "pack");
            let place = place_in_pack(&repo, "HEAD:file");
            (file, place.start, place.end)
        };
        let mut bytes = fs::read(&file).expect("our own");
        if has_header {
            bytes[end - 1] ^= 1
        } else if is_packed {
            bytes[start] = (bytes[start] & 0x8f) | 0x50
        } else {
            bytes[start] ^= 0xff
        }
        overwrite(&file, &bytes);
        let threshold = if is_streamed { "1k" } else { "1m" };
        repo.git(["config", "core.bigFileThreshold", threshold]);
        for format in ["tar", "zip"] {
            for memory in ["1m", "256m"] {
                let format = format!("--format={format}");
                let ours = repo.sluice([&format, &format!("--memory={memory}"), "HEAD"]);
                let theirs = repo.archive([&format, "HEAD"]);
                assert_eq!((ours.code(), theirs.code()), (expected, expected), "{ours}");
            }
        }
    }
}
