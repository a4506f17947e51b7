//! Options as git reads them, in any place and notation, and what the command itself answers.
//!
//! What an option does to the archive is for `oracle.rs`, where the archive goes for
//! `destination.rs`.

use std::fs;

use crate::cli::usage::assert_complaint;
use crate::support::process::{Output, run};
use crate::support::{Repo, binary, cases, git_version, skip};

/// The newest git; older ones open a file with no name, and let `--no-output` take the name back.
#[test]
fn output_that_is_no_file() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    for args in cases("--output= HEAD | -o :(optional)new HEAD | -o new --output= HEAD") {
        let written = repo.sluice(args.split_whitespace()).success();
        assert!(written == expected, "{args}");
    }
    assert!(!repo.path().join("new").exists());
    repo.write("old", "");
    for args in
        cases("-o :(optional)old HEAD | -o old --no-output HEAD | -oold -o:(optional)new HEAD")
    {
        let nothing = repo.sluice(args.split_whitespace()).success();
        assert!(nothing.is_empty(), "{args}");
        let written = fs::read(repo.path().join("old")).expect("it is ours");
        assert!(written == expected, "{args}");
        repo.write("old", "");
    }
}

#[test]
fn extra_files_taken_back() {
    let repo = Repo::from("basic");
    repo.assert_same(["--add-file=file.txt", "--no-add-virtual-file", "HEAD"]);
    repo.assert_same(["--add-virtual-file=a:b", "--no-add-file", "HEAD"]);
}

/// Ours lists what git does, and `tar.zst` behind.
#[track_caller]
pub(crate) fn assert_same_list(repo: &Repo, args: &str) {
    let ours = repo.sluice(args.split_whitespace());
    let theirs = repo.archive(args.split_whitespace());
    let mut expected = theirs.stdout.clone();
    if theirs.code() == 0 {
        expected.extend(b"tar.zst\n");
    }
    assert_eq!(ours.stdout, expected, "{args}\n{ours}\n{theirs}");
    let outcome = |output: &Output| (output.messages(), output.code());
    assert_eq!(outcome(&ours), outcome(&theirs), "{args}");
}

#[test]
fn list() {
    let repo = Repo::copy("basic");
    for args in cases(
        "--list | -l | -lv | --list --end-of-options | --l -9 --format=nosuch | --no-list -l --add-file=file.txt",
    ) {
        assert_same_list(&repo, args);
    }
    repo.assert_same(["-l", "--no-l", "HEAD"]);
    assert_same_list(&Repo::scratch(), "--list");
    let _ = repo.sluice(["-l", "-o", "formats"]).success();
    let written = fs::read_to_string(repo.path().join("formats")).expect("named by -o");
    assert_eq!(written, "tar\ntgz\ntar.gz\nzip\ntar.zst\n");
    // Before 2.43.1 git does not mind.
    assert_complaint(
        &repo,
        "--list x y",
        128,
        "fatal: extra command line parameter 'x'",
    );
    assert_complaint(
        &repo,
        "-l -- x",
        128,
        "fatal: extra command line parameter 'x'",
    );
}

/// Help is what was asked for: on stdout, and no failure, which is how the newest git sees it.
#[test]
fn help() {
    let repo = Repo::from("basic");
    for args in
        cases("-h | -vh HEAD | HEAD --help | --help-all HEAD | --help | -h --bogus | --version")
    {
        let output = repo.sluice(args.split_whitespace());
        output.assert_ends(0, "");
        assert!(!output.stdout.is_empty(), "{output}");
    }
    assert_complaint(&repo, "--bogus -h", 129, "error: unknown option `bogus'");
}

/// The time of the first entry, in seconds since 1970.
fn mtime(repo: &Repo, value: &str) -> u64 {
    let archive = repo.sluice(["--mtime", value, "HEAD"]).success();
    let mut archive = tar::Archive::new(archive.as_slice());
    let entry = archive
        .entries()
        .expect("an archive")
        .next()
        .expect("not empty");
    entry.expect("readable").header().mtime().expect("a number")
}

/// git 2.39 has no `--mtime`, but it has the same parser of dates.
#[test]
fn dates() {
    let repo = Repo::from("basic").env("TZ", "ABC-03:30");
    let theirs = |value: &str| {
        let answer = repo.git(["rev-parse", &format!("--since={value}")]);
        let seconds = answer
            .strip_prefix("--max-age=")
            .and_then(|seconds| seconds.parse().ok());
        seconds.expect("git always finds a time")
    };
    for value in cases(
        "@0 +0000 | @1 -1200 | @8589934591 +0530 | 100000000 | 1117231200 | 4102444799 | @1117231200 | \
         2005-05-27T22:00:00Z | 2005-05-27 22:00:00 Z | 2005-05-27 22:00:00 +0545 | \
         2005-05-27T22:00:00.75-07:00 | 2004-02-29T23:59:59+1400 | 2005-02-29T23:59:59+0000 | \
         1970-01-01T00:00:00Z | 2099-12-31T23:59:59Z | 2005-05-27T22:00:60Z | 2005-05-27T24:00:00Z | \
         2005-05-27 22:00:00 | 2005-05-27 22:00 | Fri, 27 May 2005 22:00:00 +0100 | never",
    ) {
        assert_eq!(mtime(&repo, value), theirs(value), "{value}");
    }
    for value in
        cases("now | 2005-05-27 | yesterday | 1000 | @1000 |  | nonsense | 2100-01-01T00:00:00Z")
    {
        let difference = mtime(&repo, value).abs_diff(theirs(value));
        assert!(difference < 60, "{value}: {difference} seconds");
    }
    if git_version() >= (2, 40) {
        repo.assert_same(["--mtime=2005-05-27T22:00:00Z", "HEAD"]);
    } else {
        skip("git archive has no --mtime");
    }
}

