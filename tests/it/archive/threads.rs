//! A system that lets no thread start: a container with few processes, or a user who has as many as are allowed.

use std::fs;

use crate::{
    support::process::Output,
    support::{Repo, installed, skip},
};

/// Why no thread starts.
const REASON: &str = "Resource temporarily unavailable";

/// A repository of a user who may have one process, and no thread beside it.
struct Alone {
    repo: Repo,
    user: u32,
}

impl Alone {
    /// `repo`, given to such a user; nothing if there can be none. Each test has a user with a `number` of its own.
    fn new(repo: Repo, number: u32) -> Option<Alone> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can be another user, who may have one process");
            return None;
        }
        if !installed("prlimit") || !installed("setpriv") {
            return None;
        }
        // Nobody has a process already.
        let user = 200_000 + 2 * std::process::id() + number;
        let _ = repo
            .shell(&format!("chmod 755 . && chown -R {user} ."))
            .success();
        let alone = Alone { repo, user };
        if alone.run("git-sluice --help").code() != 0 {
            skip("another user may not run what is built here");
            return None;
        }
        if alone.run("sh -c 'true | true'").code() == 0 {
            skip("processes are not limited here");
            return None;
        }
        Some(alone)
    }

    #[track_caller]
    fn run(&self, command: &str) -> Output {
        let user = self.user;
        let limited = format!("prlimit --nproc=1 setpriv --reuid={user} --clear-groups");
        self.repo.shell(&format!("exec {limited} {command}"))
    }
}

/// Enough for several threads.
fn many_files() -> Repo {
    let repo = Repo::init();
    let script = "for i in $(seq 300); do seq $i 1000 >$i; done; git add . && git commit -qm x";
    let _ = repo.shell(script).success();
    repo
}

#[test]
fn archives() {
    let repo = many_files();
    let expected = repo.archive(["HEAD"]).success();
    let Some(alone) = Alone::new(repo, 0) else {
        return;
    };
    let run = |options: &str| alone.run(&format!("git-sluice {options} HEAD"));
    assert!(run("").success() == expected);
    let shared = run("--cache=cache --summary=summary");
    assert!(shared.success() == expected);
    let summary = fs::read_to_string(alone.repo.path().join("summary")).expect("written");
    let reason = format!("\"reason\":\"cannot start a thread: {REASON}\"");
    assert!(summary.contains(&reason), "{summary}");
    // A signal would leave the file behind.
    let refused = run("-o x.tar");
    refused.assert_refused(128, &["fatal: cannot watch for signals", REASON]);
    let names = alone.repo.shell("ls -A").success();
    let names = String::from_utf8_lossy(&names);
    assert!(!names.contains("x.tar"), "{names}");
}

#[test]
fn applications() {
    let repo = many_files();
    let _ = repo
        .shell("git-sluice HEAD >tar && git-sluice publish --create bucket/main HEAD")
        .success();
    let Some(alone) = Alone::new(repo, 1) else {
        return;
    };
    let run = |options: &str| alone.run(&format!("git-sluice {options}"));
    let _ = run("apply dir tar").success();
    let _ = run("verify dir").success();
    let _ = alone.repo.shell("echo x >>dir/7; rm dir/300").success();
    let output = run("verify dir");
    assert_eq!(
        (output.code(), &output.stdout[..]),
        (1, &b"missing 300\ncontent 7\n"[..])
    );
    let refused = run("apply --channel=bucket/main other");
    refused.assert_refused(128, &["fatal: cannot start a thread", REASON]);
}
