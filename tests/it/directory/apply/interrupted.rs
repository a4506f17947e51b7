//! Killed at any moment, an application is done again from the start and comes to the same end.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::archive::{
    Archive, Tree, delta, delta_with, executable, file, found, link, tree, with_directories,
};
use super::{FILTERS, FROM, TO, Target, applying, laid_down};
use crate::support::process::{run, run_with_input};
use crate::support::{Repo, binary, installed, noise, skip};

/// All that can be between a base and a target: each kind of thing in the place of each other.
pub(super) fn small() -> (Tree, Tree) {
    let base = tree([
        ("changed", file("old\n")),
        ("deleted/a", file("")),
        ("file-to-directory", file("x")),
        ("directory-to-file/a", file("x")),
        ("directory-to-link/a/b", file("x")),
        ("link-to-directory", link("../outside")),
        ("link-to-file", link("../outside/file")),
    ]);
    let target = tree([
        ("changed", file("new\n")),
        ("file-to-directory/a", executable("x")),
        ("directory-to-file", file("x")),
        ("directory-to-link", link("../outside")),
        ("link-to-directory/file", file("mine\n")),
        ("link-to-file", file("mine\n")),
    ]);
    (base, target)
}

/// What it says is true, and the complete archive makes it whole.
#[track_caller]
fn assert_recovers(directory: &Target, base: &Tree, target: &Tree, archive: &[u8]) {
    match directory.state_of_commits() {
        state if state == format!("holds {FROM}\n") => {
            let mut there = found(&directory.directory());
            // What would have been the next state.
            there.remove(&b".git-sluice.new"[..]);
            assert_eq!(there, with_directories(base));
        }
        state if state == format!("holds {TO}\n") => directory.assert_holds(TO, target),
        state => assert!([applying(FROM, TO), applying("-", TO)].contains(&state)),
    }
    directory.assert_brings(archive, TO, target);
}

