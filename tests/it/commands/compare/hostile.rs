//! Hostile archives: nothing panics, hides, fills the memory or reaches a terminal, and no mutation passes for the original.

use super::{assert_says, mutations::seal, project};
use crate::support::Repo;

/// A header of a ustar for `name`, with this flag, link and size.
pub(super) fn header(name: &[u8], flag: u8, link: &[u8], size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    let field = header.as_old_mut();
    field.name[..name.len()].copy_from_slice(name);
    field.linkname[..link.len()].copy_from_slice(link);
    field.linkflag = [flag];
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(1);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// A file with its content.
pub(super) fn file(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut entry = header(name, b'0', b"", content.len() as u64);
    entry.extend_from_slice(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// The entries, with the end of an archive.
pub(super) fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = entries.concat();
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// A repository with the file `a`, and the entries of its archive.
pub(super) fn small() -> (Repo, Vec<u8>) {
    let repo = Repo::init();
    let _ = repo
        .shell("echo a >a && git add a && git commit -qm a")
        .success();
    (repo, file(b"p/a", b"a\n"))
}

/// Fields of a header that readers take for the end of the archive, or for a part of a name.
#[test]
fn headers_that_readers_understand_in_two_ways() {
    let (repo, a) = small();
    let gnu = |mut entry: Vec<u8>| {
        entry[257..265].copy_from_slice(b"ustar  \0");
        entry
    };
    for (mut entry, at, byte, words) in [
        (
            a.clone(),
            108,
            b'q',
            "a field of its header has an unknown form",
        ),
        (
            a.clone(),
            136,
            b'-',
            "a field of its header has an unknown form",
        ),
        (
            a.clone(),
            329,
            b'8',
            "a field of its header has an unknown form",
        ),
        (
            a.clone(),
            124,
            0xc0,
            "a field of its header has an unknown form",
        ),
        (gnu(a.clone()), 345, b'x', "its header mixes formats"),
    ] {
        entry[at] = byte;
        seal(&mut entry, 0);
        let output = repo.compare_bytes(&archive(&[entry]), "HEAD");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(words), "{words}\n{output}");
        assert!(matches!(output.code(), 1 | 11), "{output}");
    }
    let entry = header(b"p/d/", b'7', b"", 0);
    let output = repo.compare_bytes(&archive(&[a.clone(), entry]), "HEAD");
    let words =
        "doubt     d (its type is unknown: some programs write a file, others skip the entry)\n";
    assert!(output.stdout.starts_with(words.as_bytes()), "{output}");
    // A binary number, and no number at all.
    for (at, field) in [
        (136, &b"\x80\0\0\0\0\0\0\0\0\0\0\x05"[..]),
        (329, b"       \0"),
    ] {
        let mut entry = gnu(a.clone());
        entry[at..at + field.len()].copy_from_slice(field);
        seal(&mut entry, 0);
        assert_eq!(repo.compare_bytes(&archive(&[entry]), "HEAD").code(), 0);
    }
}

#[test]
fn names_that_lead_elsewhere() {
    let (repo, a) = small();
    repo.write(".git/expected", "added c\n");
    for (name, leads_to, shown) in [
        (
            &b"../a"[..],
            "../a",
            "../a (2 bytes, outside of the prefix)",
        ),
        (b"/a", "/a", "/a (2 bytes, outside of the prefix)"),
        (b"p/../a", "../a", "../a (2 bytes)"),
        (
            b"p/b/../../../etc",
            "b/../../../etc",
            "b/../../../etc (2 bytes)",
        ),
        (b"p/x\x1b[2J\x07", "", "x?[2J? (2 bytes)"),
        (b"p/\r\n", "", "?? (2 bytes)"),
    ] {
        let bytes = archive(&[a.clone(), file(b"p/c", b"c\n"), file(name, b"a\n")]);
        let output = repo.compare_bytes(&bytes, "--expect=.git/expected HEAD");
        let (doubt, count) = match leads_to {
            "" => (String::new(), ""),
            _ => (
                format!(
                    "doubt     {leads_to} (its path leads out of the directory: some programs follow it)\n"
                ),
                ", 1 doubt",
            ),
        };
        let lines = format!(
            "{doubt}added     {shown}\ndiffers: 1 added, 0 changed, 0 missing{count} (3 files in the archive)\n"
        );
        assert_says(&output, 1, &lines);
    }
    let bytes = archive(&[a.clone(), file("p/\u{9b}2J".as_bytes(), b"")]);
    let output = repo.compare_bytes(&bytes, "HEAD");
    assert!(
        output.stdout.starts_with(b"added     ??2J (0 bytes)\n"),
        "{output}"
    );
    let bytes = archive(&[a.clone(), file(b"p/\xff", b"")]);
    let output = repo.compare_bytes(&bytes, "HEAD");
    assert!(
        output.stdout.starts_with(b"added     \xff (0 bytes)\n"),
        "{output}"
    );
    // Spellings of one path.
    let bytes = archive(&[file(b"./p//./a", b"a\n")]);
    assert_eq!(repo.compare_bytes(&bytes, "HEAD").code(), 0);
}

#[test]
fn links() {
    let (repo, a) = small();
    let entries = [
        a,
        header(b"p/l", b'1', b"/etc/passwd", 0),
        header(b"p/s", b'2', b"../../../etc", 0),
    ];
    let lines = "added     l (a special file, or a hard link to no file)\nadded     s (a symbolic link)\n\
                 differs: 2 added, 0 changed, 0 missing (3 files in the archive)\n";
    assert_says(&repo.compare_bytes(&archive(&entries), "HEAD"), 1, lines);
}

#[test]
fn many_entries_of_one_name() {
    let (repo, a) = small();
    let entries = vec![a; 10_000];
    let lines = "twice     a (10000 times)\ndiffers: 0 added, 0 changed, 0 missing, 1 twice (10000 files in the archive)\n";
    assert_says(&repo.compare_bytes(&archive(&entries), "HEAD"), 1, lines);
}

/// Sizes that lie end the archive early, or in the middle of something that is no header.
#[test]
fn sizes_that_lie() {
    let (repo, a) = small();
    for size in [1, 3, 1024, 10_000, 0o777_7777_7777] {
        let entries = [header(b"p/x", b'0', b"", size), a.clone()];
        let output = repo.compare_bytes(&archive(&entries), "HEAD");
        // One of these is the length of the next entry, which is then missing.
        let status = if size == 1024 { 1 } else { 11 };
        assert_eq!(output.code(), status, "{size}\n{output}");
    }
    // What a link, a directory or a name claims to have is not skipped.
    for flag in *b"1256" {
        let entries = [
            a.clone(),
            header(b"p/x", flag, b"p/a", 512),
            file(b"p/y", b""),
        ];
        assert_eq!(
            repo.compare_bytes(&archive(&entries), "HEAD").code(),
            1,
            "{flag}"
        );
    }
    for flag in *b"LKxg" {
        let entries = [header(b"p/x", flag, b"", u64::from(u32::MAX)), a.clone()];
        assert_eq!(
            repo.compare_bytes(&archive(&entries), "HEAD").code(),
            11,
            "{flag}"
        );
    }
}

/// A few bytes that stand for many cost no memory, and no more time than their zeros take.
#[test]
#[ignore = "slow"]
fn bombs() {
    let (repo, a) = small();
    let mut hole = tar::Header::new_gnu();
    hole.set_path("p/hole").expect("short");
    hole.as_old_mut().linkflag = *b"S";
    hole.set_mode(0o644);
    hole.set_size(0);
    hole.as_gnu_mut().expect("GNU").realsize = *b"777777777777";
    hole.set_cksum();
    let output = repo.compare_bytes(&archive(&[a, hole.as_bytes().to_vec()]), "HEAD");
    assert_eq!(output.code(), 1, "{output}");
    let script = "head -c 60000000 /dev/zero >.git/zeros && tar --format=ustar -C .git -cf - --transform=s,^,p/, zeros | gzip -1";
    let bomb = repo.shell(script).success();
    let output = repo.compare_bytes(&bomb, "--memory=8m HEAD");
    assert_eq!(output.code(), 1, "{output}");
}

#[test]
fn data_after_the_end() {
    let (repo, a) = small();
    let one = archive(std::slice::from_ref(&a));
    let words = "something follows its end";
    for (after, lines) in [
        (b"text".to_vec(), ""),
        (vec![b'x'; 3000], ""),
        (archive(&[file(b"p/b", b"b\n")]), "added     b (2 bytes)\n"),
        (one.clone(), "twice     a (2 times)\n"),
    ] {
        let output = repo.compare_bytes(&[one.clone(), after.clone()].concat(), "HEAD");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(words) && said.contains(lines), "{output}");
        assert!(matches!(output.code(), 1 | 11), "{output}");
        let gzipped = repo
            .shell("git archive --format=tar.gz --prefix=p/ HEAD")
            .success();
        let output = repo.compare_bytes(&[gzipped, after].concat(), "HEAD");
        assert_eq!(output.code(), 11, "{output}");
    }
}

/// A path of half a million directories, in an archive and in its comparison.
#[test]
fn deep_directories() {
    let (repo, a) = small();
    let path = b"p/"
        .iter()
        .copied()
        .chain(b"d/".repeat(500_000))
        .collect::<Vec<u8>>();
    let mut long = header(b"././@LongLink", b'L', b"", path.len() as u64);
    long.extend_from_slice(&path);
    long.resize(long.len().next_multiple_of(512), 0);
    let entries = [a, long, file(b"p/x", b"x")];
    let output = repo.compare_bytes(&archive(&entries), "HEAD");
    assert_eq!(output.code(), 1, "{}", output.messages());
}

/// busybox makes a hard link of a file that has a target.
#[test]
fn a_long_target_before_a_file() {
    let (repo, a) = small();
    for (flag, code) in [(b'L', 0), (b'K', 1)] {
        let mut long = header(b"././@LongLink", flag, b"", 4);
        long.extend_from_slice(b"p/a\0");
        long.resize(1024, 0);
        let mut entries = [long, a.clone()];
        for entry in &mut entries {
            entry[257..265].copy_from_slice(b"ustar  \0");
            seal(entry, 0);
        }
        let output = repo.compare_bytes(&archive(&entries), "HEAD");
        assert_eq!(output.code(), code, "{output}");
    }
}

/// Entries beyond the memory end the run, and say what helps.
#[test]
fn more_entries_than_memory() {
    let (repo, a) = small();
    let many: Vec<_> = (0..20_000)
        .map(|n| file(format!("p/{n}").as_bytes(), b""))
        .collect();
    let bytes = archive(&[vec![a], many].concat());
    let output = repo.compare_bytes(&bytes, "--memory=1m HEAD");
    output.assert_refused(
        128,
        &[
            "fatal: the list of the archive's entries",
            "hint: raise --memory",
        ],
    );
}

/// A zip inside of a tar, or a tar inside of a zip, is a file.
#[test]
fn archives_in_archives() {
    let repo = project();
    let script = "git archive --format=zip v1 >inner.zip && git archive v1 >inner.tar && git add . && git commit -qm inner && \
                  git archive --format=zip HEAD >.git/outer.zip && git archive --prefix=p/ HEAD >.git/outer.tar";
    let _ = repo.shell(script).success();
    for archive in [".git/outer.zip", ".git/outer.tar"] {
        assert_eq!(repo.compare(archive).code(), 0, "{archive}");
    }
}

/// The bytes of the little-endian number `value` in the last record of a zip that begins with `signature`, `at` its offset.
pub(super) fn patch(zip: &[u8], signature: &[u8; 4], at: usize, value: &[u8]) -> Vec<u8> {
    let start = zip
        .windows(4)
        .rposition(|bytes| bytes == signature)
        .expect("a record");
    let mut patched = zip.to_vec();
    patched[start + at..][..value.len()].copy_from_slice(value);
    patched
}

/// Zips whose records disagree.
#[test]
fn records_of_a_zip_disagree() {
    const LOCAL: &[u8; 4] = b"PK\x03\x04";
    const CENTRAL: &[u8; 4] = b"PK\x01\x02";
    const END: &[u8; 4] = b"PK\x05\x06";
    let repo = project();
    let zip = repo.archive_of("--format=zip --prefix=p/ v1");
    let disagree = "its two headers disagree";
    for (zip, words) in [
        (patch(&zip, LOCAL, 32, b"V"), disagree),
        (patch(&zip, LOCAL, 18, b"\0"), disagree),
        (patch(&zip, LOCAL, 22, b"\0"), disagree),
        (patch(&zip, LOCAL, 14, b"\0"), disagree),
        (patch(&zip, LOCAL, 8, b"\x09"), disagree),
        (patch(&zip, LOCAL, 6, b"\x01"), disagree),
        (patch(&zip, CENTRAL, 48, b"V"), disagree),
        (
            patch(&zip, CENTRAL, 6, b"\x50"),
            "it asks for an unknown version of zip",
        ),
        // The name before the extra field has nine bytes.
        (
            patch(&zip, CENTRAL, 46 + 9 + 2, b"\xff"),
            "a field of its header is unknown or cut",
        ),
        (
            patch(&zip, CENTRAL, 36, b"\x5c"),
            "a field of its header is unknown or cut",
        ),
        (
            patch(&zip, END, 12, b"\0"),
            "its end disagrees with its entries",
        ),
        (
            patch(&zip, END, 10, b"\x01\0"),
            "its end disagrees with its entries",
        ),
        (
            [&zip[..], b"x"].concat(),
            "its end disagrees with its entries",
        ),
    ] {
        let output = repo.compare_bytes(&zip, "v1");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(words), "{words}\n{output}");
        assert!(matches!(output.code(), 1 | 11), "{output}");
    }
    for zip in [
        patch(&zip, CENTRAL, 16, b"\0"),
        patch(&zip, CENTRAL, 24, b"\xff"),
        patch(&zip, CENTRAL, 42, b"\x01"),
        patch(&zip, END, 0, b"x"),
        zip[..zip.len() - 30].to_vec(),
    ] {
        assert_eq!(repo.compare_bytes(&zip, "v1").code(), 11);
    }
}

/// A zip whose entries are all the same bytes is refused before they are decompressed again and again.
#[test]
#[ignore = "slow"]
fn entries_of_a_zip_share_bytes() {
    let repo = Repo::init();
    let _ = repo
        .shell("head -c 1000000 /dev/zero >a && git add a && git commit -qm a")
        .success();
    let zip = repo.archive_of("--format=zip HEAD");
    let place = |signature| {
        zip.windows(4)
            .position(|bytes| bytes == signature)
            .expect("a record")
    };
    let (central, end) = (place(b"PK\x01\x02"), place(b"PK\x05\x06"));
    let mut bomb = zip[..central].to_vec();
    bomb.extend(zip[central..end].repeat(2000));
    let mut record = zip[end..].to_vec();
    let count = 2000_u16.to_le_bytes();
    record[8..10].copy_from_slice(&count);
    record[10..12].copy_from_slice(&count);
    let len = ((end - central) * 2000) as u32;
    record[12..16].copy_from_slice(&len.to_le_bytes());
    bomb.extend(record);
    let output = repo.compare_bytes(&bomb, "HEAD");
    assert_eq!(output.code(), 11, "{output}");
    assert!(output.messages().contains("share bytes"), "{output}");
}
