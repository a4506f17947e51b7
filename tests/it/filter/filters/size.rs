//! The limit on size: where it lies, what may be larger, what is sent instead, and what it spares us.

use super::{files, names, spoil, unpack};
use crate::support::Repo;
use crate::support::forge::{self, Pack};
use crate::support::process::run_with_input;
use crate::support::{tar_listing, zip};

/// What of `size/` is in the archive.
#[track_caller]
fn sizes(repo: &Repo, args: &[&str]) -> Vec<String> {
    let mut files = files(repo, args);
    files.retain(|name| name.starts_with("size/"));
    files
        .iter()
        .map(|name| name["size/".len()..].into())
        .collect()
}

const SMALL: [&str; 3] = ["below", "empty", "limit"];

#[test]
fn the_limit_is_inclusive_wherever_a_blob_lies() {
    let packed = Repo::copy("filters");
    let index = forge::packed(&packed, "idx");
    let deltas = packed.git(["verify-pack".as_ref(), "-v".as_ref(), index.as_os_str()]);
    let whole = packed.git(["rev-parse", "HEAD:size/numbers.more"]);
    let part = packed.git(["rev-parse", "HEAD:size/numbers"]);
    let is_delta = |line: &str| line.split_whitespace().count() == 7;
    let mut lines = deltas.lines();
    let delta =
        lines.any(|line| (line.starts_with(&whole) || line.starts_with(&part)) && is_delta(line));
    assert!(delta, "the fixture has no delta\n{deltas}");
    let loose = Repo::copy("filters");
    unpack(&loose);
    for repo in [packed, loose] {
        assert_eq!(sizes(&repo, &["--max-size=4k"]), SMALL);
        assert_eq!(
            sizes(&repo, &["--max-size=4097"]),
            ["below", "empty", "limit", "over"]
        );
        // As large as `seq` made it.
        let small = ["below", "empty", "limit", "numbers", "over", "over.json"];
        assert_eq!(sizes(&repo, &["--max-size=13893"]), small);
        assert_eq!(sizes(&repo, &["--max-size=13892"]).len(), 5);
        assert_eq!(sizes(&repo, &["--max-size=13901"]).len(), 6);
        assert_eq!(sizes(&repo, &["--max-size=13902"]).len(), 7);
        assert_eq!(sizes(&repo, &["--max-size=0"]), ["empty"]);
    }
}

/// The last glob that matches decides.
#[test]
fn some_files_may_be_larger() {
    let repo = Repo::from("filters");
    for (globs, more) in [
        (&["**/*.json"][..], &["over.json"][..]),
        (&["**", "!**/*.json", "!size/num*"], &["over"]),
        (
            &["!**/*.json", "**"],
            &["numbers", "numbers.more", "over", "over.json"],
        ),
        (&["*.json", "/size/over", "["], &[]),
    ] {
        let globs: Vec<String> = globs
            .iter()
            .map(|glob| format!("--size-exempt={glob}"))
            .collect();
        let mut args: Vec<&str> = globs.iter().map(String::as_str).collect();
        args.push("--max-size=4096");
        let mut expected = [&SMALL, more].concat();
        expected.sort_unstable();
        assert_eq!(sizes(&repo, &args), expected, "{args:?}");
    }
}

