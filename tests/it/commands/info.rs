//! What is known of an archive before its first byte: entity tag, length, entries.

use std::ffi::OsStr;

use serde_json::Value;

use crate::support::schema::Schema;
use crate::support::{Repo, cases};

/// The answer of `info`, which is as its schema says.
#[track_caller]
fn info<A: AsRef<OsStr>>(repo: &Repo, args: impl IntoIterator<Item = A>) -> Value {
    let args: Vec<_> = args
        .into_iter()
        .map(|arg| arg.as_ref().to_owned())
        .collect();
    let answer = repo
        .sluice(["info".into()].into_iter().chain(args))
        .success();
    assert_eq!(answer.last(), Some(&b'\n'));
    let info = serde_json::from_slice(&answer).expect("JSON");
    Schema::read("info").accept(&info);
    info
}

#[track_caller]
fn assert_length(repo: &Repo, args: &[&str]) {
    let archive = repo.sluice(args).success();
    let info = info(repo, args);
    assert_eq!(info["content_length"], archive.len(), "{args:?}: {info}");
    assert!(info["entries"].is_u64() && info["etag"].is_string());
}

/// A repository whose only file is converted as `attributes` say.
fn converted(attributes: &str, content: &str) -> Repo {
    let repo = Repo::init();
    repo.write(".gitattributes", format!("file {attributes}\n"));
    repo.write("file", content);
    repo.commit(".", "a file");
    repo
}

#[test]
fn lengths_are_exact() {
    for fixture in
        cases("basic | names-long | modes | deltas | loose | big-delta | sha256 | packs-linked")
    {
        assert_length(&Repo::from(fixture), &["HEAD"]);
    }
    let repo = Repo::from("basic");
    assert_length(&Repo::from("dates"), &["far-future"]);
    let long = format!("--prefix={}/", "p".repeat(200));
    assert_length(&repo, &[&long, "HEAD"]);
    assert_length(
        &repo,
        &["--add-virtual-file=x:content", "--mtime=4000000000", "HEAD"],
    );
    assert_length(&repo, &["--pax-notes", "--exclude=*.c", "HEAD"]);
    assert_length(&repo, &["--max-size=5", "--large=placeholder", "HEAD"]);
    assert_length(&repo, &["--max-size=5", "--large=empty", "HEAD"]);
}

#[test]
fn lengths_of_changes_are_exact() {
    let repo = converted("text", "one\n");
    repo.write("other", "two\n");
    repo.git(["add", "."]);
    repo.git(["rm", "-q", "file"]);
    repo.git(["commit", "-qm", "changes"]);
    for deletions in ["pax", "none"] {
        assert_length(
            &repo,
            &["--base=HEAD~1", &format!("--deletions={deletions}"), "HEAD"],
        );
    }
}

/// Files that attributes convert are read, and no others.
#[test]
fn converted_files_count_as_converted() {
    assert_length(&converted("ident", "$Id$\n"), &["HEAD"]);
    assert_length(&converted("text eol=crlf", "one\ntwo\n"), &["HEAD"]);
    assert_length(
        &converted("working-tree-encoding=latin1", "text\n"),
        &["HEAD"],
    );
    assert_length(&converted("export-subst", "$Format:%H %ct$\n"), &["HEAD"]);
}

#[test]
fn what_is_not_known_has_a_reason() {
    let repo = Repo::from("basic");
    let zip = info(&repo, ["--format=zip", "HEAD"]);
    assert_eq!(zip["content_length_reason"], "the archive is compressed");
    assert!(zip["entries"].is_u64() && zip["etag"].is_string());
    let binary = info(&repo, ["--binary=omit", "HEAD"]);
    assert!(
        binary["content_length"].is_null() && binary["entries"].is_null(),
        "{binary}"
    );
    let tree = info(&repo, ["HEAD^{tree}"]);
    assert_eq!(
        tree["etag_reason"],
        "the time of a tree is that of the request"
    );
    assert!(tree["content_length"].is_u64());
    let refs = info(&converted("export-subst", "$Format:%d$\n"), ["HEAD"]);
    assert!(
        refs["etag"].is_null() && refs["content_length"].is_u64(),
        "{refs}"
    );
    let filtered = converted("filter=x", "content\n").with(["-c", "filter.x.smudge=cat"]);
    let filtered = info(&filtered, ["HEAD"]);
    assert!(
        filtered["etag"].is_null() && filtered["content_length"].is_null(),
        "{filtered}"
    );
}

