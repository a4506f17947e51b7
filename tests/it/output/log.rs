//! The log of runs: a line for each, whoever asks.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::support::schema::Schema;
use crate::support::{Repo, process::run_with_input};

/// A repository with a log next to it.
struct Logged {
    repo: Repo,
    log: PathBuf,
}

impl Logged {
    fn new() -> Logged {
        let repo = Repo::copy("basic");
        let log = repo.path().with_file_name("log");
        Logged { repo, log }
    }

    /// The repository, with the log by the environment.
    fn by_variable(&self) -> Repo {
        self.repo.clone().env("GIT_SLUICE_LOG", &self.log)
    }

    /// The lines, each as the schema has it, and each about the repository.
    #[track_caller]
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let schema = Schema::read("summary");
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            schema.accept(&line);
            let repository = line["run"]["repository"].as_str().expect("open");
            assert!(repository.starts_with(self.repo.path().to_str().expect("text")));
            line
        });
        lines.collect()
    }

    #[track_caller]
    fn last(&self) -> Value {
        self.lines().pop().expect("a line")
    }
}

#[test]
fn the_variable_and_the_configuration_name_the_log() {
    let logged = Logged::new();
    let configured = &logged.repo;
    let expected = configured.archive(["HEAD"]);
    let log = logged.log.to_str().expect("text");
    configured.git(["config", "sluice.log", log]);
    let output = configured.sluice(["HEAD"]);
    assert!(
        output.stdout == expected.stdout && output.stderr.is_empty(),
        "{output}"
    );
    let line = logged.last();
    assert_eq!(line["complete"], true);
    assert_eq!(line["bytes_out"], expected.stdout.len());
    assert_eq!(line["run"]["is_served"], false);
    // An empty variable means none, and another file comes first.
    let none = configured.clone().env("GIT_SLUICE_LOG", "");
    let _ = none.sluice(["HEAD"]).success();
    let other = logged.log.with_file_name("other");
    let _ = none
        .env("GIT_SLUICE_LOG", &other)
        .sluice(["HEAD"])
        .success();
    assert_eq!(logged.lines().len(), 1);
    assert!(other.exists());
    // A summary has no run.
    let _ = configured
        .sluice(["--summary=../summary", "HEAD"])
        .success();
    let summary = fs::read_to_string(logged.log.with_file_name("summary")).expect("written");
    assert!(!summary.contains("\"run\""), "{summary}");
}

#[test]
fn the_cache_is_in_the_log() {
    let logged = Logged::new();
    let repo = logged.by_variable();
    let cache = format!("--cache={}", logged.log.with_file_name("cache").display());
    for role in ["producer", "hit"] {
        let _ = repo.sluice([&cache, "--cache-always", "HEAD"]).success();
        assert_eq!(logged.last()["cache"]["role"], role);
    }
    let _ = repo.sluice([&cache, "HEAD^{tree}"]).success();
    let line = logged.last();
    assert_eq!(line["cache"]["role"], "bypass");
    assert!(line["cache"]["reason"].is_string(), "{line}");
}

#[test]
fn failures_are_in_the_log() {
    let logged = Logged::new();
    let repo = logged.by_variable();
    let failed = repo.sluice(["nothing"]);
    assert_eq!(failed.code(), 128);
    let line = logged.last();
    assert_eq!(line["complete"], false);
    assert_eq!(
        line["error"].as_str().expect("text").to_owned() + "\n",
        failed.messages()
    );
    // A reader that hangs up.
    let _ = repo.shell("git-sluice --add-virtual-file=a:b HEAD | true");
    assert_eq!(logged.lines().len(), 2);
}

/// All ways to an archive.
#[test]
fn servers_and_batches_have_lines() {
    let logged = Logged::new();
    let repo = logged.by_variable();
    let _ = repo.served(["--remote=.", "HEAD"]).success();
    assert_eq!(logged.last()["run"]["is_served"], true);
    let mut batch = repo.command(crate::support::binary());
    let request = b"0015argument archive\n0012argument HEAD\n0000".to_vec();
    let _ = run_with_input(batch.arg("batch"), request).success();
    assert_eq!(logged.lines().len(), 2);
}

#[test]
fn lines_of_many_runs_do_not_mix() {
    let logged = Logged::new();
    let repo = logged.by_variable();
    for _ in 0..10 {
        let runs: Vec<_> = (0..10).map(|_| repo.start(["HEAD"])).collect();
        runs.into_iter()
            .for_each(|run| drop(run.finish().success()));
    }
    assert_eq!(logged.lines().len(), 100);
}

/// A log never fails a run, and no run waits for a reader of it.
#[test]
fn a_log_that_cannot_be_written() {
    let logged = Logged::new();
    logged.repo.script("mkfifo ../pipe");
    for place in ["/dev/full", "/nowhere/log", "..", "../pipe"] {
        let output = logged
            .repo
            .clone()
            .env("GIT_SLUICE_LOG", place)
            .sluice(["HEAD"]);
        assert_eq!(output.messages(), "", "{place}");
        assert_eq!(output.code(), 0, "{place}");
    }
}
