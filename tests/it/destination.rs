//! Where the archive goes with `-o`: into a new file, over an old one, through links, into what is
//! no file; and nowhere at all if it did not come to an end.

use std::fs;

use crate::support::Repo;

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
            let _ = repo
                .shell(&format!(
                    "umask {umask}; {command} -o '{command}-{umask}' HEAD"
                ))
                .success();
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
    let _ = repo
        .shell("mkfifo pipe && { cat pipe >copied & git-sluice -o pipe HEAD; wait; }")
        .success();
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
        assert_eq!(
            (output.code(), output.messages().as_str()),
            (0, ""),
            "{output}"
        );
        let expected = repo.shell("git -c safe.directory=* archive HEAD").success();
        assert!(fs::read(repo.path().join("shut/file")).expect("written") == expected);
    }
}

/// Whenever a signal comes, there is all of the file or nothing.
#[test]
fn signals_leave_no_file() {
    let repo = Repo::copy("big");
    let whole = repo.archive(["HEAD"]).success().len() as u64;
    for signal in ["TERM", "INT", "HUP"] {
        for delay in ["0.02", "0.1", "0.3"] {
            let script = format!(
                "git-sluice -o out.tar HEAD & sleep {delay}; kill -{signal} $! 2>/dev/null; wait $!"
            );
            let output = repo.shell(&script);
            let left = files_in(&repo);
            if output.code() == 0 {
                let file = repo.path().join("out.tar");
                assert_eq!(fs::metadata(&file).expect("written").len(), whole);
                fs::remove_file(file).expect("our own");
            } else {
                assert!(output.code() > 128, "{output}");
                assert_eq!(left, [repo.path().join(".git")], "{output}");
            }
        }
    }
}
