//! Command lines that are refused: what is said, with which status, and in which order problems are
//! noticed.

use std::fs;

use crate::cli::command_line::assert_same_list;
use crate::support::process::Output;
use crate::support::{Repo, cases, git_version, rows};

#[track_caller]
fn assert_complains(output: &Output, args: &str, code: i32, line: &str) {
    let messages = output.messages();
    let first = messages.lines().next().unwrap_or_default();
    assert_eq!((output.code(), first), (code, line), "{args}\n{output}");
}

/// Ours dies with this status and this first line, and writes nothing.
#[track_caller]
pub(crate) fn assert_complaint(repo: &Repo, args: &str, code: i32, line: &str) {
    let ours = repo.sluice(args.split_whitespace());
    assert_complains(&ours, args, code, line);
    assert!(ours.stdout.is_empty(), "{args}\n{ours}");
}

/// The same, and so does git; what else either says about a usage error is its own.
#[track_caller]
pub(crate) fn assert_same_complaint(repo: &Repo, args: &str, code: i32, line: &str) {
    assert_complaint(repo, args, code, line);
    let theirs = repo.archive(args.split_whitespace());
    assert_complains(&theirs, args, code, line);
}

#[test]
fn malformed_options() {
    let repo = Repo::from("basic");
    for [args, message] in rows(
        "--x=1 HEAD | unknown option `x=1'
        --nosuch HEAD | unknown option `nosuch'
        HEAD dir --nosuch | unknown option `nosuch'
        --no-mtime HEAD | unknown option `no-mtime'
        --no-no-prefix HEAD | unknown option `no-no-prefix'
        --help=x HEAD | unknown option `help=x'
        -Z HEAD | unknown switch `Z'
        -v9Z HEAD | unknown switch `Z'
        -vé HEAD | unknown non-ascii option in string: `-é'
        HEAD --format | option `format' requires a value
        --pref | option `prefix' requires a value
        --output | option `output' requires a value
        HEAD --remote | option `remote' requires a value
        --exec | option `exec' requires a value
        -o | switch `o' requires a value
        -9o | switch `o' requires a value
        --verbose=3 HEAD | option `verbose' takes no value
        --verb=3 HEAD | option `verbose' takes no value
        --no-verbose=3 HEAD | option `no-verbose' takes no value
        --no-output=f HEAD | option `no-output' takes no value
        --list=x | option `list' takes no value
        -prefix=x/ HEAD | unknown switch `p'
        -list | did you mean `--list` (with two dashes)?
        -verbose HEAD | did you mean `--verbose` (with two dashes)?
        -form zip HEAD | did you mean `--form` (with two dashes)?
        -remote r HEAD | did you mean `--remote` (with two dashes)?
        -no-x HEAD | did you mean `--no-x` (with two dashes)?",
    ) {
        assert_same_complaint(&repo, args, 129, &format!("error: {message}"));
    }
}

#[test]
fn ambiguous_options() {
    let repo = Repo::from("basic");
    for (arg, one, other) in [
        ("add=a.txt", "add-file", "add-virtual-file"),
        ("add", "add-file", "add-virtual-file"),
        ("no-add", "no-add-file", "no-add-virtual-file"),
        ("no", "no-remote", "no-exec"),
        ("n", "no-remote", "no-exec"),
        ("no-", "no-remote", "no-exec"),
    ] {
        let args = format!("--{arg} HEAD");
        let line = format!("error: ambiguous option: {arg} (could be --{one} or --{other})");
        // Up to 2.55 git's usage text follows on stdout.
        assert_complaint(&repo, &args, 129, &line);
        let theirs = repo.archive(args.split_whitespace());
        if git_version() < (2, 45) || arg != "no-" {
            assert!(theirs.messages().starts_with(&line), "{theirs}");
        }
        assert_eq!(theirs.code(), 129, "{theirs}");
    }
}

/// `-o`, `--remote` and `--exec` are taken out first; in a form that this first pass does not
/// understand they come too late.
#[test]
fn two_passes() {
    let repo = Repo::copy("basic");
    for (args, message) in [
        ("--outp=f HEAD", "Unexpected option --output"),
        ("--o f HEAD", "Unexpected option --output"),
        ("-vo f HEAD", "Unexpected option --output"),
        ("-9of", "Unexpected option --output"),
        ("--remo=r HEAD", "Unexpected option --remote"),
        ("--re=r --exe=c HEAD", "Unexpected option --remote"),
        ("--exe=c HEAD", "the option '--exec' requires '--remote'"),
        (
            "--outp=f --exe=c",
            "the option '--exec' requires '--remote'",
        ),
    ] {
        assert_same_complaint(&repo, args, 128, &format!("fatal: {message}"));
    }
    repo.assert_same(["--exec=c", "HEAD"]);
    let late = "error: option `prefix' requires a value";
    assert_same_complaint(&repo, "--prefix -o HEAD", 129, late);
    assert_same_complaint(&repo, "--remote r --no-remote --prefix -o HEAD", 129, late);

    let expected = repo.archive(["HEAD"]).success();
    for (args, file) in [
        ("-output=f", "utput=f"),
        ("-v -of", "f"),
        ("-o a -o b --no-exec", "b"),
    ] {
        let _ = repo
            .sluice(args.split_whitespace().chain(["HEAD"]))
            .success();
        let written = fs::read(repo.path().join(file)).expect("named by the last option");
        assert!(written == expected, "{args}");
    }
    assert!(!repo.path().join("a").exists());
}

/// The first problem in git's order is the one that is told.
#[test]
fn order_of_problems() {
    let repo = Repo::from("basic");
    let bogus = "error: unknown option `bogus'";
    let missing = "fatal: File not found: nosuch";
    let unopened = "fatal: could not open 'no/such' for writing: No such file or directory";
    for (args, code, line) in [
        ("-o no/such --bogus --add-file=nosuch nosuch", 128, unopened),
        ("-h --bogus -o no/such", 128, unopened),
        ("--bogus --add-file=nosuch --outp=f", 129, bogus),
        ("--add-file=nosuch --bogus --outp=f", 128, missing),
        ("--outp=f --bogus", 129, bogus),
        ("--outp=f -l", 128, "fatal: Unexpected option --output"),
        (
            "--format=nosuch -9 nosuch",
            128,
            "fatal: Unknown archive format 'nosuch'",
        ),
        (
            "-9 nosuch",
            128,
            "fatal: Argument not supported for format 'tar': -9",
        ),
    ] {
        assert_same_complaint(&repo, args, code, line);
    }
    let configured = repo.with(["-c", "tar.umask=x"]);
    let umask = "fatal: bad numeric config value 'x' for 'tar.umask': invalid unit";
    assert_same_complaint(&configured, "-o no/such --bogus", 128, umask);
}

#[test]
fn files_that_cannot_be() {
    let repo = Repo::from("basic");
    for (option, message) in [
        ("--add-file=nosuch", "File not found: nosuch"),
        ("--add-file=dangling", "File not found: dangling"),
        ("--add-file=", "File not found: "),
        ("--add-file=dir", "Not a regular file: dir"),
        ("--add-virtual-file=x", "missing colon: 'x'"),
        ("--add-virtual-file=", "missing colon: ''"),
        ("--add-virtual-file=\"x\"y:", "missing colon: '\"x\"y:'"),
        ("--add-virtual-file=\"x", "unclosed quote: '\"x'"),
        ("--add-virtual-file=:x", "empty file name: ':x'"),
        ("--add-file=nosuch --no-add-file", "File not found: nosuch"),
    ] {
        let args = format!("{option} HEAD");
        assert_same_complaint(&repo, &args, 128, &format!("fatal: {message}"));
    }
    let missing = repo.path().join("missing").display().to_string();
    let below = repo.at("dir");
    for (option, message) in [
        ("--add-file=nosuch", "File not found: dir/nosuch"),
        (
            "--add-file=../dir/sub",
            "Not a regular file: dir/../dir/sub",
        ),
        (
            &format!("--add-file={missing}"),
            &format!("File not found: {missing}"),
        ),
        ("--add-file=", "Not a regular file: dir/"),
        ("-o .", "could not open 'dir/.' for writing: Is a directory"),
        (
            "--output=../no/such",
            "could not open 'dir/../no/such' for writing: No such file or directory",
        ),
        ("-o /", "could not open '/' for writing: Is a directory"),
    ] {
        let args = format!("{option} HEAD");
        assert_same_complaint(&below, &args, 128, &format!("fatal: {message}"));
    }
}

/// What our options begin with still means to git's what it means to git.
#[test]
fn abbreviations_of_git() {
    let repo = Repo::from("basic");
    for args in cases(
        "--p=p/ HEAD | --p=a/ --no-p HEAD | --f=tar --no-f HEAD | --v HEAD | --ver --no-v HEAD | \
         --w --no-w HEAD",
    ) {
        repo.assert_same(args.split_whitespace());
    }
    assert_same_list(&repo, "--l");
    assert_same_complaint(
        &repo,
        "--re",
        129,
        "error: option `remote' requires a value",
    );
    assert_complaint(&repo, "--m", 129, "error: option `mtime' requires a value");
}
