//! The clients under `examples`, as they stand there.

use std::{ffi::OsString, fs, io, path::Path, process::Command};

use super::repositories_in;
use crate::{
    support::process::run_with_input,
    support::{BUILT, Repo, go_environment, installed, skip},
};

/// The clients under `examples` ask for deltas with manifests, and for the whole where there is no base. A failure is
/// their exit status, and no file of it is left.
#[track_caller]
fn check_client(start: impl Fn(&Repo, &Path) -> Command) {
    let place = Repo::scratch();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    check_usage(
        &mut start(&place, &examples),
        "<base> <revision> <repository>...",
    );
    let repos = repositories_in(&place);
    repos[0].git(["tag", "old"]);
    repos[0].write("more", "more");
    repos[0].commit(".", "more");
    let mut client = start(&place, &examples);
    let output = run_with_input(client.args(["old", "HEAD", "one", "none", "two"]), b"");
    let told = (output.code(), String::from_utf8_lossy(&output.stdout));
    assert_eq!(told, (1, "one 0\nnone 128\ntwo 0\n".into()), "{output}");
    let names = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let left = fs::read_dir(place.path()).unwrap().map(names);
    let is_of_none = |name: &OsString| name.as_encoded_bytes().starts_with(b"none");
    assert_eq!(left.filter(is_of_none).count(), 0, "{output}");
    let written = |name: &str| fs::read(place.path().join(name)).unwrap();
    let delta = repos[0].sluice(["--base=old", "HEAD"]).success();
    assert!(written("one.tar") == delta);
    assert!(written("two.tar") == repos[1].archive(["HEAD"]).success());
    for manifest in ["one.jsonl", "two.jsonl"] {
        assert!(written(manifest).ends_with(b"{\"end\":true,\"entries\":1}\n"));
    }
}

/// Without words, a program says which it takes.
#[track_caller]
fn check_usage(program: &mut Command, usage: &str) {
    let output = run_with_input(program, b"");
    assert!(output.code() != 0 && output.stdout.is_empty(), "{output}");
    let messages = output.messages();
    assert!(messages.contains(usage), "{output}");
    assert!(
        !messages.contains("Traceback") && !messages.contains("goroutine"),
        "{output}"
    );
}

#[test]
fn programs_in_python_without_words() {
    if !installed("python3") {
        return;
    }
    let place = Repo::scratch();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for (name, usage) in [
        (
            "archive_server.py",
            "<repository> <directory of shared archives> [<port>]",
        ),
        ("full_text_index.py", "<database> <words> <repository>..."),
    ] {
        check_usage(
            place.command("python3").arg("-B").arg(examples.join(name)),
            usage,
        );
    }
}

#[test]
fn a_client_in_python() {
    if installed("python3") {
        check_client(|place, examples| {
            let mut python = place.command("python3");
            python.arg(examples.join("batch_client.py"));
            python
        });
    }
}

#[test]
fn a_client_in_go() {
    if installed("go") {
        check_client(|place, examples| {
            let mut go = place.command("go");
            go.envs(go_environment())
                .arg("run")
                .arg(examples.join("batch_client.go"));
            go
        });
    }
}

#[test]
fn a_client_in_rust() {
    let beside = Path::new(BUILT).with_file_name("examples/batch_client");
    if beside.exists() {
        check_client(|place, _| place.command(&beside))
    } else {
        skip("the examples are not built: a test of all targets builds them")
    }
}
