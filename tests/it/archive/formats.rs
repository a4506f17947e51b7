//! zip and compressed tar, to the byte as the installed git has them: on every fixture (the list is
//! in `oracle.rs`), at every level, and with what each format makes of names, times and contents.
//!
//! Both use the same tar and the same entries as `oracle.rs`, so what is tried there with every option
//! is tried here with few. Compressed bytes are those of the zlib that git is linked to.

use std::ffi::OsStr;
use std::fs;

use crate::cli::command_line::{assert_same_list, assert_unknown_format};
use crate::support::process::Output;
use crate::support::{Repo, cases, git_version, gunzip, is_static, skip};
use crate::support::{tar_listing, zip};

const FORMATS: [&str; 2] = ["--format=zip", "--format=tar.gz"];

/// What the first revision of each fixture is tried with.
const VARIATIONS: [&[&str]; 6] = [
    &["-0"],
    &["-9"],
    &["-v", "--prefix=p/"],
    &["--prefix=p"],
    &["--", "*a*"],
    &["--", ":!*e*"],
];

/// Called for every fixture, from the list in `oracle.rs`.
#[track_caller]
pub(crate) fn assert_all_options(format: &str, repo: &Repo, revisions: &[&str]) {
    repo.assert_same_within(&["1", "2", "8"], &["256m"], [format, revisions[0]]);
    for revision in &revisions[1..] {
        repo.assert_same_once([format, revision]);
    }
    for options in VARIATIONS {
        // What selects stands behind the revision, and so may the others.
        let args = [&[format, revisions[0]], options].concat();
        repo.assert_same_within(&["8"], &["1m"], args);
    }
}

/// Too large for every level to be tried.
#[test]
#[ignore = "slow"]
fn big() {
    for format in FORMATS {
        Repo::from("big").assert_same_within(&["2"], &["8m"], [format, "-1", "HEAD"]);
        Repo::from("big-loose").assert_same_once([format, "-0", "HEAD"]);
        Repo::from("big-delta").assert_same_within(&["2"], &["8m"], [format, "-0", "HEAD"]);
    }
    Repo::from("big").assert_same_within(&["8"], &["1m"], ["--format=zip", "-1", "HEAD"]);
}

/// All levels, and those that are none. An archive of its own right has each, however it is asked for.
#[test]
fn levels() {
    let repo = Repo::from("deltas");
    for level in 0..=9 {
        let level = format!("-{level}");
        for format in ["--format=zip", "--format=tgz", "--format=tar.gz"] {
            repo.assert_same_once([format, &level, "HEAD~30"]);
        }
    }
    for levels in [
        &["-9", "-1"][..],
        &["-06"],
        &["-9v"],
        &["-v9"],
        &["-4294967295"],
        &["-99999999999999999999"],
    ] {
        let args = [&["--format=zip"], levels, &["HEAD"]].concat();
        Repo::from("basic").assert_same(args);
    }
    let too_high = |format| format!("fatal: Argument not supported for format '{format}': -10\n");
    Repo::from("basic").assert_both_die(["--format=zip", "-10", "HEAD"], &too_high("zip"));
    let inner = "fatal: deflateInit2: stream consistency error (no message)\n";
    Repo::from("basic").assert_both_die(["--format=tgz", "-10", "HEAD"], inner);
}

/// Members that are streamed: descriptors in zip, nothing to be seen in gzip.
#[test]
#[ignore = "slow"]
fn big_file_threshold() {
    for threshold in ["1", "512", "1k", "100k"] {
        let setting = format!("core.bigFileThreshold={threshold}");
        for fixture in ["basic", "eol", "same-blob", "replace"] {
            let repo = Repo::from(fixture).with(["-c", &setting]);
            for level in ["-0", "-6"] {
                repo.assert_same_within(&["1", "8"], &["1m"], ["--format=zip", level, "HEAD"]);
            }
            repo.assert_same_once(["--format=tgz", "HEAD"]);
        }
        let repo = Repo::from("deltas").with(["-c", &setting]);
        repo.assert_same_once(["--format=zip", "HEAD~30"]);
    }
}

