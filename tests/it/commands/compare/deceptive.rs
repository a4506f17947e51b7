//! Archives from which some programs extract something else, without an error: each has a doubt, whatever the user expects.

use std::fs;

use super::hostile::{archive, file, header, patch, small};
use super::{mutations::seal, project};
use crate::support::{cases, installed, process::Output, tar_listing::pax_record};

/// A header of type `flag` with these records.
fn pax(flag: u8, records: &[(&str, &str)]) -> Vec<u8> {
    let body: Vec<u8> = records
        .iter()
        .flat_map(|(key, value)| pax_record(key, value.as_bytes()))
        .collect();
    let mut entry = header(b"PaxHeader", flag, b"", body.len() as u64);
    entry.extend(body);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// What bsdtar on macOS writes of a file that a program has made.
const OF_MACOS: [(&str, &str); 2] = [
    ("SCHILY.xattr.com.apple.provenance", "\x01\x02\0\x2e"),
    ("LIBARCHIVE.xattr.com.apple.provenance", "AQIALg"),
];

#[track_caller]
fn assert_doubted(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &output.messages();
    assert!(said.contains(words), "{words}\n{output}");
    assert!(matches!(output.code(), 1 | 11), "{output}");
}

/// Each takes the place of a file whose content the commit has.
#[test]
fn headers_and_records() {
    let (repo, a) = small();
    let long = "x".repeat(1 << 20);
    let mut linked = header(b"p/b", b'1', b"p/a", 0);
    linked[100..107].copy_from_slice(b"0000755");
    seal(&mut linked, 0);
    let mut before_1970 = a.clone();
    before_1970[136..148].fill(0xff);
    seal(&mut before_1970, 0);
    let mut cabinet = file(b"MZ", b"");
    cabinet[257..265].fill(0);
    seal(&mut cabinet, 0);
    let (form, slash) = (
        "a field of its header has an unknown form",
        "it ends in a slash",
    );
    for (entries, words) in [
        (vec![a.clone(), linked], "a hard link has other permissions"),
        (vec![file(b"p/a/.", b"a\n")], slash),
        (vec![a.clone(), header(b"p/l", b'1', b"p/a/.", 0)], slash),
        (
            vec![
                a.clone(),
                pax(b'x', &[("path", "p/d/")]),
                header(b"p/d", 0, b"", 0),
            ],
            slash,
        ),
        (
            vec![pax(b'x', &[("comment", "\0"), ("path", "p/a")]), a.clone()],
            form,
        ),
        (
            vec![pax(b'x', &[("SCHILY.xattr.user.\0", "a")]), a.clone()],
            form,
        ),
        (
            vec![pax(b'x', &[("comment", "\n15 path=p/evil")]), a.clone()],
            form,
        ),
        (
            vec![pax(b'x', &[("SCHILY.xattr.user.a\nb", "c")]), a.clone()],
            form,
        ),
        (
            vec![
                a.clone(),
                pax(b'x', &[("linkpath", "p/a")]),
                header(b"p/l", b'1', b"", 0),
            ],
            form,
        ),
        (vec![before_1970], form),
        (
            vec![cabinet, a.clone()],
            "it begins like a file of another format",
        ),
        (
            vec![pax(b'x', &[("comment", &long)]), a.clone()],
            "an extended header is too large",
        ),
        (
            vec![
                a.clone(),
                pax(b'x', &[("linkpath", "a")]),
                header(b"p/l", b'2', b"", 0),
            ],
            form,
        ),
        (
            vec![file(b"\x04\x22M\x18x", b""), a.clone()],
            "it begins like a file of another format",
        ),
        (
            vec![file(b"\xed\xab", b""), a.clone()],
            "it begins like a file of another format",
        ),
        (
            vec![file(b"begin 644 a\n", b""), a.clone()],
            "it begins like a file of another format",
        ),
    ] {
        assert_doubted(&repo.compare_bytes(&archive(&entries), "HEAD"), words);
    }
}

/// busybox and 7-Zip write other contents than GNU tar.
#[test]
fn sparse_files() {
    let (repo, _) = small();
    // The old form has room for four pieces in the header, and for 21 in each block after it.
    let script = "for n in $(seq 30); do head -c 8192 /dev/zero; head -c 512 /dev/zero | tr '\\0' x; done >hole && \
                  git add hole && git commit -qm hole && mkdir .git/p && cp --sparse=always hole .git/p/ && echo a >.git/p/z";
    let _ = repo.shell(script).success();
    for options in cases(
        "--format=gnu | --format=posix --sparse-version=0.0 | --format=posix --sparse-version=0.1 | --format=posix --sparse-version=1.0",
    ) {
        let script = format!("tar -C .git {options} --sparse --hole-detection=raw -cf - p");
        let archive = repo.shell(&script).success();
        let output = repo.compare_bytes(&archive, "HEAD");
        assert_doubted(&output, "a sparse file: some programs write its map");
        assert_doubted(&output, "added     z (2 bytes)");
        assert_eq!(output.code(), 1, "{output}");
    }
    let options = "--prefix=p/ --max-size=9 --large=placeholder HEAD";
    let hole = repo.sluice(options.split(' ')).success();
    let output = repo.compare_bytes(&hole, options);
    assert_doubted(&output, "doubt     hole (a sparse file");
}

/// What a user gives a file, and what holds for all entries, has no meaning for what is extracted.
#[test]
fn records_without_a_meaning() {
    let (repo, a) = small();
    for records in [
        pax(
            b'x',
            &[
                ("SCHILY.xattr.user.a", "b"),
                ("LIBARCHIVE.xattr.user.a", "Yg"),
            ],
        ),
        pax(b'x', &OF_MACOS),
        pax(
            b'g',
            &[("mtime", "1"), ("hdrcharset", "BINARY"), ("comment", "c")],
        ),
    ] {
        assert_eq!(
            repo.compare_bytes(&archive(&[records, a.clone()]), "HEAD")
                .code(),
            0
        );
    }
    let records = pax(b'x', &[("SCHILY.xattr.security.capability", "b")]);
    let output = repo.compare_bytes(&archive(&[records, a.clone()]), "HEAD");
    assert_doubted(&output, "an unknown key");
    let [provenance, text] = OF_MACOS;
    let records = pax(b'x', &[provenance, text, ("path", "p/a")]);
    let output = repo.compare_bytes(&archive(&[records, a]), "HEAD");
    assert_doubted(&output, "a field of its header has an unknown form");
}

/// Some programs look for the header of a tar first, and others for the beginning of a compressed file.
#[test]
fn a_tar_within_another_format() {
    let (repo, a) = small();
    let tar = archive(&[a]);
    let gzip = repo.archive_of("--format=tar.gz --prefix=p/ HEAD");
    // An extra field has the rest of the header, and another tar.
    let mut begin = vec![0; 512];
    begin[..12].copy_from_slice(&[0x1f, 0x8b, 8, 4, 1, 1, 1, 1, 2, 3, 0xf4, 0x01]);
    let fields = file(b"", b"");
    begin[100..].copy_from_slice(&fields[100..]);
    seal(&mut begin, 0);
    let deflated = &gzip[10..];
    let output = repo.compare_bytes(&[&begin[..], deflated].concat(), "HEAD");
    assert_doubted(&output, "it begins like a file of another format");
    // A frame of Zstandard that is skipped.
    let mut begin = vec![0; 512];
    begin[..8].copy_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 0xf8, 1, 0, 0]);
    begin[100..].copy_from_slice(&fields[100..]);
    seal(&mut begin, 0);
    let frame = zstd::encode_all(&tar[..], 1).expect("memory");
    let output = repo.compare_bytes(&[begin, frame].concat(), "HEAD");
    assert_doubted(&output, "it begins like a file of another format");
}

