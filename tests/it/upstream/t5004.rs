//! t5004: empty trees, very many entries, very long paths.

use super::{beginning, untarred, unzipped, with_huge_blob};
use crate::archive::readers::{Contents, Node};
use crate::support::process::run;
use crate::support::{Repo, binary, installed, skip};
use crate::support::{forge, tar_listing, zip};

fn only_foo() -> Contents {
    Contents::from([(b"foo".to_vec(), Node::Directory)])
}

#[test]
fn tar_archive_of_commit_with_empty_tree() {
    let archive = Repo::from("empty").sluice(["HEAD"]).success();
    assert!(tar_listing::names(&archive).is_empty());
    assert_eq!(untarred(archive), Contents::new());
}

#[test]
fn tar_archive_of_empty_tree_is_empty() {
    let archive = Repo::from("empty").sluice(["HEAD:"]).success();
    assert!(archive == [0; 10240]);
}

#[test]
fn archive_of_empty_tree_with_prefix() {
    let repo = Repo::from("empty");
    let tar = repo.sluice(["--prefix=foo/", "HEAD:"]).success();
    assert_eq!(untarred(tar), only_foo());
    if installed("unzip") {
        let zip = repo.sluice(["--format=zip", "--prefix=foo/", "HEAD:"]);
        assert_eq!(unzipped(&[], zip.success()), only_foo());
    }
}

/// Nothing but an end record, and as unzip says of any such file, it is empty.
#[test]
fn zip_archive_of_empty_tree_is_empty() {
    let repo = Repo::from("empty");
    let archive = repo.sluice(["--format=zip", "HEAD:"]).success();
    assert_eq!(archive, [b"PK\x05\x06", &[0; 18][..]].concat());
    repo.assert_same(["--format=zip", "HEAD:"]);
    if installed("unzip") {
        let target = Repo::scratch();
        target.write("archive.zip", archive);
        let output = run(target.command("unzip").arg("archive.zip"));
        assert!(output.messages().contains("zipfile is empty"), "{output}");
    }
}

#[test]
fn archive_complains_about_pathspec_on_empty_tree() {
    let output = Repo::from("empty").sluice(["HEAD", "--", "foo"]);
    output.assert_failure(128, "fatal: pathspec 'foo' did not match any files\n");
}

#[test]
fn archive_empty_subtree() {
    let repo = Repo::from("empty");
    for pathspecs in [&[][..], &["empty"], &["hollow"]] {
        let args = [&["only:", "--"], pathspecs].concat();
        let output = repo.sluice(&args);
        assert_eq!(output.messages(), "", "{output}");
        assert!(output.success() == [0; 10240], "{pathspecs:?}");
    }
}

/// 65,536 files in 256 directories: past what the end record of a zip file can count.
#[test]
fn zip_archive_with_many_entries() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "x");
    let names: Vec<String> = (0..256).map(|number| format!("{number:02x}")).collect();
    let full = |mode, id: &str| {
        let entries = names.iter().map(|name| (mode, name.as_bytes(), id));
        forge::tree(&repo, &entries.collect::<Vec<_>>())
    };
    let tree = full("40000", &full("100644", &blob));
    let commit = repo.git(["commit-tree", "-m", "many", &tree]);
    repo.git(["update-ref", "HEAD", &commit]);
    // git opens a loose object, and sets up a compressor, once for each entry.
    repo.git(["repack", "-adq"]);
    let args = ["--format=zip", "-0", "HEAD"];
    repo.assert_same_within(&["2"], &["1m"], args);
    let archive = repo.sluice(args).success();
    assert_eq!(zip::names(&archive).len(), 65_792);
    if installed("zipinfo") {
        let target = Repo::scratch();
        target.write("archive.zip", archive);
        let shown = run(target.command("zipinfo").args(["-h", "archive.zip"])).success();
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("number of entries: 65792"), "{shown}");
    }
}

/// "zip archive bigger than 4GB", "zip archive with files bigger than 4GB": too much for a test, but
/// the local header of such a file says already how it will end.
#[test]
fn zip_archive_with_files_bigger_than_4_gb() {
    skip("nobody wants to wait for 4 GiB; only the first bytes are looked at");
    for (size, level) in [
        (2_147_483_648_u64, "-0"),
        (4_294_967_296, "-0"),
        (4_294_967_296, "-1"),
        (68_719_476_737, "-6"),
    ] {
        /// The local header, its name, and the extra fields for the time and for the size.
        const LENGTH: usize = 30 + 4 + 9 + 20;
        let repo = with_huge_blob(size);
        let args = ["--format=zip", level, "HEAD"];
        let theirs = beginning(repo.command("git").arg("archive").args(args), LENGTH);
        assert_eq!(theirs[30..38], *b"huge\x55\x54\x05\0", "{size}");
        let ours = beginning(repo.command(binary()).args(args), LENGTH);
        assert_eq!(ours, theirs, "{size}");
    }
}

#[test]
fn tar_archive_with_long_paths() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "x");
    let mut entries = Vec::new();
    for power in [100, 1000, 10_000, 100_000, 1_000_000] {
        for length in power - 13..power - 8 {
            entries.push(vec![b'n'; length]);
        }
    }
    let entries: Vec<_> = entries
        .iter()
        .map(|name| ("100644", &name[..], blob.as_str()))
        .collect();
    let commit = forge::commit(&repo, &entries);
    repo.assert_same_within(&["1", "8"], &["1m"], [&commit]);
}
