//! Where the archive goes with `-o`: into a new file, over an old one, through links, into what is
//! no file; and nowhere at all if it did not come to an end.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::thread;
use std::time::Duration;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::process::Signal;

use crate::support::{Repo, installed, skip};

#[test]
fn output_that_cannot_be_opened() {
    let repo = Repo::copy("basic");
    let because = |name, why| format!("fatal: could not open '{name}' for writing: {why}\n");
    let missing = because("no/such", "No such file or directory");
    repo.assert_both_die(["-o", "no/such", "HEAD"], &missing);
    repo.assert_both_die(["-o", "no/such", "nosuch"], &missing);
    repo.assert_both_die(["--output=dir", "HEAD"], &because("dir", "Is a directory"));
    repo.assert_both_die(
        ["-o", "file.txt/x", "HEAD"],
        &because("file.txt/x", "Not a directory"),
    );
    for (name, why) in [
        ("dir/", "Is a directory"),
        ("file.txt/", "Is a directory"),
        ("no/such/", "No such file or directory"),
        ("no/..", "No such file or directory"),
    ] {
        repo.assert_both_die(["-o", name, "HEAD"], &because(name, why));
    }
    let long = "n".repeat(300);
    let refused = because(&*long, "File name too long");
    repo.assert_both_die(["-o", &long, "HEAD"], &refused);
}

/// git leaves what it has; we leave nothing, and what was there before stays.
#[test]
fn a_failure_leaves_no_file() {
    let repo = Repo::copy("basic");
    repo.sluice(["-o", "out.tar", "nosuch"])
        .assert_failure(128, "fatal: not a valid object name: nosuch\n");
    assert!(!repo.path().join("out.tar").exists());
    let before = files_in(&repo);
    repo.write("file.txt", "precious");
    repo.sluice(["-o", "file.txt", "nosuch"])
        .assert_failure(128, "fatal: not a valid object name: nosuch\n");
    assert_eq!(
        fs::read(repo.path().join("file.txt")).expect("not removed"),
        b"precious"
    );
    assert_eq!(files_in(&repo), before, "something was left behind");
}

#[test]
fn output_to_a_file() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    let before = files_in(&repo).len();
    for (number, option) in ["-oa.tar", "--output=b.tar", "-odir/c.tar"]
        .into_iter()
        .enumerate()
    {
        let output = repo.sluice([option, "HEAD"]);
        assert!(output.stdout.is_empty(), "{output}");
        assert_eq!(output.messages(), "");
        let file = option
            .trim_start_matches("--output=")
            .trim_start_matches("-o");
        assert!(fs::read(repo.path().join(file)).expect("written") == expected);
        assert_eq!(
            files_in(&repo).len(),
            before + (number + 1).min(2),
            "something was left behind"
        );
    }
    // A name of "-" is a file, not stdout; and names are relative to where we are.
    let _ = repo.sluice(["-o", "-", "HEAD"]).success();
    assert!(fs::read(repo.path().join("-")).expect("written") == expected);
    let below = repo.clone().at("dir");
    let _ = below.sluice(["-o", "below", "HEAD"]).success();
    assert!(repo.path().join("dir/below").exists());
    // The last one counts.
    let _ = repo
        .sluice(["-o", "first", "--output", "last", "HEAD"])
        .success();
    assert!(!repo.path().join("first").exists());
    assert!(fs::read(repo.path().join("last")).expect("written") == expected);
}

/// The mode of a new file is what the umask leaves, as git's; a file that is there keeps its mode.
#[test]
fn output_mode() {
    use std::os::unix::fs::PermissionsExt;
    let repo = Repo::copy("basic");
    let mode = |name: &str| {
        fs::metadata(repo.path().join(name))
            .expect("written")
            .permissions()
            .mode()
            & 0o7777
    };
    for umask in ["022", "077", "0"] {
        for command in ["git archive", "git-sluice"] {
            repo.script(&format!(
                "umask {umask}; {command} -o '{command}-{umask}' HEAD"
            ));
        }
        assert_eq!(
            mode(&format!("git-sluice-{umask}")),
            mode(&format!("git archive-{umask}")),
            "{umask}"
        );
    }
    repo.write("there", "before");
    fs::set_permissions(repo.path().join("there"), fs::Permissions::from_mode(0o640))
        .expect("our own");
    let _ = repo.sluice(["-o", "there", "HEAD"]).success();
    assert_eq!(mode("there"), 0o640);
}

