//! Objects that are missing or damaged, and pointers that say something false.

use std::fs;

use serde_json::Value;

use super::{CONTENT, Lfs, pointer, sha256};
use crate::support::{
    Repo, noise,
    tar_listing::{is_complete, names},
};

const HINT: &str = "hint: 'git lfs fetch <remote> <commit>' gets the LFS objects of a commit\n";

/// What `--missing` says.
#[test]
fn missing_objects() {
    let lfs = Lfs::with_files();
    let hash = sha256(b"small\n");
    fs::remove_file(lfs.object(&hash)).unwrap();
    let output = lfs.repo.sluice([CONTENT, "HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(output.stdout.is_empty());
    assert_eq!(
        output.messages(),
        format!("fatal: LFS object {hash} for 'a.bin' is not in the local store\n{HINT}")
    );
    let text = pointer(&hash, 6);
    assert_eq!(
        lfs.sent(&["--missing=placeholder"], "a.bin"),
        text.as_bytes()
    );
    for (missing, disposition) in [("placeholder", "placeholder"), ("omit", "omitted")] {
        for more in ["--max-size=1g", "--threads=1"] {
            let missing = format!("--missing={missing}");
            let (lines, output) = lfs.repo.manifest([CONTENT, &missing, more, "HEAD"]);
            assert_eq!(output.code(), 0, "{output}");
            let line = lines.iter().find(|line| line["path"] == "a.bin").unwrap();
            assert_eq!(line["disposition"], disposition);
            assert_eq!(
                (&line["reason"], &line["size"]),
                (&"missing".into(), &6.into())
            );
        }
    }
    let archive = lfs.repo.sluice([CONTENT, "--missing=placeholder", "HEAD"]);
    let archive = archive.success();
    let head = ["ls", CONTENT, "--missing=placeholder", "HEAD"];
    let listed = lfs.repo.sluice(head).success();
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains(&archive.len().to_string()), "{listed}");
}

/// `--lfs=content-present` sends what is there, and no archive that lacks an object is kept for others.
#[test]
fn objects_that_may_be_missing() {
    const PRESENT: &str = "--lfs=content-present";
    let lfs = Lfs::with_files();
    let complete = lfs.repo.sluice([CONTENT, "HEAD"]).success();
    let (hash, text) = (sha256(b"small\n"), pointer(&sha256(b"small\n"), 6));
    let place = Repo::scratch();
    let cache = format!("--cache={}", place.path().join("cache").display());
    let archive = || {
        let words = [PRESENT, &cache, "--cache-always", "HEAD"];
        lfs.repo.summary(words)
    };
    let etag = || lfs.repo.json(["info", PRESENT, "HEAD"])["etag"].take();
    fs::rename(lfs.object(&hash), place.path().join("away")).unwrap();
    for _ in 0..2 {
        let (told, output) = archive();
        assert_eq!(
            output.messages(),
            "warning: 2 files are not in the repository and sent as placeholders\n"
        );
        assert_eq!(told["cache"]["role"], "producer");
        assert_eq!(told["placeholders"]["missing"], 2, "{told}");
        let archive = output.success();
        let record = crate::support::tar_listing::records(&archive);
        let record = record.iter().find(|record| record.name() == "a.bin");
        assert_eq!(record.expect("there").data, text.as_bytes());
    }
    assert_eq!(etag(), Value::Null);
    assert_eq!(lfs.repo.sluice([CONTENT, "HEAD"]).code(), 128);
    let omitted = lfs
        .repo
        .sluice([PRESENT, "--missing=omit", "HEAD"])
        .success();
    assert!(!names(&omitted).contains(&"a.bin".to_owned()));
    fs::rename(place.path().join("away"), lfs.object(&hash)).unwrap();
    for role in ["producer", "hit"] {
        let (told, output) = archive();
        assert_eq!(told["cache"]["role"], role);
        assert!(output.messages().is_empty());
        assert!(output.success() == complete);
    }
    assert_ne!(etag(), Value::Null);
}

/// The cache shares content among the repositories of one store. Others get none of it, and no other ETag tells them of it.
#[test]
fn the_cache_keeps_stores_apart() {
    let lfs = Lfs::with_files();
    let from = lfs.repo.path().display().to_string();
    let place = Repo::scratch();
    place.git(["clone", "-q", "--bare", &from, "fork"]);
    let fork = place.clone().at("fork");
    let storage = format!("lfs.storage={from}/.git/lfs");
    let sharing = fork.clone().with(["-c", &storage]);
    let cache = format!("--cache={}", place.path().join("cache").display());
    for (lfs_option, status) in [("--lfs=content", 128), ("--lfs=content-present", 0)] {
        let words = [lfs_option, &cache, "--cache-always", "HEAD"];
        let whole = lfs.repo.sluice(words).success();
        let (told, output) = sharing.summary(words);
        assert_eq!(told["cache"]["role"], "hit", "{told}");
        assert!(output.success() == whole);
        let refused = fork.sluice(words);
        assert_eq!(refused.code(), status, "{refused}");
        assert!(refused.messages().contains("not in the"), "{refused}");
        let etag = lfs.repo.json(["info", lfs_option, "HEAD"])["etag"].take();
        let condition = format!("--if-none-match={}", etag.as_str().expect("a tag"));
        for (repo, status) in [(&sharing, 7), (&fork, status)] {
            let asked = repo.sluice([lfs_option, &condition, "HEAD"]);
            assert_eq!(asked.code(), status, "{asked}");
        }
    }
}

/// An object with other bytes than its name says never becomes a whole file, in memory or streamed.
#[test]
#[ignore = "slow"]
fn altered_objects() {
    for memory in ["--memory=1m", "--memory=64m"] {
        for format in ["tar", "zip"] {
            let lfs = Lfs::with_files();
            let hash = sha256(&noise(1, 3_000_000));
            let mut content = noise(1, 3_000_000);
            content[2_999_999] ^= 1;
            fs::write(lfs.object(&hash), &content).unwrap();
            let format_option = format!("--format={format}");
            let output = lfs.repo.sluice([CONTENT, &format_option, memory, "HEAD"]);
            assert_eq!(output.code(), 128, "{output}");
            assert_eq!(
                output.messages(),
                format!("fatal: LFS object {hash} for 'd/large.bin' does not match its hash\n")
            );
            if format == "tar" {
                assert!(!is_complete(&output.stdout));
                assert!(output.stdout.len() < 3_000_000);
            }
            let file = lfs.repo.path().join("out");
            let to_file = format!("--output={}", file.display());
            let _ = lfs
                .repo
                .sluice([CONTENT, &format_option, memory, &to_file, "HEAD"]);
            assert!(!file.exists());
        }
    }
}

/// Sizes are compared before the first byte of the file, and nothing in the store changes.
#[test]
fn false_sizes() {
    let lfs = Lfs::new();
    let hash = lfs.add("a.bin", b"small\n");
    for (size, message) in [
        (5, "has 6 bytes instead of 5"),
        (7, "has 6 bytes instead of 7"),
        (0, "does not match its hash"),
    ] {
        lfs.point("a.bin", &pointer(&hash, size));
        lfs.commit();
        let output = lfs.repo.sluice([CONTENT, "HEAD"]);
        assert_eq!(
            output.messages(),
            format!("fatal: LFS object {hash} for 'a.bin' {message}\n")
        );
        assert_eq!(fs::read(lfs.object(&hash)).unwrap(), b"small\n");
    }
    lfs.point("a.bin", &pointer(&sha256(b""), 0));
    lfs.commit();
    assert_eq!(lfs.sent(&[], "a.bin"), b"");
}

#[test]
fn odd_objects() {
    let lfs = Lfs::new();
    let hash = lfs.add("a.bin", b"small\n");
    lfs.commit();
    fs::remove_file(lfs.object(&hash)).unwrap();
    fs::create_dir(lfs.object(&hash)).unwrap();
    let output = lfs.repo.sluice([CONTENT, "HEAD"]);
    assert_eq!(
        output.messages(),
        format!("fatal: LFS object {hash} for 'a.bin' is not a regular file\n")
    );
    let text = pointer(&hash, 6).replace("oid ", &format!("ext-0-foo sha256:{hash}\noid "));
    lfs.point("a.bin", &text);
    lfs.commit();
    for missing in ["--missing=error", "--missing=placeholder"] {
        let output = lfs.repo.sluice([CONTENT, missing, "HEAD"]);
        assert_eq!(
            output.messages(),
            "fatal: 'a.bin' needs the LFS extension 'foo'\n"
        );
    }
}

/// The pointer stands in for the object, even where it is stored as a delta against what is no pointer.
#[test]
fn pointers_that_are_deltas() {
    let lfs = Lfs::new();
    let text = pointer(&sha256(b"content"), 7);
    let longer = format!("{text}{}", noise(1, 2000).escape_ascii());
    lfs.point("a.bin", &longer[..3000]);
    lfs.commit();
    lfs.point("a.bin", &text);
    lfs.commit();
    lfs.repo.git(["repack", "-adfq"]);
    let base = lfs.repo.git(["rev-parse", "HEAD^:a.bin"]);
    let ask = ["cat-file", "--batch-check=%(deltabase)"];
    assert_eq!(lfs.repo.git_with_input(ask, "HEAD:a.bin\n"), base);

    let sent = lfs.sent(&["--missing=placeholder", "--manifest=m"], "a.bin");
    assert_eq!(sent, text.as_bytes());
    let manifest = fs::read_to_string(lfs.repo.path().join("m")).unwrap();
    let line = manifest.lines().find(|line| line.contains("a.bin"));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(line["disposition"], "placeholder");
}
