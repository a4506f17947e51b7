//! Intent: packs and loose objects that promise what they do not hold, refer in circles, or grow
//! without end.
//!
//! All run under a limit of the memory a process may write to, so that an allocation which only a
//! header asks for fails the test, even if nobody touches it.

use super::{assert_orderly_failure, assert_right_or_orderly_failure};
use crate::support::forge::{self, BLOB, COMMIT, Pack, TREE, copy, delta, insert, made_up, zlib};
use crate::support::process::Output;
use crate::support::tar_listing;
use crate::support::{Repo, cases};

/// In kilobytes, as `ulimit -d` takes it. The command is told to keep to a small part of it.
const LIMIT: u32 = 300_000;

/// A zlib stream as short as it can be.
fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::Compress::new(flate2::Compression::best(), true);
    let mut stream = Vec::with_capacity(content.len() / 2 + 64);
    let status = encoder.compress_vec(content, &mut stream, flate2::FlushCompress::Finish);
    assert_eq!(status.ok(), Some(flate2::Status::StreamEnd));
    stream
}

fn limited(repo: &Repo, threads: &str, revision: &str) -> Output {
    repo.shell(&format!(
        "ulimit -d {LIMIT}; exec git-sluice -j {threads} --memory=32m {revision}"
    ))
}

/// A new repository with one commit of one file, `victim`, whose blob is the made-up id that
/// `forge` puts into the pack.
fn with_victim(forge: impl Fn(&mut Pack, &str)) -> (Repo, String) {
    let repo = Repo::init();
    let victim = made_up(0xbb);
    let good = forge::blob(&repo, "good\n");
    let entries = [
        ("100644", &b"a-good"[..], good.as_str()),
        ("100644", b"victim", &victim),
    ];
    let commit = forge::commit(&repo, &entries);
    let mut pack = Pack::new();
    forge(&mut pack, &victim);
    pack.write(&repo);
    (repo, commit)
}

#[track_caller]
fn assert_victim_refused(forge: impl Fn(&mut Pack, &str)) {
    let (repo, commit) = with_victim(forge);
    for threads in ["1", "2", "8"] {
        assert_orderly_failure(&limited(&repo, threads, &commit));
    }
}

/// The forgery itself is sound: with nothing wrong, ours and git's read it alike.
#[test]
fn a_well_formed_forgery() {
    let base = made_up(0xaa);
    let (repo, commit) = with_victim(|pack, victim| {
        let offset = pack.offset();
        pack.whole(&base, BLOB, 10, b"0123456789");
        let distance = pack.offset() - offset;
        let offset = pack.offset();
        pack.offset_delta(
            &made_up(0xcc),
            distance,
            &delta(10, 8, &[&copy(2, 5), &insert(b"xyz")]),
        );
        pack.offset_delta(
            victim,
            pack.offset() - offset,
            &delta(8, 6, &[&copy(4, 4), &insert(b"!\n")]),
        );
    });
    repo.assert_same([&commit]);
    assert_eq!(
        tar_listing::records(&repo.sluice([&commit]).stdout)
            .last()
            .expect("entries")
            .data,
        b"6xyz!\n"
    );

    let (repo, commit) = with_victim(|pack, victim| {
        pack.id_delta(
            victim,
            &base,
            &delta(10, 8, &[&copy(2, 5), &insert(b"xyz")]),
        );
        pack.whole(&base, BLOB, 10, b"0123456789");
    });
    repo.assert_same([&commit]);
    let (repo, commit) = with_victim(|pack, victim| {
        pack.whole(victim, BLOB, 200_000, &[b'x'; 200_000]);
    });
    repo.assert_same([&commit]);
}

#[test]
fn sizes_that_nothing_backs() {
    for size in [
        6,
        1000,
        1 << 20,
        1 << 31,
        1 << 32,
        1 << 40,
        1 << 62,
        i64::MAX as u64,
        u64::MAX,
    ] {
        assert_victim_refused(|pack, victim| {
            pack.whole(victim, BLOB, size, b"short");
        });
    }
    // Less than there is.
    for size in [0, 1, 4] {
        assert_victim_refused(|pack, victim| {
            pack.whole(victim, BLOB, size, b"short");
        });
    }
}

