//! What is sent of LFS files, and where it comes from.

use std::fs;

use serde_json::Value;

use super::{CONTENT, Lfs, place, pointer, sha256};
use crate::commands::json::assert_lists_the_manifest;
use crate::support::{
    Repo, noise,
    tar_listing::{names, records},
};

/// The bytes are those of a filter, in every format, at every number of threads and in little memory.
#[test]
#[ignore = "slow"]
fn contents_come_from_the_store() {
    let lfs = Lfs::with_files();
    let filtered = lfs.filtered();
    for format in ["tar", "zip", "tgz"] {
        let format = format!("--format={format}");
        let expected = filtered.archive([&format[..], "HEAD"]).success();
        for threads in ["--threads=1", "--threads=2", "--threads=8"] {
            for memory in ["--memory=1m", "--memory=64m"] {
                let args = [CONTENT, &format, threads, memory, "HEAD"];
                assert!(lfs.repo.sluice(args).success() == expected, "{args:?}");
            }
        }
    }
}

/// A configured filter is not run for LFS files, and for others it is.
#[test]
fn filters_are_left_alone() {
    let lfs = Lfs::with_files();
    lfs.repo.write(
        ".gitattributes",
        "*.bin filter=lfs -text\n*.txt filter=other\n",
    );
    lfs.commit();
    let plain = lfs.repo.archive(["HEAD"]).success();
    let failing = [
        "-c",
        "filter.lfs.process=false",
        "-c",
        "filter.lfs.required",
    ];
    let failing = lfs.repo.clone().with(failing);
    assert_eq!(failing.sluice(["HEAD"]).code(), 128);
    assert!(failing.sluice(["--lfs=pointer", "HEAD"]).success() == plain);
    let other = [
        "-c",
        "filter.lfs.process=false",
        "-c",
        "filter.other.smudge=tr a-z A-Z",
    ];
    let archive = lfs
        .repo
        .clone()
        .with(other)
        .sluice([CONTENT, "HEAD"])
        .success();
    let of = |name: &str| {
        let records = records(&archive);
        let record = records.iter().find(|record| record.name() == name);
        record.expect(name).data.to_vec()
    };
    assert_eq!(of("plain.txt"), b"PLAIN\n");
    assert_eq!(of("a.bin"), b"small\n");
}

/// What is no pointer goes through the conversions of any file; a pointer's content through none but `$Format:…$`.
#[test]
fn conversions() {
    let lfs = Lfs::new();
    lfs.repo.write(
        ".gitattributes",
        "*.bin filter=lfs text eol=crlf ident\nsubst.bin export-subst\n",
    );
    lfs.add("a.bin", b"one\n$Id$\n");
    lfs.add("subst.bin", b"$Format:%s$\n");
    lfs.point("text.bin", "one\n");
    lfs.point("empty.bin", "");
    lfs.point("link", "");
    std::os::unix::fs::symlink("a.bin", lfs.repo.path().join("link.bin")).unwrap();
    lfs.commit();
    assert_eq!(lfs.sent(&[], "a.bin"), b"one\n$Id$\n");
    assert_eq!(lfs.sent(&[], "subst.bin"), b"files\n");
    assert_eq!(lfs.sent(&[], "text.bin"), b"one\r\n");
    assert_eq!(lfs.sent(&[], "empty.bin"), b"");
    assert_eq!(lfs.sent(&["--memory=1m"], "subst.bin"), b"files\n");
    lfs.add("subst.bin", b"$Format:%+s$\n");
    lfs.commit();
    let output = lfs.repo.sluice([CONTENT, "HEAD"]);
    let message = "fatal: cannot expand '$Format:…$'\n\
                   caused by: only git knows all placeholders, and git does not read objects of Git LFS\n";
    assert_eq!((output.code(), output.messages().as_str()), (128, message));
}

/// The limit is one on the content, which is not looked for where the pointer says enough.
#[test]
fn size_limits() {
    let lfs = Lfs::with_files();
    lfs.point("absent.bin", &pointer(&sha256(b"absent"), 1_000_000));
    lfs.commit();
    let sent = |limit: &str| names(&lfs.repo.sluice([CONTENT, limit, "HEAD"]).success());
    // A pointer has more bytes than the content.
    let expected = [".gitattributes", "a.bin", "d/", "d/same.bin", "plain.txt"];
    assert_eq!(sent("--max-size=100"), expected);
    let expected = [&expected[..], &["z.bin"]].concat();
    assert_eq!(sent("--max-size=300000"), expected);
    // The directories of an archive under access rules show nothing of a file that is left out.
    lfs.repo.write("rules", "**\n");
    let rules = format!("--access-rules={}", lfs.repo.path().join("rules").display());
    let output = lfs.repo.sluice([CONTENT, &rules, "--max-size=5", "HEAD"]);
    assert_eq!(names(&output.success()), Vec::<String>::new());
    let listed = lfs.repo.sluice(["ls", CONTENT, "--max-size=2m", "HEAD"]);
    let listed = String::from_utf8(listed.success()).unwrap();
    assert!(listed.contains("300000"), "{listed}");
}

