//! Disks, permissions, users and limits: a cache that cannot be used never fails a request.

use std::{fs, os::unix::fs::PermissionsExt};

use rustix::process::geteuid;
use serde_json::Value;

use super::noisy;
use crate::support::{Repo, skip};

/// The archive of `repo` beside it, and the words of a shell that compare another one with it.
fn reference(repo: &Repo) -> &'static str {
    let archive = repo.archive(["HEAD"]).success();
    repo.write("expected", archive);
    "cmp - expected && grep -q complete.:true summary"
}

#[track_caller]
fn told(repo: &Repo) -> Value {
    let text = fs::read(repo.path().join("summary")).expect("every run writes a summary");
    let mut summary: Value = serde_json::from_slice(&text).expect("a summary is JSON");
    summary["cache"].take()
}

/// A disk that is too small, and one that several archives fill at once.
#[test]
fn full_disks() {
    let repo = noisy(3 << 20);
    let compared = reference(&repo);
    for (size, clients) in [("2m", 1), ("9m", 4)] {
        let mount = format!("mkdir -p disk && mount -t tmpfs -o size={size} tmpfs disk");
        if repo.shell(&format!("unshare -rm sh -c '{mount}'")).code() != 0 {
            return skip("file systems cannot be mounted here");
        }
        let client = |number| {
            let summary = format!("summary{number}");
            let compared = compared.replace("summary", &summary);
            let run = "git-sluice --cache=disk/cache --cache-always";
            // The same bytes under another key.
            let key = format!("--max-size={number}00m");
            format!("({run} --summary={summary} {key} HEAD | {compared} && echo whole) &")
        };
        let all: String = (1..=clients).map(client).collect();
        let output = repo.shell(&format!("unshare -rm sh -c \"{mount} && {all} wait\""));
        let whole = String::from_utf8_lossy(&output.stdout)
            .matches("whole")
            .count();
        assert_eq!(whole, clients, "{output}");
    }
}

/// The kernel would end a process that writes a larger file.
#[test]
fn limits_of_the_process() {
    let repo = noisy(3 << 20);
    let compared = reference(&repo);
    let run = "git-sluice --cache=cache --cache-always --summary=summary HEAD";
    // Less than the archive, and less than the list of requests.
    for blocks in [1000, 100] {
        let output = repo.shell(&format!("ulimit -f {blocks}; {run} | {compared}"));
        assert_eq!(output.code(), 0, "{output}");
        assert_eq!(told(&repo)["role"], "bypass");
    }
    let run = run.replace("--cache-always ", "");
    let output = repo.shell(&format!("ulimit -f 100; {run} | {compared}"));
    assert_eq!(output.code(), 0, "{output}");
}

/// Without a permission, and with a directory of another user.
#[test]
fn other_users() {
    let repo = noisy(1 << 20);
    let compared = reference(&repo);
    let run = "git-sluice --cache=cache --cache-always --summary=summary HEAD";
    let script = format!("mkdir -m 500 cache && {run} | {compared}");
    let Some(output) = repo.unprivileged_shell(&script) else {
        return;
    };
    assert_eq!(output.code(), 0, "{output}");
    assert_eq!(told(&repo)["role"], "bypass");
    if !geteuid().is_root() {
        return skip("one user has no other user's directory");
    }
    let own = noisy(1 << 20);
    let compared = reference(&own);
    // The directory is the other user's by now.
    let cache = repo.path().join("cache");
    let run = format!(
        "git-sluice --cache={} --summary=summary HEAD",
        cache.display()
    );
    let output = own.shell(&format!("{run} | {compared}"));
    let told = told(&own);
    assert_eq!(
        told["reason"], "the directory belongs to another user",
        "{output}"
    );
}

/// A directory of the configuration that is closed to the user, or belongs to another one: the log has the reason at each run,
/// and standard error stays empty.
#[test]
fn the_log_says_why_the_cache_is_not_used() {
    let top = Repo::scratch();
    let closed = top.path().join("closed");
    // Of root, or else of nobody else; then it is closed to its owner, too.
    let mode = if geteuid().is_root() { 0o700 } else { 0o000 };
    fs::create_dir(&closed).expect("our own");
    for (path, mode) in [(&closed, mode), (&top.path().to_owned(), 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
    }
    let closed = closed.to_str().expect("text");
    for (directory, reason) in [
        (closed, "cannot open the directory: Permission denied"),
        ("/", "the directory belongs to another user"),
        (
            "/dev/null/none",
            "cannot open the directory: Not a directory",
        ),
    ] {
        let repo = noisy(1 << 20);
        let archive = repo.archive(["HEAD"]).success();
        let log = repo.path().join("log");
        let repo = repo
            .env("GIT_SLUICE_CACHE", directory)
            .env("GIT_SLUICE_LOG", &log);
        for runs in 1..=2 {
            let Some(output) = repo.unprivileged_shell("git-sluice HEAD") else {
                return;
            };
            assert_eq!(output.messages(), "");
            assert!(output.success() == archive);
            let lines = fs::read_to_string(&log).expect("each run has a line");
            assert_eq!(lines.lines().count(), runs);
            for line in lines.lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                assert_eq!(line["complete"], true);
                assert_eq!(line["cache"]["role"], "bypass");
                assert_eq!(line["cache"]["reason"], reason);
            }
        }
    }
}

/// Nobody but the readers holds the archive: the budget is that of a run without a cache.
#[test]
fn memory() {
    let repo = noisy(24 << 20);
    let peak = |options: &str| {
        let args = format!("--memory=1m -j1 --summary=summary {options} HEAD");
        let output = repo.sluice(args.split_whitespace());
        assert_eq!(output.code(), 0, "{output}");
        let text = fs::read(repo.path().join("summary")).expect("written");
        let summary: Value = serde_json::from_slice(&text).expect("JSON");
        summary["peak_memory"].as_u64().expect("Linux tells")
    };
    let without = peak("--no-cache");
    let [lead, hit] = ["--cache=cache --cache-always"; 2].map(peak);
    assert!(lead < without + (4 << 20), "{lead} beside {without}");
    assert!(hit < without + (4 << 20), "{hit} beside {without}");
}