#[test]
fn sizes_of_trees_and_commits() {
    let repo = Repo::init();
    let (tree, commit) = (made_up(0x11), made_up(0x22));
    let sub = forge::commit(&repo, &[("40000", b"sub", &tree)]);
    let mut pack = Pack::new();
    pack.whole(&tree, TREE, 1 << 40, b"100644 a\0");
    pack.whole(&commit, COMMIT, 1 << 40, b"tree ");
    pack.write(&repo);
    for revision in [&tree, &commit, &sub] {
        for threads in ["1", "8"] {
            assert_orderly_failure(&limited(&repo, threads, revision));
        }
    }
}

#[test]
fn sizes_of_loose_objects() {
    let repo = Repo::init();
    let headers = cases(
        "blob 1099511627776\0abc | blob 18446744073709551615\0abc | blob 99999999999999999999999\0abc | \
         blob 4\0abc | blob 2\0abc | blob -1\0abc | blob \0abc | blob\0abc | blob 3 | tree 3\0abc | \
         nonsense 3\0abc |  | blob 3abc | blob 05\0abcde | blob +5\0abcde | blob 00\0abcde | blob  5\0abcde | \
         blob 5 \0abcde | blob 0x5\0abcde",
    );
    let long = format!("blob {}5\0abcde", "0".repeat(30));
    for header in headers.chain([&long[..]]) {
        let id = made_up(0xbb);
        forge::loose(&repo, &id, header.as_bytes());
        let commit = forge::commit(&repo, &[("100644", b"victim", &id)]);
        let theirs = repo.archive([&commit]);
        for threads in ["1", "8"] {
            let ours = limited(&repo, threads, &commit);
            // git does not mind a tree in a blob's place, nor some others.
            if theirs.code() == 0 {
                assert_right_or_orderly_failure(&ours, &theirs.stdout)
            } else {
                assert_orderly_failure(&ours)
            }
        }
    }
}

#[test]
fn bases_out_of_place() {
    let anything = delta(5, 5, &[&copy(0, 5)]);
    // Itself, the pack's own header, before its beginning, and far before.
    for distance in [0, 1, 5, 12, 13, 1000, 1 << 40, u64::MAX >> 1] {
        assert_victim_refused(|pack, victim| {
            pack.offset_delta(victim, distance, &anything);
        });
    }
    // Into the middle of another entry.
    for distance in 1..12 {
        assert_victim_refused(|pack, victim| {
            pack.whole(&made_up(0xaa), BLOB, 5, b"12345");
            pack.offset_delta(victim, distance, &anything);
        });
    }
}

#[test]
fn bases_in_circles() {
    let anything = delta(5, 5, &[&copy(0, 5)]);
    let [first, second, third] = [0xa1, 0xa2, 0xa3].map(made_up);
    assert_victim_refused(|pack, victim| {
        pack.id_delta(victim, victim, &anything);
    });
    assert_victim_refused(|pack, victim| {
        pack.id_delta(victim, &first, &anything)
            .id_delta(&first, victim, &anything);
    });
    assert_victim_refused(|pack, victim| {
        pack.id_delta(&first, &second, &anything)
            .id_delta(&second, &third, &anything);
        pack.id_delta(&third, &first, &anything)
            .id_delta(victim, &first, &anything);
    });
    // An offset delta closes the circle.
    assert_victim_refused(|pack, victim| {
        let start = pack.offset();
        pack.id_delta(&first, victim, &anything);
        let distance = pack.offset() - start;
        pack.offset_delta(victim, distance, &anything);
    });
    assert_victim_refused(|pack, victim| {
        pack.id_delta(victim, &made_up(0xee), &anything);
    });
}

