//! What a directory says that it holds, and which archives it takes.

use std::{fs, thread, time::Duration};

use super::archive::{Archive, Tree, delta, file, id, tree};
use super::{Target, applying, ids};
use crate::support::skip;

fn small() -> (Tree, Tree, Vec<u8>) {
    let [from, to] = &ids();
    let [base, target] = [tree([("a", file("old\n"))]), tree([("b", file("new\n"))])];
    let archive = delta([from, to], [&base, &target]);
    (base, target, archive)
}

#[test]
fn a_delta_goes_over_its_base_only() {
    let [from, to] = &ids();
    let (base, target, archive) = small();
    let other = id('c');
    for (state, words) in [
        (
            format!("holds {other}"),
            format!("the directory holds {other}, the archive needs {from}"),
        ),
        (
            applying(from, &other),
            format!("is between {from} and {other}"),
        ),
        (applying(&other, to), format!("is between {other} and {to}")),
        (applying("-", to), format!("has a part of {to}")),
        (
            "holds HEAD\n".into(),
            "'dir/.git-sluice' does not name the commit that the directory holds".into(),
        ),
        (
            format!("holds {from}\nholds {to}\n"),
            "'dir/.git-sluice' does not name the commit that the directory holds".into(),
        ),
        (
            format!("holds {}", "A".repeat(40)),
            "'dir/.git-sluice' does not name the commit that the directory holds".into(),
        ),
        (
            "x".repeat(100_000),
            "'dir/.git-sluice' does not name the commit that the directory holds".into(),
        ),
    ] {
        let directory = Target::holding(from, &base);
        directory.set_state(&state);
        directory.assert_not_applied(&directory.apply(&archive), &words, &state);
        directory.set_state(&format!("holds {from}"));
        let _ = directory.apply(&archive).success();
        directory.assert_holds(to, &target);
    }
}

#[test]
fn what_is_there_already_is_not_done_again() {
    let [from, to] = &ids();
    let (base, target, archive) = small();
    let directory = Target::holding(to, &target);
    let _ = directory.apply(&archive).success();
    directory.assert_holds(to, &target);
    // It is read to its end all the same, for the sake of who writes it.
    let script = "(cat archive && head -c 1000000 /dev/zero && echo ok >&2) | git-sluice apply dir";
    directory.repo.write("archive", &archive);
    assert_eq!(directory.repo.shell(script).messages(), "ok\n");
    fs::remove_file(directory.repo.path().join("archive")).expect("our own");

    let full = Archive::full(to).file("b", "new\n").end();
    let _ = directory.apply(&full).success();
    directory.assert_holds(to, &target);
    let back = delta([to, from], [&target, &base]);
    let _ = directory.apply(&back).success();
    directory.assert_holds(from, &base);
}

#[test]
fn a_directory_that_says_nothing() {
    let [from, _] = &ids();
    let (base, _, archive) = small();
    let directory = Target::holding(from, &base);
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
        &format!("the directory is empty, the archive needs {from}"),
        "",
    );
}

/// The state is believed only where nobody else can have written it.
#[test]
fn a_state_of_doubtful_origin() {
    let [from, _] = &ids();
    let (base, _, archive) = small();
    let holds = format!("holds {from}\n");
    let mut cases = vec![
        ("mkdir dir/.git-sluice", "it is no regular file"),
        ("mkfifo dir/.git-sluice", "it is no regular file"),
        (
            "ln -s ../outside/file dir/.git-sluice",
            "it is a symbolic link",
        ),
        ("ln -s nowhere dir/.git-sluice", "it is a symbolic link"),
        (
            "cp state dir/.git-sluice && chmod 666 dir/.git-sluice",
            "everybody may write it",
        ),
    ];
    if rustix::process::geteuid().is_root() {
        let given = "cp state dir/.git-sluice && chown 65534 dir/.git-sluice";
        cases.push((given, "it belongs to another user"));
    } else {
        skip("only root can give a file away: a state of somebody else is not tried");
    }
    for (make, words) in cases {
        let directory = Target::holding(from, &base);
        directory.forget();
        directory.repo.write("state", &holds);
        let _ = directory
            .repo
            .shell(&format!("{make} && rm state"))
            .success();
        let output = directory.apply(&archive);
        let first = output.messages();
        let first = first.lines().next();
        let expected = format!("fatal: cannot trust 'dir/.git-sluice': {words}");
        assert_eq!(
            (output.code(), first),
            (128, Some(&expected[..])),
            "{output}"
        );
        // A pipe in the directory would block whoever reads all of it.
        let [a, b] = ["a", "b"].map(|name| fs::read(directory.directory().join(name)));
        assert!(a.is_ok_and(|a| a == b"old\n") && b.is_err(), "{output}");
        directory.assert_nothing_outside();
    }
}

