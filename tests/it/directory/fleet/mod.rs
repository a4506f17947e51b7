//! `publish`, `apply` from a channel, `prune`: what machines without a repository hold.
//!
//! Each test has a repository, a bucket beside it, and directories that channels are applied to. The oracle is
//! `git archive`, extracted.

mod faults;
mod history;
mod options;
mod pruning;
mod publishers;
mod races;
mod recipes;
mod remote;
mod server;

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::{
    directory::apply::archive::{Tree, found},
    support::process::{Output, Running},
    support::schema::Schema,
    support::{Repo, skip},
};

/// Whether the program was built with object stores.
fn has_stores() -> bool {
    let output = Repo::scratch().sluice(["prune", "none://bucket"]);
    !output.messages().contains("--features store")
}

/// The same for tests of object stores, which are skipped without.
fn needs_stores() -> bool {
    let has = has_stores();
    if !has {
        skip("the program was built without object stores");
    }
    has
}

/// A repository, a bucket, and machines.
struct Fleet {
    repo: Repo,
    top: Repo,
}

impl Fleet {
    /// A repository with one commit, and an empty bucket.
    fn new() -> Fleet {
        let fleet = Fleet {
            repo: Repo::init(),
            top: Repo::scratch(),
        };
        fs::create_dir_all(fleet.top.path().join("bucket/v1")).expect("our own");
        // Large enough that a delta is much smaller than everything.
        let digits = "BEGIN { srand(1); for (i = 0; i < 9000; i++) printf \"%d\", rand() * 1e9 }";
        fleet.commit(&format!(
            "mkdir dir && awk '{digits}' >large && seq 300 >dir/deep && echo 0 >small && ln -s small link"
        ));
        fleet
    }

    /// The same with three commits that are published.
    fn published() -> (Fleet, [String; 3]) {
        let fleet = Fleet::new();
        let ids = [
            "true",
            "echo 1 >small && rm link && echo 1 >dir/new",
            "echo 2 >small && rm -r dir && echo 2 >dir",
        ]
        .map(|script| {
            let id = fleet.commit(script);
            let _ = fleet.publish("HEAD").success();
            id
        });
        (fleet, ids)
    }

    /// Commits what `script` makes of the work tree. Returns the commit.
    #[track_caller]
    fn commit(&self, script: &str) -> String {
        self.repo.script(script);
        self.repo.git(["add", "-A"]);
        self.repo.git(["commit", "-q", "--allow-empty", "-m", "x"]);
        self.repo.git(["rev-parse", "HEAD"])
    }

    fn bucket(&self) -> PathBuf {
        self.top.path().join("bucket")
    }

    fn place(&self) -> String {
        format!("{}/main", self.bucket().display())
    }

    fn publishing(&self, words: &str) -> Vec<String> {
        let words = words.split_whitespace().map(ToOwned::to_owned);
        let place = ["publish".to_owned(), self.place()];
        place.into_iter().chain(words).collect()
    }

    #[track_caller]
    fn publish(&self, words: &str) -> Output {
        self.repo.sluice(self.publishing(words))
    }

    fn start_publishing(&self, words: &str) -> Running {
        self.repo.start(self.publishing(words))
    }

    /// What a publication that succeeds says.
    #[track_caller]
    fn told(&self, words: &str) -> Value {
        let line = self.publish(words).success();
        let value = serde_json::from_slice(&line).expect("one line of JSON");
        Schema::read("published").accept(&value);
        value
    }

    /// The kinds of what was published: `full`, `delta`.
    #[track_caller]
    fn kinds(&self, words: &str) -> Vec<&'static str> {
        let told = self.told(words);
        let steps = told["steps"].as_array().expect("a list").iter();
        let kind = |step: &Value| {
            if step["base"].is_null() {
                "full"
            } else {
                "delta"
            }
        };
        steps.map(kind).collect()
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn applying(&self, directory: &str, words: &str) -> Vec<String> {
        let words = ["apply", "--channel=bucket/main"]
            .into_iter()
            .chain(words.split_whitespace());
        words.chain([directory]).map(ToOwned::to_owned).collect()
    }

    #[track_caller]
    fn apply(&self, directory: &str, words: &str) -> Output {
        self.top.sluice(self.applying(directory, words))
    }

    fn start_applying(&self, directory: &str) -> Running {
        self.top.start(self.applying(directory, ""))
    }

    /// The files of `commit`, as git has them.
    #[track_caller]
    fn tree(&self, commit: &str, words: &str) -> Tree {
        let place = Repo::scratch();
        let tar = self
            .repo
            .archive(words.split_whitespace().chain([commit]))
            .success();
        place.write("tar", tar);
        place.script("mkdir x && tar -C x -xf tar");
        found(&place.path().join("x"))
    }

    /// The directory holds `commit`, and says so.
    #[track_caller]
    fn assert_holds(&self, directory: &str, commit: &str) {
        assert_eq!(self.state(directory), format!("holds {commit}"));
        self.assert_files(directory, &self.tree(commit, ""));
    }

    /// The channel is applied, and the directory then holds `commit`.
    #[track_caller]
    fn assert_brings(&self, directory: &str, words: &str, commit: &str) {
        let _ = self.apply(directory, words).success();
        self.assert_holds(directory, commit);
    }

    /// Brings the directory to this commit of the channel.
    #[track_caller]
    fn apply_at(&self, directory: &str, commit: &str) {
        let at = format!("--at={commit}");
        let _ = self.apply(directory, &at).success();
    }

    #[track_caller]
    fn assert_files(&self, directory: &str, expected: &Tree) {
        let found = found(&self.directory(directory));
        assert!(
            &found == expected,
            "is        {found:?}\nshould be {expected:?}"
        );
    }

    /// What the directory says of itself, without the channel and the filters.
    fn state(&self, directory: &str) -> String {
        let path = self.directory(directory).join(".git-sluice");
        let text = fs::read_to_string(path).unwrap_or_default();
        let words: Vec<_> = text
            .split_whitespace()
            .filter(|word| word.len() < 64)
            .collect();
        words.join(" ")
    }

    fn channel_path(&self) -> PathBuf {
        self.bucket().join("v1/channels/main.json")
    }

    fn channel(&self) -> Value {
        let text = fs::read(self.channel_path()).expect("published");
        let channel = serde_json::from_slice(&text).expect("JSON");
        Schema::read("channel").accept(&channel);
        channel
    }

    fn steps(&self) -> Vec<Value> {
        self.channel()["steps"].as_array().expect("a list").clone()
    }

    /// The files of the archives in the bucket.
    fn objects(&self) -> Vec<String> {
        let objects = fs::read_dir(self.bucket().join("v1/objects")).expect("published");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = objects
            .map(name)
            .map(|name| name.into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The file of an archive.
    fn object(&self, step: &Value) -> PathBuf {
        let digest = step["sha256"].as_str().expect("a digest");
        self.bucket().join(format!("v1/objects/{digest}.tar.zst"))
    }
}