#[test]
fn deltas_that_lie() {
    let base_and = |bad: Vec<u8>| {
        assert_victim_refused(|pack, victim| {
            let start = pack.offset();
            pack.whole(&made_up(0xaa), BLOB, 10, b"0123456789");
            let distance = pack.offset() - start;
            pack.offset_delta(victim, distance, &bad);
        });
    };
    base_and(Vec::new());
    base_and(vec![0x80; 30]);
    base_and(vec![10]);
    base_and(delta(11, 5, &[&copy(0, 5)]));
    base_and(delta(9, 5, &[&copy(0, 5)]));
    base_and(delta(1 << 40, 5, &[&copy(0, 5)]));
    base_and(delta(10, 5, &[&copy(6, 5)]));
    base_and(delta(10, 5, &[&copy(10, 5)]));
    base_and(delta(10, 5, &[&copy(u32::MAX, 0xff_ffff)]));
    base_and(delta(10, 5, &[&copy(0, 4)]));
    base_and(delta(10, 5, &[&copy(0, 6)]));
    base_and(delta(10, 5, &[]));
    base_and(delta(10, 5, &[&insert(b"123456")]));
    base_and(delta(10, 5, &[&[9, b'1', b'2']]));
    base_and(delta(10, 5, &[&[0]]));
    base_and(delta(10, 5, &[&copy(0, 5), &[0]]));
    base_and(delta(10, 5, &[&copy(0, 5), &[0xff, 1]]));
    for result in [1 << 20, 1 << 32, 1 << 40, u64::MAX >> 2] {
        base_and(delta(10, result, &[&copy(0, 10)]));
    }
}

/// Each delta doubles its base: a few hundred bytes that are 64 MB, and say so truthfully. More
/// than we may hold in memory, so they come out right or are refused.
#[test]
fn deltas_that_grow() {
    let doubled = |levels: u32| {
        with_victim(|pack, victim| {
            let mut start = pack.offset();
            pack.whole(&made_up(1), BLOB, 16, b"sixteen bytes...");
            for level in 1..=levels {
                let base_size = 16_u32 << (level - 1);
                // One instruction copies less than 16 MB.
                let piece = base_size.min(1 << 23);
                let all: Vec<u8> = (0..base_size / piece)
                    .flat_map(|number| copy(number * piece, piece))
                    .collect();
                let twice = delta(base_size.into(), u64::from(base_size) * 2, &[&all, &all]);
                let last = level == levels;
                let id = if last {
                    victim.to_owned()
                } else {
                    made_up(level as u8 + 1)
                };
                let here = pack.offset();
                pack.offset_delta(&id, here - start, &twice);
                start = here;
            }
        })
    };
    let (repo, commit) = doubled(10);
    repo.assert_same([&commit]);
    let (repo, commit) = doubled(22);
    let right = repo.archive([&commit]).success();
    for threads in ["1", "8"] {
        assert_right_or_orderly_failure(&limited(&repo, threads, &commit), &right);
    }
}

/// A victim that is a few bytes of a base of 64 GiB, and a base that the delta below it says so of truthfully:
/// 64 KiB again and again. Nothing of it is written to disk, which the limit on files sees to.
#[test]
fn bases_that_would_fill_the_disk() {
    let size = 1 << 36;
    let bomb = |instructions: &[u8], is_damaged: bool| {
        let (repo, commit) = with_victim(|pack, victim| {
            let start = pack.offset();
            let mut stream = deflated(&[0; 0x1_0000]);
            if is_damaged {
                *stream.last_mut().expect("a check sum") ^= 1;
            }
            pack.entry(&made_up(1), &forge::entry_header(BLOB, 0x1_0000), &stream);
            let base = delta(0x1_0000, size, &[instructions]);
            let here = pack.offset();
            let mut header = forge::entry_header(6, base.len() as u64);
            header.extend(forge::base_distance(here - start));
            pack.entry(&made_up(2), &header, &deflated(&base));
            let distance = pack.offset() - here;
            pack.offset_delta(victim, distance, &delta(size, 5, &[&copy(7, 5)]));
        });
        let whole = [&b"blob 65536\0"[..], &[0; 0x1_0000]].concat();
        forge::loose(&repo, &made_up(1), &whole);
        for threads in ["1", "8"] {
            let output = repo.shell(&format!(
                "ulimit -f 200000; exec git-sluice -j {threads} --memory=32m {commit}"
            ));
            assert_orderly_failure(&output);
            let why = "caused by: delta base claims more than its pack can hold";
            assert!(output.messages().contains(why), "{output}");
        }
    };
    // A copy without operands: 64 KiB from the beginning.
    bomb(&vec![0x80; 1 << 20], false);
    bomb(&[0x80], false);
    // Nor when the base of the base has to be looked for elsewhere.
    bomb(&[0x80], true);
}

