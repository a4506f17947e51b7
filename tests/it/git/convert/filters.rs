//! Filters: a command a file, and processes that are asked for file after file.

use std::fs;
use std::time::SystemTime;

use super::{assert_same_failure, commit_files, repo};
use crate::support::process::{Output, run};
use crate::support::tar_listing;
use crate::support::{Repo, binary, cases, installed, without_clock};

const FILTERED: [(&str, &[u8]); 4] = [
    ("a", b"one\n"),
    ("it's !odd", b"two\n"),
    ("plain", b"three\n"),
    ("sub/a", b"four\n"),
];
const ATTRIBUTES: &str = "a filter=f\nit* filter=f\n";

#[test]
#[ignore = "slow"]
fn smudge_commands() {
    let repo = repo(ATTRIBUTES, &FILTERED);
    for command in [
        "tr a-z A-Z",
        "rev",
        "cat",
        "",
        "echo %f %%f %x 100%",
        "printf '%%s|' %f; cat",
        "exit 0",
        "head -c 1",
        // what fails
        "cat; exit 3",
        "false",
        "kill -9 $$",
        "kill -13 $$",
        "no-such-command",
        "no-such command",
        "/dev/null",
        "exit 7 # %f",
    ] {
        let setting = format!("filter.f.smudge={command}");
        let repo = repo.clone().with(["-c", &setting]);
        repo.assert_same(["-v", "--prefix=p/", "HEAD"]);
        repo.assert_same(["HEAD^{tree}"]);
        // Even one that is required is not asked for what is streamed.
        let required = repo.with(["-c", "filter.f.required"]);
        required
            .clone()
            .with(["-c", "core.bigFileThreshold=1"])
            .assert_same(["HEAD"]);
        if required.archive(["HEAD"]).status.success() {
            required.assert_same(["-v", "HEAD"]);
        } else {
            assert_same_failure(&required, &["-v", "HEAD"]);
        }
    }
}

/// Neither side waits for the other, whatever it does first.
#[test]
fn smudge_commands_and_large_files() {
    let large = b"0123456789abcde\n".repeat(1 << 16);
    let repo = repo("* filter=f\n", &[("a", b"small\n"), ("large", &large)]);
    for command in
        cases("cat | head -c 100000 | head -c 5 | exit 0 | cat; cat /dev/null | seq 100000; cat")
    {
        let setting = format!("filter.f.smudge={command}");
        repo.clone().with(["-c", &setting]).assert_same(["HEAD"]);
    }
}

/// What is set in the environment of a filter, and where it runs.
#[test]
fn surroundings() {
    let command = "filter.f.smudge=pwd; echo prefix=$GIT_PREFIX";
    let files: [(&str, &[u8]); 2] = [("a", b""), ("sub/a", b"")];
    let repo = repo("a filter=f\n", &files);
    fs::create_dir(repo.path().join("sub")).expect("our own");
    let repo = repo.with(["-c", command]);
    repo.assert_same(["HEAD"]);
    repo.clone().at(".git").assert_same(["HEAD"]);
    repo.clone().at(".git/refs").assert_same(["HEAD"]);
    let sub = repo.clone().at("sub").sluice(["HEAD"]).success();
    let expected = format!("{}\nprefix=sub/\n", repo.path().display());
    let records = tar_listing::records(&sub);
    let contents: Vec<_> = records.iter().map(|record| record.data.to_vec()).collect();
    assert!(contents.contains(&expected.into_bytes()));
    let outside = Repo::scratch().env("GIT_DIR", repo.path().join(".git"));
    outside.with(["-c", command]).assert_same(["HEAD"]);
}

