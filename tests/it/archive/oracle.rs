//! The main thing: on every fixture, what we write is what the installed `git archive` writes, to
//! the byte, with the same messages and the same status, however many threads and however little
//! memory there is.
//!
//! A fixture that no test uses fails one in `tidy.rs`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Repo, cases, git_version, skip};

/// Options that no fixture may be indifferent to.
const OPTIONS: [&[&str]; 4] = [
    &["--prefix=p/"],
    &["--prefix=p"],
    &["-v"],
    &["-v", "--prefix=a/b//"],
];

/// Pathspecs that select something in most fixtures, nothing in others, and so are an error there.
const PATHSPECS: [&[&str]; 5] = [&["*a*"], &[":!*e*"], &[":(glob)*"], &["."], &["dir"]];

/// Each revision plainly, and the first with all options and pathspecs.
#[track_caller]
fn assert_all_tars(repo: &Repo, revisions: &[&str]) {
    for revision in revisions {
        repo.assert_same([revision]);
    }
    for options in OPTIONS {
        repo.assert_same(options.iter().chain(&revisions[..1]));
    }
    for pathspecs in PATHSPECS {
        repo.assert_same(revisions[..1].iter().chain(&["--"]).chain(pathspecs));
    }
}

/// Tests of one line each: the fixture and its revisions, of which the first gets all options. The
/// other formats are checked by `formats.rs`.
macro_rules! fixtures {
    ($($name:ident: $fixture:literal $revisions:expr;)*) => {$(
        mod $name {
            use crate::{archive::formats, archive::oracle, support::Repo};

            #[test]
            fn tar() {
                oracle::assert_all_tars(&Repo::from($fixture), &$revisions);
            }

            #[test]
            fn zip() {
                formats::assert_all_options("--format=zip", &Repo::from($fixture), &$revisions);
            }

            #[test]
            fn tar_gz() {
                formats::assert_all_options("--format=tar.gz", &Repo::from($fixture), &$revisions);
            }
        }
    )*};
}

fixtures! {
    alternates: "alternates" ["HEAD", "HEAD~1", "HEAD~2"];
    attribute_files: "attribute-files" ["HEAD", "HEAD:link"];
    bare: "bare" ["HEAD", "HEAD~1", "HEAD:sub", "main"];
    basic: "basic" ["HEAD", "HEAD~1", "HEAD~2", "v1", "light", "HEAD:dir", "HEAD^{tree}", "v1^{}"];
    dates: "dates" [
        "far-future", "future", "past-octal", "last-octal", "2038", "2106", "zero", "one",
        "negative", "words", "nothing", "no-zone", "huge", "odd-zone", "odd-end", "author-1", "author-2",
        "author-3", "author-4", "author-5",
    ];
    deep: "deep" ["HEAD"];
    deltas: "deltas" ["HEAD", "HEAD~1", "HEAD~30", "HEAD~59"];
    empty: "empty" ["HEAD", "nested", "only", "HEAD:", "nested:empty", "nested:hollow"];
    eol: "eol" ["HEAD"];
    export_ignore: "export-ignore" ["HEAD", "HEAD~1", "HEAD:nested", "HEAD:nested/deeper"];
    ident: "ident" ["HEAD"];
    loose: "loose" ["HEAD", "HEAD~1", "HEAD~3"];
    modes: "modes" [
        "group", "none", "pipe", "socket", "leading-zero", "dir-bits", "unsorted", "twice",
    ];
    names_long: "names-long" ["HEAD"];
    names_odd: "names-odd" ["HEAD", "inner"];
    packs_linked: "packs-linked" ["HEAD", "HEAD~4"];
    packs_many: "packs-many" ["HEAD", "HEAD~1", "HEAD~10", "HEAD~20"];
    packs_midx: "packs-midx" ["HEAD", "HEAD~1", "HEAD~2", "HEAD~11"];
    ref_deltas: "ref-deltas" ["HEAD", "HEAD~12", "HEAD~24"];
    replace: "replace" ["HEAD", "HEAD~1", "HEAD~2", "HEAD:dir", "main"];
    same_blob: "same-blob" ["HEAD"];
    sha256: "sha256" ["HEAD", "HEAD~1", "v1", "HEAD:dir"];
    tags: "tags" [
        "commit", "tag", "tag-tag", "tree", "tag-tree", "subtree", "light-tree", "blob",
        "light-blob", "HEAD:dir/a",
    ];
    wide: "wide" ["HEAD"];
}

