//! t5000: tar, compressed tar, remote archives, pathspecs, and sizes and times that no ustar header
//! holds.

use super::{
    SIDES, assert_same_contents, beginning, below, content, expected, file, untarred,
    with_huge_blob,
};
use crate::archive::readers::Contents;
use crate::cli::command_line::assert_same_list;
use crate::support::process::run_with_input;
use crate::support::tar_listing;
use crate::support::{Repo, binary, gunzip};

const FIXTURE: &str = "upstream-tar";

/// Contents, names, and one time for all.
#[track_caller]
fn assert_extracts(archive: Vec<u8>, expected: &Contents, time: u64) {
    for record in tar_listing::records(&archive) {
        assert_eq!(record.mtime(), time, "{}", record.name());
    }
    assert_same_contents(&untarred(archive), expected);
}

const COMMITTED: u64 = 1_117_231_200;

#[test]
fn list_notices_extra_parameters() {
    let repo = Repo::from(FIXTURE);
    let message = "fatal: extra command line parameter 'blah'\n";
    repo.sluice(["--list", "blah"]).assert_failure(128, message);
    let served = repo.served(["--remote=.", "--list", "blah"]);
    assert_ne!(served.code(), 0, "{served}");
}

#[test]
fn end_of_options_is_correctly_eaten() {
    let repo = Repo::from(FIXTURE);
    assert_same_list(&repo, "--list --end-of-options");
    let formats = b"tar\ntgz\ntar.gz\nzip\n";
    let list = ["--remote=.", "--list", "--end-of-options"];
    assert_eq!(
        repo.served(list).success(),
        [&formats[..], b"tar.zst\n"].concat()
    );
    assert_eq!(repo.sluice(list).success(), formats);
}

#[test]
fn git_archive() {
    let repo = Repo::from(FIXTURE);
    let archive = repo.sluice(["HEAD"]).success();
    assert_extracts(archive, &expected(&repo), COMMITTED);
}

#[test]
fn git_archive_mtime() {
    let repo = Repo::from(FIXTURE);
    let args = ["--mtime=2002-02-02T02:02:02-0200", "HEAD"];
    let archive = repo.sluice(args).success();
    assert_extracts(archive, &expected(&repo), 1_012_622_522);
}

#[test]
fn git_archive_prefix() {
    let repo = Repo::from(FIXTURE);
    let archive = repo.sluice(["--prefix=prefix/", "HEAD"]).success();
    let expected = below("prefix", expected(&repo));
    assert_extracts(archive, &expected, COMMITTED);
}

#[test]
fn git_archive_prefix_olde() {
    let repo = Repo::from(FIXTURE);
    let archive = repo.sluice(["--prefix=olde-", "HEAD"]).success();
    let contents = expected(&repo).into_iter();
    let expected = contents.map(|(path, node)| ([b"olde-", &path[..]].concat(), node));
    assert_extracts(archive, &expected.collect(), COMMITTED);
}

#[test]
fn git_archive_add_file() {
    let repo = Repo::copy(FIXTURE);
    let mut expected = expected(&repo);
    repo.write("untracked", "untracked\n");
    expected.insert(b"untracked".to_vec(), file("untracked\n"));
    let archive = repo.sluice(["--add-file=untracked", "HEAD"]).success();
    assert_extracts(archive, &expected, COMMITTED);
}

#[test]
fn git_archive_add_file_twice() {
    let repo = Repo::copy(FIXTURE);
    let mut expected = expected(&repo);
    repo.write("untracked", "untracked\n");
    let prefixes = ["--prefix=one/", "--prefix=two/", "--prefix="];
    let extra = "--add-file=untracked";
    let args = [prefixes[0], extra, prefixes[1], extra, prefixes[2], "HEAD"];
    for directory in ["one", "two"] {
        let extra = Contents::from([(b"untracked".to_vec(), file("untracked\n"))]);
        expected.extend(below(directory, extra));
    }
    assert_extracts(repo.sluice(args).success(), &expected, COMMITTED);
}