/// What a delta makes beyond the size it says is not written to disk either.
#[test]
fn bases_that_are_larger_than_they_say() {
    let (repo, commit) = with_victim(|pack, victim| {
        let start = pack.offset();
        let content = vec![b'x'; 6 << 20];
        pack.whole(&made_up(1), BLOB, content.len() as u64, &content);
        let all = copy(0, 6 << 20);
        let instructions = all.repeat(1 << 14);
        let here = pack.offset();
        let base = delta(6 << 20, 12 << 20, &[&instructions]);
        pack.offset_delta(&made_up(2), here - start, &base);
        let distance = pack.offset() - here;
        pack.offset_delta(victim, distance, &delta(12 << 20, 5, &[&copy(7, 5)]));
    });
    for threads in ["1", "8"] {
        let output = repo.shell(&format!(
            "ulimit -f 100000; exec git-sluice -j {threads} --memory=32m {commit}"
        ));
        assert_orderly_failure(&output);
    }
}

/// A disk of temporary files that is too small is left as it is.
#[test]
fn bases_without_room_on_the_disk() {
    let repo = Repo::from("big-delta");
    let mounted = "mkdir -p disk && mount -t tmpfs -o size=20m tmpfs disk";
    let own = Repo::init();
    let attempt = own.shell(&format!("unshare -rm sh -c '{mounted}'"));
    if attempt.code() != 0 {
        return crate::support::skip("no disk of our own can be made here");
    }
    let git_dir = repo.git(["rev-parse", "--absolute-git-dir"]);
    let run = format!("GIT_DIR={git_dir} TMPDIR=$PWD/disk git-sluice --memory=16m HEAD");
    let output = own.shell(&format!("unshare -rm sh -c '{mounted} && {run}'"));
    assert_orderly_failure(&output);
    let messages = output.messages();
    assert!(messages.contains("caused by: no room for "), "{output}");
}

/// The user may not know that a file is needed, so the message says where it would be.
#[test]
fn without_a_directory_of_temporary_files() {
    let repo = Repo::from("big-delta");
    let missing = repo.path().join("missing");
    let place = missing.display();
    let cause = format!(
        "caused by: cannot write to a temporary file in '{place}': No such file or directory\n"
    );
    let repo = repo.env("TMPDIR", &missing);
    for format in ["tar", "tar.gz", "zip"] {
        let output = repo.sluice(["--memory=16m", &format!("--format={format}"), "HEAD"]);
        assert_orderly_failure(&output);
        assert!(output.messages().contains(&cause), "{output}");
    }
}

#[test]
fn compressed_data_that_is_wrong() {
    let sound = zlib(b"12345");
    let header = forge::entry_header(BLOB, 5);
    let cuts = (0..sound.len()).map(|length| sound[..length].to_vec());
    let flips = (0..sound.len()).map(|place| {
        let mut flipped = sound.clone();
        flipped[place] ^= 0x10;
        flipped
    });
    // A dictionary, a window that does not exist, another method, a block of the kind that is
    // reserved.
    let headers =
        [[0x78, 0x20], [0xf8, 0x01], [0x77, 0x01]].map(|start| [&start, &sound[2..]].concat());
    let reserved = vec![0x78, 0x01, 0x07, 0, 0, 0];
    for data in cuts.chain(flips).chain(headers).chain([reserved]) {
        let (repo, commit) = with_victim(|pack, victim| {
            pack.entry(victim, &header, &data);
        });
        let theirs = repo.archive([&commit]);
        let ours = limited(&repo, "2", &commit);
        if theirs.code() == 0 {
            assert_right_or_orderly_failure(&ours, &theirs.stdout)
        } else {
            assert_orderly_failure(&ours)
        }
    }
}

#[test]
fn entry_headers_that_are_wrong() {
    let sound = zlib(b"12345");
    for header in [
        &[0x05][..],
        &[0x55],
        &[0x80; 40],
        &[0xbf; 40],
        &[0xff; 12],
        &[0x60],
        &[0x70],
    ] {
        assert_victim_refused(|pack, victim| {
            pack.entry(victim, header, &sound);
        });
    }
}

#[test]
fn offsets_out_of_the_pack() {
    for offset in [
        0,
        4,
        11,
        12,
        13,
        1000,
        (1 << 31) - 1,
        1 << 31,
        1 << 40,
        u64::MAX,
    ] {
        assert_victim_refused(|pack, victim| {
            pack.index_at(victim, offset);
        });
    }
    // In the trailer.
    assert_victim_refused(|pack, victim| {
        pack.whole(&made_up(0xaa), BLOB, 5, b"12345");
        pack.index_at(victim, pack.offset() + 3);
    });
}