/// A target that is no regular file is written in place and never replaced.
#[test]
fn output_to_what_is_no_file() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    repo.write("real", "");
    std::os::unix::fs::symlink("real", repo.path().join("link")).expect("our own");
    let _ = repo.sluice(["-o", "link", "HEAD"]).success();
    assert!(repo.path().join("link").is_symlink());
    assert!(fs::read(repo.path().join("real")).expect("written through the link") == expected);

    let _ = repo.sluice(["-o", "/dev/null", "HEAD"]).success();
    repo.script("mkfifo pipe && { cat pipe >copied & git-sluice -o pipe HEAD; wait; }");
    assert!(fs::read(repo.path().join("copied")).expect("copied by cat") == expected);
    std::os::unix::fs::symlink("nowhere", repo.path().join("leads-nowhere")).expect("our own");
    let _ = repo.sluice(["-o", "leads-nowhere", "HEAD"]).success();
    assert!(repo.path().join("nowhere").exists());
}

fn files_in(repo: &Repo) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(repo.path()).expect("our own");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    names.sort();
    names
}

/// Whoever may not make a file there, and whoever may only write to the one that is there.
#[test]
fn directory_that_may_not_be_written_to() {
    for command in ["git archive", "git-sluice"] {
        let repo = Repo::copy("basic");
        let denied = format!("mkdir -m 555 shut; {command} -o shut/file HEAD");
        let Some(output) = repo.unprivileged_shell(&denied) else {
            return;
        };
        let message = "fatal: could not open 'shut/file' for writing: Permission denied\n";
        output.assert_failure(128, message);
        let there =
            format!("chmod 755 shut; >shut/file; chmod 555 shut; {command} -o shut/file HEAD");
        let output = repo.unprivileged_shell(&there).expect("as before");
        output.assert_ends(0, "");
        let expected = repo.shell("git -c safe.directory=* archive HEAD").success();
        assert!(fs::read(repo.path().join("shut/file")).expect("written") == expected);
    }
}

/// Whenever a signal comes, there is all of the file or nothing. It may come when the file has its name already, but before the
/// run ends.
#[test]
#[ignore = "slow"]
fn signals_leave_no_file() {
    let repo = Repo::copy("big");
    let whole = repo.archive(["HEAD"]).success();
    let before = files_in(&repo);
    let file = repo.path().join("out.tar");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::ALARM] {
        for delay in [20, 100, 300] {
            let run = repo.start(["-o", "out.tar", "HEAD"]);
            thread::sleep(Duration::from_millis(delay));
            run.signal(signal);
            let output = run.finish();
            if output.code() != 0 {
                assert_eq!(output.code(), 128 + signal.as_raw(), "{output}");
                assert_eq!(output.messages(), "", "{output}");
            }
            if output.code() == 0 || file.exists() {
                assert!(fs::read(&file).expect("written") == whole, "{output}");
                fs::remove_file(&file).expect("our own");
            }
            assert_eq!(files_in(&repo), before, "{output}");
        }
    }
}

/// `nohup` and shells ignore signals for what they start; the others still end it.
#[test]
fn signals_that_are_ignored() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    let before = files_in(&repo);
    // The run waits for its pathspecs, and whoever opens the pipe knows that it does.
    let script = |trap: &str, signals: &str, feed: &str| {
        format!(
            "mkfifo ../pipe; {trap} git-sluice -o out.tar --pathspec-from-file=../pipe HEAD & \
             exec 9>../pipe; rm ../pipe; for signal in {signals}; do kill -$signal $!; done; \
             {feed} wait $!"
        )
    };
    let feed = "echo . >&9; exec 9>&-;";
    let output = repo.shell(&script("trap '' HUP INT QUIT;", "HUP INT QUIT", feed));
    output.assert_ends(0, "");
    assert!(fs::read(repo.path().join("out.tar")).expect("written") == expected);
    fs::remove_file(repo.path().join("out.tar")).expect("our own");
    let output = repo.shell(&script("trap '' HUP INT;", "HUP INT TERM", ""));
    assert_eq!(output.code(), 128 + Signal::TERM.as_raw(), "{output}");
    assert_eq!(files_in(&repo), before);
}

/// The kernel's word about a file that is too large is a signal as well, unless it is ignored.
#[test]
fn file_that_may_not_grow() {
    let repo = Repo::copy("basic");
    let before = files_in(&repo);
    for (trap, code, message) in [
        ("", 128 + Signal::XFSZ.as_raw(), ""),
        ("trap '' XFSZ;", 128, "fatal: write error: File too large\n"),
    ] {
        for command in ["git archive", "git-sluice"] {
            let script = format!("ulimit -c 0; {trap} ulimit -f 1; exec {command} -o out.tar HEAD");
            let output = repo.shell(&script);
            let told = (output.code(), output.messages());
            assert_eq!(told, (code, message.to_owned()), "{output}");
            if command == "git archive" {
                fs::remove_file(repo.path().join("out.tar")).expect("git leaves it");
            }
        }
        assert_eq!(files_in(&repo), before);
    }
}

/// All names of a file see the new content, as they do with git.
#[test]
fn file_with_several_names() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    for command in ["git archive", "git-sluice"] {
        let script = format!("rm -f one two; >one; ln one two; {command} -o one HEAD");
        repo.script(&script);
        assert!(
            fs::read(repo.path().join("two")).expect("a link") == expected,
            "{command}"
        );
    }
}

