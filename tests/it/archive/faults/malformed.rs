//! Objects, indices and lists that git refuses for their form, though what they mean could be guessed.

use std::fs;

use super::assert_orderly_failure;
use crate::support::Repo;
use crate::support::forge::{self, BLOB, Pack, delta, made_up, zlib};

/// Both refuse `revision`, on one thread and on several.
#[track_caller]
fn assert_both_refuse(repo: &Repo, revision: &str) {
    let theirs = repo.archive([revision]);
    assert!(theirs.code() != 0, "{theirs}");
    for threads in ["1", "8"] {
        assert_orderly_failure(&repo.sluice(["-j", threads, revision]));
    }
}

/// A commit of one file, whose blob has the made-up id that is returned.
fn of_one_file(repo: &Repo) -> (String, String) {
    let id = made_up(0xbb);
    let commit = forge::commit(repo, &[("100644", b"file", &id)]);
    (commit, id)
}

#[test]
fn deltas_that_are_too_short() {
    for (base_size, too_short) in [(5, delta(5, 0, &[])), (300, delta(300, 0, &[]))] {
        let repo = Repo::init();
        let (commit, id) = of_one_file(&repo);
        let mut pack = Pack::new();
        let start = pack.offset();
        pack.whole(
            &made_up(0xaa),
            BLOB,
            base_size as u64,
            &vec![b'x'; base_size],
        );
        pack.offset_delta(&id, pack.offset() - start, &too_short);
        pack.write(&repo);
        assert_both_refuse(&repo, &commit);
        // The same as a large one, whose size alone is read first.
        let output = repo.sluice(["--max-size=1", &commit]);
        assert_orderly_failure(&output);
    }
    // Four bytes are enough, if they make something.
    let repo = Repo::init();
    let (commit, id) = of_one_file(&repo);
    let mut pack = Pack::new();
    let start = pack.offset();
    pack.whole(&made_up(0xaa), BLOB, 5, b"12345");
    pack.offset_delta(&id, pack.offset() - start, &[5, 2, 0x90, 2]);
    pack.write(&repo);
    repo.assert_same([&commit]);
}

#[test]
fn garbage_behind_a_loose_object() {
    // The second is longer than what is read of a file at once.
    for content in [&b"12345"[..], &vec![b'x'; 200_000]] {
        for garbage in [&b"\0"[..], b"garbage", &zlib(b"more"), &[7; 300_000]] {
            let repo = Repo::init();
            let (commit, id) = of_one_file(&repo);
            let inflated = [format!("blob {}\0", content.len()).as_bytes(), content].concat();
            forge::loose(&repo, &id, &inflated);
            let sound = repo.sluice([&commit]);
            assert_eq!(sound.code(), 0, "{sound}");
            let file = repo.path().join(".git/objects/bb").join(&id[2..]);
            let stream = [zlib(&inflated), garbage.to_vec()].concat();
            fs::write(file, stream).expect("our own");
            assert_both_refuse(&repo, &commit);
            // Streamed, since it is large for so little memory; git refuses it as well.
            assert_orderly_failure(&repo.sluice(["--memory=1m", &commit]));
        }
    }
}

#[test]
fn an_index_whose_fan_out_does_not_ascend() {
    let repo = Repo::copy("deltas");
    let index = forge::packed(&repo, "idx");
    let whole = fs::read(&index).expect("our own");
    let write = |bytes: &[u8]| {
        fs::remove_file(&index).expect("our own");
        fs::write(&index, bytes).expect("our own");
    };
    // A first byte of which there is no object is enough.
    let number = |at: usize| &whole[8 + 4 * at..][..4];
    let empty = (1..255).find(|&at| number(at) == number(at - 1));
    let mut bytes = whole.clone();
    bytes[8 + 4 * empty.expect("few objects") + 2] ^= 0x40;
    write(&bytes);
    assert_both_refuse(&repo, "HEAD");
    // Longer than it can be, and of another version.
    let count = u32::from_be_bytes(number(255).try_into().expect("four bytes"));
    let longer = vec![0; 8 * count as usize];
    let (table, sums) = whole.split_at(whole.len() - 40);
    write(&[table, &longer, sums].concat());
    assert_both_refuse(&repo, "HEAD");
    let mut bytes = whole.clone();
    bytes[7] = 3;
    write(&bytes);
    assert_both_refuse(&repo, "HEAD");
    write(&whole);
    repo.assert_same_archive(["HEAD"]);
}

#[test]
fn tags_of_another_type() {
    let repo = Repo::copy("basic");
    let [commit, tree] = ["HEAD", "HEAD^{tree}"].map(|name| repo.git(["rev-parse", name]));
    for (object, kind) in [
        (&commit, "tree"),
        (&commit, "tag"),
        (&commit, "blob"),
        (&commit, "nonsense"),
        (&tree, "commit"),
        (&tree, "blob"),
    ] {
        let text = format!("object {object}\ntype {kind}\ntag t\ntagger A <a> 1 +0000\n\nt\n");
        let args = ["hash-object", "-t", "tag", "-w", "--stdin", "--literally"];
        let tag = repo.git_with_input(args, text);
        repo.write(".git/refs/tags/wrong", format!("{tag}\n"));
        for name in [&tag, "wrong", "wrong^{tree}", "wrong~0", "wrong^{}"] {
            assert_both_refuse(&repo, name);
        }
        // git looks through it for a path.
        repo.assert_same_archive(["wrong:dir"]);
    }
}

#[test]
fn shallow_with_junk() {
    let repo = Repo::copy("basic");
    let [commit, tree] = ["HEAD", "HEAD^{tree}"].map(|name| repo.git(["rev-parse", name]));
    for junk in ["junk\n", "\n", "abc\n", &format!("{commit}\njunk\x1b[2J\n")] {
        repo.write(".git/shallow", junk);
        for name in ["HEAD", "HEAD~1", "HEAD^{tree}", &commit] {
            assert_both_refuse(&repo, name);
            let output = repo.sluice([name]);
            let messages = output.messages();
            assert!(
                messages.starts_with("fatal: bad shallow line: "),
                "{output}"
            );
            assert!(!messages.contains('\x1b'), "{output}");
        }
        repo.assert_same_archive([&tree]);
    }
    for sound in [
        &commit,
        &format!("{commit} and more\n"),
        &format!("{commit}\r\n"),
        "",
    ] {
        repo.write(".git/shallow", sound);
        for name in ["HEAD", "HEAD~1", "HEAD:dir"] {
            repo.assert_same_archive([name]);
        }
    }
}
