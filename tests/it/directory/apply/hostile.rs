//! Archives made to reach out of the directory, to be believed beyond their bytes, or to be taken for
//! complete. They are applied without rights where that can be had, and only below temporary
//! directories.

use std::fs;
use std::num::NonZero;
use std::os::unix::fs::symlink;
use std::thread::available_parallelism;

use super::archive::{Archive, Tree, delta, file, found, link, tree};
use super::{FROM, TO, Target, applying};
use crate::support::cases;

/// What hostile archives are applied to: a link out of the directory in it, and a directory.
fn base() -> Tree {
    tree([
        ("out", link("../outside")),
        ("file-out", link("../outside/file")),
        ("kept/file", file("x")),
    ])
}

/// Refused with these words. Either nothing was done, or the directory says that something was; and
/// whatever was done, nothing has left the directory.
#[track_caller]
fn assert_harmless(archive: Archive, words: &str) {
    let directory = Target::holding(FROM, &base());
    assert_refused_by(&directory, &archive.end(), words);
}

#[track_caller]
fn assert_refused_by(directory: &Target, archive: &[u8], words: &str) {
    let output = directory.apply_without_rights(archive);
    let whole = directory.state() == format!("holds {FROM}\n");
    if whole {
        directory.assert_holds(FROM, &base());
    } else {
        assert_eq!(directory.state(), applying(FROM, TO));
    }
    directory.assert_not_applied(&output, words, &directory.state());
    let told = output
        .messages()
        .contains("hint: the update was interrupted");
    assert_eq!(told, !whole, "{output}");
}

/// Refused with these words before anything was changed.
#[track_caller]
fn assert_untouched(archive: &[u8], words: &str) {
    let directory = Target::holding(FROM, &base());
    assert_refused_by(&directory, archive, words);
    directory.assert_holds(FROM, &base());
}

fn begun(deletions: &str) -> Archive {
    Archive::delta([FROM, TO], deletions)
}

const BAD: [(&str, &str); 20] = [
    ("..", "leads out of the directory"),
    ("../outside/file", "leads out of the directory"),
    ("kept/../../outside/file", "leads out of the directory"),
    ("kept/..", "leads out of the directory"),
    ("/outside/file", "is absolute"),
    ("//outside", "is absolute"),
    ("", "has an empty name in it"),
    (".", "has an empty name in it"),
    ("./a", "has an empty name in it"),
    ("kept//a", "has an empty name in it"),
    (".git-sluice", "is where the state is kept"),
    (".GIT-sluice.new", "is where the state is kept"),
    (".git", "has a name that git refuses"),
    (".git/hooks/post-checkout", "has a name that git refuses"),
    (".GIT/config", "has a name that git refuses"),
    ("git~1/config", "has a name that git refuses"),
    ("kept/.git", "has a name that git refuses"),
    (".git::$INDEX_ALLOCATION/x", "has a name that git refuses"),
    (".g\u{200c}it/config", "has a name that git refuses"),
    ("kept\\.git\\config", "has a name that git refuses"),
];

#[test]
fn paths_that_are_refused() {
    for (path, words) in BAD {
        assert_harmless(begun("pax").file(path, "mine"), words);
        assert_harmless(begun("pax").symlink(path, "x"), words);
        assert_harmless(
            begun("pax").node(path.as_bytes(), &super::Node::Directory),
            words_of_directory(path, words),
        );
        assert_harmless(begun("pax").delete([path]), words);
        assert_harmless(
            begun("pax")
                .extended(&[("path", path.as_bytes())])
                .file("a", "x"),
            words,
        );
    }
    let nul = begun("pax").extended(&[("path", b"a\0b")]).file("a", "x");
    assert_harmless(nul, "has a NUL in it");
    assert_harmless(begun("pax").delete(["a\0b"]), "has a NUL in it");
}

/// With the slash that a directory gets, nothing is the root.
fn words_of_directory<'w>(path: &str, words: &'w str) -> &'w str {
    if path.is_empty() {
        "is absolute"
    } else {
        words
    }
}

/// What is wrong with an archive is found before its first step is done, wherever it stands.
#[test]
fn a_delta_is_checked_to_its_end_first() {
    let changes = || {
        begun("pax")
            .delete(["file-out"])
            .file("new/file", "x")
            .file("large", &"x".repeat(1 << 20))
            .file("kept/file", "y")
    };
    let (path, words) = BAD[1];
    let archive = changes().extended(&[("path", path.as_bytes())]);
    assert_untouched(&archive.file("a", "mine").end(), words);
    let archive = begun("pax").delete(["file-out", path]).file("new", "x");
    assert_untouched(&archive.end(), words);
    let link = changes().symlink(".gitmodules", "x").end();
    assert_untouched(&link, "may not be a symbolic link");
    let kind = changes().raw(b'1', b"hard", b"kept/file", 0o644, b"");
    assert_untouched(&kind.end(), "an entry of kind '1'");
    assert_untouched(&changes().0, "the archive is incomplete");
}

