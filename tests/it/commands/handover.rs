//! `--remote` on our own command line: git fetches for us, and gets what it would have got.

use std::fs;
use std::time::SystemTime;

use crate::commands::remote::{EXEC, assert_same, heard, plain};
use crate::support::{Repo, cases, installed};

#[test]
fn git_fetches_for_us() {
    let repo = Repo::from("basic");
    for args in cases(
        "--remote=. HEAD | --remote . -v HEAD dir | HEAD dir --remote=. | --remote=. HEAD~1 | \
         --remote=nosuch HEAD | --remote=. --format=zip HEAD | --remote=. --list | \
         --remote=. --add-virtual-file=a:b HEAD | --remote=. -- HEAD file.txt",
    ) {
        let start = SystemTime::now();
        let ours = heard(|| repo.sluice(args.split_whitespace()));
        let theirs = heard(|| repo.archive(args.split_whitespace()));
        assert_same(&ours, &theirs, start);
    }
    let ours = repo.sluice(["-j", "2", "--memory=1m", "--remote=.", "--progress", "HEAD"]);
    assert!(ours.success() == repo.archive(["HEAD"]).success());
    let both = repo.sluice([EXEC, "--remote=.", "HEAD"]);
    assert!(both.success() == repo.archive(["HEAD"]).success());
    let not_wanted = repo.sluice(["--remote=nosuch", "--no-remote", "HEAD"]);
    assert!(not_wanted.success() == repo.archive(["HEAD"]).success());
}

/// The end is git's own: that it was killed is not hidden.
#[test]
fn the_status_is_that_of_git() {
    let script = "{ git-sluice --remote=. HEAD; echo $? >&2; } | :";
    let output = Repo::from("big").shell(script);
    assert!(output.messages().ends_with("141\n"), "{output}");
    let no_git = Repo::from("basic");
    let nowhere = no_git.path().join("missing");
    let no_git = no_git.env("PATH", nowhere);
    let output = no_git.sluice(["--remote=.", "HEAD"]);
    output.assert_failure(128, "fatal: cannot exec 'git': No such file or directory\n");
}

/// By path and by the name of a remote, in and outside of a repository.
#[test]
fn remotes_by_name() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    repo.git(["config", "remote.foo.url", plain(&repo)]);
    let url = format!("--remote={}", plain(&repo));
    assert!(repo.archive([EXEC, "--remote=foo", "HEAD"]).success() == expected);
    assert!(Repo::scratch().archive([EXEC, &url, "HEAD"]).success() == expected);
    let dir = repo.clone().at("dir");
    let _ = dir
        .archive([EXEC, "--remote=foo", "--output=../served", "HEAD"])
        .success();
    assert!(fs::read(repo.path().join("served")).expect("written") == expected);
    let _ = dir
        .sluice(["--remote=foo", "--output=../fetched", "HEAD"])
        .success();
    assert!(fs::read(repo.path().join("fetched")).expect("written") == expected);
    let id = repo.shell(
        "git archive --exec='git-sluice upload-archive' --remote=foo HEAD | git get-tar-commit-id",
    );
    let id = String::from_utf8(id.success()).expect("hex");
    assert_eq!(id.trim_end(), repo.git(["rev-parse", "HEAD"]));
}

#[test]
fn formats_by_the_name_of_the_output() {
    if !installed("gzip") {
        return;
    }
    let repo = Repo::copy("basic");
    let url = format!("--remote={}", plain(&repo));
    let client = Repo::scratch();
    let _ = client
        .archive([EXEC, &url, "--output=served.tgz", "HEAD"])
        .success();
    let unpacked = client.shell("gzip -dc served.tgz").success();
    assert!(unpacked == repo.archive(["HEAD"]).success());
    let _ = client
        .sluice([&url, "--output=fetched.tgz", "HEAD"])
        .success();
    let [served, fetched] =
        ["served.tgz", "fetched.tgz"].map(|name| fs::read(client.path().join(name)));
    assert!(served.expect("written") == fetched.expect("written"));
}
