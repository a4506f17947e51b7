//! The next archive copies what the last one has: never another byte, whatever becomes of the last one.

use std::{fs, os::unix::fs::FileExt};

use serde_json::Value;

use super::Cache;
use crate::support::{Repo, cases, forge};

/// A repository of a few commits with files of all kinds, and the ids of the commits, the oldest first.
fn history(commits: usize) -> (Repo, Vec<String>) {
    let repo = Repo::init();
    let script = r#"
        mkdir -p d/e && printf '*.crlf text eol=crlf\nVERSION export-subst\n*.id ident\n*.raw -diff\n' >.gitattributes
        awk 'BEGIN { for (n = 0; n < 30000; n++) print n % 977 }' >large
        awk 'BEGIN { for (n = 0; n < 400; n++) printf "%c%c", 0, n % 251 }' >binary.raw
        echo text >a.txt; echo line >b.crlf; echo '$Format:%H$' >VERSION; echo '$Id$' >c.id; : >empty
        ln -s a.txt link; printf '#!/bin/sh\n' >run && chmod +x run; echo same >d/one; echo same >d/e/two
    "#;
    repo.script(script);
    let mut ids = Vec::new();
    for number in 0..commits {
        let change = match number % 6 {
            0 => format!("echo {number} >>a.txt"),
            1 => format!("echo {number} >d/new{number}; git rm -q --cached --ignore-unmatch d/one"),
            2 => "git mv -f run d/run 2>/dev/null || git mv d/run run".to_owned(),
            3 => format!("echo {number} >>large; echo {number} >>b.crlf"),
            4 => "chmod +x a.txt binary.raw".to_owned(),
            _ => {
                format!("printf '*.txt text eol=crlf\\n' >.gitattributes; echo {number} >>d/e/two")
            }
        };
        repo.script(&format!("{change}; git add -A && git commit -qm {number}"));
        ids.push(repo.git(["rev-parse", "HEAD"]));
    }
    (repo, ids)
}

/// Every pair of commits, in both orders, in both formats, and with options that change what a file is.
#[test]
#[ignore = "slow"]
fn every_archive_after_every_other_has_its_bytes() {
    let (repo, ids) = history(7);
    for options in cases(
        "--format=zip | --format=tar | --format=zip -1 -j2 | --format=tar --prefix=p/ -j1 --memory=1m | \
         --format=zip --max-size=1k --large=empty --exclude=d/e/ | --format=zip --binary=omit | \
         --format=tar --profile=zoekt --missing=fetch",
    ) {
        let archive = |id: &str| repo.sluice(format!("{options} {id}").split(' ')).success();
        let expected: Vec<_> = ids.iter().map(|id| archive(id)).collect();
        for first in 0..ids.len() {
            let origin = Cache::new();
            let run = |cache: &Cache, id: &str| {
                let output = cache.run(&repo, &format!("--cache-always {options} {id}"));
                output.success()
            };
            assert!(run(&origin, &ids[first]) == expected[first]);
            for second in 0..ids.len() {
                let cache = origin.copy();
                let archive = run(&cache, &ids[second]);
                assert!(archive == expected[second], "{options} {first} {second}");
                if first != second {
                    assert_eq!(cache.told()["donor"], "used", "{options}");
                }
            }
        }
    }
}

/// What `cache` says of a donor for `words`, whose archive has the bytes of a run without a cache.
#[track_caller]
fn donor(cache: &Cache, repo: &Repo, words: &str) -> Value {
    let found = cache
        .run(repo, &format!("--cache-always {words}"))
        .success();
    let expected = repo.sluice(format!("--no-cache {words}").split(' '));
    assert!(found == expected.success(), "{words}");
    cache.told()["donor"].take()
}

/// Formats, levels, repositories and readers that must not, or cannot, copy from each other.
#[test]
fn others_are_no_donors() {
    let (repo, ids) = history(2);
    let other = Repo::init();
    other.script("echo x >x && git add x && git commit -qm x");
    repo.write("rules", "**\n");
    for (first, second) in [
        ("--format=tar", "--format=zip"),
        ("--format=zip", "--format=zip -1"),
        ("--format=tar.gz", "--format=tar.gz"),
        ("--format=zip", "--format=zip --binary=omit"),
        ("--format=zip --access-rules=rules", "--format=zip"),
    ] {
        let cache = Cache::new();
        for (options, id) in [(first, &ids[0]), (second, &ids[1])] {
            let found = donor(&cache, &repo, &format!("{options} {id}"));
            assert_eq!(found, Value::Null, "{first} {second}");
        }
    }
    let cache = Cache::new();
    for repo in [&repo, &other] {
        assert_eq!(donor(&cache, repo, "--format=zip HEAD"), Value::Null);
    }
}

