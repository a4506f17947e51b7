//! Parts of an archive: the bytes of the whole, and no others.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::support::Repo;

/// The bytes `first` to `last`, the last one included, are those of `whole`, however they are asked for.
#[track_caller]
fn assert_part(repo: &Repo, args: &[&str], whole: &[u8], (first, last): (usize, usize)) {
    let last = last.min(whole.len() - 1);
    let mut ranges = vec![format!("--byte-range={first}-{last}")];
    if last == whole.len() - 1 {
        ranges.push(format!("--byte-range={first}-"));
        ranges.push(format!("--byte-range=-{}", whole.len() - first));
        ranges.push(format!("--byte-range={first}-{}", last + 1));
        ranges.push(format!("--byte-range={first}-99999999999999999999"));
    }
    for (range, limits) in ranges.iter().zip(["-j1", "-j2", "-j8"].iter().cycle()) {
        let words = [*limits, "--memory=1m", range];
        let part = repo.sluice(words.iter().chain(args)).success();
        assert!(
            part == whole[first..=last],
            "{range} {args:?}: {} bytes",
            part.len()
        );
    }
}

/// Both ends of the archive and of records, and what lies between.
#[track_caller]
fn assert_parts(repo: &Repo, args: &[&str]) {
    let whole = repo.sluice(args).success();
    let end = whole.len() - 1;
    // What is large takes time, and is made in the same way.
    let is_large = whole.len() > 10 << 20;
    let places = [0, 1, 511, 512, 1024, end / 3, end / 2, end - 1024, end];
    for first in places.into_iter().step_by(if is_large { 3 } else { 1 }) {
        for last in [first, first + 511, end / 2, end] {
            if first <= last && first <= end {
                assert_part(repo, args, &whole, (first, last));
            }
        }
    }
    let behind = format!(
        "fatal: the range starts after the end of the archive ({} bytes)\n",
        end + 1
    );
    for range in [
        format!("{}-", end + 1),
        format!("{}-{}", end + 1, end + 9),
        "-0".to_owned(),
    ] {
        let refused = repo.sluice([&format!("--byte-range={range}")[..]].iter().chain(args));
        refused.assert_failure(8, &behind);
    }
}

#[test]
#[ignore = "slow"]
fn parts_of_fixtures() {
    for fixture in ["basic", "deltas", "big-delta", "sha256"] {
        assert_parts(&Repo::from(fixture), &["HEAD"]);
    }
    assert_parts(&Repo::from("dates"), &["far-future"]);
    assert_parts(&Repo::from("names-long"), &["--prefix=a/b/", "HEAD"]);
}

#[test]
#[ignore = "slow"]
fn parts_with_options() {
    let repo = Repo::from("basic");
    let long = format!("--prefix={}/", "p".repeat(200));
    assert_parts(&repo, &[&long, "--add-virtual-file=x:content", "HEAD"]);
    assert_parts(
        &repo,
        &["--pax-notes", "--mtime=4000000000", "--exclude=*.c", "HEAD"],
    );
    assert_parts(&repo, &["--max-size=5", "HEAD"]);
}

#[test]
fn parts_of_changes() {
    let repo = Repo::init();
    for (name, content) in [("gone", "1"), ("kept", "2"), ("new", "3")] {
        repo.write(name, content.repeat(700));
        repo.git(["add", "."]);
        repo.git(["commit", "-qm", name]);
    }
    repo.git(["rm", "-q", "gone"]);
    repo.git(["commit", "-qm", "gone"]);
    assert_parts(&repo, &["--base=HEAD~3", "HEAD"]);
    assert_parts(&Repo::from("empty"), &["--mtime=1", "HEAD^{tree}"]);
}

/// An archive whose lengths are not known is made from its start.
#[test]
fn parts_of_unknown_length() {
    let repo = Repo::from("basic");
    let args = ["--binary=omit", "HEAD"];
    let whole = repo.sluice(args).success();
    let part = repo
        .sluice(["--byte-range=600-2000"].iter().chain(&args))
        .success();
    assert!(part == whole[600..=2000]);
    let behind = format!("--byte-range={}-", whole.len());
    let refused = repo.sluice([&behind[..]].iter().chain(&args));
    refused.assert_refused(8, &["the range starts after the end of the archive"]);
    let refused = repo.sluice(["--byte-range=-10"].iter().chain(&args));
    refused.assert_refused(
        128,
        &[
            "the length of the archive is unknown",
            "the content of a file",
        ],
    );
}

/// The file in the range is read, and no other.
#[test]
fn files_outside_are_not_read() {
    let repo = Repo::init();
    for number in 0..40 {
        repo.write(format!("{number:02}"), "content ".repeat(200));
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "files"]);
    let range = "--byte-range=20480-20490";
    let (summary, _) = repo.summary([range, "HEAD"]);
    assert_eq!(summary["blobs"]["read"], 1, "{summary}");
    assert_eq!(summary["bytes_out"], 11, "{summary}");
    assert_eq!(
        summary["range"],
        serde_json::json!({ "first": 20480, "last": 20490 })
    );
}

#[test]
fn the_condition_of_a_range() {
    let repo = Repo::from("basic");
    let head = repo.json(["info", "HEAD"]);
    let tag = head["etag"].as_str().expect("a tag");
    let whole = repo.sluice(["HEAD"]).success();
    for (tag, expected) in [
        (tag.to_owned(), &whole[5..]),
        ("\"other\"".to_owned(), &whole[..]),
        // A weak tag promises no bytes.
        (format!("W/{tag}"), &whole[..]),
    ] {
        let condition = format!("--if-range={tag}");
        let sent = repo
            .sluice(["--byte-range=5-", &condition, "HEAD"])
            .success();
        assert!(sent == expected, "{condition}");
    }
}

/// A complete archive in the cache has parts, in any format; damage is made good where that is possible.
#[test]
#[ignore = "slow"]
fn parts_from_the_cache() {
    let (large, small) = (Repo::copy("big-delta"), Repo::copy("deltas"));
    for (repo, format) in [(&large, "tar"), (&small, "tar.gz"), (&small, "zip")] {
        let cache = format!("--cache=../cache-{format}");
        let format = format!("--format={format}");
        let args = [&cache[..], &format, "HEAD"];
        let whole = repo
            .sluice(["--cache-always"].iter().chain(&args))
            .success();
        assert_part(repo, &args, &whole, (5, whole.len()));
        assert_part(repo, &args, &whole, (whole.len() / 2, whole.len() / 2 + 9));
        let behind = format!("--byte-range={}-", whole.len());
        assert_eq!(repo.sluice([&behind[..]].iter().chain(&args)).code(), 8);
    }
    let directory = large.path().join("../cache-tar");
    let is_entry =
        |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.len() == 64);
    let mut names = fs::read_dir(directory)
        .expect("made")
        .map(|entry| entry.expect("readable").path());
    let entry = names.find(is_entry).expect("kept");
    let whole = large.sluice(["HEAD"]).success();
    let file = File::options().write(true).open(entry).expect("our own");
    file.write_all_at(b"damage", 4096 + whole.len() as u64 - 3000)
        .expect("our own");
    let part = large
        .sluice(["--cache=../cache-tar", "--byte-range=100-", "HEAD"])
        .success();
    assert!(part == whole[100..]);
}