#[test]
fn git_archive_on_large_files() {
    let repo = Repo::from(FIXTURE);
    let plain = repo.sluice(["HEAD"]).success();
    let large = repo.with(["-c", "core.bigFileThreshold=1"]);
    assert!(large.sluice(["HEAD"]).success() == plain);
}

#[test]
fn git_archive_vs_the_same_in_a_bare_repo() {
    let repo = Repo::from(FIXTURE);
    let bare = repo.clone().with(["--git-dir", "../bare.git"]);
    assert!(bare.sluice(["HEAD"]).success() == repo.sluice(["HEAD"]).success());
    bare.assert_same(["HEAD"]);
}

#[test]
fn git_archive_with_output() {
    let repo = Repo::copy(FIXTURE);
    let plain = repo.sluice(["HEAD"]).success();
    let _ = repo.sluice(["--output=b4.tar", "HEAD"]).success();
    assert!(content(&repo, "b4.tar") == plain);
    let _ = repo
        .sluice(["--format=tar", "-o", "d4.zip", "HEAD"])
        .success();
    assert!(content(&repo, "d4.zip") == plain);
}

#[test]
fn git_archive_remote() {
    let repo = Repo::copy(FIXTURE);
    let plain = repo.sluice(["HEAD"]).success();
    for run in SIDES {
        assert!(run(&repo, &["--remote=.", "HEAD"]).success() == plain);
    }
}

#[test]
fn git_archive_remote_with_configured_remote() {
    let repo = Repo::copy(FIXTURE);
    repo.git(["config", "remote.foo.url", "."]);
    let plain = repo.sluice(["HEAD"]).success();
    let args = ["--remote=foo", "--output=../b5.tar", "HEAD"];
    for run in SIDES {
        let _ = run(&repo.clone().at("a"), &args).success();
        assert!(content(&repo, "b5.tar") == plain);
        std::fs::remove_file(repo.path().join("b5.tar")).expect("our own");
    }
}

#[test]
fn git_get_tar_commit_id() {
    let repo = Repo::from(FIXTURE);
    let archive = repo.sluice(["HEAD"]).success();
    let found = run_with_input(repo.command("git").arg("get-tar-commit-id"), archive).success();
    assert_eq!(
        found.trim_ascii_end(),
        repo.git(["rev-parse", "HEAD"]).as_bytes()
    );
}

#[test]
fn git_archive_with_output_and_remote_creates_tgz() {
    let repo = Repo::copy(FIXTURE);
    let plain = repo.sluice(["HEAD"]).success();
    for run in SIDES {
        let _ = run(&repo, &["--output=d5.tgz", "--remote=.", "HEAD"]).success();
        assert!(gunzip(&content(&repo, "d5.tgz")) == plain);
    }
}

#[test]
fn git_archive_list_and_remote_outside_of_a_git_repo() {
    assert_same_list(&Repo::scratch(), "--list");
    let repo = Repo::from(FIXTURE);
    let remote = format!("--remote={}", repo.path().display());
    let plain = repo.sluice(["HEAD"]).success();
    for run in SIDES {
        assert!(run(&Repo::scratch(), &[remote.as_str(), "HEAD"]).success() == plain);
    }
}

#[test]
fn clients_cannot_access_unreachable_commits() {
    let repo = Repo::copy(FIXTURE);
    let id = repo.git(["commit-tree", "-m", "unreachable", "HEAD^{tree}"]);
    let plain = repo.sluice([&id]).success();
    for run in SIDES {
        let refused = run(&repo, &["--remote=.", &id]);
        assert_eq!(refused.code(), 1, "{refused}");
        let no_ref = format!("remote: fatal: no such ref: {id}");
        assert!(refused.messages().contains(&no_ref), "{refused}");
    }
    // "upload-archive can allow unreachable commits"
    repo.git(["config", "uploadarchive.allowUnreachable", "true"]);
    for run in SIDES {
        assert!(run(&repo, &["--remote=.", &id]).success() == plain);
    }
}

