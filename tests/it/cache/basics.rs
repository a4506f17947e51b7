//! Who leads, what is kept, and that no way of asking and no place for the archive makes a difference.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{Cache, noisy};
use crate::support::{Repo, cases};

/// An archive is kept from its second request on.
#[test]
fn the_second_request_is_kept() {
    let (cache, repo) = (Cache::new(), Repo::from("basic"));
    cache.assert_role(&repo, "HEAD", "producer");
    assert!(cache.archives().is_empty());
    cache.assert_role(&repo, "HEAD", "producer");
    assert_eq!(cache.archives().len(), 1);
    cache.assert_role(&repo, "HEAD", "hit");
    assert_eq!(
        cache.archives(),
        [cache.told()["key"].as_str().expect("a key")]
    );
    cache.assert_tidy();
}

#[test]
fn always_keeps_the_first_request() {
    let (cache, repo) = (Cache::new(), Repo::from("basic"));
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    let counts = cache.summary();
    cache.assert_role(&repo, "HEAD", "hit");
    let again = cache.summary();
    let told = cache.told();
    assert_eq!(told["produced"], 0);
    assert_eq!(told["served"], counts["cache"]["produced"]);
    let own = ["peak_memory", "cache", "phases"];
    for (name, value) in counts.as_object().expect("an object") {
        if !own.contains(&&name[..]) && !name.contains("seconds") && !name.contains("time") {
            assert_eq!(&again[name], value, "{name}");
        }
    }
}

#[test]
fn every_format_is_shared() {
    let cache = Cache::new();
    let repo = Repo::copy("basic");
    repo.git(["config", "tar.x.command", "tr a-z A-Z"]);
    let formats = cases(
        "--format=tar | --format=tgz | --format=tar.gz -9 | --format=tar.gz -1 | --format=zip | \
         --format=zip -0 | --format=x",
    );
    for format in formats {
        let expected = repo.archive(format!("{format} HEAD").split(' ')).success();
        for (threads, role) in [(1, None), (2, Some("hit")), (8, Some("hit"))] {
            let args = format!("--cache-always -j {threads} {format} HEAD");
            let output = cache.run(&repo, &args).success();
            assert!(output == expected, "{format}");
            if let Some(role) = role {
                let told = cache.told();
                let is_command = format == "--format=x" && told["role"] == "bypass";
                assert!(told["role"] == role || is_command, "{format} {told}");
            }
        }
    }
    for format in ["--format=tar.zst", "--format=tar.gz --gzip-compat=gnu"] {
        let args = format!("--cache-always {format} HEAD");
        let first = cache.run(&repo, &args).success();
        let second = cache.run(&repo, &args).success();
        assert!(first == second && cache.told()["role"] == "hit", "{format}");
        let alone = repo.sluice(format!("--no-cache {format} HEAD").split(' '));
        assert!(alone.success() == first, "{format}");
    }
}

/// The owner alone sees the directory, and others what is above it.
#[test]
fn a_directory_below_others_that_are_missing() {
    let repo = Repo::from("basic");
    let cache = Cache::new();
    let above = cache.top.path().join("a/b");
    let option = format!("--cache={}/c", above.display());
    let run = |words: &str| {
        let words = words
            .split_whitespace()
            .chain([&option[..], "--cache-always", "HEAD"]);
        repo.sluice(words).success()
    };
    assert!(run("") == repo.archive(["HEAD"]).success());
    let mode = |path: &Path| fs::metadata(path).expect("made").permissions().mode() & 0o777;
    assert_eq!(mode(&above.join("c")), 0o700);
    let usual = cache.top.path().join("usual");
    fs::create_dir(&usual).expect("our own");
    assert_eq!(mode(&above), mode(&usual));
}

/// The option, the variable, the configuration; and what switches each off.
#[test]
fn where_the_directory_is_named() {
    let repo = Repo::copy("basic");
    let kept = |cache: &Cache| !cache.archives().is_empty();
    let by_variable = Cache::new();
    let there = repo.clone().env("GIT_SLUICE_CACHE", by_variable.path());
    let _ = there
        .sluice(["--no-cache", "--cache-always", "HEAD"])
        .success();
    assert!(!by_variable.path().exists());
    let _ = there.sluice(["--cache-always", "HEAD"]).success();
    assert!(kept(&by_variable));

    let by_configuration = Cache::new();
    let path = by_configuration.path();
    repo.git(["config", "sluice.cache", path.to_str().expect("text")]);
    // A key without a value is true.
    repo.shell("printf '[sluice]\\n\\tcacheAlways\\n' >>.git/config")
        .success();
    let empty = repo.clone().env("GIT_SLUICE_CACHE", "");
    let _ = empty.sluice(["HEAD"]).success();
    let _ = repo.sluice(["--cache=", "HEAD"]).success();
    assert!(!kept(&by_configuration));
    let _ = there.sluice(["HEAD~0"]).success();
    assert!(!kept(&by_configuration));
    let _ = repo.sluice(["HEAD"]).success();
    assert!(kept(&by_configuration));
}

