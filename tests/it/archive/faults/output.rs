//! Readers that go away, that are slow or odd, and devices that are full.

use std::io::{PipeWriter, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::process::{Output, Running};
use crate::support::{Repo, at_once, binary};

const SIGPIPE: i32 = 13;

#[track_caller]
fn assert_died_of_sigpipe(output: &Output) {
    assert_eq!(output.status.signal(), Some(SIGPIPE), "{output}");
    assert_eq!(output.messages(), "", "{output}");
}

#[test]
fn reader_goes_away() {
    for fixture in ["big", "big-delta", "wide"] {
        for threads in ["1", "2", "8"] {
            let mut run = Repo::from(fixture).start(["-j", threads, "--memory=8m", "HEAD"]);
            let mut beginning = [0; 1000];
            run.stdout().read_exact(&mut beginning).expect("it begins");
            assert_died_of_sigpipe(&run.hang_up());
        }
    }
}

#[test]
fn reader_was_never_there() {
    for fixture in ["basic", "wide"] {
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        drop(reader);
        let mut command = Repo::from(fixture).command(binary());
        let run = Running::start_between(Vec::new(), command.arg("HEAD"), writer.into());
        assert_died_of_sigpipe(&run.finish());
    }
}

/// Nothing was to be written yet, so nobody notices: as git.
#[test]
fn reader_goes_away_from_a_failure() {
    let output = Repo::from("basic").start(["nosuch"]).hang_up();
    output.assert_ends(128, "fatal: not a valid object name: nosuch\n");
}

/// A parent that ignores the signal does not make us a success, nor talkative.
#[test]
fn reader_goes_away_and_the_signal_is_ignored() {
    let repo = Repo::from("big");
    for threads in ["1", "8"] {
        let script = format!(
            "trap '' PIPE; \
             {{ git-sluice -j {threads} HEAD; echo $? >&2; }} | head -c 1000 >/dev/null"
        );
        assert_eq!(repo.shell(&script).messages(), "141\n");
    }
}

#[test]
fn full_device() {
    for (fixture, threads) in [("basic", "1"), ("basic", "8"), ("big", "1"), ("big", "8")] {
        let repo = Repo::from(fixture);
        let full = repo.shell(&format!("git-sluice -j {threads} HEAD >/dev/full"));
        full.assert_failure(128, "fatal: write error: No space left on device\n");
        let named = repo.sluice(["-j", threads, "-o", "/dev/full", "HEAD"]);
        named.assert_failure(128, "fatal: write error: No space left on device\n");
    }
}

/// git puts /dev/null where stdout should have been.
#[test]
fn closed_stdout() {
    for command in ["git archive", "git-sluice"] {
        let output = Repo::from("basic").shell(&format!("{command} HEAD >&-"));
        output.assert_ends(0, "");
    }
}

#[test]
fn closed_stderr_and_stdin() {
    let repo = Repo::from("basic");
    let expected = repo.archive(["HEAD"]).success();
    assert!(repo.shell("git-sluice -v HEAD 2>&- <&-").success() == expected);
    assert!(repo.shell("git-sluice -v HEAD 2>/dev/full").success() == expected);
}

/// What git and ours do with `args` when `stream` has no reader: both die of it, and say nothing.
#[track_caller]
fn assert_both_die_unread(repo: &Repo, args: &[&str], stream: fn(&mut Command, PipeWriter)) {
    for program in ["git", binary()] {
        let mut command = repo.command(program);
        if program == "git" {
            command.arg("archive");
        }
        command.args(args).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        drop(reader);
        stream(&mut command, writer);
        let status = command.status().expect("it can be started");
        assert_eq!(status.signal(), Some(SIGPIPE), "{program} {args:?}");
    }
}

#[test]
fn answers_that_nobody_reads() {
    let stdout = |command: &mut Command, writer: PipeWriter| {
        command.stdout(writer);
    };
    let repo = Repo::from("basic");
    assert_both_die_unread(&repo, &["--list"], stdout);
    assert_both_die_unread(&repo, &["-h"], stdout);
    let profile = ["help", "zoekt"];
    for options in [&["--help"][..], &["--version"], &profile] {
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        drop(reader);
        let mut command = repo.command(binary());
        let run = Running::start_between(Vec::new(), command.args(options), writer.into());
        assert_died_of_sigpipe(&run.finish());
    }
}

#[test]
fn messages_that_nobody_reads() {
    let stderr = |command: &mut Command, writer: PipeWriter| {
        command.stderr(writer);
    };
    let repo = Repo::copy("basic");
    for args in [
        &["nosuch"][..],
        &["--nosuch"],
        &["-v", "HEAD"],
        &["HEAD@{1000000000}"],
    ] {
        assert_both_die_unread(&repo, args, stderr);
    }
    // And what is half-written goes.
    let before = std::fs::read_dir(repo.path()).expect("our own").count();
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    let mut command = repo.command(binary());
    command.args(["-v", "-o", "out.tar", "HEAD"]).stderr(writer);
    let status = command.status().expect("it can be started");
    assert_eq!(status.signal(), Some(SIGPIPE));
    let after = std::fs::read_dir(repo.path()).expect("our own").count();
    assert_eq!(after, before);
}

/// A list may get lost, as git's; a profile may not.
#[test]
fn answers_to_a_full_device() {
    let repo = Repo::from("basic");
    for command in ["git archive", "git-sluice"] {
        let _ = repo
            .shell(&format!("{command} --list >/dev/full"))
            .success();
    }
    let full = repo.shell("git-sluice help zoekt >/dev/full");
    full.assert_failure(128, "fatal: write error: No space left on device\n");
}

/// A command that found a standard stream closed would take the first file that it opens for it.
#[test]
fn commands_have_all_standard_streams() {
    let repo = Repo::copy("basic");
    let look = "for n in 0 1 2; do test -e /proc/self/fd/$n || echo $n >>../lost; done; cat";
    repo.git(["config", "tar.x.command", look]);
    repo.git(["config", "filter.look.smudge", look]);
    std::fs::create_dir_all(repo.path().join(".git/info")).expect("our own");
    repo.write(".git/info/attributes", "* filter=look\n");
    let expected = repo.archive(["HEAD"]).success();
    for closed in ["<&-", "2>&-", "<&- 2>&-"] {
        let output = repo.shell(&format!("git-sluice --format=x HEAD {closed}"));
        assert!(output.success() == expected, "{closed}");
    }
    for closed in [">&-", "<&- >&- 2>&-"] {
        let _ = repo
            .shell(&format!("git-sluice --format=x HEAD {closed}"))
            .success();
    }
    assert!(!repo.path().join("../lost").exists());
}

/// Whatever is written early must not change before it is read late.
#[test]
#[ignore = "slow"]
fn slow_reader() {
    for (fixture, revision) in [
        ("wide", "HEAD"),
        ("big", "HEAD"),
        ("deltas", "HEAD~59"),
        ("big-delta", "HEAD"),
    ] {
        let repo = Repo::from(fixture);
        let expected = repo.archive([revision]).success();
        at_once(["--memory=1m", "--memory=256m"], |memory| {
            let mut run = repo.start(["-j", "8", memory, revision]);
            let mut read = Vec::new();
            // Once to fill all that can be format_bytes, and once more when it was refilled from the
            // other end.
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(300));
                let mut piece = [0; 10];
                run.stdout().read_exact(&mut piece).expect("there is more");
                read.extend_from_slice(&piece);
            }
            let mut piece = [0; 4099];
            loop {
                let length = run.stdout().read(&mut piece).expect("a pipe can be read");
                if length == 0 {
                    break;
                }
                read.extend_from_slice(&piece[..length]);
            }
            let _ = run.finish().success();
            assert!(read == expected, "{fixture} {memory}");
        });
    }
}

