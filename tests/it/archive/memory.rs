//! The budget holds: what cannot fit is streamed or spilled, never held.
//!
//! `ulimit -d` limits the memory that a process may write to, mapped packs not counted. What is
//! asked for beyond it is a failure even if nobody would ever touch it.

use crate::{
    support::forge::{blob, commit, tree},
    support::{Repo, cases, skip},
};

/// The budget given, and the limit set, both in kilobytes: the difference is for the program
/// itself, with eight threads and without optimisation.
const BUDGET: u32 = 16 << 10;
const LIMIT: u32 = 72 << 10;

/// Blobs of 40 MB, packed whole, loose, and as a delta of 40 MB more.
#[test]
fn large_blobs() {
    for fixture in ["big", "big-loose", "big-delta"] {
        assert_fits(&Repo::from(fixture), "HEAD");
    }
}

/// Frames of 4 MiB: the budget leaves room for no thread that compresses.
#[test]
fn frames_of_zstd() {
    let repo = Repo::from("big");
    let expected = repo.archive(["HEAD"]).success();
    for threads in ["1", "8"] {
        let run = format!("git-sluice -j {threads} --memory={BUDGET}k --format=tar.zst -1 HEAD");
        let output = repo.shell(&format!("ulimit -d {LIMIT}; exec {run}"));
        assert_eq!(output.code(), 0, "{output}");
        assert!(zstd::decode_all(&output.stdout[..]).expect("sound") == expected);
    }
}

#[test]
fn many_entries() {
    assert_fits(&Repo::from("wide"), "HEAD");
    assert_fits(&Repo::from("names-long"), "HEAD");
    assert_fits(&Repo::from("deltas"), "HEAD~59");
}

/// The directory at the end of a zip file has a record for each entry: more than the budget holds.
#[test]
#[ignore = "slow"]
fn zip_of_many_entries() {
    let repo = Repo::init();
    let blob = repo.git_with_input(["hash-object", "-w", "--stdin"], "x\n");
    let name = "n".repeat(4000);
    let files: String = (0..400)
        .map(|number| format!("100644 blob {blob}\t{name}{number:04}\n"))
        .collect();
    let directory = repo.git_with_input(["mktree"], files);
    let directories: String = (10..40)
        .map(|number| format!("040000 tree {directory}\t{number}\n"))
        .collect();
    let tree = repo.git_with_input(["mktree"], directories);
    let commit = repo.git(["commit-tree", "-m", "wide", &tree]);
    let expected = repo.archive(["--format=zip", "-0", &commit]).success();
    for threads in ["1", "8"] {
        let run = format!("git-sluice -j {threads} --memory={BUDGET}k --format=zip -0 {commit}");
        let output = repo.shell(&format!("ulimit -d {LIMIT}; exec {run}"));
        assert!(
            output.code() == 0 && output.stdout == expected,
            "{}",
            output.messages()
        );
    }
}

/// However much memory there may be: such a file is streamed, and its size, which has no room in the header, is told
/// all the same.
#[test]
fn files_beyond_the_size_field() {
    let repo = Repo::init();
    let file = std::fs::File::create(repo.path().join("large")).expect("our own");
    file.set_len(9_017_753_600).expect("holes take no room");
    let tree = repo.git_with_input(["mktree"], "");
    let run = format!("git-sluice --memory=100g --add-file=large {tree}");
    let output = repo.shell(&format!("ulimit -d {LIMIT}; {run} | head -c 2048"));
    let records = String::from_utf8_lossy(&output.stdout);
    assert!(records.contains("19 size=9017753600\n"), "{output}");
}

/// A target that is too large for memory, and for git to be read at once if it were a file, is a target.
#[test]
fn long_symbolic_links() {
    let repo = Repo::init();
    let target = repo.git_with_input(["hash-object", "-w", "--stdin"], "t".repeat(2_200_000));
    let tree = format!("100644 blob {target}\tfile\n120000 blob {target}\tlink\n");
    let tree = repo.git_with_input(["mktree"], tree);
    let commit = repo.git(["commit-tree", "-m", "long", &tree]);
    let repo = repo.with(["-c", "core.bigFileThreshold=1m"]);
    for format in ["--format=tar", "--format=zip"] {
        repo.assert_same_within(&["1", "8"], &["16m", "128m"], [format, &commit]);
    }
}

