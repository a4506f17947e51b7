//! Trees made to make whoever extracts their archive write where he did not mean to. What git
//! refuses we refuse, with git's words; what git lets pass and would escape we refuse as well.
//!
//! Extraction happens only below temporary directories.

use std::fs;

use crate::archive::readers;
use crate::support::forge;
use crate::support::process::run_with_input;
use crate::support::tar_listing;
use crate::support::{Repo, cases, git_version, installed};

/// git's refusal, in the words and with the status of a newer one.
#[track_caller]
fn assert_invalid_path(repo: &Repo, commit: &str, path: &str) {
    let tree = repo.git(["rev-parse", &format!("{commit}^{{tree}}")]);
    let messages =
        format!("error: invalid path '{path}'\nfatal: failed to unpack tree object {tree}\n");
    for threads in ["1", "8"] {
        repo.sluice(["-j", threads, commit])
            .assert_failure(128, &messages);
    }
    let theirs = repo.archive([commit]);
    assert!(
        theirs
            .messages()
            .starts_with(&format!("error: invalid path '{path}'\n")),
        "{theirs}"
    );
    if git_version() >= (2, 47) {
        repo.assert_same([commit]);
    }
}

#[test]
fn names_that_git_refuses() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content\n");
    let sub = forge::tree(&repo, &[("100644", b"f", &blob)]);
    let sub = forge::tree(&repo, &[("40000", b"d", &sub)]);
    for name in [
        ".",
        "..",
        ".git",
        ".GIT",
        ".Git",
        "git~1",
        "GIT~1",
        ".git ",
        ".git.",
        ".git...",
        ".git::$DATA",
        ".git\\x",
        "a/../../x",
        "../x",
        "/abs",
        "a//b",
        "a/",
        "a/.git/b",
        "./a",
    ] {
        let file = forge::commit(&repo, &[("100644", name.as_bytes(), &blob)]);
        assert_invalid_path(&repo, &file, name);
        let link = forge::commit(&repo, &[("120000", name.as_bytes(), &blob)]);
        assert_invalid_path(&repo, &link, name);
        let module = forge::commit(&repo, &[("160000", name.as_bytes(), &blob)]);
        assert_invalid_path(&repo, &module, name);
        let directory = forge::commit(&repo, &[("40000", name.as_bytes(), &sub)]);
        assert_invalid_path(&repo, &directory, &format!("{name}/d/f"));
    }
    for name in [".gitmodules", ".GITMODULES", "gitmod~1"] {
        let link = forge::commit(&repo, &[("120000", name.as_bytes(), &blob)]);
        assert_invalid_path(&repo, &link, name);
    }
}

/// However deep. What no pathspec leads to is not read, and so not refused as git would.
#[test]
fn one_bad_name_anywhere() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content\n");
    let bad = forge::tree(&repo, &[("100644", b"..", &blob)]);
    let deep = forge::tree(&repo, &[("100644", b"a", &blob), ("40000", b"bad", &bad)]);
    let commit = forge::commit(&repo, &[("100644", b"a", &blob), ("40000", b"deep", &deep)]);
    let tree = repo.git(["rev-parse", &format!("{commit}^{{tree}}")]);
    let messages =
        format!("error: invalid path 'deep/bad/..'\nfatal: failed to unpack tree object {tree}\n");
    for threads in ["1", "8"] {
        let output = repo.sluice(["-j", threads, &commit]);
        let said = (output.code(), output.messages());
        assert_eq!(said, (128, messages.clone()), "{output}");
        // Good names before it may have gone out.
        assert!(!tar_listing::is_complete(&output.stdout), "{output}");
        readers::assert_rejected(&output.stdout);
    }
    let elsewhere = repo.sluice([&commit, "a"]).success();
    assert_eq!(tar_listing::names(&elsewhere), ["a"]);
}