/// What the help says is not checked is not checked.
#[test]
fn changed_files_go_unnoticed() {
    let [from, to] = &ids();
    let base = tree([
        ("kept", file("base\n")),
        ("replaced", file("base\n")),
        ("deleted", file("base\n")),
    ]);
    let target = tree([("kept", file("base\n")), ("replaced", file("target\n"))]);
    let directory = Target::holding(from, &base);
    for name in ["kept", "replaced", "deleted", "added"] {
        directory.repo.write(format!("dir/{name}"), "changed\n");
    }
    let archive = delta([from, to], [&base, &target]);
    let _ = directory.apply(&archive).success();
    let there = tree([
        ("kept", file("changed\n")),
        ("replaced", file("target\n")),
        ("added", file("changed\n")),
    ]);
    directory.assert_holds(to, &there);

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
    let [from, to] = &ids();
    let full = Archive::full(to).file("b", "new\n").end();
    let target = tree([("b", file("new\n"))]);
    let refused = "the archive is a full one, and the directory is not empty";
    for state in [
        None,
        Some(format!("holds {from}\n")),
        Some(applying(from, to)),
        Some(applying("-", from)),
    ] {
        let directory = Target::holding(from, &tree([("c", file(""))]));
        match &state {
            Some(state) => directory.set_state(state),
            None => directory.forget(),
        }
        directory.assert_not_applied(&directory.apply(&full), refused, &directory.state());
        assert_eq!(directory.state(), state.unwrap_or_default());
        fs::remove_file(directory.directory().join("c")).expect("our own");
        let _ = directory.apply(&full).success();
        directory.assert_holds(to, &target);
    }
    // One that is not there is made, but not for a delta.
    let directory = Target::empty();
    fs::remove_dir(directory.directory()).expect("our own");
    let output = directory.apply(&small().2);
    directory.assert_not_applied(&output, "cannot open directory 'dir': No such file", "");
    let _ = directory.apply(&full).success();
    directory.assert_holds(to, &target);
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
    let [from, to] = &ids();
    let directory = Target::holding(from, &base);
    let handle = fs::File::open(directory.directory()).expect("our own");
    handle.lock().expect("nobody else has it");
    let output = directory.apply(&archive);
    directory.assert_not_applied(
        &output,
        "another archive is being applied",
        &format!("holds {from}\n"),
    );
    // Closing it is not enough: a process that another test starts at this moment holds a copy.
    handle.unlock().expect("our own");
    let _ = directory.apply(&archive).success();
    assert_eq!(directory.state(), format!("holds {to}\n"));
}

#[test]
fn an_error_says_where() {
    let (base, _, archive) = small();
    let [from, _] = &ids();
    let directory = Target::holding(from, &base);
    fs::create_dir(directory.directory().join(".git-sluice.new")).expect("our own");
    directory.assert_not_applied(
        &directory.apply(&archive),
        "cannot read or write 'dir/.git-sluice.new': Is a directory",
        &format!("holds {from}\n"),
    );
}

/// The other one was killed, and ends soon.
#[test]
fn one_after_the_other() {
    let (base, _, archive) = small();
    let [from, to] = &ids();
    let directory = Target::holding(from, &base);
    let handle = fs::File::open(directory.directory()).expect("our own");
    handle.lock().expect("nobody else has it");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            handle.unlock().expect("our own");
        });
        let _ = directory.apply(&archive).success();
    });
    assert_eq!(directory.state(), format!("holds {to}\n"));
}

/// A machine of a fleet has no repository and perhaps no git. A mistake in its configuration stops an archive, and no
/// application.
#[test]
fn neither_git_nor_its_configuration_is_needed() {
    let [_, to] = &ids();
    let Target { repo } = Target::empty();
    let nowhere = repo.path().join("missing");
    let repo = repo.env("PATH", nowhere);
    let target = Target {
        repo: repo.env("GIT_CONFIG_PARAMETERS", "'tar.x.command'"),
    };
    let tree = tree([("a", file("new\n"))]);
    let archive = Archive::of_tree(to, &tree);
    let _ = target.apply(&archive).success();
    target.assert_holds(to, &tree);
    assert_eq!(target.repo.sluice(["HEAD"]).code(), 128);
}