/// Python ends at the zeros.
#[test]
fn zeros_between_streams_of_xz() {
    if !installed("xz") {
        return;
    }
    let (repo, a) = small();
    fs::write(repo.path().join(".git/a"), &a).expect("our own");
    let xz = |middle: &str| {
        let script = format!("xz -c .git/a; {middle} head -c 1024 /dev/zero | xz -c");
        repo.shell(&script).success()
    };
    assert_eq!(repo.compare_bytes(&xz(""), "HEAD").code(), 0);
    let padded = xz("head -c 4 /dev/zero;");
    assert_doubted(
        &repo.compare_bytes(&padded, "HEAD"),
        "the archive is damaged",
    );
}

#[test]
fn attributes_and_ends_of_a_zip() {
    const CENTRAL: &[u8; 4] = b"PK\x01\x02";
    let (repo, _) = small();
    let _ = repo
        .shell("echo x >x && chmod 755 x && git add x && git commit -qm x")
        .success();
    let zip = repo.archive_of("--format=zip --prefix=p/ HEAD");
    for (zip, words) in [
        (patch(&zip, CENTRAL, 5, &[19]), "its attributes are unknown"),
        (patch(&zip, CENTRAL, 38, &[8]), "its attributes are unknown"),
        (
            patch(&zip, CENTRAL, 41, &[0x91]),
            "its attributes are unknown",
        ),
        (
            patch(&zip, CENTRAL, 41, &[1]),
            "its name and its attributes disagree",
        ),
        (
            [&zip[..], &[0; 16 << 10]].concat(),
            "its end disagrees with its entries",
        ),
    ] {
        assert_doubted(&repo.compare_bytes(&zip, "HEAD"), words);
    }
    // As the writers of OS X and Windows set them.
    for attributes in [0x4000_u16, 0x80, 0x20a2] {
        let zip = patch(&zip, CENTRAL, 38, &attributes.to_le_bytes());
        assert_eq!(repo.compare_bytes(&zip, "HEAD").code(), 0);
    }
    assert_eq!(
        repo.compare_bytes(&[&zip[..], &[0; 8 << 10]].concat(), "HEAD")
            .code(),
        0
    );
}

