//! Each exit status of the table, by a command line that ends with it.

use std::{collections::BTreeSet, io::Read};

use sluice_cli::{CommandName, all_exit_statuses, exit_statuses};

use crate::{
    support::process::Running,
    support::{Repo, binary},
};

/// A repository and a bucket beside it, with the channel `main`; a directory `dir` that is at its commit.
fn place() -> Repo {
    let repo = Repo::copy("basic");
    let script = "git sluice publish --create ../bucket/main HEAD && \
                  git sluice apply --channel=../bucket/main ../dir && \
                  git sluice publish ../bucket/damaged HEAD && \
                  echo x >../bucket/v1/channels/damaged.json && \
                  git sluice apply --channel=../bucket/main ../changed && \
                  git archive -o ../a.tar HEAD && \
                  head -c 2000 ../a.tar >../cut.tar && \
                  rm ../changed/file.txt && git init -q ../lacking && cd ../lacking && \
                  echo x >x && git add x && git commit -qm x && git archive -o ../lacking.tar HEAD && rm -r .git/objects/58";
    repo.script(script);
    repo
}

#[test]
fn every_status() {
    let repo = place();
    let mut seen = BTreeSet::new();
    for (status, words) in [
        (0, "HEAD"),
        (0, "ls HEAD"),
        (0, "verify ../dir"),
        (0, "apply --verify --channel=../bucket/main ../dir"),
        (0, "compare ../a.tar"),
        (1, "verify ../changed"),
        (1, "compare ../changed HEAD"),
        (1, "apply --verify --channel=../bucket/main ../changed"),
        (3, "--base=nothing HEAD"),
        (3, "ls --base=nothing HEAD"),
        (4, "--exclude=** --fail-if-empty HEAD"),
        (5, "--base=HEAD^{tree}:dir --max-changed-paths=0 HEAD"),
        (7, "--if-none-match=* HEAD"),
        (7, "info --if-none-match=* HEAD"),
        (8, "--byte-range=99999999- HEAD"),
        (9, "apply --channel=../bucket/none ../new"),
        (
            9,
            "apply --channel=../bucket/main --at=1234567890123456789012345678901234567890 ../new",
        ),
        (9, "compare ../lacking.tar"),
        (10, "apply --channel=../nowhere/main ../new"),
        (10, "publish ../nowhere/main HEAD"),
        (10, "prune ../nowhere"),
        (11, "apply --channel=../bucket/damaged ../new"),
        (11, "publish ../bucket/damaged HEAD"),
        (11, "prune ../bucket"),
        (12, "--fail-if-varies HEAD^{tree}"),
        (11, "compare ../cut.tar HEAD"),
        (128, "nothing"),
        (128, "ls nothing"),
        (128, "apply ../dir nothing"),
        (128, "verify ../nowhere"),
        (128, "compare ../nowhere"),
        (0, "compare ../dir"),
        (129, "--nosuch HEAD"),
        (129, "ls --nosuch HEAD"),
        (129, "--deletions=none HEAD"),
        (129, "--byte-range=0-1 --manifest=m HEAD"),
        (129, "apply --channel=../bucket/main ../dir archive"),
        (129, "apply --verify --repair ../dir archive"),
        (129, "ls"),
        (129, "compare"),
        (129, "compare --bytes ../dir HEAD"),
    ] {
        let output = repo.sluice(words.split(' '));
        assert_eq!(output.code(), status, "{words}\n{output}");
        let status = u8::try_from(status).expect("a status");
        let command = words.split(' ').next().unwrap_or_default();
        let command = CommandName::of(command.as_ref()).unwrap_or(CommandName::Archive);
        let mut listed = exit_statuses(command).into_iter();
        assert!(
            listed.any(|(it, _)| it == status),
            "the help lists it: {words}"
        );
        seen.insert(status);
    }
    let lacking = repo.clone().at("../lacking");
    assert_eq!(lacking.sluice(["HEAD"]).code(), 255);
    let list = lacking.sluice(["missing", "HEAD"]);
    assert_eq!(list.code(), 9, "{list}");
    seen.insert(255);
    // A shell shows this for a death by SIGPIPE.
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    let mut command = repo.command(binary());
    let unread = Running::start_between(Vec::new(), command.arg("HEAD"), writer.into());
    assert_eq!(unread.finish().code(), 141);
    seen.insert(status_of_a_busy_cache());
    let limited = repo.clone().with(["-c", "sluice.maxEntries=0"]);
    assert_eq!(limited.sluice(["HEAD"]).code(), 13);
    seen.insert(13);
    let all = all_exit_statuses().into_iter();
    assert_eq!(seen, all.map(|(status, _)| status).collect());
}

/// The cache makes one archive at a time, of which nobody reads more than a byte.
fn status_of_a_busy_cache() -> u8 {
    let repo = crate::cache::noisy(24 << 20);
    let cache = format!("--cache={}", repo.path().join(".git/shared").display());
    let mut producer = repo.start([&cache, "--cache-jobs=1", "HEAD"]);
    producer.stdout().read_exact(&mut [0]).expect("it began");
    let words = [
        &cache,
        "--cache-jobs=1",
        "--cache-wait=0",
        "--prefix=a/",
        "HEAD",
    ];
    let output = repo.sluice(words);
    assert_eq!(producer.finish().code(), 0);
    u8::try_from(output.code()).expect("a status")
}

/// The table of the program is in its manual page, and that of a command in the help of the command.
#[test]
fn the_tables_are_shown() {
    let manual = super::text(&["manual"]);
    for (status, meaning) in all_exit_statuses() {
        let start: String = meaning.chars().take(12).collect();
        let start = start.trim_end().replace('-', "\\-");
        assert!(manual.contains(&status.to_string()), "{status}");
        assert!(manual.contains(&start), "{start}");
    }
    for (words, command) in [
        ("--help", CommandName::Archive),
        ("verify --help", CommandName::Verify),
    ] {
        let help = super::text(&words.split(' ').collect::<Vec<_>>());
        let (_, table) = help.split_once("\nExit status:\n").expect("a table");
        let numbers = table.lines().map_while(|row| row.split_whitespace().next());
        let listed = exit_statuses(command).into_iter();
        assert!(
            numbers.eq(listed.map(|(status, _)| status.to_string())),
            "{help}"
        );
    }
}