/// Too large for every option to be tried.
#[test]
fn big() {
    Repo::from("big").assert_same(["HEAD"]);
    Repo::from("big").assert_same(["HEAD", "--", "e-zeros", "f-small"]);
}

#[test]
fn big_loose() {
    Repo::from("big-loose").assert_same(["HEAD"]);
}

#[test]
fn big_delta() {
    Repo::from("big-delta").assert_same(["HEAD"]);
}

#[test]
fn same_large() {
    Repo::from("same-large").assert_same(["HEAD"]);
}

/// Since 2.41 git looks for a date from the end of the line, and so finds it behind a name that holds
/// a `>`.
#[test]
fn a_date_behind_an_odd_name() {
    if git_version() < (2, 41) {
        return skip("git before 2.41 takes the first '>' for the end of the address");
    }
    Repo::from("dates").assert_same(["odd-name"]);
}

/// Prefixes that push names over the limits, and into the pax path themselves.
#[test]
#[ignore = "slow"]
fn long_prefixes() {
    let repo = Repo::from("names-long");
    for length in [1, 54, 99, 100, 154, 155, 156, 255, 256, 300] {
        let directory = "p".repeat(length);
        repo.assert_same([format!("--prefix={directory}/"), "HEAD".into()]);
        Repo::from("basic").assert_same([format!("--prefix={directory}"), "HEAD".into()]);
        Repo::from("basic").assert_same([format!("--prefix={directory}/"), "HEAD:dir".into()]);
    }
}

/// What git takes as it is, whatever a reader may do with it.
#[test]
fn odd_prefixes() {
    for prefix in
        cases(" | / | // | /// | /abs/ | ../up/ | ./ | a//b/// | a b | -x/ | caf\u{e9}/ | a\n/")
    {
        Repo::from("basic").assert_same(["-v", "--prefix", prefix, "HEAD"]);
    }
    let invalid = OsStr::from_bytes(b"--prefix=\xff\xfe/");
    Repo::from("basic").assert_same([invalid, OsStr::new("HEAD")]);
    Repo::from("empty").assert_same(["--prefix=foo/", "HEAD:"]);
}

#[test]
#[ignore = "slow"]
fn umask() {
    for umask in [
        "0", "0022", "022", "18", "user", "0x1ff", "027", "0777", "1k", "07777",
    ] {
        let repo = Repo::from("basic").with(["-c", &format!("tar.umask={umask}")]);
        repo.assert_same(["--prefix=p/", "HEAD"]);
        Repo::from("names-long")
            .with(["-c", &format!("tar.umask={umask}")])
            .assert_same(["HEAD"]);
    }
}

/// The user's configuration reaches into the bytes.
#[test]
#[ignore = "slow"]
fn line_endings() {
    for setting in cases(
        "core.autocrlf=true | core.autocrlf=input | core.autocrlf=false | core.eol=crlf | core.eol=lf | \
         core.eol=native",
    ) {
        Repo::from("eol")
            .with(["-c", setting])
            .assert_same(["HEAD"]);
        Repo::from("ident")
            .with(["-c", setting])
            .assert_same(["HEAD"]);
        Repo::from("basic")
            .with(["-c", setting])
            .assert_same(["HEAD"]);
    }
    let both = ["-c", "core.autocrlf=input", "-c", "core.eol=crlf"];
    Repo::from("eol").with(both).assert_same(["HEAD"]);
    Repo::from("eol").with(both).assert_same(["HEAD:text"]);
}

/// Above the threshold nothing is converted, and everything is streamed.
#[test]
#[ignore = "slow"]
fn big_file_threshold() {
    for threshold in ["1", "6", "7", "1k", "100k", "1g"] {
        let setting = format!("core.bigFileThreshold={threshold}");
        Repo::from("eol")
            .with(["-c", &setting, "-c", "core.autocrlf=true"])
            .assert_same(["HEAD"]);
        Repo::from("ident")
            .with(["-c", &setting])
            .assert_same(["HEAD"]);
        Repo::from("deltas")
            .with(["-c", &setting])
            .assert_same(["HEAD~30"]);
        Repo::from("replace")
            .with(["-c", &setting])
            .assert_same(["HEAD"]);
    }
}

#[test]
fn attributes_from_configuration() {
    let repo = Repo::from("export-ignore").with(["-c", "core.attributesFile=../attributes"]);
    repo.assert_same(["-v", "HEAD"]);
    repo.assert_same(["HEAD~1"]);
    repo.with(["-c", "core.ignoreCase=true"])
        .assert_same(["-v", "HEAD"]);
}
