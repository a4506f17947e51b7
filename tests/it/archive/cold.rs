//! A repository that is not in memory is read ahead, and its archive has the same bytes.

use std::{
    collections::HashSet,
    fs::{self, File},
    path::Path,
};

use rustix::fs::{Advice, fadvise};

use crate::git::lfs::{CONTENT, Lfs};
use crate::support::{Repo, cases, noise, skip};

/// The questions of opening a pack and its index, which are asked in any case: both ends, and the first look-up.
const OF_OPENING: usize = 6;

/// Has the system forget the pages of all packs, indices and loose objects.
fn forget(repo: &Repo) {
    forget_below(&repo.path().join(".git/objects"));
}

fn forget_below(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            forget_below(&path);
            continue;
        }
        let file = File::open(path).expect("readable");
        file.sync_all().expect("the file is written");
        fadvise(&file, 0, None, Advice::DontNeed).expect("a hint");
    }
}

/// A repository with sub-directories and attributes, in loose objects.
fn loose() -> Repo {
    let repo = Repo::init_on_disk();
    let body: String = (0..4000).map(|number| format!("line {number}\n")).collect();
    for directory in ["a", "a/b", "a/b/c", "d", "d/e"] {
        fs::create_dir(repo.path().join(directory)).expect("our own");
        for number in 0..20 {
            let text = format!("{directory}/{number}\n{body}");
            repo.write(format!("{directory}/{number}.txt"), text);
        }
        repo.write(
            format!("{directory}/.gitattributes"),
            "3.txt export-ignore\n",
        );
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "first"]);
    repo.write("a/b/0.txt", format!("changed\n{body}"));
    repo.git(["commit", "-qam", "second"]);
    repo
}

/// The same objects in a pack with deltas.
fn packed() -> Repo {
    let repo = loose();
    repo.git(["repack", "-adfq", "--depth=50"]);
    repo
}

/// The same objects in two packs with one index.
fn indexed() -> Repo {
    let repo = packed();
    repo.write("d/e/0.txt", "changed");
    repo.git(["commit", "-qam", "third"]);
    repo.git(["repack", "-dq"]);
    repo.git(["multi-pack-index", "write"]);
    repo
}

#[test]
fn read_ahead() {
    let repo = loose();
    // The system reads more than it was asked for: up to some megabytes.
    repo.git(["config", "core.compression", "0"]);
    for (seed, name) in [(1, "0.bin"), (2, "z.bin")] {
        repo.write(name, noise(seed, 12_000_000));
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "large files"]);
    repo.git(["repack", "-adq"]);
    forget(&repo);
    let Some(cold) = repo.traced("trace=madvise", &["HEAD"]) else {
        return;
    };
    let questions = |trace: &str| trace.matches("MADV_WILLNEED").count();
    if questions(&cold) <= OF_OPENING {
        return skip("the system keeps packs in memory, or does not say so");
    }
    assert!(one_run_of_some(|| {
        let warm = repo.traced("trace=madvise", &["HEAD"]);
        warm.is_some_and(|trace| questions(&trace) <= OF_OPENING)
    }));
}

/// Whether `holds` for one of a few runs: the system may forget what is in memory at any time.
fn one_run_of_some(holds: impl Fn() -> bool) -> bool {
    (0..3).any(|_| holds())
}

#[test]
fn loose_objects_are_read_ahead() {
    let repo = loose();
    let blobs = repo.git(["ls-tree", "-r", "HEAD"]).lines().count();
    assert_asked(&repo, ".git/objects", &["HEAD"], blobs);
}

/// The objects of a submodule are read ahead as those of the archived repository.
#[test]
fn submodules_are_read_ahead() {
    let (inner, outer) = (loose(), Repo::init_on_disk());
    let outer = outer.env("GIT_ALLOW_PROTOCOL", "file");
    let inner = inner.path().to_str().expect("UTF-8");
    outer.git(["submodule", "--quiet", "add", inner, "sub"]);
    outer.git(["commit", "-qm", "a submodule"]);
    let args = ["--submodules=recurse", "HEAD"];
    let warm = outer.sluice(args).success();
    // A local clone has links to the loose objects.
    assert_asked(&outer, ".git/modules", &args, 100);
    forget_below(&outer.path().join(".git/modules"));
    assert!(outer.sluice(args).success() == warm);
}

#[test]
fn lfs_objects_are_read_ahead() {
    let lfs = Lfs::of(Repo::init_on_disk());
    for number in 0..20 {
        let content = format!("{number}\n").repeat(20_000);
        lfs.add(&format!("{number}.bin"), content.as_bytes());
    }
    lfs.commit();
    let warm = lfs.repo.sluice([CONTENT, "HEAD"]).success();
    assert_asked(&lfs.repo, ".git/lfs", &[CONTENT, "HEAD"], 20);
    forget_below(&lfs.repo.path().join(".git/lfs"));
    assert!(lfs.repo.sluice([CONTENT, "HEAD"]).success() == warm);
}

/// If the names in a repository are not in memory, threads ask for the files that decide about it while it is opened.
#[test]
fn files_of_a_repository_are_asked_for() {
    let repo = packed();
    // The answer about a name that is not in memory.
    let Some(cold) = repo.traced("inject=openat2:error=EAGAIN", &["HEAD"]) else {
        return;
    };
    for name in ["HEAD", "config", "shallow"] {
        let path = format!(".git/{name}\"");
        let lines = cold.lines().filter(|line| line.contains(&path));
        // Each line begins with the number of a thread.
        let threads: HashSet<_> = lines.filter_map(|line| line.split(' ').next()).collect();
        assert!(threads.len() > 1, "{name} was asked for by one thread");
    }
}

/// At least `count` of the files below `directory` are asked for if they are not in memory, and none if they are.
#[track_caller]
fn assert_asked(repo: &Repo, directory: &str, args: &[&str], count: usize) {
    forget_below(&repo.path().join(directory));
    let Some(cold) = repo.traced("trace=fadvise64", args) else {
        return;
    };
    let questions = |trace: &str| trace.matches("POSIX_FADV_WILLNEED").count();
    if questions(&cold) == 0 {
        return skip("the system keeps the objects in memory, or does not say so");
    }
    assert!(questions(&cold) >= count, "{} of {count}", questions(&cold));
    assert!(one_run_of_some(|| {
        let warm = repo.traced("trace=fadvise64", args);
        warm.is_some_and(|trace| questions(&trace) == 0)
    }));
}

#[test]
#[ignore = "slow"]
fn the_bytes_are_the_same() {
    for repo in [loose(), packed(), indexed()] {
        assert_the_bytes_are_the_same(&repo);
    }
}

#[track_caller]
fn assert_the_bytes_are_the_same(repo: &Repo) {
    for args in cases(
        "HEAD | --format=zip HEAD | --format=tar.gz HEAD | HEAD -- a/b | HEAD -- :(glob)**/1*.txt | HEAD d",
    ) {
        let expected = repo.archive(args.split(' ')).success();
        for threads in ["-j1", "-j2", "-j8"] {
            forget(repo);
            let cold = repo.sluice([threads].into_iter().chain(args.split(' ')));
            assert!(cold.success() == expected, "{threads} {args}");
        }
    }
    for args in cases(
        "--profile=zoekt HEAD | --base=HEAD~ HEAD | --base=HEAD~ --no-attributes HEAD | info HEAD | \
         ls --max-size=10k HEAD",
    ) {
        let warm = repo.sluice(args.split(' ')).success();
        forget(repo);
        let cold = repo.sluice(args.split(' ')).success();
        assert!(warm == cold, "{args}");
    }
}
