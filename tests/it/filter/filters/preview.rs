//! What would be sent, and why: told without a look at one blob.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::{IGNORE_FILE, spoil_all, unpack};
use crate::support::{Repo, rows};

/// A repository that has nothing of its blobs but their sizes; only the ignore file is whole.
fn hollow() -> Repo {
    let repo = Repo::copy("filters");
    unpack(&repo);
    let rules = repo.git(["show", "HEAD:.sourcegraph/ignore"]);
    let attributes = repo.git(["show", "HEAD:attributes/.gitattributes"]);
    let ids = ["HEAD:.sourcegraph/ignore", "HEAD:attributes/.gitattributes"];
    let ids = ids.map(|name| repo.git(["rev-parse", name]));
    spoil_all(&repo);
    for (id, text) in ids.iter().zip([rules, attributes]) {
        let text = format!("{text}\n");
        crate::support::forge::loose(&repo, id, format!("blob {}\0{text}", text.len()).as_bytes());
    }
    repo
}

#[track_caller]
fn said(repo: &Repo, args: &[&str]) -> String {
    String::from_utf8_lossy(&repo.sluice(args).success()).into_owned()
}

#[test]
fn a_list_has_what_would_be_sent() {
    let repo = hollow();
    let list = said(
        &repo,
        &[
            "ls",
            IGNORE_FILE,
            "--max-size=4096",
            "--large=empty",
            "HEAD",
            "ignored",
            "size",
            "links",
        ],
    );
    assert_eq!(
        list,
        "\
omitted                - ignored/ (excluded)
content                - links/
content               12 links/link
content                - size/
content             4095 size/below
content                0 size/empty
content             4096 size/limit
placeholder        13893 size/numbers (too-large)
placeholder        13902 size/numbers.more (too-large)
placeholder         4097 size/over (too-large)
placeholder         5000 size/over.json (too-large)
total: 4 sent with 8203 bytes, 4 placeholders, 1 omitted, an archive of 20480 bytes
"
    );
}

/// As many bytes as there are.
#[test]
fn totals_are_those_of_the_archive() {
    let repo = Repo::from("filters");
    let list = said(&repo, &["ls", "--no-attributes", "HEAD"]);
    let files = super::files(&repo, &["--no-attributes"]).len();
    let total: u64 = repo
        .git(["ls-tree", "-rl", "HEAD"])
        .lines()
        .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
        .sum();
    let last = list.lines().last().expect("there is one");
    let archive = repo.sluice(["--no-attributes", "HEAD"]).success().len();
    // The directory of a submodule.
    let sums = format!("{files} sent with {total} bytes, 1 placeholder, 0 omitted");
    let expected = format!("total: {sums}, an archive of {archive} bytes");
    assert_eq!(last, expected);
}

#[test]
fn every_rule_explains_itself() {
    let repo = hollow();
    repo.write("rules", "# mine\nkept/HUSH-token\n");
    let common = [
        IGNORE_FILE,
        "--exclude-from=rules",
        "--exclude=links",
        "--max-size=4096",
        "--size-exempt=**/*.json",
        "--large=placeholder",
        "--submodules=omit",
        "--binary=placeholder",
        "HEAD",
    ];
    let unless = "sent, unless its content turns out to be binary";
    for (path, ruling) in [
        (
            "ignored/deep/b",
            "omitted: '/ignored/' (.sourcegraph/ignore:2) excludes all of 'ignored', which is not read",
        ),
        (
            "ignored",
            "omitted: '/ignored/' (.sourcegraph/ignore:2) excludes all its files",
        ),
        (
            "ignored/",
            "omitted: '/ignored/' (.sourcegraph/ignore:2) excludes all its files",
        ),
        (
            "x.min.js",
            "omitted: '/*.min.js' (.sourcegraph/ignore:4) excludes it",
        ),
        (
            "kept/HUSH-token",
            "omitted: 'kept/HUSH-token' (rules:2) excludes it",
        ),
        (
            "links/link",
            "omitted: 'links' (--exclude) excludes all of 'links', which is not read",
        ),
        ("size/limit", unless),
        (
            "size/over",
            "sent as a placeholder of 4097 bytes: 4097 bytes, the limit is 4096",
        ),
        (
            "size/over.json",
            "sent: 5000 bytes, allowed by --size-exempt='**/*.json', unless its content turns out to be binary",
        ),
        ("module", "omitted: it is a submodule"),
        (
            "attributes/hidden",
            "omitted: by the attribute export-ignore (attributes/.gitattributes:1)",
        ),
        ("kept", "sent if it contains sent files"),
    ] {
        let said = said(&repo, &[&["explain"], &common[..], &[path]].concat());
        let path = path.trim_end_matches('/');
        assert_eq!(said, format!("{path}: {ruling}\n"));
    }
    repo.write("paths", "kept\n");
    let selected = ["explain", "--pathspec-from-file=paths", "HEAD", "run.sh"];
    let said = said(&repo, &selected);
    assert_eq!(said, "run.sh: omitted: no pathspec selects it\n");
    let message =
        "fatal: 'nowhere' is no path of 'HEAD'\nhint: to list all paths: git sluice ls HEAD\n";
    repo.sluice(["explain", "HEAD", "nowhere"])
        .assert_failure(128, message);
}