/// Damage of every kind, at five hundred places: a file is then decoded.
#[test]
#[ignore = "slow"]
fn a_damaged_donor_never_damages_an_archive() {
    let (repo, ids) = history(2);
    for format in ["--format=zip", "--format=tar"] {
        let expected = repo.sluice([format, &ids[1]]).success();
        let first = Cache::new();
        let _ = first
            .run(&repo, &format!("--cache-always {format} {}", ids[0]))
            .success();
        let key = first.told()["key"].as_str().expect("a key").to_owned();
        let donor = fs::read(first.path().join(&key)).expect("kept");
        let mut outcomes = std::collections::BTreeSet::new();
        for round in 0..250_usize {
            let cache = first.copy();
            let file = fs::OpenOptions::new()
                .write(true)
                .open(cache.path().join(&key));
            let file = file.expect("copied");
            let at = round * 7919 % donor.len();
            match round % 5 {
                // A bit, a byte, a piece, the end, and all of it.
                0 => file
                    .write_all_at(&[donor[at] ^ 1 << (round % 8)], at as u64)
                    .expect("ours"),
                1 => file.write_all_at(&[!donor[at]], at as u64).expect("ours"),
                2 => file
                    .write_all_at(&vec![7; 100.min(donor.len() - at)], at as u64)
                    .expect("ours"),
                3 => file.set_len(at as u64).expect("ours"),
                _ => fs::write(cache.path().join(&key), [0; 5000]).expect("ours"),
            }
            let archive = cache
                .run(&repo, &format!("--cache-always {format} {}", ids[1]))
                .success();
            assert!(archive == expected, "{format} {round}");
            outcomes.insert(cache.told()["donor"].to_string());
        }
        assert!(
            outcomes.contains("\"damaged\"") && outcomes.contains("null"),
            "{outcomes:?}"
        );
    }
}

/// The donor is gone, or another file has its name.
#[test]
fn a_donor_that_is_gone_is_none() {
    let (repo, ids) = history(3);
    let cache = Cache::new();
    let run = |id: &str| donor(&cache, &repo, &format!("--format=zip {id}"));
    let _ = run(&ids[0]);
    let key = cache.told()["key"].as_str().expect("a key").to_owned();
    fs::remove_file(cache.path().join(&key)).expect("kept");
    assert_eq!(run(&ids[1]), Value::Null);
    assert_eq!(run(&ids[2]), "used");
    // What the notes name may be anything.
    for text in [
        "",
        "../../etc/passwd",
        &"0".repeat(64),
        &"x".repeat(1 << 18),
    ] {
        fs::write(cache.path().join("latest"), text).expect("ours");
        for file in cache.archives() {
            fs::remove_file(cache.path().join(file)).expect("kept");
        }
        assert_eq!(run(&ids[2]), Value::Null, "{text}");
    }
}

/// The notes lead to the archive of another family, whose bytes for the same blobs are others.
#[test]
fn the_archive_of_another_family_is_no_donor() {
    let (repo, ids) = history(2);
    let cache = Cache::new();
    let _ = donor(&cache, &repo, &format!("--format=zip {}", ids[0]));
    let path = cache.path().join("latest");
    let mut notes = fs::read(&path).expect("written");
    let noted = notes
        .chunks(32)
        .find(|note| note.iter().any(|&byte| byte > 0));
    let note = noted.expect("one note").to_owned();
    notes
        .chunks_mut(32)
        .for_each(|all| all.copy_from_slice(&note));
    fs::write(path, notes).expect("ours");
    for (options, expected) in [
        ("-1 --format=zip", Value::Null),
        ("--format=tar", Value::Null),
        ("--format=zip", "used".into()),
    ] {
        let found = donor(&cache, &repo, &format!("{options} {}", ids[1]));
        assert_eq!(found, expected, "{options}");
    }
}

/// A replaced file is one of the object that was read: who sees no replacement, or another one, copies other bytes.
#[test]
fn replaced_files_are_those_of_the_replacement() {
    let (repo, ids) = history(2);
    let plain = repo.clone().env("GIT_NO_REPLACE_OBJECTS", "1");
    let hash = |text: &str| repo.git_with_input(["hash-object", "-w", "--stdin"], text);
    let (old, same) = (hash("same\n"), repo.git(["rev-parse", "HEAD:large"]));
    for format in ["tar", "zip"] {
        let cache = Cache::new();
        let ask = |repo: &Repo, words: &str, id: &str| {
            donor(&cache, repo, &format!("--format={format} {words}{id}"))
        };
        repo.git(["replace", "-f", &old, &hash("replaced\n")]);
        let _ = ask(&repo, "", &ids[0]);
        assert_eq!(ask(&repo, "", &ids[1]), "used");
        assert_eq!(ask(&repo, "--stable ", &ids[1]), "used");
        assert_eq!(ask(&plain, "--prefix=a/ ", &ids[1]), "used");
        repo.git(["replace", "-f", &old, &same]);
        assert_eq!(ask(&repo, "--prefix=b/ ", &ids[1]), "used");
        repo.git(["replace", "-d", &old]);
        assert_eq!(ask(&repo, "--prefix=c/ ", &ids[1]), "used");
    }
}

/// Nobody looks for an object whose bytes the cache has, so its loss goes unnoticed, as the page says.
#[test]
fn a_lost_object_that_the_cache_has() {
    let (repo, ids) = history(2);
    let cache = Cache::new();
    let run = |id: &str| cache.run(&repo, &format!("--cache-always --format=zip {id}"));
    let _ = run(&ids[0]).success();
    let expected = repo.archive(["--format=zip", &ids[1]]).success();
    fs::remove_file(forge::loose_file(&repo, "HEAD:large")).expect("loose");
    assert_ne!(repo.archive(["--format=zip", &ids[1]]).code(), 0);
    for role in ["producer", "hit"] {
        assert!(run(&ids[1]).success() == expected);
        assert_eq!(cache.told()["role"], role);
    }
}