/// git's own programs come first, and a relative `GIT_DIR` leads to the same repository from where the command runs.
#[test]
fn programs_and_repository_of_commands() {
    let files: [(&str, &[u8]); 2] = [("a", b"text\n"), ("sub/a", b"text\n")];
    let repo = repo("a filter=f\n", &files);
    let script = "mkdir .git/own && printf '#!/bin/sh\ncat; echo own\n' >.git/own/git-hash-object && chmod +x .git/own/*";
    let _ = repo.shell(script).success();
    let programs = repo.path().join(".git/own");
    for command in [
        "git-hash-object --stdin",
        "cat >/dev/null; echo $PATH; echo $GIT_EXEC_PATH",
        "git-hash-object --stdin; git rev-parse --git-dir",
    ] {
        for key in ["filter.f.smudge", "tar.foo.command"] {
            repo.git(["config", key, command]);
            let words = if key.starts_with("tar") {
                &["--format=foo", "HEAD"][..]
            } else {
                &["HEAD"]
            };
            for repo in [
                repo.clone(),
                repo.clone().env("GIT_EXEC_PATH", &programs),
                repo.clone().env("GIT_DIR", ".git"),
            ] {
                // git would put its programs first for `git sluice`.
                let ours = run(repo.command(binary()).args(words)).success();
                assert!(ours == repo.archive(words).success(), "{key}: {command}");
            }
            repo.git(["config", "--unset", key]);
        }
    }
    fs::create_dir(repo.path().join("sub")).expect("our own");
    let sub = repo.clone().at("sub").env("GIT_DIR", "../.git");
    let sub = sub.env("GIT_WORK_TREE", "..");
    let setting = "filter.f.smudge=git rev-parse --git-dir";
    let sent = sub.with(["-c", setting]).sluice(["HEAD"]).success();
    let expected = format!("{}/.git\n", repo.path().display());
    let records = tar_listing::records(&sent);
    let is_it = |record: &tar_listing::Record<'_>| record.data == expected.as_bytes();
    assert!(records.iter().any(is_it));
}

/// A filter process that writes down what it is sent, and does to each file what its name says.
const PROCESS: &str = r#"
import os, sys
log = open(sys.argv[1], "ab", buffering=0)
source, sink = sys.stdin.buffer, sys.stdout.buffer

def packets():
    found = []
    while True:
        header = source.read(4)
        if len(header) < 4:
            sys.exit(0)
        length = int(header, 16)
        content = source.read(length - 4) if length else b""
        log.write(header + b" " + content[:200].rstrip(b"\n") + b"\n")
        if not length:
            return found
        found.append(content)

def send(*packets):
    for packet in packets:
        sink.write(b"%04x" % (len(packet) + 4) + packet)
    sink.write(b"0000")
    sink.flush()

log.write(b"start\n")
packets()
send(b"git-filter-server\n", b"version=2\n")
packets()
send(b"capability=smudge\n", b"capability=clean\n")
while True:
    headers = dict(header.rstrip(b"\n").split(b"=", 1) for header in packets())
    content = b"".join(packets())
    name = headers[b"pathname"]
    if b"error" in name:
        send(b"status=error\n")
    elif b"abort" in name:
        send(b"status=abort\n")
    elif b"odd" in name:
        send(b"status=what\n")
    elif b"gone" in name:
        sys.exit(1)
    elif b"late" in name:
        send(b"status=success\n")
        send(content)
        send(b"status=error\n")
    else:
        send(b"status=success\n")
        upper = content.upper()
        send(*[upper[at:at + 65516] for at in range(0, len(upper), 65516)])
        send(b"status=success\n") if b"again" in name else send()
"#;

/// Both get the same answers, for they ask the same questions.
#[track_caller]
fn assert_same_questions(repo: &Repo, args: &[&str]) {
    assert_same_questions_on(&["1", "2", "8"], repo, args);
}

