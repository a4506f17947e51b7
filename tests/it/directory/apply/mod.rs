//! `apply`: what a directory holds after an archive was applied to it, and what is refused.
//!
//! Archives come from `archive.rs`, which is the writing side as these tests understand it. Each test
//! has a temporary directory with two things in it: `dir`, which archives are applied to, and
//! `outside`, which nothing may ever change.

mod again;
pub(crate) mod archive;
mod deltas;
mod hostile;
mod interrupted;
mod options;
mod states;
mod user_files;
mod verified;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::support::process::{Output, run, run_with_input};
use crate::support::{Repo, binary, installed, skip};
use archive::{Archive, Node, Tree, build, found, with_directories};

/// A directory that archives are applied to, and what is around it.
struct Target {
    repo: Repo,
}

impl Target {
    /// Nothing in it, not even a state.
    fn empty() -> Target {
        let repo = Repo::scratch();
        fs::create_dir(repo.path().join("dir")).expect("our own");
        fs::create_dir(repo.path().join("outside")).expect("our own");
        repo.write("outside/file", "untouched\n");
        Target { repo }
    }

    /// The tree of a base.
    fn holding(base: &str, tree: &Tree) -> Target {
        let target = Target::empty();
        build(tree, &target.directory());
        target.set_state(&format!("holds {base}\n"));
        target
    }

    fn directory(&self) -> PathBuf {
        self.repo.path().join("dir")
    }

    fn set_state(&self, state: &str) {
        self.repo.write("dir/.git-sluice", state);
    }

    /// Without a state.
    fn forget(&self) {
        fs::remove_file(self.directory().join(".git-sluice")).expect("it had one");
    }

    fn state(&self) -> String {
        fs::read_to_string(self.directory().join(".git-sluice")).unwrap_or_default()
    }

    /// Without what it says of channels and filters.
    fn state_of_commits(&self) -> String {
        let state = self.state();
        let words = state.split_whitespace().filter(|word| word.len() < 64);
        let words: Vec<_> = words.collect();
        format!("{}\n", words.join(" "))
    }

    #[track_caller]
    fn apply(&self, archive: &[u8]) -> Output {
        self.apply_with(&[], archive)
    }

    #[track_caller]
    fn apply_with(&self, options: &[&str], archive: &[u8]) -> Output {
        let mut command = self.repo.command(binary());
        run_with_input(command.args(["apply", "dir"]).args(options), archive)
    }

    #[track_caller]
    fn apply_without_rights(&self, archive: &[u8]) -> Output {
        self.run_without_rights(&["apply", "dir"], archive)
    }

    /// Runs git-sluice as somebody who may not do much, if there is somebody to be.
    #[track_caller]
    fn run_without_rights(&self, arguments: &[&str], input: &[u8]) -> Output {
        let words = [&NOBODY[..], &[binary()], arguments].concat();
        if !NOBODY.is_empty() {
            let _ = self.repo.shell("chown -R 65534:65534 .").success();
        }
        run_with_input(self.repo.command(words[0]).args(&words[1..]), input)
    }

    /// It holds this tree, and says so.
    #[track_caller]
    fn assert_holds(&self, commit: &str, tree: &Tree) {
        assert_eq!(self.state_of_commits(), format!("holds {commit}\n"));
        let (found, expected) = (found(&self.directory()), with_directories(tree));
        assert!(
            found == expected,
            "is        {found:?}\nshould be {expected:?}"
        );
        self.assert_nothing_outside();
    }

    /// The same, and it has a list of the tree.
    #[track_caller]
    fn assert_holds_soundly(&self, commit: &str, tree: &Tree) {
        self.assert_holds(commit, tree);
        self.assert_sound();
    }

    /// The archive is applied, and the directory then holds this tree.
    #[track_caller]
    fn assert_brings(&self, archive: &[u8], commit: &str, tree: &Tree) {
        let _ = self.apply(archive).success();
        self.assert_holds(commit, tree);
    }

    /// The same, and the directory has a list of the tree.
    #[track_caller]
    fn assert_brings_soundly(&self, archive: &[u8], commit: &str, tree: &Tree) {
        self.assert_brings(archive, commit, tree);
        self.assert_sound();
    }

    /// Runs `script` in the directory.
    #[track_caller]
    fn script(&self, script: &str) {
        let _ = self.repo.shell(&format!("cd dir && {script}")).success();
    }

    /// The archive is refused with these words in the first line, or after it if it is damaged. This is the state.
    #[track_caller]
    fn assert_not_applied(&self, output: &Output, words: &str, state: &str) {
        let messages = output.messages();
        let first = messages.lines().next().unwrap_or_default();
        let damaged = messages.starts_with("fatal: the archive is damaged\ncaused by: ");
        let is_damage = damaged || first == "fatal: the archive is incomplete";
        let code = if is_damage { 11 } else { 128 };
        let said = if damaged { &messages } else { first };
        let refused = output.code() == code && said.starts_with("fatal: ") && said.contains(words);
        assert!(refused, "should say {words:?}\n{output}");
        assert_eq!(self.state(), state, "{output}");
        self.assert_nothing_outside();
    }

    #[track_caller]
    fn assert_nothing_outside(&self) {
        let beside = fs::read_dir(self.repo.path()).expect("our own");
        let mut beside = beside.map(|entry| entry.expect("our own").file_name());
        assert!(beside.all(|name| name == "dir" || name == "outside"));
        let outside = found(&self.repo.path().join("outside"));
        assert_eq!(
            outside,
            archive::tree([("file", archive::file("untouched\n"))])
        );
    }
}

/// The command to run another without the rights of root; empty if we are not root, or cannot be anybody
/// else.
static NOBODY: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    if !rustix::process::geteuid().is_root() || !installed(nobody[0]) {
        return Vec::new();
    }
    let mut command = Command::new(nobody[0]);
    let output = run(command.args(&nobody[1..]).args([binary(), "--version"]));
    if output.code() != 0 {
        skip("nobody may not run what is built here: hostile archives are applied by root");
        return Vec::new();
    }
    nobody.to_vec()
});

/// A directory into which an archive of this tree was applied.
fn laid_down(commit: &str, tree: &Tree) -> Target {
    let target = Target::empty();
    let _ = target.apply(&Archive::of_tree(commit, tree)).success();
    target
}

/// The base of most tests.
const FROM: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// The target of most tests.
const TO: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A hash of filters.
const FILTERS: &str = "feedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeed";

fn applying(from: &str, to: &str) -> String {
    format!("applying {from} {to}\n")
}

/// The exit status after an archive that was cut to `len` bytes: without a byte, it is no archive.
fn cut_status(len: usize) -> i32 {
    if len == 0 { 128 } else { 11 }
}
