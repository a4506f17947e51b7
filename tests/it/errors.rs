//! What is refused, with whose words and which status. Each case is the whole result: nothing on stdout, these messages,
//! this status; and git's is the same unless the test says what is different.
//!
//! Damage is for `faults/`, names that would escape for `hostile.rs`.

use std::fs;

use crate::support::{Repo, git_version};
use crate::{forge, tape};

/// Ours fails like this, and so does git.
#[track_caller]
fn assert_both_fail(repo: &Repo, args: &[&str], code: i32, messages: &str) {
    repo.sluice(args).assert_failure(code, messages);
    repo.assert_same(args);
}

/// Usage errors: git's first line, then a usage text that is ours.
#[track_caller]
fn assert_usage(args: &[&str], first_line: &str) {
    let ours = Repo::from("basic").sluice(args);
    let messages = ours.messages();
    let (line, rest) = messages.split_once('\n').unwrap_or_default();
    assert_eq!((ours.code(), line), (129, first_line), "\n{ours}");
    assert!(ours.stdout.is_empty(), "{ours}");
    let theirs = Repo::from("basic").archive(args);
    assert_eq!(theirs.code(), 129, "\n{theirs}");
    assert_eq!(theirs.messages().lines().next(), Some(first_line));
    assert_eq!(
        rest.contains("usage: "),
        theirs.messages().contains("\nusage: "),
        "{ours}"
    );
}

// --- the command line ------------------------------------------------------------------------------------------

#[test]
fn unknown_and_malformed_options() {
    assert_usage(&["--x=1", "HEAD"], "error: unknown option `x=1'");
    assert_usage(&["--nosuch", "HEAD"], "error: unknown option `nosuch'");
    assert_usage(&["HEAD", "--nosuch"], "error: unknown option `nosuch'");
    assert_usage(&["-Z", "HEAD"], "error: unknown switch `Z'");
    assert_usage(&["--format"], "error: option `format' requires a value");
    assert_usage(
        &["HEAD", "--prefix"],
        "error: option `prefix' requires a value",
    );
    assert_usage(&["-o"], "error: switch `o' requires a value");
    assert_usage(&["--output"], "error: option `output' requires a value");
    assert_usage(
        &["--verbose=3", "HEAD"],
        "error: option `verbose' takes no value",
    );
}

#[test]
fn no_tree_ish() {
    for args in [
        &[][..],
        &["-v"],
        &["--"],
        &["--prefix=p/"],
        &["--format=nosuch"],
    ] {
        let output = Repo::from("basic").sluice(args);
        assert_eq!(output.code(), 129, "{output}");
        assert!(output.stdout.is_empty(), "{output}");
        assert!(output.messages().starts_with("usage: "), "{output}");
    }
}

#[test]
fn options_and_the_end_of_options() {
    let repo = Repo::from("basic");
    for args in [
        &["--", "HEAD", "dir"][..],
        &["HEAD", "--", "dir"],
        &["HEAD", "dir", "-v"],
        &["--end-of-options", "HEAD"],
        &["--", "--", "HEAD"],
        &["HEAD", "--", "-v"],
        &["HEAD", "--", "--", "dir"],
        &["--prefix=a/", "--prefix=b/", "HEAD"],
        &["--prefix", "-v", "HEAD"],
        &["--no-prefix", "HEAD"],
        &["--prefix=a/", "--no-prefix", "HEAD"],
        &["-v", "-v", "HEAD"],
        &["-vv", "HEAD"],
        &["-v", "-v", "-v", "HEAD"],
        &["-v", "--no-verbose", "HEAD"],
        &["--format=zip", "--no-format", "HEAD"],
        &["--format=zip", "--format=tar", "HEAD"],
        &["--pref=p/", "--verb", "--form=tar", "HEAD"],
    ] {
        repo.assert_same(args);
    }
}

#[test]
fn formats() {
    let repo = Repo::from("basic");
    let unknown = |name| format!("fatal: Unknown archive format '{name}'\n");
    assert_both_fail(&repo, &["--format=foo", "HEAD"], 128, &unknown("foo"));
    assert_both_fail(&repo, &["--format=", "HEAD"], 128, &unknown(""));
    assert_both_fail(&repo, &["--format=TAR", "HEAD"], 128, &unknown("TAR"));
    assert_both_fail(&repo, &["--format=foo", "nosuch"], 128, &unknown("foo"));
    assert_both_fail(
        &Repo::scratch(),
        &["--format=foo", "HEAD"],
        128,
        &unknown("foo"),
    );
}