/// "setup tar filters".
fn with_filters() -> Repo {
    let repo = Repo::copy(FIXTURE);
    repo.git(["config", "tar.tar.foo.command", "tr ab ba"]);
    repo.git(["config", "tar.bar.command", "tr ab ba"]);
    repo.git(["config", "tar.bar.remote", "true"]);
    repo.git(["config", "tar.invalid", "baz"]);
    repo
}

#[test]
fn archive_list_mentions_user_filter() {
    let repo = with_filters();
    let list = repo.sluice(["--list"]).success();
    assert_eq!(list, b"tar\ntgz\ntar.gz\ntar.foo\nbar\nzip\ntar.zst\n");
    // "archive --list shows only enabled remote filters"
    for run in SIDES {
        let list = run(&repo, &["--list", "--remote=."]).success();
        let gits = list.strip_suffix(b"tar.zst\n").unwrap_or(&list);
        assert_eq!(gits, b"tar\ntgz\ntar.gz\nbar\nzip\n");
    }
}

#[test]
fn invoke_tar_filter_by_format_and_extension() {
    let repo = with_filters();
    let plain = repo.sluice(["HEAD"]).success();
    let swapped: Vec<u8> = plain
        .iter()
        .map(|byte| match byte {
            b'a' => b'b',
            b'b' => b'a',
            _ => *byte,
        })
        .collect();
    for format in ["tar.foo", "bar"] {
        let ours = repo.sluice([&format!("--format={format}"), "HEAD"]);
        assert!(ours.success() == swapped, "{format}");
    }
    for (name, expected) in [
        ("custom-dot.tar.foo", &swapped),
        ("custom-dot.bar", &swapped),
        // "default output format remains tar", "extension matching requires dot"
        ("config-implicit.baz", &plain),
        ("config-implicittar.foo", &plain),
    ] {
        let _ = repo.sluice(["-o", name, "HEAD"]).success();
        assert!(&content(&repo, name) == expected, "{name}");
    }
}

#[test]
fn only_enabled_filters_are_available_remotely() {
    let repo = with_filters();
    for run in SIDES {
        let refused = run(&repo, &["--remote=.", "--format=tar.foo", "HEAD"]);
        assert_ne!(refused.code(), 0, "{refused}");
        assert_eq!(refused.stdout, b"", "{refused}");
        let _ = run(&repo, &["--remote=.", "--format=bar", "HEAD"]).success();
    }
}

#[test]
fn invalid_filter_is_reported_only_once() {
    let repo = Repo::from(FIXTURE).with(["-c", "tar.invalid.command="]);
    let output = repo.sluice(["--format=invalid", "HEAD"]);
    let message = "fatal: unable to start '' filter: No such file or directory\n";
    output.assert_failure(128, message);
}

#[test]
fn git_archive_tgz() {
    let repo = Repo::copy(FIXTURE);
    let tgz = repo.sluice(["--format=tgz", "HEAD"]).success();
    assert!(repo.sluice(["--format=tar.gz", "HEAD"]).success() == tgz);
    for name in ["inferred.tgz", "inferred.tar.gz"] {
        let _ = repo.sluice(["--output", name, "HEAD"]).success();
        assert!(content(&repo, name) == tgz, "{name}");
    }
    // "extract tgz file"
    assert!(gunzip(&tgz) == repo.sluice(["HEAD"]).success());
    // "remote tar.gz is allowed by default", "remote tar.gz can be disabled"
    for run in SIDES {
        let args = ["--remote=.", "--format=tar.gz", "HEAD"];
        assert!(run(&repo, &args).success() == tgz);
    }
    repo.git(["config", "tar.tar.gz.remote", "false"]);
    for run in SIDES {
        let refused = run(&repo, &["--remote=.", "--format=tar.gz", "HEAD"]);
        assert_ne!(refused.code(), 0, "{refused}");
    }
}

