//! Random requests while the repositories change: each answer is that of a process of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::client::{Answer, Client};
use super::fixture::{Fixture, file_name, git, hermetic};
use crate::corpus::Random;

/// So many of a hundred requests come after a change.
const CHANGES: u64 = 12;
/// Requests of all kinds.
const REQUESTS: [&[&str]; 10] = [
    &["HEAD"],
    &["--base=HEAD~1", "HEAD"],
    &["--base=tag1", "--format=tar.gz", "HEAD"],
    &["--format=zip", "HEAD"],
    &["tag1"],
    &["branch2", "dir3"],
    &["HEAD~2"],
    &["info", "HEAD"],
    &["--max-size=100", "-v", "HEAD"],
    &["missing", "HEAD"],
];
/// Few enough that many requests meet an open repository, and many meet a changed one.
const REPOSITORIES: u32 = 6;
const FILES: u32 = 100;

/// Asks `requests` times. Returns how many changes were made meanwhile.
pub(super) fn check(program: &Path, requests: u64, seed: u64) -> Result<u64> {
    let fixture = Fixture::make(REPOSITORIES, FILES)?;
    let mut random = Random::new(&[seed]);
    let mut client = Client::start(hermetic(program, fixture.beside()).arg("batch"))?;
    let mut changes = 0;
    for number in 0..requests {
        let repository = &fixture.repositories[random.below(REPOSITORIES.into()) as usize];
        if random.chance(CHANGES) {
            change(repository, fixture.beside(), &mut random)?;
            changes += 1;
        }
        let words = REQUESTS[random.below(REQUESTS.len() as u64) as usize];
        let answer = client.ask(repository, words)?;
        let expected = alone(hermetic(program, repository).args(words))?;
        ensure!(
            answer == expected,
            "request {number} of seed {seed}, {words:?}, after {changes} changes: {} and {} bytes; {} and {}; {:?} and {:?}",
            answer.data.len(),
            expected.data.len(),
            answer.status,
            expected.status,
            String::from_utf8_lossy(&answer.messages),
            String::from_utf8_lossy(&expected.messages),
        );
    }
    client.end()?;
    Ok(changes)
}

fn alone(command: &mut Command) -> Result<Answer> {
    let output = command.output()?;
    Ok(Answer {
        data: output.stdout,
        messages: output.stderr,
        status: output.status.code().context("a signal")?,
    })
}

/// Changes something that decides about archives. git refuses some changes, such as a second replacement.
fn change(repository: &Path, beside: &Path, random: &mut Random) -> Result<()> {
    let number = random.below(1000);
    let file = file_name(random.below(FILES.into()) as u32);
    let digit = number % 10;
    let info = repository.join(".git/info");
    let attempt = |words: &[&str]| drop(git(repository, words));
    let commit = || attempt(&["commit", "--quiet", "--all", "--message=more"]);
    match random.below(15) {
        0 => {
            fs::write(repository.join(&file), format!("{number}\n")).ok();
            commit();
        }
        1 => {
            attempt(&["rm", "--quiet", &file]);
            commit();
        }
        2 => attempt(&["gc", "--quiet", "--prune=now"]),
        3 => attempt(&["repack", "--quiet"]),
        4 => attempt(&[
            "config",
            "tar.umask",
            ["002", "022", "077"][number as usize % 3],
        ]),
        5 => {
            let rules = ["export-ignore", "export-subst", "-text", "text eol=crlf"];
            let rule = rules[number as usize % rules.len()];
            fs::create_dir_all(&info)?;
            fs::write(info.join("attributes"), format!("*{digit} {rule}\n"))?;
        }
        6 => drop(fs::remove_file(info.join("attributes"))),
        7 => attempt(&["tag", "--force", &format!("tag{}", number % 3)]),
        8 => attempt(&["pack-refs", "--all"]),
        9 => attempt(&["replace", "--force", "HEAD", "HEAD~1"]),
        10 => drop(fs::remove_dir_all(repository.join(".git/refs/replace"))),
        11 => attempt(&[
            "checkout",
            "--quiet",
            "-B",
            &format!("branch{}", number % 3),
        ]),
        12 => {
            let rule = format!("dir{digit} export-ignore\n");
            fs::write(repository.join(".gitattributes"), rule)?;
            attempt(&["add", ".gitattributes"]);
            commit();
        }
        13 => attempt(&[
            "config",
            "core.autocrlf",
            ["true", "false"][number as usize % 2],
        ]),
        _ => push(repository, &beside.join("clone"), number)?,
    }
    Ok(())
}

/// Pushes a commit from a clone.
fn push(repository: &Path, clone: &Path, number: u64) -> Result<()> {
    drop(fs::remove_dir_all(clone));
    let url = repository.to_string_lossy();
    let parent = clone.parent().context("no directory")?;
    git(
        parent,
        &["clone", "--quiet", &url, &clone.to_string_lossy()],
    )?;
    fs::write(clone.join("pushed"), format!("{number}\n"))?;
    git(clone, &["add", "pushed"])?;
    git(
        clone,
        &["commit", "--quiet", "--allow-empty", "--message=pushed"],
    )?;
    let branch = format!("HEAD:refs/heads/branch{}", number % 3);
    // git refuses to push to the branch that is checked out.
    drop(git(
        clone,
        &["push", "--quiet", "--force", "origin", &branch],
    ));
    Ok(())
}
