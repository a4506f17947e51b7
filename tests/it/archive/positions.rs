//! The manifest tells where entries are in the archive.

use serde_json::{Value, json};
use sluice_format::zstd::FRAME;

use crate::support::Repo;
use crate::support::{tar_listing, zip};

/// The lines about entries that are in the archive, and the archive.
#[track_caller]
fn archived(repo: &Repo, args: &[&str]) -> (Vec<Value>, Vec<u8>) {
    let (mut lines, output) = repo.manifest(args);
    let archive = output.success();
    if let Some(length) = lines[0].get("content_length") {
        assert_eq!(*length, archive.len());
    }
    lines.retain(|line| {
        matches!(
            line["disposition"].as_str(),
            Some("content" | "placeholder")
        )
    });
    (lines, archive)
}

/// Each line has the place of an entry of the tar, in order, and none is left out.
#[track_caller]
fn assert_places_in_tar(repo: &Repo, args: &[&str]) {
    for threads in ["-j1", "-j2", "-j8"] {
        let words: Vec<_> = ["--memory=1m", threads]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let (lines, archive) = archived(repo, &words);
        let mut lines = lines.iter();
        let mut start = None;
        for record in tar_listing::records(&archive) {
            let begun = start.take().unwrap_or(record.offset);
            match record.kind() {
                'g' => continue,
                'x' => {
                    start = Some(begun);
                    continue;
                }
                _ => {}
            }
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("no line for {}", record.name()));
            assert_eq!(line["offset"], begun, "{line}");
            if record.kind() == '0' && line["disposition"] == "content" {
                assert_eq!(line["data_offset"], record.offset + 512, "{line}");
                assert_eq!(line["data_length"], record.data.len(), "{line}");
            }
        }
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn places_in_a_tar() {
    for fixture in ["basic", "names-long", "modes", "deltas", "eol"] {
        assert_places_in_tar(&Repo::from(fixture), &["HEAD"]);
    }
    let repo = Repo::from("filters");
    assert_places_in_tar(&repo, &["--pax-notes", "--max-size=4096", "HEAD"]);
    assert_places_in_tar(&repo, &["--max-size=4096", "--large=placeholder", "HEAD"]);
    assert_places_in_tar(
        &repo,
        &["--add-virtual-file=x:content", "--prefix=a/", "HEAD"],
    );
}

/// Large files are streamed, and begin before the piece that ends them.
#[test]
fn places_of_large_files() {
    assert_places_in_tar(&Repo::from("same-large"), &["HEAD"]);
    assert_places_in_tar(&Repo::from("big"), &["HEAD"]);
}

#[test]
fn places_of_changes() {
    let repo = Repo::from("deltas");
    assert_places_in_tar(&repo, &["--base=HEAD~3", "HEAD"]);
}

#[test]
fn places_in_a_zip() {
    let (lines, archive) = archived(&Repo::from("basic"), &["--format=zip", "HEAD"]);
    let told: Vec<_> = lines.iter().map(|line| line["offset"].clone()).collect();
    let entries = zip::entries(&archive);
    let there: Vec<_> = entries.iter().map(|entry| json!(entry.local())).collect();
    assert_eq!(told, there);
    assert!(lines.iter().all(|line| line.get("data_offset").is_none()));
}

#[test]
fn a_compressed_tar_has_no_places() {
    let (lines, _) = archived(&Repo::from("basic"), &["--format=tar.gz", "HEAD"]);
    assert!(lines.iter().all(|line| line.get("offset").is_none()));
}

/// The places are those of the tar, and each entry begins in its frame.
#[test]
fn places_in_frames() {
    let repo = Repo::from("big");
    let (plain, _) = archived(&repo, &["HEAD"]);
    let (mut framed, _) = archived(&repo, &["-1", "--format=tar.zst", "HEAD"]);
    for line in &mut framed {
        let frame = line.as_object_mut().and_then(|line| line.remove("frame"));
        let offset = line["offset"].as_u64().expect("a number");
        assert_eq!(frame, Some(json!(offset / FRAME as u64)), "{line}");
    }
    assert_eq!(framed, plain);
}

/// Place and range together are one file.
#[test]
fn one_file_by_its_range() {
    let repo = Repo::from("deltas");
    let (lines, _) = archived(&repo, &["HEAD"]);
    let is_file = |line: &&Value| line["data_length"].as_u64().is_some_and(|len| len > 0);
    let line = lines.iter().rfind(is_file).expect("a file");
    let number = |name: &str| line[name].as_u64().expect("a number");
    let (first, len) = (number("data_offset"), number("data_length"));
    let range = format!("--byte-range={first}-{}", first + len - 1);
    let part = repo.sluice([&range[..], "HEAD"]).success();
    let path = line["path"].as_str().expect("text");
    let blob = repo.shell(&format!("git cat-file blob HEAD:{path}"));
    assert!(part == blob.success(), "{path}");
}