#[test]
fn what_is_sent_of_a_file_above_the_limit() {
    let repo = Repo::from("filters");
    let list = |form: &str| {
        let archive = repo.sluice(["--max-size=4096", form, "HEAD"]).success();
        let mut tar = repo.command("tar");
        let listing = run_with_input(tar.args(["-tv", "--warning=no-unknown-keyword"]), archive);
        let listing = String::from_utf8(listing.success()).expect("it is text");
        let lines = listing.lines().filter(|line| line.contains("size/over"));
        let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let shown = fields.map(|fields| format!("{} {} {}", fields[0], fields[2], fields[5]));
        shown.collect::<Vec<_>>()
    };
    let both = |size: [u32; 2]| {
        ["over", "over.json"]
            .iter()
            .zip(size)
            .map(|(name, size)| format!("-rw-rw-r-- {size} size/{name}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(list("--large=keep"), both([4097, 5000]));
    assert_eq!(list("--large=empty"), both([0, 0]));
    // Never the true size.
    assert_eq!(list("--large=placeholder"), both([4097, 4097]));
    assert!(list("--large=omit").is_empty());
}

#[test]
fn a_zip_has_no_holes() {
    let repo = Repo::copy("filters");
    let limited = ["--format=zip", "--max-size=4096"];
    let with = |form: &'static str| [&limited[..], &[form, "HEAD"]].concat();
    let sparse = repo.sluice([&["-o", "archive.zip"][..], &with("--large=placeholder")].concat());
    sparse.assert_refused(129, &["--large=placeholder needs a tar"]);
    assert!(!repo.path().join("archive.zip").exists());
    repo.sluice(["--format=zip", "--profile=zoekt", "HEAD"])
        .assert_refused(129, &["--profile=zoekt needs a tar", "--large=placeholder"]);
    let omitted = repo.sluice(with("--large=omit")).success();
    assert!(!zip::names(&omitted).contains(&"size/over".into()));
    let zero = repo.sluice(with("--large=empty")).success();
    repo.write("zero.zip", zero);
    let listing = repo.shell("unzip -v zero.zip size/over").success();
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let line = listing.lines().find(|line| line.ends_with("size/over"));
    assert_eq!(
        line.expect("it is there").split_whitespace().next(),
        Some("0")
    );
    let _ = repo.shell("unzip -tq zero.zip").success();
}

/// A blob above the limit may be as damaged as it likes behind its header.
#[test]
fn a_blob_above_the_limit_is_not_inflated() {
    let loose = Repo::copy("filters");
    unpack(&loose);
    for name in ["over", "over.json", "numbers", "numbers.more"] {
        spoil(&loose, &format!("HEAD:size/{name}"));
    }
    assert_ne!(loose.sluice(["HEAD"]).code(), 0);
    for form in ["--large=omit", "--large=empty", "--large=placeholder"] {
        assert!(!names(&loose, &["--max-size=4096", form]).is_empty());
    }
    let (lines, output) = loose.manifest(["--max-size=4096", "HEAD"]);
    let _ = output.success();
    let over = lines
        .iter()
        .find(|line| line["path"] == "size/over")
        .expect("told");
    assert_eq!(
        (&over["size"], &over["reason"]),
        (&4097.into(), &"too-large".into())
    );
}

/// Delta data that makes `size` bytes of a base of `base` bytes, 100 at a time.
fn repetition(base: u64, size: u64) -> Vec<u8> {
    let copies = vec![forge::copy(0, 100); (size / 100) as usize];
    let copies: Vec<&[u8]> = copies.iter().map(Vec::as_slice).collect();
    forge::delta(base, size, &copies)
}

#[test]
fn nor_is_one_in_a_pack() {
    let repo = Repo::init();
    let (whole, delta, base) = (forge::made_up(1), forge::made_up(2), forge::made_up(3));
    let data = repetition(3000, 5000);
    let mut pack = Pack::new();
    let damaged = &forge::zlib(&[b'x'; 5000])[..300];
    pack.entry(&whole, &forge::entry_header(forge::BLOB, 5000), damaged);
    let start = pack.offset();
    pack.whole(&base, forge::BLOB, 3000, &[b'x'; 3000]);
    let mut header = forge::entry_header(6, data.len() as u64);
    header.extend(forge::base_distance(pack.offset() - start));
    // Enough of it to know the size of what it makes.
    pack.entry(&delta, &header, &forge::zlib(&data)[..40]);
    pack.write(&repo);
    let entries: [(&str, &[u8], &str); 3] = [
        ("100644", b"base", &base),
        ("100644", b"delta", &delta),
        ("100644", b"whole", &whole),
    ];
    let commit = forge::commit(&repo, &entries);
    for path in ["delta", "whole"] {
        assert_ne!(repo.sluice([&commit, path]).code(), 0, "{path}");
    }
    let archive = repo.sluice(["--max-size=4999", &commit]).success();
    assert_eq!(tar_listing::names(&archive), ["base"]);
    let larger = repo.sluice(["--max-size=5000", &commit]);
    assert_ne!(larger.code(), 0, "{larger}");
}

/// A delta that is small by all its headers, and makes something large.
#[test]
fn headers_do_not_hide_a_size() {
    let repo = Repo::init();
    let (delta, base) = (forge::made_up(2), forge::made_up(3));
    let mut pack = Pack::new();
    let start = pack.offset();
    pack.whole(&base, forge::BLOB, 100, &[b'x'; 100]);
    pack.offset_delta(&delta, pack.offset() - start, &repetition(100, 500_000));
    pack.write(&repo);
    let entries: [(&str, &[u8], &str); 2] =
        [("100644", b"base", &base), ("100644", b"delta", &delta)];
    let commit = forge::commit(&repo, &entries);
    for (limit, expected) in [("499999", &["base"][..]), ("500000", &["base", "delta"])] {
        let limit = format!("--max-size={limit}");
        for memory in ["--memory=1m", "--memory=64m"] {
            let (told, output) = repo.summary([&limit, memory, &commit]);
            assert_eq!(
                tar_listing::names(&output.success()),
                expected,
                "{limit} {memory}"
            );
            let left_out = 2 - expected.len();
            assert_eq!(told["omitted"]["too-large"], left_out);
            // Where the writer streams it, its size is asked for first.
            let blobs = &told["blobs"];
            let counts = ["read", "skipped", "wasted"].map(|name| blobs[name].as_u64());
            let in_vain = if memory == "--memory=1m" { 0 } else { left_out };
            let counted = [expected.len() + in_vain, left_out - in_vain, in_vain];
            assert_eq!(counts, counted.map(|count| Some(count as u64)), "{memory}");
        }
        // Whoever only looks has the time to look closely.
        let explain = repo.sluice(["explain", &limit, &commit, "delta"]).success();
        let said = match expected.len() {
            1 => "delta: omitted: 500000 bytes, the limit is 499999\n",
            _ => "delta: sent\n",
        };
        assert_eq!(String::from_utf8_lossy(&explain), said);
    }
}

/// What decides whether a directory has an entry is known before any size is.
#[test]
fn a_directory_stays_without_its_files() {
    let repo = Repo::from("filters");
    let archive = repo.sluice(["--max-size=4096", "HEAD", "size/over", "run.sh"]);
    assert_eq!(tar_listing::names(&archive.success()), ["run.sh", "size/"]);
    let list = repo.sluice(["ls", "--max-size=4096", "HEAD", "size/over"]);
    let list = String::from_utf8(list.success()).expect("it is text");
    let expected = "\
content                - size/
omitted             4097 size/over (too-large)
total: 0 sent with 0 bytes, 0 placeholders, 1 omitted, an archive of 10240 bytes
";
    assert_eq!(list, expected);
    let rules = ["--exclude=size/over", "HEAD", "size/over"];
    assert_eq!(tar_listing::names(&repo.sluice(rules).success()), [""; 0]);
}

/// What the counters say when nothing hides.
#[test]
fn nothing_above_the_limit_is_read() {
    let repo = Repo::from("filters");
    let blobs = repo
        .git(["ls-tree", "-r", "HEAD"])
        .matches(" blob ")
        .count();
    for (args, skipped) in [
        (&["--max-size=4096"][..], 4),
        (&["--max-size=4096", "--large=placeholder"], 4),
        (&["--max-size=4096", "--size-exempt=**/*.json"], 3),
        (&["--max-size=4096", "--large=keep"], 0),
        (&["--max-size=4096", "--binary=omit"], 4),
    ] {
        let (told, output) = repo.summary([args, &["--no-attributes", "HEAD"]].concat());
        let _ = output.success();
        let counts = ["read", "skipped", "wasted"].map(|name| told["blobs"][name].clone());
        assert_eq!(
            counts,
            [blobs - skipped, skipped, 0].map(serde_json::Value::from),
            "{args:?}"
        );
    }
}