#[test]
fn git_archive_tgz_external_gzip() {
    let repo = Repo::from(FIXTURE);
    let plain = repo.sluice(["HEAD"]).success();
    let commands = ["tar.tgz.command=gzip -cn", "tar.tar.gz.command=gzip -cn"];
    let repo = repo.with(["-c", commands[0], "-c", commands[1]]);
    let tgz = repo.sluice(["--format=tgz", "HEAD"]).success();
    assert!(repo.sluice(["--format=tar.gz", "HEAD"]).success() == tgz);
    assert!(gunzip(&tgz) == plain);
}

#[test]
fn archive_and_glob() {
    let repo = Repo::from(FIXTURE);
    let output = repo.sluice(["-v", "HEAD", "--", ":(glob)**/sh"]);
    assert_eq!(output.messages(), "a/\na/bin/\na/bin/sh\n");
    let _ = output.success();
}

#[test]
fn catch_non_matching_pathspec() {
    let output = Repo::from(FIXTURE).sluice(["-v", "HEAD", "--", "*.abc"]);
    output.assert_failure(128, "fatal: pathspec '*.abc' did not match any files\n");
}

#[test]
fn reject_paths_outside_the_current_directory() {
    let output = Repo::from(FIXTURE).at("a/bin").sluice(["HEAD", ".."]);
    let message = "fatal: pathspec '..' matches files outside the current directory\n";
    output.assert_failure(128, message);
}

#[test]
fn allow_pathspecs_that_resolve_to_the_current_directory() {
    let repo = Repo::from(FIXTURE).at("a/bin");
    let output = repo.sluice(["-v", "HEAD", "../bin"]);
    assert_eq!(output.messages(), "sh\n");
    let _ = output.success();
}

#[test]
fn attr_pathspec_in_bare_repo() {
    let args = ["-v", "HEAD", ":(attr:files_named_a)"];
    let bare = Repo::from(FIXTURE).at("../bare.git");
    let output = bare.sluice(args);
    assert_eq!(output.messages(), "a/\na/a\n");
    let _ = output.success();
}

/// "set up repository with huge blob": 64 GiB and one byte.
#[test]
fn generate_tar_with_huge_size() {
    let repo = with_huge_blob(68_719_476_737);
    let theirs = beginning(repo.command("git").args(["archive", "HEAD"]), 4096);
    for threads in ["1", "8"] {
        let args = ["-j", threads, "--memory=1m", "HEAD"];
        assert!(beginning(repo.command(binary()).args(args), 4096) == theirs);
    }
    // "system tar can read our huge size"; it misses the rest.
    let listing = run_with_input(repo.command("tar").arg("-tvf-"), theirs).stdout;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let size = listing.split_whitespace().nth(2);
    assert_eq!(size, Some("68719476737"), "{listing}");
}

/// "far-future (2^34 - 1)" and "far-far-future (2^36 + 1)".
#[test]
fn generate_tar_with_future_mtime() {
    let repo = Repo::init();
    repo.write("file", "content\n");
    repo.git(["add", "file"]);
    for (time, year) in [(17_179_869_183_u64, "2514"), (68_719_476_737, "4147")] {
        let dated = repo
            .clone()
            .env("GIT_COMMITTER_DATE", format!("@{time} +0000"));
        dated.git(["commit", "-q", "--allow-empty", "-m", "tempus fugit"]);
        let archive = repo.sluice(["HEAD"]).success();
        repo.assert_same(["HEAD"]);
        let mut tar = repo.command("tar");
        let listing = run_with_input(tar.args(["-tvf-"]), archive).success();
        let listing = String::from_utf8_lossy(&listing).into_owned();
        let date = listing.split_whitespace().nth(3).unwrap_or_default();
        assert!(date.starts_with(year), "{listing}");
    }
}
