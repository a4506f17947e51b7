//! What an indexer takes for granted of the stream that it reads, whatever is left out of it.

use std::collections::BTreeSet;

use super::IGNORE_FILE;
use crate::support::forge;
use crate::support::tar_listing::{self, Record};
use crate::support::{Repo, cases};

/// It takes no extended header of this size.
const EXTENDED_MAX: usize = 1 << 20;

/// The value of a record in the data of an extended header.
fn value<'a>(data: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut rest = data;
    while !rest.is_empty() {
        let digits = rest.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let record = &rest[digits + 1..length - 1];
        let start = [key.as_bytes(), b"="].concat();
        if record.starts_with(&start) {
            return Some(&record[start.len()..]);
        }
        rest = &rest[length..];
    }
    None
}

/// The names of the entries as a reader has them.
fn names(records: &[Record]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut long = None;
    for record in records {
        match record.kind() {
            'x' => {
                let sparse = value(record.data, "GNU.sparse.name");
                long = sparse.or_else(|| value(record.data, "path"));
            }
            'g' => {}
            _ => {
                let short = record.name().into_bytes();
                names.push(long.take().map_or(short, <[u8]>::to_vec));
            }
        }
    }
    names
}

#[track_caller]
fn assert_fit(repo: &Repo, revision: &str, args: &[&str]) {
    let archive = repo.sluice(args.iter().chain(&[revision])).success();
    let records = tar_listing::records(&archive);
    let commit = repo.git(["rev-parse", revision]);
    let time = repo.git(["log", "-1", "--format=%ct", revision]);
    let told = value(records[0].data, "comment").map(<[u8]>::to_vec);
    assert_eq!(records[0].kind(), 'g', "{args:?}");
    assert_eq!(told, Some(commit.into_bytes()), "{args:?}");
    // The first file's is what counts, and no other may differ.
    let time: u64 = time.parse().expect("a number");
    for record in records.iter().filter(|record| record.kind() == '0') {
        assert_eq!(record.mtime(), time, "{args:?}");
    }
    for record in &records {
        let fits = !matches!(record.kind(), 'x' | 'g') || record.data.len() < EXTENDED_MAX;
        assert!(fits, "{args:?}: {} bytes", record.data.len());
    }
    let names = names(&records);
    let all: BTreeSet<&Vec<u8>> = names.iter().collect();
    assert_eq!(all.len(), names.len(), "{args:?}: a name is there twice");
    for name in names {
        let parts = name.strip_suffix(b"/").unwrap_or(&name);
        let odd = parts
            .split(|byte| *byte == b'/')
            .any(|part| matches!(part, b"" | b"." | b".."));
        assert!(!odd, "{args:?}: {}", name.escape_ascii());
    }
}

#[test]
fn streams_are_fit_for_an_indexer() {
    for fixture in cases("filters | names-long | names-odd | deep | export-ignore | deltas") {
        let repo = Repo::from(fixture);
        for args in [
            &[][..],
            &["--profile=zoekt", "--max-size=99"],
            &["--profile=searcher", "--pax-notes"],
            &["--prefix=p/", "--pax-notes", "--symlinks=file"],
            &[IGNORE_FILE, "--binary=omit", "--max-size=9"],
        ] {
            assert_fit(&repo, "HEAD", args);
        }
    }
}

/// Longer than any file system has them; the header of a hole has its name twice.
#[test]
fn headers_of_long_names_are_fit_as_well() {
    let repo = Repo::init();
    let long = vec![b'n'; 500_000];
    let target = forge::blob(&repo, vec![b't'; 100_000]);
    let content = forge::blob(&repo, "content");
    let nul = forge::blob(&repo, "\0\0\0\0");
    let inner = forge::tree(
        &repo,
        &[
            ("100644", b"binary", &nul),
            ("120000", b"link", &target),
            ("100644", b"plain", &content),
        ],
    );
    let commit = forge::commit(&repo, &[("40000", &long, &inner)]);
    for args in [
        &[][..],
        &["--pax-notes"],
        &["--profile=zoekt", "--max-size=5", "--pax-notes"],
    ] {
        assert_fit(&repo, &commit, args);
    }
    repo.assert_same_within(&["2"], &["256m"], [&commit]);
}

/// That there is nothing to index is told, also where it turns out late.
#[test]
fn a_stream_without_files_is_told() {
    let repo = Repo::init();
    let (nul, link) = (forge::blob(&repo, "a\0"), forge::blob(&repo, "a"));
    let entries: [(&str, &[u8], &str); 2] = [("100644", b"a", &nul), ("120000", b"b", &link)];
    let commit = forge::commit(&repo, &entries);
    for format in ["--format=tar", "--format=zip"] {
        let args = [format, "--binary=omit", "--fail-if-empty", &commit];
        let (told, output) = repo.summary(args);
        assert_eq!(output.code(), 4, "{output}");
        assert_eq!(output.messages(), "fatal: there is no file to send\n");
        assert_eq!(
            (&told["complete"], &told["files"]),
            (&true.into(), &0.into())
        );
        assert_eq!(told["entries"], 1);
    }
    let (told, output) = repo.summary(["--binary=empty", "--fail-if-empty", &commit]);
    assert_eq!((output.code(), &told["files"]), (0, &1.into()));
}

/// A disk that is full for the manifest is not the reader's, who must not take what he has for all.
#[test]
fn a_manifest_that_cannot_be_written_cuts_the_archive() {
    let repo = Repo::copy("filters");
    // Enough for some lines.
    let limit = "trap '' XFSZ; ulimit -f 4";
    for format in ["tar", "zip", "tar.gz"] {
        for threads in [1, 4] {
            let run = format!(
                "git-sluice --format={format} --threads={threads} --manifest=../manifest HEAD"
            );
            let output = repo.shell(&format!("({limit}; {run}; echo $? >&2) | cat"));
            let told = "fatal: cannot write to '../manifest': File too large\n128\n";
            assert!(output.messages().ends_with(told), "{output}");
            // What is compressed may still wait to be.
            assert!(format == "tar.gz" || !output.stdout.is_empty(), "{run}");
            crate::archive::readers::assert_rejected(&output.stdout);
            let end = output.stdout.windows(4).any(|bytes| bytes == b"PK\x05\x06");
            assert!(!end, "{run}");
        }
    }
    // With a failure of its own on top.
    super::unpack(&repo);
    forge::lose(&repo, "HEAD:size/over");
    let run = "git-sluice --manifest=../manifest HEAD";
    let output = repo.shell(&format!("({limit}; {run}) | cat"));
    crate::archive::readers::assert_rejected(&output.stdout);
    let (lines, output) = repo.manifest(["HEAD"]);
    assert!(lines.len() > 2 && output.code() == 255, "{output}");
}