#[test]
fn names_that_the_configuration_refuses_or_allows() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content\n");
    for name in [
        ".git",
        "git~1",
        ".git.",
        ".g\u{200c}it",
        ".GIT\u{feff}",
        ".gi\u{200c}t ",
        ".git\u{ffff}x",
        "\\.git",
        "a\\.git",
        "con",
        "a:b",
        "a\\..\\b",
    ] {
        let commit = forge::commit(&repo, &[("100644", name.as_bytes(), &blob)]);
        for (ntfs, hfs) in [
            ("true", "true"),
            ("true", "false"),
            ("false", "true"),
            ("false", "false"),
        ] {
            let [ntfs, hfs] = [("core.protectNTFS", ntfs), ("core.protectHFS", hfs)]
                .map(|(key, on)| format!("{key}={on}"));
            let repo = repo.clone().with(["-c", &ntfs, "-c", &hfs]);
            let (ours, theirs) = (repo.sluice([&commit]), repo.archive([&commit]));
            assert_eq!(
                ours.code() == 0,
                theirs.code() == 0,
                "{name} {ntfs} {hfs}\n{ours}\n{theirs}"
            );
            assert_eq!(
                ours.messages().lines().next(),
                theirs.messages().lines().next(),
                "{name} {ntfs} {hfs}"
            );
        }
    }
}

#[test]
fn an_empty_name() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content\n");
    let commit = forge::commit(&repo, &[("100644", b"", &blob)]);
    let output = repo.sluice([&commit]);
    let messages = output.messages();
    assert_eq!(output.code(), 128, "{output}");
    assert!(
        messages.starts_with("fatal: empty filename in tree entry\n"),
        "{output}"
    );
    assert!(output.stdout.is_empty(), "{output}");
}

/// What looks dangerous and is not, on the systems that we run on: as git has it.
#[test]
fn names_that_pass() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content\n");
    let names = cases(
        "... | ..a | .gitx | .gitignore | .gitmodules | a\\b | ..\\x | git | C: | ~ | $HOME | * | a\nb",
    );
    for name in names {
        repo.assert_same([forge::commit(&repo, &[("100644", name.as_bytes(), &blob)])]);
    }
    // A name with a slash, which git cannot make, and writes as it is.
    repo.assert_same([forge::commit(&repo, &[("100644", b"a/b", &blob)])]);
    // Links may lead anywhere: it is the reader who must not follow them.
    for target in ["/etc/passwd", "../../outside", "."] {
        let target = forge::blob(&repo, target);
        repo.assert_same([forge::commit(&repo, &[("120000", b"link", &target)])]);
    }
}

const PYTHON_EXTRACT_TRUSTINGLY: &str = "
import sys, tarfile
with tarfile.open(fileobj=sys.stdin.buffer, mode='r|') as archive:
    archive.extraction_filter = staticmethod(lambda member, path: member)
    archive.extractall(sys.argv[1])
";

/// A link and, behind it, something to be written through it: even the most trusting reader must
/// stay inside.
#[test]
#[ignore = "slow"]
fn links_to_be_written_through() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "escaped\n");
    let target = forge::blob(&repo, "../outside");
    let sub = forge::tree(&repo, &[("100644", b"file", &blob)]);
    let link = ("120000", &b"a"[..], target.as_str());
    let cases = [
        // the same name twice: a link, and a directory that is then entered through it
        forge::commit(&repo, &[link, ("40000", b"a", &sub)]),
        forge::commit(
            &repo,
            &[link, ("100644", b"b", &blob), ("40000", b"a", &sub)],
        ),
        // names with slashes
        forge::commit(&repo, &[link, ("100644", b"a/file", &blob)]),
        forge::commit(&repo, &[link, ("100755", b"a/b/file", &blob)]),
        forge::commit(&repo, &[link, ("40000", b"a/b", &sub)]),
        forge::commit(
            &repo,
            &[("120000", b"x/a", &target), ("100644", b"x/a/file", &blob)],
        ),
        // a file over a link
        forge::commit(&repo, &[link, ("100644", b"a", &blob)]),
    ];
    for commit in cases {
        for threads in ["1", "8"] {
            let output = repo.sluice(["-j", threads, &commit]);
            assert_eq!(output.code(), 128, "{output}");
            assert!(!tar_listing::is_complete(&output.stdout), "{output}");
            readers::assert_rejected(&output.stdout);
            if installed("python3") {
                assert_stays_inside(&output.stdout);
            }
        }
    }
}

fn assert_stays_inside(archive: &[u8]) {
    let room = Repo::scratch();
    for directory in ["inside", "outside"] {
        fs::create_dir(room.path().join(directory)).expect("our own");
    }
    let mut python = room.command("python3");
    python
        .args(["-W", "ignore", "-c", PYTHON_EXTRACT_TRUSTINGLY])
        .arg(room.path().join("inside"));
    // It may well complain.
    let _ = run_with_input(&mut python, archive);
    let escaped = fs::read_dir(room.path().join("outside"))
        .expect("our own")
        .count();
    assert_eq!(escaped, 0, "something was written outside");
}