/// 1024 names that begin with the same 128 KiB.
#[test]
fn a_long_name_above_many_files() {
    let repo = Repo::init();
    let file = blob(&repo, "");
    let names: Vec<_> = (0..1024).map(|number| format!("{number:04}")).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| ("100644", name.as_bytes(), &file[..]))
        .collect();
    let files = tree(&repo, &entries);
    let name = vec![b'd'; 128 << 10];
    assert_fits(&repo, &commit(&repo, &[("40000", &name, &files)]));
}

/// The names of all directories above one file have 130 MB.
#[test]
#[ignore = "slow"]
fn long_names_above_one_file() {
    let repo = deep(200, 6500);
    assert_fits(&repo, "HEAD");
    let base = repo.git_with_input(["mktree"], "");
    for threads in [1, 8] {
        let run = format!(
            "git-sluice -j {threads} --memory={BUDGET}k --base={base} --deletions=none HEAD"
        );
        let script = format!("ulimit -d {LIMIT}; exec {run} | tar -t | wc -l");
        let output = repo.shell(&script).success();
        assert_eq!(output.trim_ascii(), b"201");
    }
}

/// A file in so many directories, each of which has a name of so many bytes.
fn deep(depth: usize, name: usize) -> Repo {
    let repo = Repo::init();
    let name = vec![b'd'; name];
    let mut inner = tree(&repo, &[("100644", b"f", &blob(&repo, ""))]);
    for _ in 0..depth {
        inner = tree(&repo, &[("40000", &name, &inner)]);
    }
    let commit = repo.git(["commit-tree", "-m", "deep", &inner]);
    repo.git(["update-ref", "HEAD", &commit]);
    repo
}

/// Deletions whose names have 20 MB, told in every way, and checked.
#[test]
fn many_deletions() {
    let repo = Repo::init();
    let file = blob(&repo, "");
    let names: Vec<_> = (0..1000).map(|number| format!("{number:0180}")).collect();
    let mut entries: Vec<_> = names
        .iter()
        .map(|name| ("100644", name.as_bytes(), &file[..]))
        .collect();
    let kept = tree(&repo, &entries[..1]);
    entries.push(("100644", b"z", &file));
    let full = tree(&repo, &entries);
    let directories: Vec<_> = (0..100).map(|number| format!("d{number:03}")).collect();
    let root = |inner: &str, count: usize| {
        let entries: Vec<_> = directories[..count]
            .iter()
            .map(|name| ("40000", name.as_bytes(), inner))
            .collect();
        tree(&repo, &entries)
    };
    // As many as are spilled with the smallest budget.
    let (base, target) = (root(&full, 20), root(&kept, 20));
    for deletions in ["pax", "none"] {
        let archive = |limits: &str| {
            let time = "--mtime='2005-04-07 22:13:13 +0000'";
            let delta = format!("{time} --base={base} --deletions={deletions}");
            let output = repo.shell(&format!("git-sluice {limits} {delta} {target}"));
            output.success()
        };
        let expected = archive("--memory=1g");
        let actual = archive("--memory=1m");
        assert!(actual == expected, "{deletions}");
    }
    let (base, target) = (root(&full, 100), root(&kept, 100));
    let run = format!("git-sluice -j 2 --memory={BUDGET}k --base={base} {target}");
    let limit = LIMIT / 2;
    let output = repo.shell(&format!("ulimit -d {limit}; exec {run} >archive.tar"));
    assert!(output.code() == 0, "{}", output.messages());
}

