//! An option of one command is unknown to another, which says whose it is.

use super::COMMANDS;
use crate::support::Repo;

/// The commands about a delta.
const WITH_BASE: [&str; 4] = ["archive", "ls", "info", "missing"];
/// The commands about an archive.
const DESCRIBED: [&str; 5] = ["archive", "ls", "explain", "info", "missing"];
/// The same, and what is compared or published.
const FILTERED: [&str; 7] = [
    "archive", "ls", "explain", "info", "missing", "compare", "publish",
];

/// Commands that use threads whose number can be chosen.
const THREADED: [&str; 9] = [
    "archive", "ls", "explain", "info", "missing", "publish", "apply", "verify", "compare",
];

/// Options, each with the commands that have it.
const OPTIONS: [(&str, &[&str]); 45] = [
    ("--search", &["compare"]),
    ("--bytes", &["compare"]),
    ("--expect=x", &["compare"]),
    ("--older-than=1d", &["prune"]),
    ("--at=x", &["apply"]),
    ("--channel=bucket/main", &["apply"]),
    ("--verify", &["apply"]),
    ("--repair", &["apply"]),
    ("--force", &["publish"]),
    ("--republish", &["publish"]),
    ("--create", &["publish"]),
    ("--full-every=3", &["publish"]),
    ("--full-ratio=1", &["publish"]),
    ("--jobs=2", &["batch"]),
    ("--repositories=2", &["batch"]),
    ("--timeout=1", &["apply", "publish", "prune"]),
    ("--output=x", &["archive"]),
    ("--list", &["archive"]),
    ("--remote=.", &["archive"]),
    ("--exec=x", &["archive"]),
    ("--manifest=m", &["archive"]),
    ("--summary=s", &["archive"]),
    ("--fail-if-empty", &["archive"]),
    ("--byte-range=0-1", &["archive"]),
    ("--if-range=x", &["archive"]),
    ("--if-none-match=x", &["archive", "info"]),
    ("--cache=d", &["archive", "info"]),
    ("--cache-size=1g", &["archive", "info"]),
    ("--base=HEAD", &WITH_BASE),
    ("--deletions=none", &WITH_BASE),
    ("--max-changed-paths=1", &WITH_BASE),
    ("--format=tar", &DESCRIBED),
    ("--gzip-compat=git", &DESCRIBED),
    ("--prefix=x/", &FILTERED),
    ("--mtime=1", &FILTERED),
    ("--add-file=x", &FILTERED),
    ("--worktree-attributes", &FILTERED),
    ("--pathspec-from-file=x", &FILTERED),
    ("--exclude=x", &FILTERED),
    ("--max-size=1", &FILTERED),
    ("--submodules=omit", &FILTERED),
    ("--profile=zoekt", &FILTERED),
    ("--access-rules=x", &FILTERED),
    ("--threads=1", &THREADED),
    (
        "--progress",
        &["archive", "apply", "verify", "compare", "publish"],
    ),
];

/// What a command takes behind its options; nothing is read before all options are known.
fn operands(command: &str) -> &'static [&'static str] {
    match command {
        "apply" => &["nowhere", "archive"],
        "verify" => &["nowhere"],
        "compare" => &["nowhere", "HEAD"],
        "publish" => &["bucket/main", "HEAD"],
        "prune" => &["bucket"],
        "completions" => &["bash"],
        "batch" | "manual" | "help" => &[],
        _ => &["HEAD", "file.txt"],
    }
}

/// The server's words are git's.
fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.into_iter().filter(|it| *it != "upload-archive")
}

#[test]
#[ignore = "slow"]
fn options_of_other_commands() {
    let repo = Repo::from("basic");
    for (option, owners) in OPTIONS {
        for command in commands().filter(|it| !owners.contains(it)) {
            let output = repo.sluice([&[command, option], operands(command)].concat());
            let message = format!("error: unknown option `{}'\nhint: ", &option[2..]);
            output.assert_refused(129, &[&message]);
            let name = option.split('=').next().expect("one part");
            let hint = |owner: &&str| match command {
                "help" => format!("hint: git sluice help {}\n", &name[2..]),
                _ => format!("'{name}' is an option of 'git sluice {owner}'\n"),
            };
            let messages = output.messages();
            let is_named = owners.iter().any(|owner| messages.ends_with(&hint(owner)));
            assert!(is_named, "{output}");
        }
    }
}

/// What the table says of an option, the help says as well.
#[test]
fn the_help_has_the_options() {
    for command in commands() {
        let listed = super::options(command);
        for (option, owners) in OPTIONS {
            let name = option.split('=').next().expect("one part");
            let is_listed = listed.iter().any(|it| it == name);
            assert_eq!(is_listed, owners.contains(&command), "{command} {option}");
        }
    }
}

/// No table has it, so none is named; what is like it is.
#[test]
fn options_of_no_command() {
    let repo = Repo::from("basic");
    for command in commands() {
        let output = repo.sluice([&[command, "--nosuch"], operands(command)].concat());
        let hint = format!("git sluice {command} -h");
        let messages = output.messages();
        let short = command == "archive" && messages.contains("'git sluice -h'");
        assert!(short || messages.contains(&hint), "{output}");
        output.assert_refused(129, &["error: unknown option `nosuch'\nhint: "]);
    }
}

/// git's rules of spelling hold for each command.
#[test]
fn abbreviations_and_negations() {
    let repo = Repo::from("basic");
    let list = repo.sluice(["ls", "--max-size=9", "HEAD"]).success();
    for words in [
        &["ls", "--max-s=9", "HEAD"][..],
        &["ls", "--max-size", "9", "HEAD"],
        &["ls", "HEAD", "--max-size=9"],
        &["ls", "--max-size=1", "--max-size=9", "HEAD"],
        &["ls", "--prefix=x/", "--no-prefix", "--max-size=9", "HEAD"],
        &["ls", "--max-size=9", "--", "HEAD"],
    ] {
        assert!(repo.sluice(words).success() == list, "{words:?}");
    }
}
