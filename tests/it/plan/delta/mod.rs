//! `--base`: what changed, and nothing else, so that base and delta together are the target.
//!
//! The claim of nearly every test is one equation: the full archive of the base applied to an empty
//! directory, and then the delta, is what tar makes of the full archive of the target, with the same
//! options. What the manifest says of it is compared with what git knows of both trees.

mod carriers;
mod divided;
mod filters;
mod limits;
mod matrix;
mod property;
mod readers;
mod submodules;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_base::progress::Console;
use sluice_base::working_directory::WorkingDirectory;
use sluice_fleet::apply::{ApplyOptions, Archive, Reports, TargetDirectory};
use tempfile::TempDir;

use crate::directory::apply::archive::{Tree, found};
use crate::output::report::path_of;
use crate::support::import::{Files, Node, executable, file, files, link, write_commit};
use crate::support::process::{Output, run, run_with_input};
use crate::support::schema::Schema;
use crate::{leftovers::temporary_directory, support::Repo};

/// What a delta goes over.
struct Base {
    id: String,
    /// All of it, if there is anything.
    archive: Option<Vec<u8>>,
}

impl Base {
    /// A directory to which the full archive was applied. If there is nothing that was asked for in it,
    /// it is empty.
    #[track_caller]
    fn lay_down(&self) -> TempDir {
        let directory = temporary_directory();
        match &self.archive {
            Some(archive) => apply(directory.path(), archive),
            None => {
                let state = format!("holds {}\n", self.id);
                fs::write(directory.path().join(".git-sluice"), state).expect("our own");
            }
        }
        directory
    }
}

/// A repository with two commits: `old`, and `new` upon it.
struct History {
    repo: Repo,
    /// Where what is no part of it may lie.
    git: PathBuf,
}

impl History {
    fn new(old: &Files, new: &Files) -> History {
        History::of(Repo::init(), old, new)
    }

    /// In a repository without a commit.
    fn of(repo: Repo, old: &Files, new: &Files) -> History {
        let mut stream = Vec::new();
        write_commit(&mut stream, "old", None, old);
        write_commit(&mut stream, "new", Some("old"), new);
        repo.git_with_input(["fast-import", "--quiet"], stream);
        let git = repo.path().join(".git");
        History { repo, git }
    }

    /// What changed from `base` to `target`.
    #[track_caller]
    fn delta(&self, [base, target]: [&str; 2], options: &[&str]) -> Output {
        let base = format!("--base={base}");
        self.sluice(&[&[base.as_str()], options].concat(), target)
    }

    /// Our command; options, a tree-ish, and perhaps pathspecs that stand among the options, after
    /// a `--`.
    #[track_caller]
    fn sluice(&self, options: &[&str], treeish: &str) -> Output {
        let split = options.iter().position(|option| *option == "--");
        let (options, paths) = options.split_at(split.unwrap_or(options.len()));
        self.repo.sluice([options, &[treeish], paths].concat())
    }

    /// The equation; what the manifest says, a line for each of its lines.
    #[track_caller]
    fn assert_delta(&self, ends: [&str; 2], options: &[&str]) -> String {
        let expected = self.extracted(options, ends[1]);
        let base = self.base(ends[0], options);
        let manifest = self.git.join("manifest");
        let report = format!("--manifest={}", manifest.display());
        let output = self.delta(ends, &[&[&report[..]], options].concat());
        assert_only_known_warnings(&output);
        let directory = base.lay_down();
        apply(directory.path(), &output.success());
        let actual = found(directory.path());
        assert!(
            actual == expected,
            "{ends:?} {options:?}\nis        {actual:?}\nshould be {expected:?}"
        );
        let redacted = options.iter().any(|it| it.starts_with("--access-rules"));
        self.told(ends, &manifest, redacted)
    }

    #[track_caller]
    fn base(&self, base: &str, options: &[&str]) -> Base {
        let id = self.repo.git(["rev-parse", base]);
        let output = self.sluice(options, base);
        assert_nothing_asked_for(&output);
        // Only the archive of a commit says what it is.
        let is_full = output.code() == 0 && self.repo.git(["cat-file", "-t", &id]) == "commit";
        Base {
            archive: is_full.then_some(output.stdout),
            id,
        }
    }

    /// What tar makes of the full archive; if there is nothing that was asked for, of the archive of an
    /// empty tree.
    #[track_caller]
    fn extracted(&self, options: &[&str], target: &str) -> Tree {
        let directory = temporary_directory();
        // From a pipe, tar takes no compressed archive.
        let plain = options
            .iter()
            .copied()
            .filter(|option| !option.starts_with("--format="));
        let plain: Vec<&str> = plain.collect();
        let mut output = self.sluice(&plain, target);
        if output.code() != 0 {
            assert_nothing_asked_for(&output);
            let empty = self.repo.git_with_input(["mktree"], "");
            let paths = plain.iter().position(|option| *option == "--");
            output = self.sluice(&plain[..paths.unwrap_or(plain.len())], &empty);
        }
        let mut tar = self.repo.command("tar");
        tar.args(["--no-same-owner", "-xf-", "-C"])
            .arg(directory.path());
        let _ = run_with_input(&mut tar, output.success()).success();
        found(directory.path())
    }