/// A full archive goes into an empty directory, entry by entry.
#[test]
fn an_entry_of_a_full_archive_is_checked_before_it_is_written() {
    let directory = Target::empty();
    let archive = Archive::full(TO)
        .file("a", "x")
        .file(".git/hooks/post-checkout", "mine");
    let output = directory.apply(&archive.end());
    let words = "has a name that git refuses";
    directory.assert_not_applied(&output, words, &applying("-", TO));
    assert_eq!(found(&directory.directory()), tree([("a", file("x"))]));
}

#[test]
fn gitmodules_is_no_link() {
    let words = "may not be a symbolic link";
    for path in [".gitmodules", "kept/.GITMODULES", "gitmod~1"] {
        assert_harmless(begun("pax").symlink(path, "x"), words);
    }
}

/// The layers of images are no deltas.
#[test]
fn whiteouts_are_refused() {
    let layer = begun("whiteout").file(".wh.kept", "");
    assert_harmless(layer, "deletions as 'whiteout' are not known");
}

#[test]
fn links_are_never_gone_through() {
    let blocked = "cannot enter 'out': ";
    assert_harmless(begun("pax").file("out/file", "mine"), blocked);
    assert_harmless(begun("pax").file("out/new", "mine"), blocked);
    assert_harmless(begun("pax").symlink("out/new", "x"), blocked);
    assert_harmless(begun("pax").file("out/new/deeper", "mine"), blocked);
    let directory = |path: &str| begun("pax").node(path.as_bytes(), &super::Node::Directory);
    assert_harmless(directory("out"), "cannot create 'out': File exists");
    assert_harmless(directory("out/new"), blocked);
    let own = begun("pax")
        .symlink("link", "../outside")
        .file("link/file", "mine");
    // Another thread may be faster than the one that makes the link, which then takes the directory away again.
    assert_harmless(own, "'link");
    let twice = begun("pax")
        .symlink("a", ".")
        .symlink("a/b", "..")
        .file("a/b/outside/file", "mine");
    assert_harmless(twice, "'a");
    let to_git = begun("pax")
        .symlink("link", ".git")
        .file("link/hooks/post-checkout", "mine");
    assert_harmless(to_git, "'link");
    let in_the_way = "'out' is in the way";
    assert_harmless(begun("pax").delete(["out/file"]), in_the_way);
    assert_harmless(begun("pax").delete(["out/"]), in_the_way);
    assert_harmless(begun("pax").delete(["kept"]), "'kept' is in the way");
}

/// What is written where a link was, is written there and not where the link leads.
#[test]
fn links_are_replaced() {
    let directory = Target::holding(FROM, &base());
    let archive = begun("pax")
        .file("file-out", "mine")
        .symlink("out", "/")
        .end();
    let _ = directory.apply_without_rights(&archive).success();
    let target = tree([
        ("file-out", file("mine")),
        ("out", link("/")),
        ("kept/file", file("x")),
    ]);
    directory.assert_holds(TO, &target);

    let directory = Target::holding(FROM, &base());
    symlink(
        "../outside/file",
        directory.directory().join(".git-sluice.new"),
    )
    .expect("our own");
    let archive = begun("pax").delete(["out", "file-out"]).end();
    let _ = directory.apply_without_rights(&archive).success();
    directory.assert_holds(TO, &tree([("kept/file", file("x"))]));
}

#[test]
fn what_the_base_does_not_have_stays() {
    let directory = Target::holding(FROM, &base());
    let archive = begun("pax").delete(["kept/"]).end();
    directory.assert_brings(&archive, TO, &base());
    directory.set_state(&format!("holds {FROM}"));
    let archive = begun("pax").file("kept", "").end();
    let output = directory.apply(&archive);
    directory.assert_not_applied(
        &output,
        "cannot create 'kept': Directory not empty",
        &applying(FROM, TO),
    );
    // An empty one is in nobody's way.
    fs::remove_file(directory.directory().join("kept/file")).expect("our own");
    let _ = directory.apply(&archive).success();
}