/// What changed is too much to be kept, so that it is found once more.
#[test]
fn a_large_delta_is_found_twice() {
    let repo = Repo::init();
    let file = blob(&repo, "");
    let names: Vec<_> = (0..1000).map(|number| format!("{number:0100}")).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| ("100644", name.as_bytes(), &file[..]))
        .collect();
    let (base, target) = (tree(&repo, &entries[..1]), tree(&repo, &entries));
    let archive = |memory: &str| {
        let time = "--mtime=2005-04-07 22:13:13 +0000";
        let base = format!("--base={base}");
        let output = repo.sluice([time, &base, memory, &target]);
        output.success()
    };
    assert!(archive("--memory=1m") == archive("--memory=1g"));
}

/// Trees of 2 MB at each of 50 depths, with entries in front of the next one and behind.
#[test]
#[ignore = "slow"]
fn large_trees_at_every_depth() {
    let repo = Repo::init();
    let file = blob(&repo, "");
    let names: Vec<_> = (b'a'..=b'z').map(|letter| vec![letter; 80 << 10]).collect();
    let mut inner = tree(&repo, &[("100644", b"f", &file)]);
    for _ in 0..50 {
        let mut entries: Vec<_> = names
            .iter()
            .map(|name| ("100644", &name[..], &file[..]))
            .collect();
        entries.insert(12, ("40000", b"mm", &inner));
        inner = tree(&repo, &entries);
    }
    let commit = repo.git(["commit-tree", "-m", "large", &inner]);
    repo.git(["update-ref", "HEAD", &commit]);
    let path = "mm/".repeat(50) + "f";
    let expected = repo.archive(["HEAD", &path]).success();
    for threads in [1, 8] {
        let run = format!("git-sluice -j {threads} --memory={BUDGET}k HEAD {path}");
        let output = repo.shell(&format!("ulimit -d {LIMIT}; exec {run}"));
        let is_same = output.code() == 0 && output.stdout == expected;
        assert!(is_same, "{}", output.messages());
    }
}

/// Trees that are forgotten and read again: what comes behind a directory is in the archive, whatever is
/// held.
#[test]
fn forgotten_trees_are_read_again() {
    let repo = Repo::init();
    let file = blob(&repo, "x");
    let names: Vec<_> = (0..2000).map(|number| format!("f{number:04}")).collect();
    let mut inner = tree(&repo, &[("100644", b"f", &file)]);
    for _ in 0..3 {
        let mut entries: Vec<_> = names
            .iter()
            .map(|name| ("100644", name.as_bytes(), &file[..]))
            .collect();
        entries.insert(1000, ("40000", b"f0999-", &inner));
        entries.push(("40000", b"z", &inner));
        inner = tree(&repo, &entries);
    }
    let head = repo.git(["commit-tree", "-m", "read again", &inner]);
    repo.assert_same_within(&["1", "8"], &["1m", "1g"], [&head]);
}

/// A tree that is larger than all trees may be together is not read again for each of its directories.
#[test]
fn directories_of_a_large_tree() {
    let repo = Repo::init();
    let file = blob(&repo, "x");
    let inner = tree(&repo, &[("100644", b"f", &file)]);
    let names: Vec<_> = (0..8000).map(|number| format!("{number:080}")).collect();
    let entries = names
        .iter()
        .map(|name| ("40000", name.as_bytes(), &inner[..]));
    let head = commit(&repo, &entries.collect::<Vec<_>>());
    let expected = repo.archive([&head]).success();
    let output = repo.shell(&format!("ulimit -t 30; exec git-sluice --memory=1m {head}"));
    let is_same = output.code() == 0 && output.stdout == expected;
    assert!(is_same, "{}", output.messages());
}

/// glibc reserves 128 MiB for each further heap, and memory that one thread releases into its heap does not serve
/// another thread.
#[test]
fn threads_share_one_heap() {
    let repo = Repo::from("wide");
    let args = ["-j8", "HEAD"];
    if let Some(trace) = repo.traced("trace=mmap,clone,clone3", &args) {
        if !trace.contains("clone") {
            return skip("the machine is too busy for a second thread");
        }
        let heaps = trace.matches(", 134217728, PROT_NONE").count();
        assert_eq!(heaps, 0, "{trace}");
    }
}