/// A file with `export-subst` may show refs, which change, and a tag would promise the same bytes.
#[test]
fn what_is_not_read_has_no_tag() {
    let repo = converted("export-subst", "$Format:%d$\n");
    let unread = |args: &[&str]| info(&repo, args)["etag"].is_null();
    assert!(unread(&["--binary=omit", "HEAD"]));
    assert!(!unread(&["--binary=omit", "--no-attributes", "HEAD"]));
    for (missing, args) in [
        (".gitattributes", &["HEAD", "--", "file"][..]),
        ("file", &["HEAD"]),
    ] {
        let place = format!("git rev-parse HEAD:{missing} | sed 's,^..,.git/objects/&/,'");
        let _ = repo.shell(&format!("rm -f $({place})")).success();
        assert!(unread(args), "{args:?}");
    }
}

/// Tags are for archives, wherever the repository is.
#[test]
fn the_same_archive_has_the_same_tag() {
    let (one, other) = (Repo::from("basic"), Repo::copy("basic"));
    let tag = |repo: &Repo, args: &[&str]| info(repo, args)["etag"].clone();
    let plain = tag(&one, &["HEAD"]);
    assert_eq!(plain, tag(&other, &["-j1", "--memory=1m", "HEAD"]));
    for args in [
        &["--prefix=a/", "HEAD"][..],
        &["--format=zip", "HEAD"],
        &["HEAD", "--", "."],
    ] {
        assert_ne!(plain, tag(&one, args), "{args:?}");
    }
}

#[test]
fn what_the_caller_has_is_not_sent() {
    let repo = Repo::from("basic");
    let tag = info(&repo, ["HEAD"])["etag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    for tags in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"other\", {tag}"),
        "*".to_owned(),
    ] {
        let option = format!("--if-none-match={tags}");
        repo.sluice([&option, "HEAD"]).assert_failure(7, "");
        repo.sluice(["info", &option, "HEAD"]).assert_failure(7, "");
    }
    let other = repo.sluice(["--if-none-match=\"other\"", "HEAD"]).success();
    assert_eq!(other, repo.archive(["HEAD"]).success());
}

/// A cache that holds the archive knows the length of a compressed one.
#[test]
fn the_cache_knows_lengths() {
    let repo = Repo::copy("basic");
    let options = [
        "--cache=../cache",
        "--cache-always",
        "--format=tar.gz",
        "HEAD",
    ];
    assert!(info(&repo, options)["content_length"].is_null());
    let archive = repo.sluice(options).success();
    assert_eq!(info(&repo, options)["content_length"], archive.len());
}

/// A command of the configuration gets the tar, and sends bytes that nobody knows in advance.
#[test]
fn archives_that_a_command_sends() {
    let repo = Repo::from("basic").with(["-c", "tar.tar.gz.command=gzip -cn -6"]);
    let top = Repo::scratch();
    let cache = format!("--cache={}", top.path().join("cache").display());
    let summary = top.path().join("summary");
    let options = [&cache, "--cache-always", "--format=tar.gz", "HEAD"];
    let told = format!("--summary={}", summary.display());
    let _ = repo
        .sluice(options.iter().copied().chain([&*told]))
        .success();
    let info = info(&repo, options);
    assert!(
        info["etag"].is_null() && info["content_length"].is_null(),
        "{info}"
    );
    assert!(info["etag_reason"].is_string() && info["content_length_reason"].is_string());
    let text = std::fs::read(summary).expect("every run writes a summary");
    let summary: Value = serde_json::from_slice(&text).expect("JSON");
    assert!(summary["content_length"].is_null(), "{summary}");
}