#[test]
fn kinds_that_are_refused() {
    for kind in *b"1346789LKSDVM\0a" {
        let archive = begun("pax").raw(kind, b"new", b"../outside/file", 0o644, b"");
        let words = match kind {
            // No entry follows this header of GNU tar.
            b'L' | b'K' => "its type is unknown: some programs write a file, others skip the entry",
            _ => "an entry of kind '",
        };
        assert_harmless(archive, words);
    }
    for kind in *b"25" {
        let archive = begun("pax").raw(kind, b"new", b"x", 0o644, b"content");
        assert_harmless(archive, "something that is no file has content");
    }
    assert_harmless(
        begun("pax").file("new/", ""),
        "path 'new' is a file, but its path ends in '/'",
    );
    let long = "a".repeat(4096);
    for (target, why) in [
        ("", "without a target"),
        ("a\0b", "whose target has a NUL in it"),
        (&long, "whose target is too long"),
    ] {
        let link = begun("pax").extended(&[("linkpath", target.as_bytes())]);
        let words = format!("path 'new' is a symbolic link {why}");
        assert_harmless(link.symlink("new", "x"), &words);
    }
}

#[test]
fn headers_of_its_own_that_are_refused() {
    let global = |records: &[(&str, &[u8])]| Archive::full(TO).global(records);
    let [delta, base, target, pax]: [(&str, &[u8]); 4] = [
        ("GITSLUICE.delta", b"1"),
        ("GITSLUICE.base", FROM.as_bytes()),
        ("GITSLUICE.target", TO.as_bytes()),
        ("GITSLUICE.deletions", b"pax"),
    ];
    for (archive, words) in [
        (begun("none"), "the archive does not list deleted files"),
        (begun("zip"), "deletions as 'zip' are not known"),
        (
            global(&[("GITSLUICE.delta", b"2"), base, target, pax]),
            "version '2'",
        ),
        (
            global(&[base, delta, target, pax]),
            "does not say its GITSLUICE.delta",
        ),
        (
            global(&[delta, target, base, pax]),
            "does not say its GITSLUICE.base",
        ),
        (
            global(&[delta, base, target]),
            "does not say its GITSLUICE.deletions",
        ),
        (
            global(&[delta, base, target, pax, ("x", b"")]),
            "something follows",
        ),
        (global(&[("x", b"")]), "does not say its GITSLUICE.delta"),
        (
            global(&[delta, ("GITSLUICE.base", b"HEAD"), target, pax]),
            "no object id",
        ),
        (
            Archive::full(FROM).global(&[delta, base, target, pax]),
            "another commit",
        ),
        (Archive::full("HEAD"), "its comment is no commit id"),
        (
            Archive(Vec::new()).global(&[("path", b"a")]),
            "has a key 'path'",
        ),
    ] {
        assert_harmless(archive, words);
    }
    for key in cases("GITSLUICE.delete. | GITSLUICE.delete.x | GITSLUICE.deleted") {
        let unknown = begun("pax").global(&[(key, b"a")]).file("b", "");
        assert_harmless(unknown, &format!("a global header has a key '{key}'"));
    }
    let path = begun("pax").global(&[("path", b"a")]).file("b", "");
    assert_harmless(path, "a global header has a key 'path'");
    let late = begun("pax").file("new", "").delete(["out"]);
    assert_harmless(late, "an unexpected global header");
    let records = [b'x'; 1 << 20];
    let large = begun("pax").raw(b'g', b"", b"", 0, &records);
    assert_harmless(large, "an extended header is too large");
    let alone = begun("pax").extended(&[("path", b"a")]);
    assert_harmless(alone, "an extended header has no entry");
    let double = begun("pax").extended(&[]).extended(&[]).file("a", "");
    assert_harmless(
        double,
        "the headers before it have no known order: some programs combine them, others take one",
    );
    let lie = begun("pax").raw(b'x', b"", b"", 0, b"7 path=a\n");
    assert_harmless(
        lie.file("a", ""),
        "a record of an extended header is malformed",
    );
    let lie = begun("pax").extended(&[("size", b"-1")]).file("a", "");
    assert_harmless(lie, "a size is no number");
}

/// The last header is a list of deletions, in a form that no program writes.
#[test]
fn a_doubt_without_an_entry_after_it() {
    let list = begun("pax");
    let at = list.0.len();
    let list = list.delete(["file-out"]);
    let form = "a field of its header has an unknown form: some programs stop at it, others guess";
    let owner = list.clone().amend(at, |header| header[108] = b'q');
    assert_untouched(&owner.end(), form);
    let mut padding = list.clone();
    *padding.0.last_mut().expect("a record") = b'x';
    let words = "bytes after its content belong to nothing: only some programs ignore them";
    assert_untouched(&padding.end(), words);
    let mixed = list.amend(at, |header| header[157] = b'l');
    let words = "its header mixes formats: some programs read a field that others ignore";
    assert_untouched(&mixed.end(), words);
}

