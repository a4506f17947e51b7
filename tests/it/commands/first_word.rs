//! The first word is a command if it is the name of one, exactly. Anything else is an archive.

use super::COMMANDS;
use crate::{
    support::process::{run, run_with_input},
    support::{Repo, binary},
};

/// A repository with a branch for each name, which has a file of that name.
fn branches_like_commands() -> Repo {
    let repo = Repo::copy("basic");
    for name in COMMANDS {
        repo.git(["checkout", "-q", "-b", name, "main"]);
        repo.write(name, name);
        repo.commit(name, name);
    }
    repo.git(["checkout", "-q", "main"]);
    repo
}

#[test]
fn a_branch_with_the_name_of_a_command() {
    let repo = branches_like_commands();
    for name in COMMANDS {
        let expected = repo.archive([name]).success();
        for words in [
            &["archive", name][..],
            &["--format=tar", name],
            &["-j1", name],
            &["--", name],
            &["archive", "--", name],
            &["archive", "--format=tar", name],
        ] {
            assert!(repo.sluice(words).success() == expected, "{words:?}");
        }
        let file = repo.archive([name, name]).success();
        assert!(repo.sluice(["archive", name, name]).success() == file);
    }
    // Behind the first word, names of commands are names of files and trees.
    repo.git(["checkout", "-q", "ls"]);
    let expected = repo.archive(["HEAD", "ls"]).success();
    assert!(repo.sluice(["HEAD", "ls"]).success() == expected);
    let listed = repo.sluice(["ls", "ls", "ls"]).success();
    assert!(listed.starts_with(b"content                2 ls\ntotal: "));
}

/// Nobody shall wait for a batch where an archive was meant, or the other way round.
#[test]
fn a_command_alone_that_is_a_branch_too() {
    let repo = branches_like_commands();
    for name in COMMANDS {
        let output = repo.sluice([name]);
        let archive = format!("git sluice archive {name}");
        output.assert_refused(129, &["error: ", &format!("'{archive}'")]);
        assert!(
            output
                .messages()
                .contains(&format!("'git sluice {name} --'")),
            "{output}"
        );
    }
    // With a word more there is no doubt.
    for words in [
        &["batch", "--"][..],
        &["batch", "--jobs=1"],
        &["manual", "--"],
        &["manual", "ls"],
        &["help", "cache"],
        &["help", "git"],
        &["ls", "-h"],
    ] {
        let mut command = repo.command(binary());
        let _ = run_with_input(command.args(words), "").success();
    }
    repo.git(["tag", "help-is-a-tag"]);
    repo.git(["branch", "-q", "-D", "help"]);
    let _ = repo.sluice(["help"]).success();
    repo.git(["tag", "help"]);
    assert_eq!(repo.sluice(["help"]).code(), 129);
}

/// A name is a name as a whole, and no other word is one.
#[test]
fn other_words() {
    let repo = Repo::from("basic");
    for word in ["l", "LS", "Archive", "ls ", "upload", "head", "generate"] {
        let message = format!("fatal: not a valid object name: {word}");
        let output = repo.sluice([word]);
        output.assert_refused(128, &[&message]);
    }
    let expected = repo.archive(["HEAD"]).success();
    assert!(repo.sluice(["archive", "HEAD"]).success() == expected);
    repo.sluice(["archive"])
        .assert_refused(129, &["error: a tree-ish is required"]);
}

/// Requests of a batch and of the library are command lines in the same form.
#[test]
fn requests() {
    let repo = branches_like_commands();
    let answer = |words: &[&str]| {
        let mut request: String = words
            .iter()
            .map(|word| format!("{:04x}argument {word}", word.len() + 13))
            .collect();
        request += "0000";
        let mut batch = repo.command(binary());
        run_with_input(batch.arg("batch").arg("--jobs=1"), request).success()
    };
    let holds = |answer: &[u8], text: &[u8]| answer.windows(text.len()).any(|it| it == text);
    let archive = answer(&["archive", "ls"]);
    assert!(holds(&archive, b"ustar"));
    let list = answer(&["ls", "ls"]);
    assert!(holds(&list, b"content                2 ls\n") && !holds(&list, b"ustar"));
    let refused = answer(&["ls"]);
    assert!(holds(&refused, b"status 129") && holds(&refused, b"git sluice archive ls"));
}

/// A client of a server has the words of git and no others.
#[test]
fn clients_have_no_commands() {
    let repo = branches_like_commands();
    for name in ["ls", "batch", "apply"] {
        let expected = repo.archive([name]).success();
        assert!(repo.served(["--remote=.", name]).success() == expected);
        let remote = run(repo.command(binary()).args(["--remote=.", name]));
        assert!(remote.success() == expected);
    }
    let output = repo.served(["--remote=.", "ls", "main"]);
    assert!(output.code() != 0 && output.stdout.is_empty(), "{output}");
}