/// The same with each of these numbers of `threads`.
fn assert_same_questions_on(threads: &[&str], repo: &Repo, args: &[&str]) {
    let start = SystemTime::now();
    let ask = |name: &str, threads: Option<&str>| {
        let command = format!(
            "python3 '{}/../process.py' ../{name}",
            repo.path().display()
        );
        let repo = repo
            .clone()
            .with(["-c", &format!("filter.f.process={command}")]);
        let output = match threads {
            None => repo.archive(args),
            Some(threads) => repo.sluice([&["--threads", threads], args].concat()),
        };
        let log = repo.path().join("..").join(name);
        let questions = fs::read_to_string(&log).expect("it was started");
        fs::remove_file(&log).expect("our own");
        let messages = output.messages().replace(name, "LOG");
        let archive = without_clock(&output.stdout, start);
        (questions, messages, output.code(), archive)
    };
    let expected = ask("theirs", None);
    assert!(expected.0.starts_with("start\n"), "{}", expected.0);
    for threads in threads {
        let actual = ask("ours", Some(threads));
        assert_eq!(actual.0, expected.0);
        assert_eq!((&actual.1, actual.2), (&expected.1, expected.2));
        assert!(
            actual.3 == expected.3,
            "another archive with {threads} threads"
        );
    }
}

fn repo_with_process(files: &[(&str, &[u8])]) -> Option<Repo> {
    if !installed("python3") {
        return None;
    }
    let repo = Repo::scratch();
    repo.write("process.py", PROCESS);
    fs::create_dir(repo.path().join("repo")).expect("our own");
    let repo = repo.at("repo");
    repo.git(["init", "-q", "-b", "main"]);
    commit_files(&repo, "* filter=f\n.gitattributes -filter\n", files);
    Some(repo)
}

#[test]
#[ignore = "slow"]
fn filter_processes() {
    let large = b"0123456789abcde\n".repeat(1 << 15);
    let files: [(&str, &[u8]); 9] = [
        ("a", b"one\n"),
        ("b-error", b"two\n"),
        ("c-odd", b"three\n"),
        ("d-again", b"four\n"),
        ("e-late", b"five\n"),
        ("f", b""),
        ("g", &large),
        ("h-abort", b"eight\n"),
        ("i", b"nine\n"),
    ];
    let Some(repo) = repo_with_process(&files) else {
        return;
    };
    assert_same_questions(&repo, &["-v", "--prefix=p/", "HEAD"]);
    assert_same_questions(&repo, &["HEAD^{tree}"]);
    assert_same_questions(&repo, &["HEAD", "a", "f", "g"]);
}

#[test]
#[ignore = "slow"]
fn refs_told_to_filter_processes() {
    let Some(repo) = repo_with_process(&[("a", b"one\n"), ("sub/a", b"two\n")]) else {
        return;
    };
    let commit = repo.git(["rev-parse", "HEAD"]);
    for reference in cases(
        "refs/tags/both | refs/heads/both | refs/heads/dir/branch | refs/remotes/o/main | refs/odd",
    ) {
        repo.git(["update-ref", reference, "HEAD"]);
    }
    repo.git(["symbolic-ref", "refs/remotes/o/HEAD", "refs/remotes/o/main"]);
    repo.git(["tag", "-am", "annotated", "tag"]);
    repo.git(["tag", "tree", "HEAD^{tree}"]);
    repo.git(["config", "branch.main.remote", "."]);
    repo.git(["config", "branch.main.merge", "refs/heads/dir/branch"]);
    for name in [
        "HEAD",
        "@",
        "main",
        "both",
        "heads/both",
        "dir/branch",
        "o",
        "o/main",
        "odd",
        "refs/odd",
        "tag",
        "tree",
        "main@{u}",
        "@{upstream}",
        "main@{u}~0",
        "main@{0}",
        "HEAD~0",
        "main:",
        "tag^{}",
        "tag^{tree}",
        &commit,
        &commit[..12],
    ] {
        assert_same_questions_on(&["2"], &repo, &[name]);
    }
    repo.git(["checkout", "-q", "--detach"]);
    for name in ["HEAD", "@"] {
        assert_same_questions_on(&["2"], &repo, &[name]);
    }
}

