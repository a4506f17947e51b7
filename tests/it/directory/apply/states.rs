//! What a directory says that it holds, and which archives it takes.

use std::{fs, thread, time::Duration};

use super::archive::{Archive, Tree, delta, file, id, tree};
use super::{FROM, TO, Target, applying};

fn small() -> (Tree, Tree, Vec<u8>) {
    let [base, target] = [tree([("a", file("old\n"))]), tree([("b", file("new\n"))])];
    let archive = delta([FROM, TO], [&base, &target]);
    (base, target, archive)
}

#[test]
fn a_delta_goes_over_its_base_only() {
    let (base, target, archive) = small();
    let other = id('c');
    for (state, words) in [
        (
            format!("holds {other}"),
            format!("the directory holds {other}, the archive needs {FROM}"),
        ),
        (
            applying(FROM, &other),
            format!("is between {FROM} and {other}"),
        ),
        (applying(&other, TO), format!("is between {other} and {TO}")),
        (applying("-", TO), format!("has a part of {TO}")),
        (
            "holds HEAD\n".into(),
            "'dir/.git-sluice' does not name the commit that the directory holds".into(),
        ),
    ] {
        let directory = Target::holding(FROM, &base);
        directory.set_state(&state);
        directory.assert_not_applied(&directory.apply(&archive), &words, &state);
        directory.set_state(&format!("holds {FROM}"));
        directory.assert_brings(&archive, TO, &target);
    }
}

#[test]
fn what_is_there_already_is_not_done_again() {
    let (base, target, archive) = small();
    let directory = Target::holding(TO, &target);
    directory.assert_brings(&archive, TO, &target);
    // It is read to its end all the same, for the sake of who writes it.
    let script = "(cat archive && head -c 1000000 /dev/zero && echo ok >&2) | git-sluice apply dir";
    directory.repo.write("archive", &archive);
    assert_eq!(directory.repo.shell(script).messages(), "ok\n");
    fs::remove_file(directory.repo.path().join("archive")).expect("our own");

    let full = Archive::full(TO).file("b", "new\n").end();
    directory.assert_brings(&full, TO, &target);
    let back = delta([TO, FROM], [&target, &base]);
    directory.assert_brings(&back, FROM, &base);
}

#[test]
fn a_directory_that_says_nothing() {
    let (base, _, archive) = small();
    let directory = Target::holding(FROM, &base);
    directory.forget();
    let output = directory.apply(&archive);
    directory.assert_not_applied(&output, "the directory has no file '.git-sluice'", "");
    assert!(
        output
            .messages()
            .contains("write 'holds <commit>' into the file '.git-sluice'")
    );
    let directory = Target::empty();
    let output = directory.apply(&archive);
    directory.assert_not_applied(
        &output,
        &format!("the directory is empty, the archive needs {FROM}"),
        "",
    );
}

/// What the help says is not checked is not checked.
#[test]
fn changed_files_go_unnoticed() {
    let base = tree([
        ("kept", file("base\n")),
        ("replaced", file("base\n")),
        ("deleted", file("base\n")),
    ]);
    let target = tree([("kept", file("base\n")), ("replaced", file("target\n"))]);
    let directory = Target::holding(FROM, &base);
    for name in ["kept", "replaced", "deleted", "added"] {
        directory.repo.write(format!("dir/{name}"), "changed\n");
    }
    let archive = delta([FROM, TO], [&base, &target]);
    let _ = directory.apply(&archive).success();
    let there = tree([
        ("kept", file("changed\n")),
        ("replaced", file("target\n")),
        ("added", file("changed\n")),
    ]);
    directory.assert_holds(TO, &there);

    let help = directory.repo.sluice(["apply", "--help"]).success();
    let help = String::from_utf8(help).expect("text");
    let help: Vec<&str> = help.split_whitespace().collect();
    let help = help.join(" ");
    for sentence in [
        "The file .git-sluice in the directory records which commit the directory holds.",
        "The command checks that this commit is the base of the archive, and checks the names in the archive and its end.",
        "It does not read the files in the directory: a file that was changed there stays changed unless the archive \
         writes or deletes it.",
    ] {
        assert!(help.contains(sentence), "{help}");
    }
}