/// What is written in place stays as it is until there is something to write.
#[test]
fn a_failure_before_the_first_byte_empties_no_file() {
    let repo = Repo::copy("basic");
    repo.write("real", "precious");
    repo.script("ln -s real link; echo precious >one; ln one two");
    let missing = "fatal: not a valid object name: nosuch\n";
    repo.git(["config", "tar.x.command", "no/such/command"]);
    for (target, content) in [("link", "precious"), ("one", "precious\n")] {
        repo.sluice(["-o", target, "nosuch"])
            .assert_failure(128, missing);
        let kept = fs::read(repo.path().join(target)).expect("it was there");
        assert_eq!(kept, content.as_bytes(), "{target}");
    }
    let script = "mkdir -m 755 shut; echo precious >shut/file; chmod 555 shut; \
                  git-sluice -o shut/file nosuch";
    let Some(output) = repo.unprivileged_shell(script) else {
        return;
    };
    output.assert_failure(128, missing);
    let kept = fs::read(repo.path().join("shut/file")).expect("it was there");
    assert_eq!(kept, b"precious\n");
}

/// The new file is the old one's but for its content, or it is the old one.
#[test]
fn owner_and_attributes_stay() {
    let repo = Repo::copy("basic");
    let expected = repo.archive(["HEAD"]).success();
    let path = repo.path().join("out.tar");
    repo.write("out.tar", "before");
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65534), Some(65534)).expect("root may");
        let _ = repo.sluice(["-o", "out.tar", "HEAD"]).success();
        let after = fs::metadata(&path).expect("written");
        assert_eq!((after.uid(), after.gid()), (65534, 65534));
    }
    let (name, value) = ("user.sluice", b"mine");
    repo.write("out.tar", "before");
    if setxattr(&path, name, value, XattrFlags::empty()).is_err() {
        return skip("this file system has no attributes");
    }
    let _ = repo.sluice(["-o", "out.tar", "HEAD"]).success();
    assert!(fs::read(&path).expect("written") == expected);
    let mut kept = [0; 4];
    assert_eq!(getxattr(&path, name, &mut kept), Ok(4));
    assert_eq!(&kept, value);
}

/// A file that something is mounted on cannot be replaced: what containers are given.
#[test]
fn file_that_is_mounted() {
    let repo = Repo::copy("basic");
    repo.write("out.tar", "");
    repo.write("outside", "");
    let mount = "unshare -m sh -c 'mount --bind outside out.tar || exit 77; \
                 git-sluice -o out.tar HEAD'";
    let output = repo.shell(mount);
    if [1, 77, 127].contains(&output.code()) {
        return skip("nothing can be mounted here");
    }
    let _ = output.success();
    let expected = repo.archive(["HEAD"]).success();
    assert!(fs::read(repo.path().join("outside")).expect("written") == expected);
}

/// An archive is for files and pipes, unless the terminal is named; what people read goes to terminals as well.
#[test]
fn a_terminal() {
    if !installed("script") {
        return skip("there is no terminal");
    }
    let repo = Repo::from("basic");
    let on_terminal = |command: &str| {
        let output = repo.shell(&format!("script -qec '{command}' /dev/null </dev/null"));
        let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
        (text, output.code())
    };
    let refused = "fatal: an archive is not written to a terminal\n\
                   hint: use a pipe or -o <file>; \
                   -o /dev/stdout forces the terminal\n";
    for options in ["", "--format=zip", "--byte-range=0-9", "--profile=zoekt"] {
        let command = format!("git-sluice {options} HEAD");
        assert_eq!(
            on_terminal(&command),
            (refused.to_owned(), 128),
            "{command}"
        );
    }
    for command in [
        "git-sluice HEAD | cat",
        "git-sluice -o /dev/stdout HEAD",
        "git archive HEAD",
    ] {
        let (archive, code) = on_terminal(command);
        assert!(archive.contains("ustar") && code == 0, "{command}");
    }
    for question in ["--list", "info HEAD", "ls HEAD", "explain HEAD dir"] {
        let (answer, code) = on_terminal(&format!("git-sluice {question}"));
        assert!(!answer.contains("fatal: ") && code == 0, "{answer}");
    }
    for server in ["batch", "upload-archive", "upload-archive ."] {
        let (told, code) = on_terminal(&format!("git-sluice {server}"));
        let command = server.trim_end_matches(" .");
        let refused =
            format!("error: 'git sluice {command}' speaks to a program, not to a terminal\n");
        assert!(told.starts_with(&refused) && code == 129, "{told}");
    }
    let wrong = "fatal: not a valid object name: nosuch\n".to_owned();
    assert_eq!(on_terminal("git-sluice nosuch"), (wrong, 128));
}
