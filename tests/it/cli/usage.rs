//! Command lines that are refused: what is said, with which status, and in which order problems are
//! noticed.

use std::fs;

use crate::cli::command_line::assert_same_list;
use crate::support::process::Output;
use crate::support::{Repo, git_version};

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

/// Amounts that are none, and what would be one.
#[test]
fn amounts() {
    let repo = Repo::from("basic");
    let bytes = "not a number of bytes, such as 4096, 64k or 1m";
    for (option, value, message) in [
        ("--max-size <size>", "1.5m", "not a whole number; use 1536k"),
        ("--max-size <size>", "x", bytes),
        ("--memory <size>", "1t", bytes),
        ("--max-size <size>", "", bytes),
        ("--cache-size <size>", "99999999999g", "too large"),
        ("--max-size <size>", "99999999999999999999", "too large"),
        (
            "--max-changed-ratio <fraction>",
            "x",
            "not a fraction, such as 0.25 or 25%",
        ),
        (
            "--max-changed-ratio <fraction>",
            "2",
            "not a fraction, such as 0.25 or 25%",
        ),
    ] {
        let (name, _) = option.split_once(' ').expect("a name and a value");
        let args = format!("--base=HEAD {name}={value} HEAD");
        let line = format!("error: invalid value '{value}' for '{option}': {message}");
        assert_complaint(&repo, &args, 129, &line);
    }
    for memory in ["64MiB", "64mb", "64M"] {
        let output = repo.sluice([&format!("--memory={memory}"), "HEAD"]);
        assert_eq!(output.success(), repo.archive(["HEAD"]).success());
    }
}

/// The archive goes to the standard output, and a report does not.
#[test]
fn a_report_without_a_name() {
    let repo = Repo::from("basic");
    for option in ["manifest", "summary"] {
        let output = repo.sluice([&format!("--{option}=-"), "HEAD"]);
        let message = format!(
            "error: invalid value '-' for '--{option}': \
             use fd:<n> for an open descriptor, or './-' for a file named '-'\n"
        );
        output.assert_failure(129, &message);
        assert!(!repo.path().join("-").exists());
    }
}

#[test]
fn malformed_options() {
    let repo = Repo::from("basic");
    for (args, message) in [
        ("--x=1 HEAD", "unknown option `x=1'"),
        ("--nosuch HEAD", "unknown option `nosuch'"),
        ("HEAD dir --nosuch", "unknown option `nosuch'"),
        ("--no-mtime HEAD", "unknown option `no-mtime'"),
        ("--no-no-prefix HEAD", "unknown option `no-no-prefix'"),
        ("--help=x HEAD", "unknown option `help=x'"),
        ("-Z HEAD", "unknown switch `Z'"),
        ("-v9Z HEAD", "unknown switch `Z'"),
        ("-vé HEAD", "unknown non-ascii option in string: `-é'"),
        ("HEAD --format", "option `format' requires a value"),
        ("--pref", "option `prefix' requires a value"),
        ("--output", "option `output' requires a value"),
        ("HEAD --remote", "option `remote' requires a value"),
        ("--exec", "option `exec' requires a value"),
        ("-o", "switch `o' requires a value"),
        ("-9o", "switch `o' requires a value"),
        ("--verbose=3 HEAD", "option `verbose' takes no value"),
        ("--verb=3 HEAD", "option `verbose' takes no value"),
        ("--no-verbose=3 HEAD", "option `no-verbose' takes no value"),
        ("--no-output=f HEAD", "option `no-output' takes no value"),
        ("--list=x", "option `list' takes no value"),
        ("-prefix=x/ HEAD", "unknown switch `p'"),
        ("-list", "did you mean `--list` (with two dashes)?"),
        (
            "-verbose HEAD",
            "did you mean `--verbose` (with two dashes)?",
        ),
        ("-form zip HEAD", "did you mean `--form` (with two dashes)?"),
        (
            "-remote r HEAD",
            "did you mean `--remote` (with two dashes)?",
        ),
        ("-no-x HEAD", "did you mean `--no-x` (with two dashes)?"),
    ] {
        assert_same_complaint(&repo, args, 129, &format!("error: {message}"));
    }
}