/// Less than our own threads have. git runs with it, and serves with it.
#[test]
fn small_stacks() {
    let repo = Repo::from("ident");
    for args in cases("HEAD | --format=zip HEAD | --format=tar.gz HEAD | -j8 HEAD | --nonsense") {
        let expected = repo.shell(&format!("git-sluice {args}"));
        let output = repo.shell(&format!("ulimit -s 64; exec git-sluice {args}"));
        assert_eq!(output.code(), expected.code(), "{output}");
        assert!(output.stdout == expected.stdout, "{args}");
        assert_eq!(output.messages(), expected.messages());
    }
    let limited = "ulimit -s 64; exec git-sluice upload-archive";
    let output = repo.archive(["--remote=.", &format!("--exec={limited}"), "HEAD"]);
    assert!(output.success() == repo.archive(["HEAD"]).success());
}

/// A reader that takes its time does not make us keep what it has not read.
#[test]
fn slow_reader() {
    let repo = Repo::from("big");
    let expected = repo.archive(["HEAD"]).success();
    let run = "git-sluice -j 8 --memory=16m HEAD";
    let script = format!("{{ ulimit -d {LIMIT}; {run}; }} | {{ sleep 1; cat; }}");
    assert!(repo.shell(&script).success() == expected);
}

/// 200 submodules, each of a repository whose trees, nearly 500 KB of them, are deltas of others.
#[test]
#[ignore = "slow"]
fn many_submodules() {
    let inner = Repo::init();
    let unpacks_nothing = ["-c", "fastimport.unpackLimit=1"];
    let import = [&unpacks_nothing[..], &["fast-import", "--quiet"]].concat();
    inner.git_with_input(import, trees_of_deltas());
    let commit_of_all = inner.git(["rev-parse", "all"]);
    let repo = Repo::init();
    let names: Vec<_> = (0..200).map(|number| format!("s{number:03}")).collect();
    let module = |name: &String| format!("[submodule \"{name}\"]\npath = {name}\nurl = ../inner\n");
    let modules = blob(&repo, names.iter().map(module).collect::<String>());
    let links = names
        .iter()
        .map(|name| ("160000", name.as_bytes(), &commit_of_all[..]));
    let modules = ("100644", &b".gitmodules"[..], &modules[..]);
    let entries: Vec<_> = [modules].into_iter().chain(links).collect();
    let revision = commit(&repo, &entries);
    let git_dir = inner.path().join(".git");
    let option = |name: &String| format!(" --submodule-git-dir={name}={}", git_dir.display());
    let options: String = names.iter().map(option).collect();
    // One file of each directory.
    let args = format!("--submodules=recurse{options} {revision} '*000nn*'");
    let expected = repo.shell(&format!("git-sluice {args}")).success();
    let run = format!("git-sluice -j 8 --memory={BUDGET}k {args}");
    let output = repo.shell(&format!("ulimit -d {LIMIT}; exec {run}"));
    let is_same = output.code() == 0 && output.stdout == expected;
    assert!(is_same, "{}", output.messages());
}

/// A stream for git-fast-import(1): the second commit of the branch `all` changes a file in each directory, so that each
/// tree is a delta of the one before.
fn trees_of_deltas() -> String {
    let mut stream = String::from("blob\nmark :1\ndata 4\none\n\nblob\nmark :2\ndata 4\ntwo\n\n");
    for (mark, files) in [(1, 50), (2, 1)] {
        stream += "commit refs/heads/all\ncommitter A <a@example.org> 1112911993 +0000\ndata 0\n\n";
        for directory in 0..32 {
            for file in 0..files {
                let name = format!("{directory:02}{file:03}{}", "n".repeat(240));
                stream += &format!("M 100644 :{mark} d{directory:02}/{name}\n");
            }
        }
    }
    stream
}

#[track_caller]
fn assert_fits(repo: &Repo, revision: &str) {
    let expected = repo.archive([revision]).success();
    for threads in ["1", "2", "8"] {
        let run = format!("git-sluice -j {threads} --memory={BUDGET}k {revision}");
        let output = repo.shell(&format!("ulimit -d {LIMIT}; exec {run}"));
        let is_same = output.code() == 0 && output.stdout == expected;
        assert!(is_same, "{}", output.messages());
    }
}