    /// The lines of a manifest, for people: status, path, old mode and new, what became of it. What it
    /// says of objects is what git says; if `redacted`, it says nothing of directories as objects.
    #[track_caller]
    fn told(&self, [base, target]: [&str; 2], manifest: &Path, redacted: bool) -> String {
        let schema = Schema::read("manifest");
        let text = fs::read_to_string(manifest).expect("written");
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            schema.accept(&line);
            line
        });
        let lines: Vec<Value> = lines.collect();
        let [_, lines @ .., _] = &lines[..] else {
            panic!("no header or no end: {text}");
        };
        let [old, new] = [self.objects(base), self.objects(target)];
        let mut told = String::new();
        for line in lines {
            let field = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
            let path = path_of(line);
            let known = |objects: &[(Vec<u8>, String)], [mode, id]: [&str; 2]| {
                let stated = format!("{} {}", field(mode), field(id));
                let path = path.strip_suffix(b"/").unwrap_or(&path);
                // The prefix, and what is below the directory of the user, are not looked into.
                let same = |(end, object): &(Vec<u8>, String)| {
                    *object == stated && (path.ends_with(end) || end.ends_with(path))
                };
                if redacted && stated.starts_with("040000 ") {
                    return stated == "040000 -";
                }
                stated == "- -" || objects.iter().any(same)
            };
            let known = known(&old, ["old_mode", "old_id"]) && known(&new, ["mode", "id"]);
            assert!(known, "git does not know of it: {line}");
            let words = [
                field("old_mode"),
                field("mode"),
                field("disposition"),
                field("reason"),
            ];
            let path = path.escape_ascii();
            let words = words.join(" ");
            let words = words.trim_end_matches(" -");
            told += &format!("{} {path} {words}\n", field("status"));
        }
        told
    }

    /// All that is in a tree, as `<mode> <id>`.
    fn objects(&self, treeish: &str) -> Vec<(Vec<u8>, String)> {
        let mut command = self.repo.command("git");
        let list = run(command.args(["ls-tree", "-rtz", "--full-tree", treeish])).success();
        let entries = list
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty());
        let root = self.repo.git(["rev-parse", &format!("{treeish}^{{tree}}")]);
        let parsed = entries.map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t').expect("git's");
            let words = std::str::from_utf8(&entry[..tab]).expect("git's");
            let words: Vec<&str> = words.split(' ').collect();
            (
                entry[tab + 1..].to_vec(),
                format!("{} {}", words[0], words[2]),
            )
        });
        parsed
            .chain([(Vec::new(), format!("040000 {root}"))])
            .collect()
    }

    /// The summary of a delta that succeeds.
    #[track_caller]
    fn summary(&self, ends: [&str; 2], options: &[&str]) -> Value {
        let summary = self.git.join("summary");
        let report = format!("--summary={}", summary.display());
        let output = self.delta(ends, &[&[report.as_str()], options].concat());
        let _ = output.success();
        read_summary(&summary)
    }
}

#[track_caller]
fn read_summary(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("written");
    let summary = serde_json::from_str(&text).expect("JSON");
    Schema::read("summary").accept(&summary);
    summary
}

/// There was no failure but that a pathspec matched nothing.
#[track_caller]
fn assert_nothing_asked_for(output: &Output) {
    let messages = output.messages();
    let nothing = messages.contains("did not match any files");
    assert!(output.code() == 0 || nothing, "{output}");
}

/// Applies an archive in this process: what the command says of it is for the tests of `apply`.
#[track_caller]
fn apply(directory: &Path, archive: &[u8]) {
    let (mut differences, mut messages) = (std::io::sink(), std::io::sink());
    let reports = Reports {
        differences: &mut differences,
        console: Console::new(&mut messages, None),
    };
    let directory = TargetDirectory {
        directory: WorkingDirectory::Current.file(directory),
        threads: None,
    };
    let archive = Archive {
        content: archive,
        len: None,
        origin: None,
    };
    let applied = sluice_fleet::apply::apply(&directory, archive, ApplyOptions::default(), reports);
    applied.unwrap_or_else(|error| panic!("{error}"));
}

/// Nothing is on stderr but the warnings about files that a partial clone lacks and about an ignore file in no tree.
#[track_caller]
fn assert_only_known_warnings(output: &Output) {
    let messages = output.messages();
    let known = ["not in the repository", "no tree contains"];
    let is_known = |line: &str| {
        line.starts_with("warning: ") && known.iter().any(|words| line.contains(words))
    };
    assert!(messages.lines().all(is_known), "{output}");
}
