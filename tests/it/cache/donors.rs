//! The next archive copies what the last one has: never another byte, whatever becomes of the last one.

use std::{fs, os::unix::fs::FileExt};

use super::Cache;
use crate::support::{Repo, cases};

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
    let _ = repo.shell(script).success();
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
        let _ = repo
            .shell(&format!("{change}; git add -A && git commit -qm {number}"))
            .success();
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

/// Formats, levels, repositories and readers that must not, or cannot, copy from each other.
#[test]
fn others_are_no_donors() {
    let (repo, ids) = history(2);
    let other = Repo::init();
    let _ = other
        .shell("echo x >x && git add x && git commit -qm x")
        .success();
    repo.write("rules", "**\n");
    for (first, second) in [
        ("--format=tar", "--format=zip"),
        ("--format=zip", "--format=zip -1"),
        ("--format=tar.gz", "--format=tar.gz"),
        ("--format=zip", "--format=zip --binary=omit"),
        ("--format=zip --access-rules=rules", "--format=zip"),
    ] {
        let cache = Cache::new();
        let _ = cache
            .run(&repo, &format!("--cache-always {first} {}", ids[0]))
            .success();
        let found = cache
            .run(&repo, &format!("--cache-always {second} {}", ids[1]))
            .success();
        assert_eq!(
            cache.told()["donor"],
            serde_json::Value::Null,
            "{first} {second}"
        );
        let expected = repo
            .sluice(format!("{second} {}", ids[1]).split(' '))
            .success();
        assert!(found == expected);
    }
    let cache = Cache::new();
    let _ = cache
        .run(&repo, "--cache-always --format=zip HEAD")
        .success();
    let _ = cache
        .run(&other, "--cache-always --format=zip HEAD")
        .success();
    assert_eq!(cache.told()["donor"], serde_json::Value::Null);
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
    let run = |id: &str| {
        let found = cache
            .run(&repo, &format!("--cache-always --format=zip {id}"))
            .success();
        let expected = repo.archive(["--format=zip", id]).success();
        assert!(found == expected);
        cache.told()["donor"].clone()
    };
    let _ = run(&ids[0]);
    let key = cache.told()["key"].as_str().expect("a key").to_owned();
    fs::remove_file(cache.path().join(&key)).expect("kept");
    assert_eq!(run(&ids[1]), serde_json::Value::Null);
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
        assert_eq!(run(&ids[2]), serde_json::Value::Null, "{text}");
    }
}

/// The notes lead to the archive of another family, whose bytes for the same blobs are others.
#[test]
fn the_archive_of_another_family_is_no_donor() {
    let (repo, ids) = history(2);
    let cache = Cache::new();
    let run = |args: &str| cache.run(&repo, &format!("--cache-always {args}"));
    let _ = run(&format!("--format=zip {}", ids[0])).success();
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
    for (options, donor) in [
        ("-1 --format=zip", ""),
        ("--format=tar", ""),
        ("--format=zip", "used"),
    ] {
        let archive = run(&format!("{options} {}", ids[1])).success();
        let expected = repo.archive(options.split(' ').chain([&ids[1][..]]));
        assert!(archive == expected.success(), "{options}");
        assert_eq!(cache.told()["donor"].as_str().unwrap_or_default(), donor);
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
        let same_archive = |repo: &Repo, words: &str| {
            let words = format!("--format={format} {words}");
            let found = cache
                .run(repo, &format!("--cache-always {words}"))
                .success();
            let expected = repo.sluice(format!("--no-cache {words}").split(' '));
            assert!(found == expected.success(), "{words}");
            cache.told()["donor"].clone()
        };
        repo.git(["replace", "-f", &old, &hash("replaced\n")]);
        let _ = same_archive(&repo, &ids[0]);
        assert_eq!(same_archive(&repo, &ids[1]), "used");
        assert_eq!(same_archive(&repo, &format!("--stable {}", ids[1])), "used");
        assert_eq!(
            same_archive(&plain, &format!("--prefix=a/ {}", ids[1])),
            "used"
        );
        repo.git(["replace", "-f", &old, &same]);
        assert_eq!(
            same_archive(&repo, &format!("--prefix=b/ {}", ids[1])),
            "used"
        );
        repo.git(["replace", "-d", &old]);
        assert_eq!(
            same_archive(&repo, &format!("--prefix=c/ {}", ids[1])),
            "used"
        );
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
    let large = repo.git(["rev-parse", "HEAD:large"]);
    fs::remove_file(
        repo.path()
            .join(format!(".git/objects/{}/{}", &large[..2], &large[2..])),
    )
    .expect("loose");
    assert_ne!(repo.archive(["--format=zip", &ids[1]]).code(), 0);
    for role in ["producer", "hit"] {
        assert!(run(&ids[1]).success() == expected);
        assert_eq!(cache.told()["role"], role);
    }
}