#[test]
fn killed_while_it_reads() {
    let (base, target) = small();
    let archive = delta([FROM, TO], [&base, &target]);
    for blocks in 0..=archive.len() / 512 {
        let directory = Target::holding(FROM, &base);
        let mut command = directory.repo.command(binary());
        let mut child = command
            .args(["apply", "dir"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it can be run");
        let mut stdin = child.stdin.take().expect("piped");
        // It may be gone when all was read.
        let _ = stdin.write_all(&archive[..blocks * 512]);
        // Enough to be anywhere between its start and the end of what it has.
        thread::sleep(Duration::from_millis(blocks as u64 * 7 % 23));
        let _ = child.kill();
        child.wait().expect("killed");
        assert_recovers(&directory, &base, &target, &archive);
    }
}

/// The calls that change files, and those that settle when they are changed.
const CALLS: [&str; 9] = [
    "openat2",
    "mkdirat",
    "unlinkat",
    "renameat",
    "symlinkat",
    "write",
    "fsync",
    "syncfs",
    "flock",
];

#[test]
fn killed_at_every_system_call() {
    killed_at_every_call_in(Target::holding, delta);
}

/// What the first run has written is not taken for the user's.
#[test]
#[ignore = "slow"]
fn killed_at_every_system_call_with_a_list() {
    let archive = |ids: [&str; 2], trees: [&Tree; 2]| delta_with(FILTERS, ids, trees);
    killed_at_every_call_in(laid_down, archive);
}

/// A full archive over the one that the directory holds.
#[test]
#[ignore = "slow"]
fn killed_at_every_system_call_of_a_full_archive() {
    let archive = |[_, to]: [&str; 2], [_, target]: [&Tree; 2]| Archive::of_tree(to, target);
    killed_at_every_call_in(laid_down, archive);
}

type Lay = fn(&str, &Tree) -> Target;
type Write = fn([&str; 2], [&Tree; 2]) -> Vec<u8>;

fn killed_at_every_call_in(lay: Lay, write: Write) {
    if !installed("strace") {
        return;
    }
    // Where processes may not be traced, nothing can be said.
    if run(Command::new("strace").args(["-o", "/dev/null", "true"])).code() != 0 {
        return skip("strace may not trace here");
    }
    for call in CALLS {
        let number = (1..).find(|number| !is_killed_at(call, *number, (lay, write)));
        assert!(number > Some(1), "{call} was not seen");
    }
}

/// Whether an application that would be killed at this call came so far; if so, it recovers.
fn is_killed_at(call: &str, number: u32, (lay, write): (Lay, Write)) -> bool {
    let (base, target) = &small();
    let archive = write([FROM, TO], [base, target]);
    let directory = lay(FROM, base);
    let kill = format!("-einject={call}:signal=KILL:when={number}");
    let mut command = directory.repo.command("strace");
    command.args([
        "-f",
        "-qqq",
        "-o",
        "/dev/null",
        &format!("-etrace={call}"),
        &kill,
    ]);
    let output = run_with_input(command.args([binary(), "apply", "dir"]), &archive[..]);
    if output.code() == 0 {
        directory.assert_holds(TO, target);
        return false;
    }
    assert_eq!(output.code(), 137, "{output}");
    assert_recovers(&directory, base, target, &archive);
    true
}

/// A power loss may take the end of the list, or all of it, and the end of files. The same archive makes the directory whole.
#[test]
fn lists_and_files_that_a_power_loss_has_cut() {
    let (base, target) = &small();
    let (full, delta) = (
        Archive::of_tree(TO, target),
        delta_with(FILTERS, [FROM, TO], [base, target]),
    );
    for script in [
        "",
        "printf n >changed; truncate -s 3 link-to-directory/file",
    ] {
        for keep in (0..600).step_by(7) {
            let first = laid_down(TO, target);
            first.set_state(&applying("-", TO));
            first.script(&format!(
                "mv .git-sluice.files .git-sluice.files.new; truncate -s '<{keep}' .git-sluice.files.new; {script}"
            ));
            first.assert_brings_soundly(&full, TO, target);
            let next = laid_down(FROM, base);
            let list = next.directory().join(".git-sluice.files");
            let len = fs::metadata(&list).expect("it has one").len();
            let _ = next.apply(&delta).success();
            next.set_state(&applying(FROM, TO));
            next.script(&format!(
                "truncate -s '<{}' .git-sluice.files; {script}",
                len + keep
            ));
            next.assert_brings_soundly(&delta, TO, target);
        }
    }
}

/// What could be the user's is not replaced, and the hint names the way out.
#[test]
fn files_of_the_user_after_a_power_loss() {
    let (_, target) = &small();
    let full = Archive::of_tree(TO, target);
    let directory = laid_down(TO, target);
    directory.set_state(&applying("-", TO));
    directory.script("rm .git-sluice.files; echo mine >changed; ln -sfn mine directory-to-link");
    let refused = directory.apply(&full);
    let named = ["'changed', which", "'directory-to-link', which"];
    refused.assert_refused(128, &named);
    let refused = directory.apply(&Archive::of_tree(FROM, target));
    let words = "the archive is a full one, and the directory is not empty";
    directory.assert_not_applied(&refused, words, &applying("-", TO));
    refused.assert_refused(
        128,
        &["hint: apply the interrupted archive again first, or"],
    );
    directory.script("rm changed directory-to-link");
    directory.assert_brings_soundly(&full, TO, target);
}

/// What was too large for the disk makes room for an archive that is not.
#[test]
fn full_disks() {
    let repo = Repo::init();
    let commit = || {
        repo.commit("--all", "files");
    };
    repo.write("small", "small\n");
    commit();
    for (name, files, len) in [("large", 1, 2 << 20), ("many", 400, 4 << 10)] {
        for number in 0..files {
            repo.write(format!("{name}{number}"), noise(number, len));
        }
        commit();
        let script = "mkdir -p disk && mount -t tmpfs -o size=1m tmpfs disk || exit 77
            git-sluice $small | git-sluice apply disk/dir || exit 1
            for base in \"\" --base=$small; do
                git-sluice $base HEAD | git-sluice apply disk/dir && exit 2
                git-sluice $small | git-sluice apply disk/dir || exit 3
            done
            git-sluice verify disk/dir && test \"$(ls disk/dir)\" = small";
        let small = repo.git(["rev-list", "--max-parents=0", "HEAD"]);
        let script = format!("unshare -rm sh -c 'small={small}; {script}'");
        let output = repo.shell(&script);
        if output.code() == 77 || output.messages().starts_with("unshare") {
            return skip("file systems cannot be mounted here");
        }
        assert_eq!(output.code(), 0, "{name} {output}");
        repo.script(&format!("rm {name}*"));
    }
}