#[test]
fn levels() {
    let level = "fatal: Argument not supported for format 'tar': -9\n";
    assert_both_fail(&Repo::from("basic"), &["-9", "HEAD"], 128, level);
    assert_both_fail(&Repo::from("basic"), &["-1", "-9", "nosuch"], 128, level);
}

// --- where the archive goes ------------------------------------------------------------------------------------

#[test]
fn output_that_cannot_be_opened() {
    let repo = Repo::copy("basic");
    let because = |name, why| format!("fatal: could not open '{name}' for writing: {why}\n");
    let missing = because("no/such", "No such file or directory");
    assert_both_fail(&repo, &["-o", "no/such", "HEAD"], 128, &missing);
    assert_both_fail(&repo, &["-o", "no/such", "nosuch"], 128, &missing);
    assert_both_fail(
        &repo,
        &["--output=dir", "HEAD"],
        128,
        &because("dir", "Is a directory"),
    );
    assert_both_fail(
        &repo,
        &["-o", "file.txt/x", "HEAD"],
        128,
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
    let _ = repo
        .clone()
        .at("dir")
        .sluice(["-o", "-", "HEAD~1"])
        .success();
    assert!(repo.path().join("dir/-").exists());
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
        .shell("mkfifo pipe && { cat pipe >copied & git-sluice -o pipe HEAD && wait; }")
        .success();
    assert!(fs::read(repo.path().join("copied")).expect("copied by cat") == expected);
    std::os::unix::fs::symlink("nowhere", repo.path().join("dangling")).expect("our own");
    let _ = repo.sluice(["-o", "dangling", "HEAD"]).success();
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

// --- the repository and the tree-ish ---------------------------------------------------------------------------

#[test]
fn no_repository() {
    let nowhere = Repo::scratch();
    let ceiling = nowhere
        .path()
        .parent()
        .expect("a temporary directory is in one")
        .to_owned();
    let nowhere = nowhere.env("GIT_CEILING_DIRECTORIES", ceiling);
    let message = "fatal: not a git repository (or any of the parent directories): .git\n";
    assert_both_fail(&nowhere, &["HEAD"], 128, message);
    let elsewhere = nowhere.clone().env("GIT_DIR", "/no/such");
    assert_both_fail(
        &elsewhere,
        &["HEAD"],
        128,
        "fatal: not a git repository: '/no/such'\n",
    );
    nowhere.write(".git", "nothing of use\n");
    nowhere.assert_same(["HEAD"]);
    nowhere.write(".git", "gitdir: /no/such\n");
    nowhere.assert_same(["HEAD"]);
}

#[test]
fn not_a_tree_ish() {
    let repo = Repo::from("basic");
    let invalid = |name| format!("fatal: not a valid object name: {name}\n");
    for name in [
        "nosuch",
        "HEAD~9",
        "HEAD:nosuch",
        "HEAD..v1",
        "^HEAD",
        "HEAD^!",
    ] {
        assert_both_fail(&repo, &[name], 128, &invalid(name));
    }
    let blob = repo.git(["rev-parse", "HEAD:file.txt"]);
    let no_tree = |id: &str| format!("fatal: not a tree object: {id}\n");
    assert_both_fail(&repo, &["HEAD:file.txt"], 128, &no_tree(&blob));
    assert_both_fail(&repo, &[&blob], 128, &no_tree(&blob));
    let nowhere = "1".repeat(40);
    assert_both_fail(&repo, &[&nowhere], 128, &no_tree(&nowhere));

    let tags = Repo::from("tags");
    let tag = tags.git(["rev-parse", "blob"]);
    assert_both_fail(&tags, &["blob"], 128, &no_tree(&tag));
}

#[test]
fn ambiguous_names_are_warned_of() {
    let repo = Repo::from("revisions");
    let output = repo.sluice(["same"]);
    assert_eq!(output.messages(), "warning: refname 'same' is ambiguous.\n");
    let _ = output.success();
}

// --- pathspecs -------------------------------------------------------------------------------------------------

#[test]
fn pathspecs_without_a_match() {
    let repo = Repo::from("basic");
    let unmatched = |spec| format!("fatal: pathspec '{spec}' did not match any files\n");
    assert_both_fail(&repo, &["HEAD", "nosuch"], 128, &unmatched("nosuch"));
    assert_both_fail(
        &repo,
        &["HEAD", "dir", "nosuch", "neither"],
        128,
        &unmatched("nosuch"),
    );
    assert_both_fail(&repo, &["HEAD", "file.txt/"], 128, &unmatched("file.txt/"));
    assert_both_fail(
        &repo,
        &["HEAD", "dir/module/x"],
        128,
        &unmatched("dir/module/x"),
    );
    assert_both_fail(&repo, &["HEAD", ":!*"], 128, &unmatched(":!*"));
    assert_both_fail(&repo, &["HEAD", "-v", "--", "-x"], 128, &unmatched("-x"));
    assert_both_fail(&Repo::from("empty"), &["HEAD", "."], 128, &unmatched("."));
}

#[test]
fn malformed_pathspecs() {
    let repo = Repo::from("basic");
    let empty = "fatal: empty string is not a valid pathspec. please use . instead if you meant to match all paths\n";
    assert_both_fail(&repo, &["HEAD", ""], 128, empty);
    let outside = format!(
        "fatal: ../x: '../x' is outside repository at '{}'\n",
        repo.path().display()
    );
    assert_both_fail(&repo, &["HEAD", "../x"], 128, &outside);
    for (spec, message) in [
        (
            ":(bogus)x",
            "fatal: Invalid pathspec magic 'bogus' in ':(bogus)x'\n",
        ),
        (
            ":(glob",
            "fatal: Missing ')' at the end of pathspec magic in ':(glob'\n",
        ),
        (":%x", "fatal: Unimplemented pathspec magic '%' in ':%x'\n"),
        (
            ":(glob,literal)x",
            "fatal: :(glob,literal)x: 'literal' and 'glob' are incompatible\n",
        ),
    ] {
        assert_both_fail(&repo, &["HEAD", spec], 128, message);
    }
}

/// Pathspecs that are fine, each with something to be got wrong.
#[test]
fn pathspecs() {
    let repo = Repo::from("basic");
    for pathspecs in [
        &["dir/"][..],
        &["dir"],
        &["dir/sub/deeper/leaf"],
        &["./dir"],
        &["dir//sub"],
        &["dir/../file.txt"],
        &[":"],
        &[":/"],
        &[":/dir"],
        &["."],
        &["./"],
        &["*"],
        &["*.txt"],
        &["d*"],
        &["d?r"],
        &["?"],
        &["[df]i*"],
        &["dir/*"],
        &["dir/**"],
        &[":(glob)dir/*"],
        &[":(glob)**/leaf"],
        &[":(glob)*"],
        &[":(glob)d*"],
        &[":(glob)dir/**/leaf"],
        &[":(icase)DIR"],
        &[":(icase)*.TXT"],
        &[":(literal)dir"],
        &[":(top)dir"],
        &[":!dir"],
        &[":^dir"],
        &[":(exclude)dir"],
        &["dir", ":!dir/sub"],
        &["dir", ":!dir"],
        &[":!*a*"],
        &[":!/dir"],
        &["dir/module"],
        &["dir/module/"],
        &["empty"],
        &["file.txt", "file.txt"],
        &["size-*", "bin"],
        &["dir\\/link"],
        &["*/*"],
        &["dir/link"],
        &["bin/../bin"],
        &[":(glob,icase)D*/**"],
        &[":(icase,exclude)DIR"],
    ] {
        repo.assert_same(["-v", "HEAD"].iter().chain(pathspecs));
    }
    let odd = Repo::from("names-odd");
    for pathspec in [
        "star*",
        ":(literal)star*",
        ":(literal):colon",
        "*colon",
        "new*",
        "back\\\\slash",
        "[[]*",
    ] {
        odd.assert_same(["inner", "--", pathspec]);
    }
    for variable in [
        "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
    ] {
        let repo = repo.clone().env(variable, "1");
        for pathspec in ["d*", "DIR", "dir", ":(top)dir"] {
            repo.assert_same(["HEAD", pathspec]);
        }
    }
    repo.clone()
        .with(["--literal-pathspecs"])
        .assert_same(["HEAD", "dir"]);
    repo.with(["--icase-pathspecs"])
        .assert_same(["HEAD", "DIR"]);
}

// --- configuration ---------------------------------------------------------------------------------------------

#[test]
fn malformed_configuration() {
    let repo = Repo::from("basic");
    for (value, why) in [
        ("x", "invalid unit"),
        ("99999999999999999999", "out of range"),
        ("", "invalid unit"),
    ] {
        let setting = format!("tar.umask={value}");
        let bad = repo.clone().with(["-c", &setting]);
        let messages =
            format!("fatal: bad numeric config value '{value}' for 'tar.umask': {why}\n");
        assert_both_fail(&bad, &["HEAD"], 128, &messages);
    }
    // The configuration comes before the tree-ish and the output file.
    repo.clone()
        .with(["-c", "tar.umask=x"])
        .assert_same(["-o", "/no/such/file", "nosuch"]);
    for setting in [
        "core.autocrlf=sideways",
        "core.bigFileThreshold=much",
        "core.ignoreCase=perhaps",
    ] {
        repo.clone().with(["-c", setting]).assert_same(["HEAD"]);
    }
}

// --- trees and blobs that are not there ------------------------------------------------------------------------

/// A copy of a fixture without one of its loose objects, and that object's id.
fn without(fixture: &str, object: &str) -> (Repo, String) {
    let repo = Repo::copy(fixture);
    let id = repo.git(["rev-parse", object]);
    let (directory, file) = id.split_at(2);
    fs::remove_file(repo.path().join(format!(".git/objects/{directory}/{file}")))
        .expect("it is loose");
    (repo, id)
}

#[test]
fn missing_blob() {
    for path in ["bin/run.sh", "dir/ragged", "size-513"] {
        let (repo, id) = without("basic", &format!("HEAD:{path}"));
        let mode = if path.ends_with(".sh") {
            "100755"
        } else {
            "100644"
        };
        let messages =
            format!("error: invalid object {mode} {id} for '{path}'\nerror: cannot read '{id}'\n");
        for threads in ["1", "2", "8"] {
            let output = repo.sluice(["-j", threads, "HEAD"]);
            assert_eq!(
                (output.code(), output.messages()),
                (255, messages.clone()),
                "{output}"
            );
            assert!(!tape::is_complete(&output.stdout), "{output}");
        }
        let oracle = repo.archive(["HEAD"]);
        assert_eq!(
            (oracle.code(), oracle.messages()),
            (255, messages),
            "{oracle}"
        );
    }
}

#[test]
fn missing_trees() {
    let (repo, id) = without("basic", "HEAD^{tree}");
    assert_both_fail(
        &repo,
        &["HEAD"],
        128,
        &format!("fatal: not a tree object: {id}\n"),
    );
    let (repo, id) = without("basic", "HEAD:dir/sub");
    let output = repo.sluice(["HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert_eq!(
        output.messages(),
        format!("fatal: unable to read tree ({id})\n"),
        "{output}"
    );
    assert!(!tape::is_complete(&output.stdout), "{output}");
    if git_version() >= (2, 47) {
        repo.assert_same(["HEAD"]);
    }
}

#[test]
fn missing_commit() {
    let (repo, _) = without("basic", "HEAD");
    repo.assert_same(["HEAD"]);
    repo.assert_same(["HEAD~1"]);
    repo.assert_same(["v1"]);
    let (repo, _) = without("basic", "v1");
    repo.assert_same(["v1"]);
    let (repo, _) = without("basic", "v1^{}");
    repo.assert_same(["v1"]);
}

/// An entry that claims to be what it is not. A file that is a tree git writes as it is stored; a directory that
/// is a file nobody can read.
#[test]
fn objects_of_the_wrong_kind() {
    let repo = Repo::copy("basic");
    let [blob, tree] = ["HEAD:file.txt", "HEAD:dir"].map(|object| repo.git(["rev-parse", object]));
    repo.assert_same([forge::commit(&repo, &[("100644", b"a-tree", &tree)])]);

    let output = repo.sluice([forge::commit(&repo, &[("40000", b"a-blob", &blob)])]);
    let messages = format!("fatal: unable to read tree ({blob})\n");
    assert_eq!(
        (output.code(), output.messages()),
        (128, messages),
        "{output}"
    );
    assert!(!tape::is_complete(&output.stdout), "{output}");
}
