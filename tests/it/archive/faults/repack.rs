//! Packs that are replaced while we read: objects are looked for again before we give up.

use std::fs;
use std::io::Read;

use crate::support::Repo;

/// A fixture whose first file is large enough to hold up every pipe and buffer, so that most of its twenty packs, or of its loose
/// objects, have not been looked at when the reader stops.
fn held_up_by_its_first_file(fixture: &str) -> Repo {
    let repo = Repo::copy(fixture);
    let lines: String = (0..1_500_000).map(|line| format!("{line}\n")).collect();
    repo.write("a-first", lines);
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "a large first file"]);
    if fixture == "packs-many" {
        repo.git(["repack", "-dq"]);
    }
    repo
}

/// Start a run, let `change` happen when it has begun and cannot go on, and read the rest.
#[track_caller]
fn assert_survives(fixture: &str, threads: &[&str], change: impl Fn(&Repo)) {
    for threads in threads {
        let repo = held_up_by_its_first_file(fixture);
        let expected = repo.archive(["HEAD"]).success();
        let mut run = repo.start(["-j", threads, "--memory=1m", "HEAD"]);
        let mut begun = vec![0; 10240];
        run.stdout().read_exact(&mut begun).expect("it begins");
        change(&repo);
        let rest = run.finish();
        assert!(rest.status.success(), "{rest}");
        begun.extend_from_slice(&rest.stdout);
        assert!(begun == expected, "{threads} threads");
    }
}

#[test]
#[ignore = "slow"]
fn into_one_pack() {
    assert_survives("packs-many", &["1", "2", "8"], |repo| {
        repo.git(["repack", "-adfq", "--depth=5"]);
    });
}

#[test]
#[ignore = "slow"]
fn gc() {
    assert_survives("packs-many", &["1", "2", "8"], |repo| {
        repo.git(["gc", "-q", "--prune=now"]);
        repo.git(["multi-pack-index", "write"]);
    });
}

#[test]
#[ignore = "slow"]
fn into_loose_objects() {
    assert_survives("packs-many", &["1", "2", "8"], |repo| {
        let packs = repo.path().join(".git/objects/pack");
        let aside = repo.path().join("aside");
        fs::rename(&packs, &aside).expect("our own");
        fs::create_dir(&packs).expect("our own");
        for file in fs::read_dir(&aside).expect("our own") {
            let file = file.expect("our own").path();
            if file
                .extension()
                .is_some_and(|extension| extension == "pack")
            {
                repo.git_with_input(["unpack-objects", "-q"], fs::read(&file).expect("our own"));
            }
        }
        fs::remove_dir_all(&aside).expect("our own");
    });
}

#[test]
fn loose_objects_into_a_pack() {
    assert_survives("loose", &["2"], |repo| {
        repo.git(["repack", "-adq"]);
        repo.git(["prune-packed", "-q"]);
    });
}

/// Everything goes, and nothing comes instead: what was not read yet is missing, and that is said.
#[test]
fn into_nothing() {
    let repo = held_up_by_its_first_file("packs-many");
    let mut run = repo.start(["-j", "2", "--memory=1m", "HEAD"]);
    let mut begun = vec![0; 10240];
    run.stdout().read_exact(&mut begun).expect("it begins");
    let packs = repo.path().join(".git/objects/pack");
    fs::remove_dir_all(&packs).expect("our own");
    fs::create_dir(&packs).expect("our own");
    let mut rest = run.finish();
    begun.append(&mut rest.stdout);
    rest.stdout = begun;
    // What is open may be enough to go on with.
    if rest.code() != 0 {
        super::assert_orderly_failure(&rest);
    }
}
