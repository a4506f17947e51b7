//! The archives that carry a delta, as others read them.

use std::{fs, io::Read as _};

use super::{History, apply, executable, file, files, link};
use crate::directory::apply::archive::found;
use crate::leftovers::temporary_directory;
use crate::support::process::run_with_input;
use crate::support::{gunzip, installed};
use crate::support::{tar_listing, zip};

const ENDS: [&str; 2] = ["old", "new"];

fn history() -> History {
    let old = files([
        ("a", file("1")),
        ("gone", file("1")),
        ("directory/b", file("1")),
        ("directory/c", file("1")),
        ("kept/d", file("1")),
        ("kept/e", executable("1")),
        ("turned", file("1")),
        ("back/f", file("1")),
        ("link", link("a")),
    ]);
    let new = files([
        ("a", file("2")),
        ("kept/d", executable("1")),
        ("turned/f", file("1")),
        ("back", file("1")),
        ("link", link("kept")),
        ("new/g", link("../a")),
    ]);
    History::new(&old, &new)
}

#[test]
fn all_tars_carry_the_same() {
    let history = history();
    let plain = history.delta(ENDS, &[]).success();
    let gzip = history.delta(ENDS, &["--format=tar.gz"]).success();
    assert!(gunzip(&gzip) == plain);
    let zstd = history.delta(ENDS, &["--format=tar.zst"]).success();
    assert!(zstd::decode_all(&zstd[..]).expect("sound") == plain);
    for format in ["tar.gz", "tar.zst"] {
        let format = format!("--format={format}");
        history.assert_delta(ENDS, &[&format]);
        history.assert_delta(["new", "old"], &[&format, "--prefix=p/"]);
    }
}

#[test]
fn a_zip_carries_no_deletions() {
    let history = history();
    let zip = history
        .delta(ENDS, &["--format=zip", "--deletions=none"])
        .success();
    let names = [
        "a", "back", "kept/", "kept/d", "link", "new/", "new/g", "turned/", "turned/f",
    ];
    assert_eq!(zip::names(&zip), names);
}

#[test]
fn deletions_that_are_left_to_the_manifest() {
    let history = history();
    let delta = history.delta(ENDS, &["--deletions=none"]).success();
    assert!(
        !tar_listing::names(&delta)
            .iter()
            .any(|name| name.contains("gone"))
    );
    let directory = history.base("old", &[]).lay_down();
    let before = found(directory.path());
    let mut command = history.repo.command(crate::support::binary());
    let output = run_with_input(command.arg("apply").arg(directory.path()), delta);
    assert_eq!(output.code(), 128, "{output}");
    assert!(
        output.messages().contains("does not list deleted files"),
        "{output}"
    );
    assert!(found(directory.path()) == before);
}

#[test]
fn nothing_changed() {
    let history = history();
    let delta = history.delta(["new", "new"], &[]).success();
    assert!(tar_listing::is_complete(&delta));
    let says = "GITSLUICE.deletions=pax\n";
    assert!(
        delta
            .windows(says.len())
            .any(|bytes| bytes == says.as_bytes())
    );
    let directory = history.base("new", &[]).lay_down();
    let before = found(directory.path());
    apply(directory.path(), &delta);
    assert!(found(directory.path()) == before);
    assert_eq!(history.assert_delta(["new", "new"], &[]), "");
    let output = history.delta(["new", "new"], &["--fail-if-empty"]);
    assert_eq!(output.code(), 4, "{output}");
}

/// What a reader extracts that knows nothing of deltas: what is new, and no more.
#[track_caller]
fn assert_reader(program: &str, args: &[&str]) {
    if !installed(program) {
        return;
    }
    let history = history();
    let delta = history.delta(ENDS, &[]).success();
    let directory = temporary_directory();
    let mut command = history.repo.command(program);
    command.args(args).current_dir(directory.path());
    let output = run_with_input(&mut command, delta);
    // GNU tar tells of records that it does not know, and skips them.
    let messages = output.messages();
    let unknown = |line: &str| line.contains("Ignoring unknown extended header keyword");
    assert!(messages.lines().all(unknown), "{output}");
    let _ = output.success();
    let mut expected = history.extracted(&[], "new");
    expected.retain(|path, _| path != b"kept/e");
    assert_eq!(found(directory.path()), expected);
}

#[test]
fn tar_reads_a_delta() {
    assert_reader("tar", &["--no-same-owner", "-xf-"]);
}

#[test]
fn bsdtar_reads_a_delta() {
    assert_reader("bsdtar", &["-xf-"]);
}

#[test]
fn python_reads_a_delta() {
    let script = "import io, sys, tarfile\n\
                  tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())).extractall('.')";
    assert_reader("python3", &["-W", "ignore", "-c", script]);
}

#[test]
fn the_tar_crate_reads_a_delta() {
    let history = history();
    let delta = history.delta(ENDS, &[]).success();
    let mut archive = tar::Archive::new(&delta[..]);
    let mut content = String::new();
    for entry in archive.entries().expect("it begins well") {
        let mut entry = entry.expect("well formed");
        if entry.path_bytes().as_ref() == b"a" {
            entry.read_to_string(&mut content).expect("it is whole");
        }
    }
    assert_eq!(content, "2");
}

/// The first header is git's own, as in any archive: who asks for the commit gets it.
#[test]
fn git_finds_the_commit() {
    let history = history();
    let delta = history.delta(ENDS, &[]).success();
    let commit = history.repo.git(["rev-parse", "new"]);
    let mut git = history.repo.command("git");
    let found = run_with_input(git.arg("get-tar-commit-id"), delta).success();
    assert_eq!(String::from_utf8_lossy(&found).trim_end(), commit);
}

/// Global headers of less than what readers take, and `apply` reads them all. So many files that only
/// some of them are laid down: what is gone already is deleted.
#[test]
#[ignore = "slow"]
fn very_many_deletions() {
    let path = |number: u32| format!("some-directory-{:03}/some-file-{number:06}", number / 500);
    let many = files((0..100_000).map(|number| (path(number), file(""))));
    let history = History::new(&many, &files([("a", file("1"))]));
    let delta = history.delta(ENDS, &[]).success();
    let globals = tar_listing::records(&delta);
    let globals = globals.iter().filter(|record| record.kind() == 'g');
    let longest = globals.map(|record| record.data.len()).max();
    assert!(longest.is_some_and(|len| len < 1 << 20), "{longest:?}");
    let directory = history.base("old", &["--", "*7777*"]).lay_down();
    // The list would tell that the base has other files.
    fs::remove_file(directory.path().join(".git-sluice.files")).expect("applied");
    apply(directory.path(), &delta);
    assert!(found(directory.path()) == history.extracted(&[], "new"));
}
