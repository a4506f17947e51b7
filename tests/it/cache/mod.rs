//! One producer, many readers: whoever asks, and whatever becomes of the others, the client has git's bytes.

mod basics;
mod bounds;
mod bypass;
mod damage;
mod donors;
mod downloads;
mod failures;
mod histories;
mod keys;
mod readers;
mod schedules;

use std::{fs, io::Read, path::PathBuf};

use serde_json::Value;

use crate::support::process::{Output, Running};
use crate::support::{Repo, noise};

/// More than what is written ahead and what pipes hold, in bytes.
const LARGE: usize = 24 << 20;

/// A directory of shared archives, beside the summary of the last run.
struct Cache {
    top: Repo,
}

impl Cache {
    fn new() -> Cache {
        Cache {
            top: Repo::scratch(),
        }
    }

    /// Another directory with the same files.
    fn copy(&self) -> Cache {
        let copy = Cache::new();
        fs::create_dir(copy.path()).expect("our own");
        for name in self.names() {
            let from = self.path().join(&name);
            fs::copy(from, copy.path().join(name)).expect("only files");
        }
        copy
    }

    fn path(&self) -> PathBuf {
        self.top.path().join("cache")
    }

    /// The options of a run that shares its archive.
    fn options(&self) -> String {
        let (cache, summary) = (self.path(), self.summary_path());
        format!(
            "--cache={} --summary={}",
            cache.display(),
            summary.display()
        )
    }

    fn summary_path(&self) -> PathBuf {
        self.top.path().join("summary")
    }

    /// A run that shares its archive; `args` are words between spaces.
    #[track_caller]
    fn run(&self, repo: &Repo, args: &str) -> Output {
        let options = self.options();
        repo.sluice(options.split(' ').chain(args.split_whitespace()))
    }

    /// The same, to be read at leisure, without a summary.
    fn start(&self, repo: &Repo, args: &str) -> Running {
        let option = format!("--cache={}", self.path().display());
        repo.start(std::iter::once(&option[..]).chain(args.split_whitespace()))
    }

    /// Reads the first `len` bytes of an archive.
    fn begin(&self, repo: &Repo, args: &str, len: usize) -> (Running, Vec<u8>) {
        let mut run = self.start(repo, args);
        let mut start = vec![0; len];
        run.stdout().read_exact(&mut start).expect("it began");
        (run, start)
    }

    /// What the last run tells about the cache.
    #[track_caller]
    fn told(&self) -> Value {
        self.summary()["cache"].take()
    }

    #[track_caller]
    fn summary(&self) -> Value {
        let text = fs::read(self.summary_path()).expect("every run writes a summary");
        serde_json::from_slice(&text).expect("a summary is JSON")
    }

    /// A run has git's bytes, status and messages, and this part in the work.
    #[track_caller]
    fn assert_role(&self, repo: &Repo, args: &str, role: &str) {
        let expected = repo.archive(args.split_whitespace());
        let actual = self.run(repo, args);
        assert_eq!(actual.messages(), expected.messages(), "{actual}");
        assert_eq!(actual.code(), expected.code(), "{actual}");
        assert!(actual.stdout == expected.stdout, "other bytes: {actual}");
        assert_eq!(self.told()["role"], role, "{}\n{actual}", self.told());
    }

    /// The names of all files in the directory.
    fn names(&self) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path()) else {
            return Vec::new();
        };
        let mut names: Vec<_> = files
            .map(|file| file.expect("readable").file_name())
            .map(|name| name.into_string().expect("keys are text"))
            .collect();
        names.sort();
        names
    }

    /// The complete archives.
    fn archives(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| name.len() == 64);
        names
    }

    /// Nothing is left that no later run can use.
    #[track_caller]
    fn assert_tidy(&self) {
        let mut names = self.names();
        names.retain(|name| {
            let is_shared = ["lock", "seen", "latest", "queue"].contains(&&name[..]);
            name.len() != 64 && !is_shared
        });
        assert_eq!(names, [""; 0]);
    }
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(0x9e37_79b9_7f4a_7c15 ^ seed)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A commit of one file of `len` bytes that no one can compress.
pub(crate) fn noisy(len: usize) -> Repo {
    let repo = Repo::init();
    repo.write("noise", noise(1, len));
    repo.git(["-c", "core.compression=0", "add", "noise"]);
    repo.git(["commit", "-q", "-m", "noise"]);
    repo
}