/// All of the output fits into the pipe, and the writer is long gone when it is read.
#[test]
fn reader_comes_late() {
    let repo = Repo::from("basic");
    let expected = repo.archive(["HEAD"]).success();
    let late = repo.shell("git-sluice HEAD | { sleep 1; cat; }").success();
    assert!(late == expected);
}

/// Started at the end of a file, with and without O_APPEND, we begin there.
#[test]
fn stdout_is_a_file_that_holds_something() {
    let repo = Repo::copy("wide");
    let expected = repo.archive(["HEAD"]).success();
    let script = "git-sluice HEAD >>appended; git-sluice HEAD >>appended; cat appended";
    assert!(repo.shell(script).success() == expected.repeat(2));
    let script = "{ git-sluice HEAD; git-sluice HEAD; } >shared; cat shared";
    assert!(repo.shell(script).success() == expected.repeat(2));
    let script = "{ echo first; git-sluice HEAD; echo last; } 1<>both; cat both";
    let mut both = b"first\n".to_vec();
    both.extend_from_slice(&expected);
    both.extend_from_slice(b"last\n");
    assert!(repo.shell(script).success() == both);
}

/// Ours on the writing end of `(reader, writer)`: what came out of the other.
fn through(repo: &Repo, mut reader: impl Read + Send + 'static, writer: OwnedFd) -> Vec<u8> {
    let copy = std::thread::spawn(move || {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("it can be read");
        read
    });
    let mut command = repo.command(binary());
    command.args(["-j", "2", "HEAD"]);
    let run = Running::start_between(Vec::new(), &mut command, writer.into());
    // It holds the writing end too, and the copy ends only when nobody does.
    drop(command);
    let _ = run.finish().success();
    copy.join().expect("it only reads")
}

#[test]
fn stdout_is_a_socket() {
    let repo = Repo::from("wide");
    let (reader, writer) = UnixStream::pair().expect("sockets can be made");
    assert!(through(&repo, reader, writer.into()) == repo.archive(["HEAD"]).success());
}

/// Somebody else who holds the pipe made it non-blocking: a full one is no error.
#[test]
fn stdout_does_not_block() {
    let repo = Repo::from("wide");
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).expect("a flag that pipes have");
    assert!(through(&repo, reader, writer.into()) == repo.archive(["HEAD"]).success());
}