/// A file, a file that is there already, a file that grows at its end, and no file at all.
#[test]
fn every_destination() {
    let (cache, repo) = (Cache::new(), Repo::copy("basic"));
    let expected = repo.archive(["HEAD"]).success();
    let options = format!("{} --cache-always", cache.options());
    for role in ["producer", "hit"] {
        let out = format!("out-{role}");
        for _ in 0..2 {
            repo.shell(&format!("git-sluice {options} -o {out} HEAD"))
                .success();
            assert!(fs::read(repo.path().join(&out)).expect("written") == expected);
        }
        repo.shell(&format!("git-sluice {options} HEAD >>{out}"))
            .success();
        let twice = fs::read(repo.path().join(&out)).expect("written");
        assert!(twice == [&expected[..], &expected].concat());
        repo.shell(&format!("git-sluice {options} HEAD >/dev/null"))
            .success();
        assert_eq!(cache.told()["role"], "hit");
        repo.shell(&format!("git-sluice {options} HEAD >there; cat there"))
            .success();
        fs::write(repo.path().join("long"), vec![b'x'; 1 << 20]).expect("our own");
        repo.shell(&format!("git-sluice {options} HEAD 1<>long"))
            .success();
        let long = fs::read(repo.path().join("long")).expect("written");
        assert!(long[..expected.len()] == expected && long.len() == 1 << 20);
        let full = repo.shell(&format!("git-sluice {options} HEAD >/dev/full"));
        let theirs = repo.shell("git archive HEAD >/dev/full");
        assert_eq!(
            (full.code(), full.messages()),
            (theirs.code(), theirs.messages())
        );
    }
}

/// A client that hangs up dies by the signal, whichever part it had.
#[test]
fn closed_pipes() {
    let (cache, repo) = (Cache::new(), noisy(20 << 20));
    for _ in 0..3 {
        assert_eq!(cache.start(&repo, "HEAD").hang_up().code(), 141);
        assert!(cache.archives().is_empty());
    }
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    assert_eq!(cache.start(&repo, "HEAD").hang_up().code(), 141);
    cache.assert_role(&repo, "HEAD", "hit");
    cache.assert_tidy();
}

#[test]
fn unmodified_clients_share() {
    let (cache, repo) = (Cache::new(), Repo::copy("basic"));
    let served = repo.clone().env("GIT_SLUICE_CACHE", cache.path());
    let expected = repo.archive(["HEAD"]).success();
    for kept in [0, 1, 1] {
        let output = served.served(["--remote=.", "HEAD"]);
        assert!(output.stdout == expected, "{output}");
        assert_eq!(cache.archives().len(), kept);
    }
}

/// Neither the path nor the user's name is part of an archive.
#[test]
fn forks_share() {
    let (cache, repo) = (Cache::new(), Repo::copy("basic"));
    let _ = cache.run(&repo, "--cache-always HEAD").success();
    repo.git(["clone", "-q", "--bare", ".", "../fork.git"]);
    let fork = repo.clone().at("../fork.git");
    fork.git(["config", "user.name", "Somebody Else"]);
    cache.assert_role(&fork, "HEAD", "hit");
}

#[test]
fn empty_archives_and_deltas() {
    let (cache, repo) = (Cache::new(), Repo::from("basic"));
    for role in ["producer", "hit"] {
        let output = cache.run(&repo, "--cache-always --fail-if-empty --exclude=** HEAD");
        assert_eq!(output.code(), 4, "{output}");
        assert_eq!(cache.told()["role"], role);
    }
    let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let args = format!("--cache-always --base={tree} HEAD");
    let first = cache.run(&repo, &args).success();
    let changes = cache.summary()["changes"].take();
    assert!(cache.run(&repo, &args).success() == first);
    assert_eq!(cache.told()["role"], "hit");
    assert_eq!(cache.summary()["changes"], changes);
}