#[test]
fn a_full_archive_goes_into_an_empty_directory() {
    let full = Archive::full(TO).file("b", "new\n").end();
    let target = tree([("b", file("new\n"))]);
    let refused = "the archive is a full one, and the directory is not empty";
    for state in [
        None,
        Some(format!("holds {FROM}\n")),
        Some(applying(FROM, TO)),
        Some(applying("-", FROM)),
    ] {
        let directory = Target::holding(FROM, &tree([("c", file(""))]));
        match &state {
            Some(state) => directory.set_state(state),
            None => directory.forget(),
        }
        directory.assert_not_applied(&directory.apply(&full), refused, &directory.state());
        assert_eq!(directory.state(), state.unwrap_or_default());
        fs::remove_file(directory.directory().join("c")).expect("our own");
        directory.assert_brings(&full, TO, &target);
    }
    // One that is not there is made, but not for a delta.
    let directory = Target::empty();
    fs::remove_dir(directory.directory()).expect("our own");
    let output = directory.apply(&small().2);
    directory.assert_not_applied(&output, "cannot open directory 'dir': No such file", "");
    directory.assert_brings(&full, TO, &target);
}

#[test]
fn a_full_archive_has_to_say_its_commit() {
    let directory = Target::empty();
    let without = Archive(Vec::new()).file("a", "").end();
    let output = directory.apply(&without);
    directory.assert_not_applied(&output, "does not say which commit it holds", "");
}

#[test]
fn archives_of_other_programs() {
    let begun = |begin: &[u8]| [begin, &[0; 2000]].concat();
    let [gnu] = [Archive::full(&id('a')).file("a", "x")].map(|archive| {
        let offset = archive.0.len() - 1024;
        archive.amend(offset, |header| {
            header[257..265].copy_from_slice(b"ustar  \0")
        })
    });
    for (archive, words) in [
        (begun(b"PK\x03\x04"), "cannot read the archive: it is a zip"),
        (
            begun(b"\xfd7zXZ\0"),
            "cannot read the archive: it is compressed with xz",
        ),
        (
            begun(b"BZh9"),
            "cannot read the archive: it is compressed with bzip2",
        ),
        (
            gnu.end(),
            "it is in the format of GNU tar, and git writes that of POSIX",
        ),
        (b"404: Not Found\n".to_vec(), "this is no archive"),
        (b"<!DOCTYPE html>".repeat(99), "this is no archive"),
    ] {
        let directory = Target::empty();
        directory.assert_not_applied(&directory.apply(&archive), words, "");
    }
}

#[test]
#[ignore = "slow"]
fn one_at_a_time() {
    let (base, _, archive) = small();
    let directory = Target::holding(FROM, &base);
    let handle = fs::File::open(directory.directory()).expect("our own");
    handle.lock().expect("nobody else has it");
    let output = directory.apply(&archive);
    directory.assert_not_applied(
        &output,
        "another archive is being applied",
        &format!("holds {FROM}\n"),
    );
    // Closing it is not enough: a process that another test starts at this moment holds a copy.
    handle.unlock().expect("our own");
    let _ = directory.apply(&archive).success();
    assert_eq!(directory.state(), format!("holds {TO}\n"));
}

#[test]
fn an_error_says_where() {
    let (base, _, archive) = small();
    let directory = Target::holding(FROM, &base);
    fs::create_dir(directory.directory().join(".git-sluice.new")).expect("our own");
    directory.assert_not_applied(
        &directory.apply(&archive),
        "cannot read or write 'dir/.git-sluice.new': Is a directory",
        &format!("holds {FROM}\n"),
    );
}

/// The other one was killed, and ends soon.
#[test]
fn one_after_the_other() {
    let (base, _, archive) = small();
    let directory = Target::holding(FROM, &base);
    let handle = fs::File::open(directory.directory()).expect("our own");
    handle.lock().expect("nobody else has it");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            handle.unlock().expect("our own");
        });
        let _ = directory.apply(&archive).success();
    });
    assert_eq!(directory.state(), format!("holds {TO}\n"));
}

/// A machine of a fleet has no repository and perhaps no git. A mistake in its configuration stops an archive, and no
/// application.
#[test]
fn neither_git_nor_its_configuration_is_needed() {
    let Target { repo } = Target::empty();
    let nowhere = repo.path().join("missing");
    let repo = repo.env("PATH", nowhere);
    let target = Target {
        repo: repo.env("GIT_CONFIG_PARAMETERS", "'tar.x.command'"),
    };
    let tree = tree([("a", file("new\n"))]);
    let archive = Archive::of_tree(TO, &tree);
    target.assert_brings(&archive, TO, &tree);
    assert_eq!(target.repo.sluice(["HEAD"]).code(), 128);
}
