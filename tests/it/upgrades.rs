//! Two versions of the program share a cache, a bucket, a directory and a chain of archives. Either may be the newer one.
//!
//! `GIT_SLUICE_OLDER` names the program of another version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{
    Repo, binary, named_program,
    process::{Output, run},
};

/// Commits of the repository.
const COMMITS: usize = 6;

/// A repository with a history, and two programs.
struct World {
    repo: Repo,
    /// The program under test, and the other one.
    programs: [PathBuf; 2],
}

impl World {
    fn create() -> Option<Self> {
        let older = named_program("GIT_SLUICE_OLDER")?;
        let repo = Repo::init();
        let script = "mkdir d && for n in $(seq 40); do seq $n 900 >d/$n; done && ln -s d/1 link && \
                      printf 'd/7 export-subst\\nd/8 text eol=crlf\\n' >.gitattributes && \
                      echo '$Format:%H$' >d/7 && git add . && git commit -qm 0 && git tag c0";
        let _ = repo.shell(script).success();
        for number in 1..COMMITS {
            let script = format!(
                "echo {number} >>d/{number}; git rm -q d/{gone}; echo {number} >new{number}; \
                 git add . && git commit -qm {number} && git tag c{number}",
                gone = number + 20
            );
            let _ = repo.shell(&script).success();
        }
        let programs = [binary().into(), older.into()];
        Some(Self { repo, programs })
    }

    /// Runs the program `which` with `words`.
    fn run(&self, which: usize, words: &str) -> Output {
        let mut command = self.repo.command(&self.programs[which]);
        run(command.args(words.split(' ')))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repo.path().join(".git").join(name)
    }

    /// Whether `directory` has the files of `commit`.
    fn holds(&self, directory: &Path, commit: &str) -> bool {
        let script = format!(
            "mkdir .git/expected && git archive {commit} | tar -xC .git/expected && \
             diff -r --no-dereference --exclude='.git-sluice*' .git/expected {}; \
             status=$?; rm -r .git/expected; exit $status",
            directory.display()
        );
        self.repo.shell(&script).code() == 0
    }
}

/// All orders in which two programs serve three requests.
fn orders() -> impl Iterator<Item = [usize; 3]> {
    (0..8).map(|bits| [0, 1, 2].map(|at| bits >> at & 1))
}

#[test]
fn a_cache() {
    let Some(world) = World::create() else { return };
    for (number, order) in orders().enumerate() {
        let cache = world.path(&format!("cache{number}"));
        for (format, commit) in ["tar", "tar.gz", "zip"]
            .into_iter()
            .flat_map(|format| ["c0", "c1", "c0", "c2"].map(|commit| (format, commit)))
        {
            let expected = world.repo.archive([&format!("--format={format}"), commit]);
            let expected = expected.success();
            for which in order {
                let words = format!(
                    "--cache={} --cache-always --format={format} {commit}",
                    cache.display()
                );
                assert!(
                    world.run(which, &words).success() == expected,
                    "{order:?} {words}"
                );
            }
        }
    }
}

#[test]
fn a_bucket_and_directories() {
    let Some(world) = World::create() else { return };
    for (number, order) in orders().enumerate() {
        let bucket = world.path(&format!("bucket{number}"));
        let place = format!("{}/main", bucket.display());
        for commit in 0..COMMITS {
            let create = if commit == 0 { "--create " } else { "" };
            let publish = format!("publish {create}{place} c{commit}");
            let _ = world.run(order[commit % 3], &publish).success();
            for other in 0..2 {
                let directory = world.path(&format!("{number}-{other}"));
                let apply = format!("apply --channel={place} {}", directory.display());
                let which = (order[(commit + 1) % 3] + other) % 2;
                let _ = world.run(which, &apply).success();
                assert!(
                    world.holds(&directory, &format!("c{commit}")),
                    "{order:?} {apply}"
                );
                let verify = format!("verify {}", directory.display());
                for which in [0, 1] {
                    let _ = world.run(which, &verify).success();
                }
            }
        }
    }
}

#[test]
fn archives_that_follow_each_other() {
    let Some(world) = World::create() else { return };
    let archive = world.path("archive.tar");
    for (number, order) in orders().enumerate() {
        let directory = world.path(&format!("chain{number}"));
        fs::create_dir(&directory).expect("our own");
        for commit in 0..COMMITS {
            let base = match commit {
                0 => "--pax-notes ".to_owned(),
                _ => format!("--pax-notes --base=c{} ", commit - 1),
            };
            let words = format!("{base}-o {} c{commit}", archive.display());
            let _ = world.run(order[commit % 3], &words).success();
            let apply = format!("apply {} {}", directory.display(), archive.display());
            let _ = world.run(order[(commit + 1) % 3], &apply).success();
            assert!(
                world.holds(&directory, &format!("c{commit}")),
                "{order:?} {commit}"
            );
        }
    }
}