#[test]
fn sparse_files_that_are_refused() {
    let sparse = |major, stored: &[u8], map: &str, data: &[u8]| {
        let mut content = map.as_bytes().to_vec();
        content.resize(512, 0);
        content.extend(data);
        let records: [(&str, &[u8]); 4] = [
            ("GNU.sparse.major", major),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"a"),
            ("GNU.sparse.realsize", b"9"),
        ];
        begun("pax")
            .extended(&records)
            .raw(b'0', stored, b"", 0o644, &content)
    };
    const STORED: &[u8] = b"GNUSparseFile.0/a";
    let old = begun("pax").extended(&[("GNU.sparse.map", b"0,1")]);
    for archive in [
        sparse(b"0", STORED, "1\n9\n0\n", b""),
        sparse(b"1", b"GNUSparseFile.0/b", "1\n9\n0\n", b""),
        sparse(b"1", STORED, "1\n8\n1\n", b""),
        sparse(b"1", STORED, "2\n0\n0\n9\n0\n", b""),
        sparse(b"1", STORED, "1\n8\n0\n", b""),
        sparse(b"1", STORED, "", b""),
        sparse(b"1", STORED, "1\n0\n9\n", b"123456789"),
        old.file("a", "x"),
    ] {
        assert_harmless(archive, "a sparse file: some programs write its map");
    }
}

#[test]
fn sizes_are_not_believed() {
    let last = |archive: &Archive| archive.0.len() - 512;
    let empty = begun("pax").file("a", "");
    let at = last(&empty);
    let huge = |size: &[u8]| {
        empty.clone().amend(at, |header| {
            header[124..136].copy_from_slice(size);
        })
    };
    assert_harmless(huge(b"77777777777\0"), "the archive is incomplete");
    assert_harmless(huge(b"777777777777"), "the archive is incomplete");
    let form = "a field of its header has an unknown form: some programs stop at it, others guess";
    for (malformed, words) in [
        (b"-0000000001\0", "a number in a header is malformed"),
        (b"\x80\0\0\0\0\0\0\0\0\0\0\x01", form),
        (b"00000000008\0", "a number in a header is malformed"),
        (b"           \0", "a number in a header is malformed"),
    ] {
        assert_harmless(huge(malformed), words);
    }
    let pax = begun("pax")
        .extended(&[("size", b"18446744073709551615")])
        .file("a", "");
    assert_harmless(pax, "the archive is incomplete");
}

/// The content of a small file waits for a thread, and what was read beside the content waits with it: here an extended
/// header with a comment.
#[test]
fn small_files_between_large_headers() {
    let comment = vec![b'u'; 130 << 10];
    let mut archive = Archive::full(FROM);
    for number in 0..600 {
        archive = archive
            .extended(&[("comment", &comment)])
            .file(&format!("{number:03}"), "x");
    }
    let directory = Target::empty();
    fs::write(directory.repo.path().join("archive"), archive.end()).expect("our own");
    // A stack for each of at most eight threads, and its batches. The archive is of 78 MB.
    let threads = available_parallelism().map_or(1, NonZero::get).min(8);
    let limit = (16 + 4 * threads) << 10;
    let run = format!("ulimit -d {limit}; exec git-sluice apply dir archive");
    let output = directory.repo.shell(&run);
    assert_eq!((output.code(), output.messages()), (0, String::new()));
    assert_eq!(directory.state(), format!("holds {FROM}\n"));
}

#[test]
fn damage_is_noticed() {
    let mut bad = begun("pax").file("a", "x");
    let at = bad.0.len() - 1024;
    bad.0[at] ^= 1;
    assert_harmless(bad, "a header's checksum is wrong");
    let other = begun("pax").file("a", "");
    let at = other.0.len() - 512;
    let other = other.amend(at, |header| header[257] = b'U');
    assert_harmless(other, "no tar header where one has to be");
    for padding in [[0; 512].to_vec(), [0; 4096].to_vec()] {
        let mut followed = begun("pax");
        followed.0.extend(padding);
        assert_harmless(followed.file("a", ""), "something follows its end");
    }
}

/// Wherever an archive is cut, that is noticed, and nothing is changed.
#[test]
fn every_truncation() {
    let target = tree([
        ("kept", file(&"x".repeat(700))),
        ("new/file", file("y")),
        ("out", file("z")),
    ]);
    let archive = delta([FROM, TO], [&base(), &target]);
    let cuts = (0..archive.len()).step_by(512);
    for cut in cuts.flat_map(|block| [block, block + 100]) {
        let words = if cut == 0 {
            "is empty"
        } else {
            "is incomplete"
        };
        assert_untouched(&archive[..cut], &format!("the archive {words}"));
    }
    let directory = Target::holding(FROM, &base());
    let _ = directory.apply_without_rights(&archive).success();
    directory.assert_holds(TO, &target);
}