/// A hint follows git's line where an option is like the one that is typed.
#[test]
fn misspelt_options() {
    let repo = Repo::from("basic");
    for (typed, similar) in [
        ("outptu=x", Some("output")),
        ("no-progres", None),
        ("no-progrss", Some("no-progress")),
        ("reject=x", None),
    ] {
        let messages = repo.sluice([&format!("--{typed}"), "HEAD"]).messages();
        let hint = similar.map(|name| format!("hint: did you mean '--{name}'?"));
        let told = messages.lines().find(|line| line.contains("did you mean"));
        assert_eq!(told, hint.as_deref(), "{messages}");
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
    for args in [
        "--p=p/ HEAD",
        "--p=a/ --no-p HEAD",
        "--f=tar --no-f HEAD",
        "--v HEAD",
        "--ver --no-v HEAD",
        "--w --no-w HEAD",
    ] {
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

#[test]
fn malformed_options_of_our_own() {
    for args in [
        ["--threads=x", "HEAD"],
        ["-j=", "HEAD"],
        ["--memory=1q", "HEAD"],
        ["--memory=", "HEAD"],
        ["--memory=64", "HEAD"],
        ["--memory=1023k", "HEAD"],
    ] {
        let output = Repo::from("basic").sluice(args);
        assert_eq!(output.code(), 129, "{output}");
        assert!(
            output.stdout.is_empty() && output.messages().starts_with("error: "),
            "{output}"
        );
    }
}

#[test]
fn no_tree_ish() {
    for args in ["", "-v", "--", "--prefix=p/", "--format=nosuch"] {
        let output = Repo::from("basic").sluice(args.split_whitespace());
        let expected = "error: a tree-ish is required\n\
                        hint: git sluice [archive] [<options>] <tree-ish> [<path>...]\n";
        output.assert_failure(129, expected);
    }
}

/// An option took the tree-ish as its value.
#[test]
fn a_tree_ish_that_an_option_took() {
    for (args, cause, hint) in [
        (
            "--prefix HEAD",
            "'--prefix' took 'HEAD' as its value",
            "--prefix=<value> HEAD",
        ),
        (
            "-o HEAD",
            "'-o' took 'HEAD' as its value",
            "-o <value> HEAD",
        ),
        (
            "--pathspec-fr HEAD",
            "'--pathspec-from-file' took 'HEAD' as its value",
            "--pathspec-from-file=<value> HEAD",
        ),
        (
            "--exclude HEAD",
            "'--exclude' took 'HEAD' as its value",
            "--exclude=<value> HEAD",
        ),
        (
            "-o HEAD -j 2 --prefix=x",
            "'-o' took 'HEAD' as its value; '-j' took '2' as its value",
            "-j <value> 2",
        ),
    ] {
        let output = Repo::from("basic").sluice(args.split_whitespace());
        let expected =
            format!("error: a tree-ish is required\ncaused by: {cause}\nhint: git sluice {hint}\n");
        output.assert_failure(129, &expected);
    }
}

/// Options of git come before the name of the command.
#[test]
fn options_at_the_wrong_place() {
    for (args, unknown, hint) in [
        ("-C dir HEAD", "switch `C'", "git -C <dir> sluice"),
        (
            "-c tar.umask=0 HEAD",
            "switch `c'",
            "git -c <name>=<value> sluice",
        ),
        (
            "--git-dir=x HEAD",
            "option `git-dir=x'",
            "git --git-dir=<dir> sluice",
        ),
        ("--bare HEAD", "option `bare'", "git --bare sluice"),
    ] {
        let output = Repo::from("basic").sluice(args.split_whitespace());
        let expected = format!("error: unknown {unknown}\nhint: {hint}\n");
        output.assert_failure(129, &expected);
    }
}

/// A number says what it may be, wherever it is read.
#[test]
fn numbers() {
    let repo = Repo::from("basic");
    for (args, option, message) in [
        (
            "-j many HEAD",
            "'many' for '--threads <count>'",
            "not a whole number",
        ),
        (
            "-j 0 HEAD",
            "'0' for '--threads <count>'",
            "not from 1 to 1024",
        ),
        (
            "--cache-jobs=x HEAD",
            "'x' for '--cache-jobs <count>'",
            "not a whole number",
        ),
        (
            "--base=HEAD --max-changed-paths=x HEAD",
            "'x' for '--max-changed-paths <count>'",
            "not a whole number",
        ),
        (
            "publish --full-every=x b/c HEAD",
            "'x' for '--full-every <count>'",
            "not a whole number",
        ),
    ] {
        let output = repo.sluice(args.split_whitespace());
        let expected = format!("error: invalid value {option}: {message}\n");
        output.assert_failure(129, &expected);
    }
}

/// What would change nothing is refused.
#[test]
fn options_that_do_nothing_here() {
    for (args, line) in [
        ("--timeout=1 HEAD", "error: unknown option `timeout=1'"),
        ("manual -v", "error: unknown switch `v'"),
        ("completions bash -v", "error: unknown switch `v'"),
    ] {
        assert_complaint(&Repo::from("basic"), args, 129, line);
    }
    for args in ["manual HEAD", "completions bash zsh", "help zoekt HEAD"] {
        let output = Repo::from("basic").sluice(args.split_whitespace());
        output.assert_refused(129, &["error: "]);
    }
}