/// git resolves chains of any length; so do we, or say that we do not.
#[test]
fn endless_chain() {
    // The last is damaged, so that all that are above it are looked for elsewhere.
    for size in [5, 6] {
        endless_chain_above(size);
    }
}

fn endless_chain_above(size: u64) {
    let (repo, commit) = with_victim(|pack, victim| {
        let mut start = pack.offset();
        pack.whole(&made_up(1), BLOB, size, b"12345");
        let step = delta(5, 5, &[&copy(1, 4), &copy(0, 1)]);
        for _ in 0..100_000 {
            let here = pack.offset();
            pack.unknown_offset_delta(here - start, &step);
            start = here;
        }
        pack.offset_delta(victim, pack.offset() - start, &step);
    });
    let theirs = repo.archive([&commit]);
    for threads in ["1", "8"] {
        assert_right_or_orderly_failure(&limited(&repo, threads, &commit), &theirs.stdout);
    }
}

/// Directories inside each other until the stack would end: the limit is core.maxTreeDepth, 2048 by
/// default.
#[test]
fn endless_directories() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "at the bottom\n");
    let mut tree = forge::tree(&repo, &[("100644", b"f", &blob)]);
    let mut pack = Pack::new();
    for level in 0..20_000_u32 {
        let id = format!("{:040x}", level + 1);
        let mut bytes = b"40000 d\0".to_vec();
        bytes.extend(forge::id_bytes(&tree));
        pack.whole(&id, TREE, bytes.len() as u64, &bytes);
        tree = id;
    }
    pack.write(&repo);
    let shallow = forge::commit(&repo, &[("40000", b"top", &format!("{:040x}", 1000))]);
    repo.assert_same([&shallow]);
    let deep = forge::commit(&repo, &[("40000", b"top", &tree)]);
    for threads in ["1", "8"] {
        assert_orderly_failure(&limited(&repo, threads, &deep));
    }
}

/// A tree that is in itself.
#[test]
fn directories_in_circles() {
    let repo = Repo::init();
    let id = made_up(0xdd);
    let mut bytes = b"40000 d\0".to_vec();
    bytes.extend(forge::id_bytes(&id));
    Pack::new()
        .whole(&id, TREE, bytes.len() as u64, &bytes)
        .write(&repo);
    let commit = forge::commit(&repo, &[("40000", b"top", &id)]);
    for threads in ["1", "8"] {
        assert_orderly_failure(&limited(&repo, threads, &commit));
    }
}

/// Tag after tag, and a tag of itself.
#[test]
fn tags_in_circles() {
    let repo = Repo::init();
    let id = made_up(0xdd);
    let tag = format!("object {id}\ntype tag\ntag t\ntagger A <a@example.com> 1 +0000\n\nround\n");
    Pack::new()
        .whole(&id, 4, tag.len() as u64, tag.as_bytes())
        .write(&repo);
    assert_orderly_failure(&limited(&repo, "1", &id));
}

/// Trees whose bytes are not entries.
#[test]
fn malformed_trees() {
    let id = made_up(0xee);
    let entry = |mode: &str, name: &str| {
        [
            mode.as_bytes(),
            b" ",
            name.as_bytes(),
            b"\0",
            &forge::id_bytes(&id),
        ]
        .concat()
    };
    let sound = entry("100644", "a");
    let broken: [Vec<u8>; 8] = [
        b"100644 a".to_vec(),
        b"100644 a\0short".to_vec(),
        sound[..sound.len() - 1].to_vec(),
        [&sound[..], b"1"].concat(),
        entry("10064x", "a"),
        entry("99", "a"),
        entry("100644", ""),
        vec![0; 100],
    ];
    for bytes in broken {
        let repo = Repo::init();
        let tree = repo.git_with_input(
            ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
            bytes,
        );
        let commit = repo.git(["commit-tree", "-m", "broken", &tree]);
        let theirs = repo.archive([&commit]);
        assert_ne!(theirs.code(), 0, "{theirs}");
        assert_orderly_failure(&limited(&repo, "2", &commit));
    }
}