/// The first has the attributes of a directory's own files, the second those of the whole tree.
#[test]
fn sub_directories() {
    for format in FORMATS {
        let repo = Repo::from("basic").at("dir");
        repo.assert_same([format, "HEAD"]);
        repo.assert_same([format, "-v", "--prefix=p/", "HEAD", "sub"]);
        Repo::from("eol").assert_same_once([format, "HEAD:text"]);
    }
}

/// The time in a zip file is that of the place where it is made.
#[test]
fn zones() {
    for zone in ["UTC", "UTC-3", "EST5EDT,M3.2.0,M11.1.0", "ABC+12:34:56"] {
        let repo = Repo::from("basic").env("TZ", zone);
        repo.assert_same_once(["--format=zip", "HEAD"]);
        repo.assert_same_once(["--format=tgz", "HEAD"]);
        for date in ["zero", "one", "2038", "2106", "last-octal", "future"] {
            let repo = Repo::from("dates").env("TZ", zone);
            repo.assert_same_once(["--format=zip", date]);
        }
    }
}

/// The C library decides what a zone means that says too little or too much.
#[test]
fn odd_zones() {
    if is_static() {
        return skip("the C library of git is another one");
    }
    for zone in cases(
        "CET-1CEST | GMT0BST | Europe/berlin | Europe/Berlin | :Europe/Berlin | UTC0 and more | \
         CET-1CEST,M3.5.0,M10.5.0/3 and more | <+03>-3:30 | ABC+25 | A1 | bad | ",
    ) {
        for date in ["zero", "one", "2038", "2106"] {
            let repo = Repo::from("dates").env("TZ", zone);
            repo.assert_same_once(["--format=zip", date]);
        }
        // Summer and winter, and the hours in which one becomes the other.
        for mtime in [
            1_743_296_400,
            1_743_299_999,
            1_743_303_600,
            1_751_328_000,
            1_761_440_400,
        ] {
            if git_version() >= (2, 40) {
                let mtime = format!("--mtime=@{mtime} +0000");
                let repo = Repo::from("basic").env("TZ", zone);
                repo.assert_same_once(["--format=zip", &mtime, "HEAD"]);
            }
        }
    }
}

/// Since 2.40. An older git has the same bytes for a commit of that time, but for the commit's name.
#[test]
fn mtime() {
    let repo = Repo::copy("basic");
    let own = repo.clone().env("GIT_COMMITTER_DATE", "1012622522 +0000");
    let other = own.git(["commit-tree", "-m", "other", "HEAD^{tree}"]);
    let head = repo.git(["rev-parse", "HEAD"]);
    for (format, time) in [
        ("--format=tar", "2002-02-02T02:02:02-0200"),
        ("--format=tar", "@1012622522 +0000"),
        ("--format=tar", "1012622522"),
        ("--format=zip", "Sat, 2 Feb 2002 04:02:02 +0000"),
        ("--format=zip", "2002-02-02 04:02:02.25Z"),
    ] {
        let option = format!("--mtime={time}");
        let ours = repo.sluice([format, &option, &head]).success();
        let theirs = repo.archive([format, &other]).success();
        assert!(
            ours == with_id(theirs, &other, &head),
            "{format} {time}: not the time that was asked for"
        );
    }
    for time in ["@0 +0000", "@8589934592 +0000", "@68719476737 +0000"] {
        let option = format!("--mtime={time}");
        let plain = repo.sluice([&option, "HEAD"]).success();
        let packed = repo.sluice(["--format=tgz", &option, "HEAD"]).success();
        assert!(gunzip(&packed) == plain, "{time}");
        // A tree's archive has no time of its own, so that this one is the same each time.
        let tree = repo.sluice([&option, "HEAD^{tree}"]).success();
        let first = tar_listing::records(&tree)
            .into_iter()
            .find(|r| r.kind() != 'g');
        let expected: u64 = time[1..time.len() - 6].parse().expect("digits");
        let shown = first.expect("not empty").mtime();
        assert_eq!(shown, expected.min(0o77_777_777_777), "{time}");
    }
    if git_version() < (2, 40) {
        return skip("git before 2.40 does not know --mtime");
    }
    for format in ["--format=tar", "--format=zip", "--format=tgz"] {
        for time in ["@0 +0000", "2002-02-02T02:02:02Z", "never", "1500000000"] {
            let option = format!("--mtime={time}");
            for revision in ["HEAD", "HEAD^{tree}"] {
                repo.assert_same_once([format, &option, revision]);
            }
        }
    }
}