/// The manifest names the objects, and the length of the archive is known beforehand.
#[test]
fn reports_and_ranges() {
    let lfs = Lfs::with_files();
    let (lines, output) = lfs.repo.manifest([CONTENT, "HEAD"]);
    let archive = output.success();
    assert_eq!(lines[0]["content_length"], archive.len());
    let line = |path: &str| lines.iter().find(|line| line["path"] == path).expect(path);
    let (large, plain) = (line("d/large.bin"), line("plain.txt"));
    assert_eq!(large["lfs"], sha256(&noise(1, 3_000_000)));
    assert_eq!(large["size"], 3_000_000);
    assert_eq!(large["id"], lfs.repo.git(["rev-parse", "HEAD:d/large.bin"]));
    assert_eq!(plain["lfs"], Value::Null);
    let head = lfs.repo.json(["info", CONTENT, "HEAD"]);
    assert_eq!(head["content_length"], archive.len());
    let range = lfs
        .repo
        .sluice([CONTENT, "--byte-range=5000-1000000", "HEAD"])
        .success();
    assert!(range == archive[5000..=1_000_000]);
    assert_lists_the_manifest(&lfs.repo, &[CONTENT]);
    assert_lists_the_manifest(&lfs.repo, &[CONTENT, "--max-size=2m"]);
}

/// A changed pointer is a changed file.
#[test]
fn changes_since_a_base() {
    let lfs = Lfs::with_files();
    lfs.add("z.bin", b"new\n");
    lfs.commit();
    let delta = lfs
        .repo
        .sluice([CONTENT, "--base=HEAD~1", "HEAD"])
        .success();
    let records = records(&delta);
    let files = records.iter().filter(|record| record.kind() == '0');
    let files: Vec<_> = files
        .map(|record| (record.name(), record.data.to_vec()))
        .collect();
    assert_eq!(files, [("z.bin".to_owned(), b"new\n".to_vec())]);
}

/// The store may be elsewhere, and repositories share theirs.
#[test]
fn stores() {
    let lfs = Lfs::with_files();
    let whole = lfs.repo.sluice([CONTENT, "HEAD"]).success();
    let same = |repo: &Repo| {
        let output = repo.sluice([CONTENT, "HEAD"]);
        assert!(output.success() == whole);
    };
    lfs.repo
        .git(["worktree", "add", "-q", ".git/other", "-b", "other"]);
    same(&lfs.repo.clone().at(".git/other"));
    let place = Repo::scratch();
    let from = lfs.repo.path().display().to_string();
    place.git(["clone", "-q", "--shared", &from, "borrows"]);
    same(&place.clone().at("borrows"));
    place.git(["clone", "-q", "--bare", &from, "bare"]);
    let bare = place.clone().at("bare");
    assert_eq!(bare.sluice([CONTENT, "HEAD"]).code(), 128);
    let objects = format!("{from}/.git/objects");
    same(
        &bare
            .clone()
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
    );
    let store = format!("lfs.storage={from}/.git/lfs");
    same(&bare.clone().with(["-c", &store]));
    fs::rename(lfs.git_dir().join("lfs"), lfs.git_dir().join("elsewhere")).unwrap();
    same(&lfs.repo.clone().with(["-c", "lfs.storage=elsewhere"]));
    // As in git-lfs, the tree has no say.
    lfs.repo
        .write(".lfsconfig", "[lfs]\n\tstorage = elsewhere\n");
    lfs.commit();
    assert_eq!(lfs.repo.sluice([CONTENT, "HEAD"]).code(), 128);
}

/// Each repository of an archive has a store of its own.
#[test]
fn stores_of_submodules() {
    let outer = Lfs::with_files();
    let inner = Lfs::new();
    inner.add("inner.bin", b"of the submodule\n");
    inner.commit();
    let url = inner.repo.path().display().to_string();
    let allowed = outer.repo.clone().env("GIT_ALLOW_PROTOCOL", "file");
    allowed.git(["submodule", "--quiet", "add", &url, "lib"]);
    outer.commit();
    let recurse = "--submodules=recurse";
    let missing = outer.repo.sluice([CONTENT, recurse, "HEAD"]);
    assert_eq!(missing.code(), 128);
    assert!(
        missing.messages().contains("for 'lib/inner.bin'"),
        "{missing}"
    );
    let store = outer
        .git_dir()
        .join("modules/lib/lfs/objects")
        .join(place(&sha256(b"of the submodule\n")));
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    fs::write(store, "of the submodule\n").unwrap();
    assert_eq!(
        outer.sent(&[recurse], "lib/inner.bin"),
        b"of the submodule\n"
    );
}

/// The attributes above a tree that is named by its path are not read, so its pointers look like any other file.
#[test]
fn directories_without_their_attributes() {
    let lfs = Lfs::with_files();
    let warning = "warning: --lfs=content ignores the attributes above 'd', so its files may be sent as LFS pointers; \
                   name 'HEAD' and the path 'd' instead of 'HEAD:d'\n";
    for command in ["archive", "missing", "ls"] {
        let output = lfs.repo.sluice([command, CONTENT, "-j2", "HEAD:d"]);
        assert_eq!(
            (output.code(), &output.messages()[..]),
            (0, warning),
            "{command}"
        );
    }
    for args in [
        &[CONTENT, "HEAD", "d"][..],
        &[CONTENT, "HEAD:"],
        &[CONTENT, "HEAD^{tree}"],
        &["--lfs=pointer", "HEAD:d"],
        &["HEAD:d"],
    ] {
        assert_eq!(lfs.repo.sluice(args).messages(), "", "{args:?}");
    }
}

#[test]
fn clients_of_a_server_get_none() {
    let lfs = Lfs::with_files();
    let output = lfs.repo.served([CONTENT, "HEAD"]);
    assert!(output.code() != 0 && output.stdout.is_empty(), "{output}");
}