/// What the user expects or does not ask for may change what was asked for.
#[test]
fn entries_that_reach_others() {
    let (repo, a) = small();
    repo.write(".git/expected", "added d\n");
    let below = [
        a.clone(),
        header(b"p/d", b'2', b".", 0),
        file(b"p/d/a", b"evil\n"),
    ];
    let outside = [a.clone(), file(b"p/d/../a", b"evil\n")];
    let drive = [a.clone(), file(b"C:p/a", b"evil\n")];
    let (link, entry) = (header(b"p/z", b'2', b"a", 0), file(b"p/z", b"evil\n"));
    let twice = [a.clone(), link, entry];
    for (entries, words) in [
        (&below[..], "entries lie below this symbolic link"),
        (&outside, "its path leads out of the directory"),
        (&drive, "its path leads out of the directory"),
        (&twice, "twice     z (2 times)"),
    ] {
        let archive = archive(entries);
        for words_of in ["--expect=.git/expected HEAD", "HEAD a"] {
            assert_doubted(&repo.compare_bytes(&archive, words_of), words);
        }
    }
    // Nobody extracts a directory.
    let script = "mkdir .git/d && echo a >.git/d/a && echo x >.git/d/C:a";
    let _ = repo.shell(script).success();
    assert_eq!(repo.compare(".git/d HEAD a").code(), 0);
    fs::write(
        repo.path().join(".git/one.tar"),
        archive(std::slice::from_ref(&a)),
    )
    .expect("our own");
    let two = [file(b"p/a", b"evil\n"), a];
    fs::write(repo.path().join(".git/two.tar"), archive(&two)).expect("our own");
    let output = repo.compare(".git/two.tar .git/one.tar");
    assert_doubted(&output, "twice     a (2 times)");
    let output = repo.compare(".git/one.tar .git/two.tar");
    assert_doubted(&output, "twice     a (in the other archive)");
}

/// What cargo wrote stands for the original unless the commit, or the other archive, has both.
#[test]
fn both_manifests_are_committed() {
    let repo = project();
    let made = "# THIS FILE IS AUTOMATICALLY GENERATED BY CARGO";
    let script = format!(
        "echo '{made}' >Cargo.toml.orig && echo x >Cargo.toml && git add . && git commit -qm both && \
         git archive --prefix=p/ -o .git/honest.tar HEAD && mkdir -p .git/x/p && git archive --prefix=p/ HEAD | tar -xC .git/x && \
         cd .git/x/p && mv Cargo.toml x && mv Cargo.toml.orig Cargo.toml && mv x Cargo.toml.orig && \
         cd .. && tar -cf ../swapped.tar p"
    );
    let _ = repo.shell(&script).success();
    assert_eq!(repo.compare(".git/honest.tar HEAD").code(), 0);
    let output = repo.compare(".git/swapped.tar HEAD");
    assert_doubted(&output, "changed   Cargo.toml.orig");
    for pair in ["honest.tar .git/swapped.tar", "swapped.tar .git/honest.tar"] {
        let output = repo.compare(&format!(".git/{pair}"));
        assert_doubted(&output, "changed   Cargo.toml.orig");
    }
}