/// Ours, as elsewhere in git.
#[test]
fn pathspecs_from_a_file() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD", "file.txt", "dir/sub"]).success();
    repo.write("lines", "file.txt\r\n\"dir/s\\165b\"\n");
    repo.write("nul", "file.txt\0dir/sub");
    for args in [
        "--pathspec-from-file=lines HEAD",
        "HEAD --pathspec-from-file nul --pathspec-file-nul",
    ] {
        let written = repo.sluice(args.split_whitespace()).success();
        assert!(written == expected, "{args}");
    }
    let piped = repo
        .shell("git-sluice --pathspec-from-file=- HEAD <lines")
        .success();
    assert!(piped == expected);
}

/// Ours, with the word of `git rm`.
#[test]
fn paths_that_match_nothing() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD", "file.txt"]).success();
    for paths in ["nosuch file.txt", "file.txt dir/nosuch :(glob)**/nosuch"] {
        let args = ["--ignore-unmatch", "HEAD"].into_iter();
        let output = repo.sluice(args.chain(paths.split(' ')));
        assert!(output.success() == expected, "{paths}");
    }
    let empty = repo.sluice(["--ignore-unmatch", "--fail-if-empty", "HEAD", "nosuch"]);
    assert_eq!(empty.code(), 4, "{empty}");
    let told = repo.sluice(["explain", "--ignore-unmatch", "HEAD", "nosuch", "file.txt"]);
    assert_eq!(told.success(), b"file.txt: sent\n");
    let mut inside = repo.command(binary());
    inside.current_dir(repo.path().join("dir"));
    let outside = run(inside.args(["--ignore-unmatch", "HEAD", "../file.txt", "nosuch"]));
    let message = "fatal: pathspec '../file.txt' matches files outside the current directory\n";
    outside.assert_failure(128, message);
}

#[test]
fn options_in_any_place_and_notation() {
    for args in cases(
        "-- HEAD dir | HEAD -- dir | HEAD dir -v | --end-of-options HEAD | -- -- HEAD | HEAD -- -v | \
         HEAD -- -- dir | --prefix=a/ --prefix=b/ HEAD | --prefix -v HEAD | --no-prefix HEAD | \
         --prefix=a/ --no-prefix HEAD | -v -v HEAD | -vv HEAD | -v -v -v HEAD | -v --no-verbose HEAD | \
         --format=nosuch --no-format HEAD | --format=nosuch --format=tar HEAD | \
         --pref=p/ --verb --form=tar HEAD | HEAD --end-of-options dir | --prefix= -v HEAD dir --no-list",
    ) {
        Repo::from("basic").assert_same(args.split_whitespace());
    }
}

/// Ours: more threads than there is work, and no more than the least memory.
#[test]
fn extreme_limits() {
    let repo = Repo::from("deltas");
    let expected = repo.archive(["HEAD"]).success();
    for limits in cases(
        "-j1 --memory=1m | -j 64 --memory=1m | -j300 | --memory=1g | --threads=2 --memory=1024k",
    ) {
        let output = repo.sluice(limits.split_whitespace().chain(["HEAD"]));
        assert!(
            output.stdout == expected && output.code() == 0,
            "{limits}\n{output}"
        );
    }
}

/// Both die of a format that is none, and ours names all formats.
#[track_caller]
pub(crate) fn assert_unknown_format(repo: &Repo, name: &str, treeish: &str) {
    let format = format!("--format={name}");
    let line = format!("fatal: Unknown archive format '{name}'\n");
    let theirs = repo.archive([&format, treeish]);
    theirs.assert_failure(128, &line);
    let hint = "hint: the formats are tar, tgz, tar.gz, zip, tar.zst\n";
    let ours = repo.sluice([&format, treeish]);
    ours.assert_failure(128, &(line + hint));
}

#[test]
fn formats() {
    let repo = Repo::from("basic");
    for (name, treeish) in [
        ("foo", "HEAD"),
        ("", "HEAD"),
        ("TAR", "HEAD"),
        ("foo", "nosuch"),
    ] {
        assert_unknown_format(&repo, name, treeish);
    }
    assert_unknown_format(&Repo::scratch(), "foo", "HEAD");
}

#[test]
fn levels() {
    let level = "fatal: Argument not supported for format 'tar': -9\n";
    Repo::from("basic").assert_both_die(["-9", "HEAD"], level);
    Repo::from("basic").assert_both_die(["-1", "-9", "nosuch"], level);
    Repo::from("basic").assert_both_die(["-9v9", "HEAD"], level);
    let cut = "fatal: Argument not supported for format 'tar': --2\n";
    Repo::from("basic").assert_both_die(["-4294967294", "HEAD"], cut);
    // A level of -1 is none.
    Repo::from("basic").assert_same(["-9", "-99999999999999999999", "HEAD"]);
}