/// A server tells a filter of the ref that it requires of its clients, even if they ask for a path in its tree.
#[test]
fn refs_told_by_a_server() {
    let Some(repo) = repo_with_process(&[("a", b"one\n")]) else {
        return;
    };
    repo.git(["update-ref", "refs/heads/dir/branch", "HEAD"]);
    let log = repo.path().join("../log");
    let process = repo.path().join("../process.py");
    let command = format!("python3 '{}' '{}'", process.display(), log.display());
    repo.git(["config", "filter.f.process", &command]);
    for name in ["HEAD", "HEAD:", "main:", "dir/branch:", "main@{u}:"] {
        repo.git(["config", "branch.main.remote", "."]);
        repo.git(["config", "branch.main.merge", "refs/heads/dir/branch"]);
        let args = ["--remote=.", name];
        let questions = |output: Output| {
            let _ = output.success();
            let questions = fs::read_to_string(&log).expect("it was started");
            fs::remove_file(&log).expect("our own");
            questions
        };
        let expected = questions(repo.archive(args));
        assert!(expected.contains("ref=refs/heads/"), "{expected}");
        assert_eq!(questions(repo.served(args)), expected, "{name}");
    }
}

/// Replaced content is filtered under the id that the tree has.
#[test]
fn filter_processes_and_replacements() {
    let Some(repo) = repo_with_process(&[("a", b"one\n"), ("b", b"two\n")]) else {
        return;
    };
    repo.git(["replace", "HEAD:a", "HEAD:b"]);
    assert_same_questions(&repo, &["HEAD"]);
}

/// What does not speak the protocol.
#[test]
fn broken_filter_processes() {
    let repo = repo(
        "* filter=f\n.gitattributes -filter\n",
        &[("a", b"one\n"), ("b", b"two\n")],
    );
    let hello = r"printf '0016git-filter-server\n000eversion=2\n0000'; cat >/dev/null";
    let welcome = r"printf '0016git-filter-server\n000eversion=2\n00000016capability=smudge\n0000'";
    for command in [
        "no-such-command".into(),
        r"printf '0008what'; cat >/dev/null".into(),
        r"printf '0000'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n0008what'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n000eversion=3\n0000'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n000eversion=2\n0008what'; cat >/dev/null".into(),
        hello.replace("cat", "printf '00000000'; cat"),
        hello.replace("cat", r"printf '0015capability=clean\n0000'; cat"),
        hello.replace("cat", r"printf '0013capability=foo\n0000'; cat"),
        hello.replace("cat", "printf 'zzzz'; cat"),
        hello.replace("cat", "printf '0003'; cat"),
        format!("{welcome}; printf '0013status=success\\nzzzz'; cat >/dev/null"),
        format!("{welcome}; printf '0000'; cat >/dev/null"),
        format!("{welcome}; exec 1>&-; cat >/dev/null"),
    ] {
        let repo = repo
            .clone()
            .with(["-c", &format!("filter.f.process={command}")]);
        let expected = repo.archive(["-v", "HEAD"]);
        if expected.status.success() {
            repo.assert_same(["-v", "HEAD"]);
        } else {
            assert_same_failure(&repo, &["-v", "HEAD"]);
        }
        assert_same_failure(&repo.with(["-c", "filter.f.required"]), &["HEAD"]);
    }
    let unused = ["-c", "filter.f.process=", "-c", "filter.f.smudge=rev"];
    repo.with(unused).assert_same(["HEAD"]);
}

// --- export-subst ---

/// In the words of the newest git: one that is looked for is not found, one whose place is told is not run.
#[test]
fn filters_that_are_not_there() {
    let repo = repo(ATTRIBUTES, &FILTERED);
    let missing = repo.path().join("missing").display().to_string();
    for (command, told) in [
        ("no-such-command", "error: cannot run no-such-command"),
        (&missing[..], &format!("fatal: cannot exec '{missing}'")[..]),
    ] {
        let setting = format!("filter.f.smudge={command}");
        let output = repo.clone().with(["-c", &setting]).sluice(["HEAD", "a"]);
        let expected = format!(
            "{told}: No such file or directory\n\
             error: cannot fork to run external filter '{command}'\n\
             error: external filter '{command}' failed\n"
        );
        assert_eq!((output.code(), output.messages()), (0, expected));
    }
}
