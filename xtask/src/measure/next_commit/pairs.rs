//! Every archive of some commits from that of every other: the bytes must be those that are made without an earlier archive.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::{process, scratch};

/// Options, and attributes, with which archives are made from earlier ones.
const CASES: [(&[&str], &str); 8] = [
    (&[], ""),
    (&[], CONVERTING),
    (&["-j1"], ""),
    (&["-j2"], ""),
    (&["--memory=16m"], ""),
    (&["--max-size=2k"], ""),
    (PROFILE, ""),
    (&["--submodules=recurse"], ""),
];

/// As nothing is left out for want of it, the archive can be shared.
const PROFILE: &[&str] = &["--profile=zoekt", "--missing=fetch"];
const CONVERTING: &str = "*.md text eol=crlf\n*.rs ident\n*.toml export-subst\n";

/// Prints how many pairs of the newest `count` first parents of the repository were archived. Fails at the first difference.
pub(super) fn run(
    git_sluice: &Path,
    repository: &Path,
    count: u32,
    formats: &[&str],
) -> Result<()> {
    let place = scratch::directory()?;
    let clone = place.path().join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--shared", "--no-checkout"]);
    process::quiet(git.arg(repository).arg(&clone))?;
    let mut git = Command::new("git");
    git.args(["log", "--first-parent", "--format=%H", &format!("-{count}")]);
    let commits = process::text(git.current_dir(&clone))?;
    let commits: Vec<&str> = commits.lines().collect();
    for &format in formats {
        for (options, attributes) in CASES {
            // The profile has placeholders, for which a zip has no place.
            if format == "zip" && options == PROFILE {
                continue;
            }
            fs::write(clone.join(".git/info/attributes"), attributes)?;
            let trial = Trial {
                git_sluice,
                clone: &clone,
                format,
                options,
            };
            let copied = trial.all(&commits, place.path())?;
            let pairs = commits.len() * (commits.len() - 1);
            println!(
                "--format={format} {}{}: {pairs} pairs equal, {copied} with files of the earlier archive",
                options.join(" "),
                if attributes.is_empty() {
                    ""
                } else {
                    "(converted)"
                },
            );
        }
    }
    Ok(())
}

struct Trial<'a> {
    git_sluice: &'a Path,
    clone: &'a Path,
    format: &'a str,
    options: &'static [&'static str],
}

impl Trial<'_> {
    /// Archives each of `commits` from the archive of each other. Returns how many copied files.
    fn all(&self, commits: &[&str], place: &Path) -> Result<usize> {
        let kept = |commit: &str| place.join(format!("kept-{commit}"));
        let mut expected = Vec::new();
        for commit in commits {
            expected.push(process::quiet(&mut self.plain(commit))?);
            let _ = fs::remove_dir_all(kept(commit));
            process::quiet(&mut self.shared(commit, &kept(commit)))?;
        }
        let (cache, summary) = (place.join("cache"), place.join("summary"));
        let mut copied = 0;
        for earlier in commits {
            for (commit, expected) in commits.iter().zip(&expected) {
                if earlier == commit {
                    continue;
                }
                scratch::copy(&kept(earlier), &cache)?;
                let mut command = self.shared(commit, &cache);
                let bytes = process::quiet(command.arg("--summary").arg(&summary))?;
                ensure!(bytes == *expected, "{commit} from {earlier}: {command:?}");
                copied += usize::from(donor(&summary)? == "used");
            }
        }
        Ok(copied)
    }

    /// The archive without a cache: git's if git knows the options.
    fn plain(&self, commit: &str) -> Command {
        let mut command = if self.options.is_empty() {
            let mut git = Command::new("git");
            git.arg("archive");
            git
        } else {
            Command::new(self.git_sluice)
        };
        self.complete(&mut command, commit);
        command
    }

    fn shared(&self, commit: &str, cache: &Path) -> Command {
        let mut command = Command::new(self.git_sluice);
        command.arg("--cache").arg(cache).arg("--cache-always");
        self.complete(&mut command, commit);
        command
    }

    fn complete(&self, command: &mut Command, commit: &str) {
        command
            .args(self.options)
            .arg(format!("--format={}", self.format));
        command.arg(commit).current_dir(self.clone);
    }
}

/// What the summary says about the earlier archive.
fn donor(summary: &Path) -> Result<String> {
    let summary: Value = serde_json::from_slice(&fs::read(summary)?)?;
    let donor = &summary["cache"]["donor"];
    Ok(donor.as_str().unwrap_or_default().to_owned())
}