/// The archive of `from` as if it were of `to`; ids are stored as they are, in tar and in zip.
fn with_id(mut archive: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let found = |window: &[u8]| window == from.as_bytes();
    let place = archive.windows(from.len()).position(found);
    let place = place.expect("an archive of a commit names it");
    archive[place..place + to.len()].copy_from_slice(to.as_bytes());
    archive
}

/// Extra files follow the tree in all formats, with names and contents of every kind.
#[test]
fn extra_files() {
    let repo = Repo::copy("basic");
    repo.write("untracked", "extra\n");
    repo.write("binary", "\0binary");
    let long = format!("--add-virtual-file={}/x:content", "d".repeat(200));
    for format in ["--format=tar", "--format=zip", "--format=tgz"] {
        for args in [
            &["--add-file=untracked", "HEAD"][..],
            &["--add-file=untracked", "HEAD", "dir"],
            &["--prefix=a/", "--add-file=bin/run.sh", "--prefix=", "HEAD"],
            &["--prefix=a/", "--add-file", "binary", "--prefix=b/", "HEAD"],
            &["-v", "--add-file=untracked", "--add-file=file.txt", "HEAD"],
            &["--add-file=dir/link", "--no-add-file", "HEAD"],
            &["--add-virtual-file=a:b:c\n", "--prefix=p/", "HEAD"],
            &["--add-virtual-file=\"q:\\303\\251\\n\":x", "HEAD:dir"],
            &["--add-virtual-file=empty:", "--add-file=empty", "HEAD"],
            &["--add-virtual-file=\"\":x", "HEAD"],
            &[&long, &long, "HEAD"],
        ] {
            let args = [&[format], args].concat();
            repo.assert_same_within(&["1", "8"], &["1m"], args);
        }
    }
    for wrong in cases(
        "--add-file=nosuch | --add-file=dir | --add-virtual-file=x | --add-virtual-file=:x | \
         --add-virtual-file=\"x | --add-virtual-file=\"x\"y",
    ) {
        repo.assert_same_once([wrong, "HEAD"]);
    }
}

/// The name of the file says the format.
#[test]
fn by_name() {
    let repo = Repo::copy("basic");
    for name in cases(
        "a.zip | a.tgz | a.tar.gz | a.tar | a.tar.gz.zip | a.zip.tgz | atgz | .zip | ./.zip | dir/.tgz | \
         dir.zip/a | a. | a",
    ) {
        fs::create_dir_all(repo.path().join("dir.zip")).expect("our own");
        let written = |run: &dyn Fn(&[&str]) -> Output| {
            let _ = run(&["-o", name, "HEAD"]).success();
            let file = repo.path().join(name);
            let bytes = fs::read(&file).expect("written just now");
            fs::remove_file(file).expect("our own");
            bytes
        };
        let (ours, theirs) = (
            written(&|args| repo.sluice(args)),
            written(&|args| repo.archive(args)),
        );
        assert!(ours == theirs, "{name}");
    }
    // --format is stronger.
    let _ = repo
        .sluice(["-o", "b.zip", "--format=tar", "HEAD"])
        .success();
    let tar = repo.archive(["HEAD"]).success();
    assert!(fs::read(repo.path().join("b.zip")).expect("written") == tar);
}