#[test]
fn the_line_of_an_attribute() {
    let repo = Repo::init();
    let attributes = "[attr]hide export-ignore\n\n*.secret hide\nd export-ignore\n";
    repo.write(".gitattributes", attributes);
    let script =
        "mkdir -p d .git/info && touch a.secret d/file kept && git add . && git commit -qm m";
    let _ = repo.shell(script).success();
    repo.write(".git/info/attributes", "# not sent\nkept export-ignore\n");
    let shown = said(
        &repo,
        &["explain", "HEAD", "a.secret", "d", "d/file", "kept"],
    );
    let expected = "a.secret: omitted: by the attribute export-ignore (.gitattributes:3)\n\
                    d: omitted: by the attribute export-ignore (.gitattributes:4)\n\
                    d/file: omitted: by the attribute export-ignore of 'd' (.gitattributes:4)\n\
                    kept: omitted: by the attribute export-ignore (.git/info/attributes:2)\n";
    assert_eq!(shown, expected);
    // A reader who may not see the file learns nothing of its lines.
    repo.write("rules", "*.secret\nkept\n");
    let access = "--access-rules=rules";
    let shown = said(&repo, &["explain", access, "HEAD", "a.secret", "kept"]);
    let expected = "a.secret: omitted: by the attribute export-ignore\n\
                    kept: omitted: by the attribute export-ignore\n";
    assert_eq!(shown, expected);
}

#[test]
fn what_is_missing_explains_itself() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    crate::support::forge::lose(&repo, "HEAD:run.sh");
    repo.git(["config", "remote.origin.promisor", "true"]);
    for [how, ruling] in rows(
        "--missing=omit | omitted: its content is not in the repository
        --missing=placeholder | sent as an empty placeholder: its content is not in the repository",
    ) {
        assert_eq!(
            said(&repo, &["explain", how, "HEAD", "run.sh"]),
            format!("run.sh: {ruling}\n")
        );
    }
}

/// As pathspecs are.
#[test]
fn a_path_is_one_of_the_current_directory() {
    let repo = Repo::from("filters");
    let below = Repo::from("filters").at("kept");
    for (repo, path, said) in [
        (&below, "file", "kept/file: sent"),
        (&below, "./testdata//data", "kept/testdata/data: sent"),
        (&below, "testdata/", "kept/testdata: sent if it contains"),
        (
            &below,
            "../run.sh",
            "run.sh: omitted: no pathspec selects it",
        ),
        (&repo, "./size/../run.sh", "run.sh: sent"),
        (&repo, "/run.sh", "run.sh: sent"),
    ] {
        let answer = repo.sluice(["explain", "HEAD", path]);
        let answer = String::from_utf8(answer.success()).expect("it is text");
        assert!(answer.starts_with(said), "{path}: {answer}");
    }
    for (repo, path) in [
        (&below, "run.sh"),
        (&below, "../../run.sh"),
        (&repo, ""),
        (&repo, "."),
        (&repo, "no\nwhere"),
    ] {
        let shown = path.replace('\n', "?");
        let message = format!(
            "fatal: '{shown}' is no path of 'HEAD'\nhint: to list all paths: git sluice ls HEAD\n"
        );
        repo.sluice(["explain", "HEAD", path])
            .assert_failure(128, &message);
    }
}

/// Names are shown as they are, without what controls a terminal.
#[test]
fn names_of_any_bytes() {
    let repo = Repo::init();
    let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    repo.write(name(b"n\xff"), "text");
    repo.write(name(b"e\x1b[2J"), "text");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "odd"]);
    let said = |args: &[&OsStr]| repo.sluice(args).success();
    let list = said(&[name(b"ls"), name(b"HEAD")]);
    let expected = b"content                4 e?[2J\ncontent                4 n\xff\n";
    assert!(list.starts_with(expected), "{}", list.escape_ascii());
    let explained = |args: &[&OsStr]| {
        let said = said(args);
        said.escape_ascii().to_string()
    };
    let (why, head) = (name(b"explain"), name(b"HEAD"));
    assert_eq!(explained(&[why, head, name(b"n\xff")]), r"n\xff: sent\n");
    let (rule, path) = (name(b"--exclude=/e*"), name(b"e\x1b[2J"));
    assert_eq!(
        explained(&[why, rule, head, path]),
        r"e?[2J: omitted: \'/e*\' (--exclude) excludes it\n"
    );
    let channel = repo.sluice([name(b"--manifest=no/\xff"), head]);
    let words = channel.stderr.escape_ascii().to_string();
    assert!(
        words.contains(r"could not open \'no/\xff\' for writing"),
        "{words}"
    );
}