/// Formats of the user's own, and what becomes of the built-in ones that have the same name.
#[test]
fn user_formats() {
    let with = |setting: &str| Repo::from("basic").with(["-c", setting]);
    let same = |repo: &Repo, args: &[&str]| repo.assert_same_once(args);
    for (setting, format) in [
        ("tar.foo.command=tr ab ba", "foo"),
        ("tar.foo.bar.command=tr ab ba", "foo.bar"),
        ("tar.foo.command=cat", "foo"),
        ("tar.foo.command=git archive gzip", "foo"),
        ("tar.zip.command=tr ab ba", "zip"),
        ("tar.tar.command=tr ab ba", "tar"),
        ("tar.tgz.command=gzip -cn", "tgz"),
        ("tar.tar.gz.command=gzip -cn", "tar.gz"),
        ("tar.tgz.command=gzip -cn", "tar.gz"),
        ("tar.foo.command=cat >/dev/null; echo level", "foo"),
        ("tar.foo.command=cat >/dev/null; exit 3", "foo"),
        ("tar.foo.command=cat >/dev/null; kill -9 $$", "foo"),
        ("tar.foo.command=cat >/dev/null; kill -2 $$", "foo"),
        ("tar.foo.command=", "foo"),
        ("tar.foo.command=no-such-command", "foo"),
        ("tar.tgz.remote=bad", "tgz"),
        ("tar.foo.command", "foo"),
    ] {
        let format = format!("--format={format}");
        same(&with(setting), &[&format, "HEAD"]);
        same(&with(setting), &["--prefix=p/", &format, "HEAD:dir/sub"]);
    }
    assert_unknown_format(&with("tar.foo.remote=true"), "foo", "HEAD");
    let level = with("tar.foo.command=cat >/dev/null; echo level");
    for number in ["-0", "-7", "-12"] {
        same(&level, &["--format=foo", number, "HEAD"]);
    }
}

#[test]
fn list() {
    let same = |repo: Repo| {
        assert_same_list(&repo, "--list");
        assert_same_list(&repo, "-l -v --format=nosuch");
    };
    same(Repo::scratch());
    for setting in cases(
        "tar.foo.command=x | tar.zip.command=x | tar.tar.command=x | tar.foo.remote=true | tar.foo=x | \
         tar.tgz.remote=bad | tar.umask=bad | tar.foo.command",
    ) {
        same(Repo::from("basic").with(["-c", setting]));
    }
    let two = [
        "-c",
        "tar.b.command=x",
        "-c",
        "tar.a.command=y",
        "-c",
        "tar.b.command=z",
    ];
    same(Repo::from("basic").with(two));
}

/// What is only in a zip file: the commit as its comment, and flags for names and for text.
#[test]
fn zip_records() {
    let repo = Repo::from("names-odd");
    let file = repo.sluice(["--format=zip", "inner"]).success();
    assert_eq!(
        zip::comment(&file),
        repo.git(["rev-parse", "inner"]).as_bytes()
    );
    let flagged = zip::entries(&file)
        .into_iter()
        .filter(|e| e.flags() == 0x800);
    let flagged: Vec<String> = flagged.map(|entry| entry.name()).collect();
    assert_eq!(flagged, ["cafe\\xcc\\x81", "caf\\xc3\\xa9"]);
    let tree = repo.sluice(["--format=zip", "inner^{tree}"]).success();
    assert_eq!(zip::comment(&tree), b"");

    let repo = Repo::from("golden");
    let file = repo.sluice(["--format=zip", "plain"]).success();
    let lines = zip::entries(&file).into_iter();
    let shown: Vec<_> = lines.map(|e| (e.name(), e.method(), e.text())).collect();
    let shown: Vec<_> = shown
        .iter()
        .map(|(name, m, t)| (name.as_str(), *m, *t))
        .collect();
    let expected = [
        (".gitattributes", 0, 1),
        ("a.txt", 0, 1),
        ("bin.dat", 0, 0),
        ("dir/", 0, 0),
        ("dir/link", 0, 1),
        ("dir/run.sh", 0, 1),
        ("version.txt", 0, 1),
    ];
    assert_eq!(shown, expected);
}

/// A name that no 16-bit length can hold.
#[test]
fn zip_names_too_long() {
    let repo = Repo::init();
    for length in [65_535, 65_536] {
        let blob = crate::support::forge::blob(&repo, "x");
        let name = "n".repeat(length);
        let commit = crate::support::forge::commit(&repo, &[("100644", name.as_bytes(), &blob)]);
        repo.assert_same(["--format=zip", &commit]);
    }
    let prefix = format!("--prefix={}/", "p".repeat(65_600));
    let args = ["--format=zip", &prefix, "HEAD"].map(OsStr::new);
    Repo::from("basic").assert_same(args);
}
