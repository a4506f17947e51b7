//! `--json` of `ls`, `explain` and `verify`: as the schemas say, and with the answers that the archive or the text has.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::leftovers::temporary_directory;
use crate::support::Repo;
use crate::support::schema::Schema;

/// The lines of `text`, each as the schema `name` says.
#[track_caller]
fn lines(name: &str, text: &[u8]) -> Vec<Value> {
    let schema = Schema::read(name);
    let text = std::str::from_utf8(text).expect("JSON is UTF-8");
    let line = |line| {
        let value = serde_json::from_str(line).expect("JSON");
        schema.accept(&value);
        value
    };
    text.lines().map(line).collect()
}

/// A repository with three commits, which add, change and delete files.
fn changed() -> Repo {
    let repo = Repo::init();
    repo.write("old.txt", "old\n");
    repo.commit(".", "none");
    repo.git(["rm", "-q", "old.txt"]);
    fs::create_dir(repo.path().join("sub")).expect("our own");
    repo.write("added", "added\n");
    repo.write("large", "x".repeat(5000));
    repo.write("binary", "\0");
    repo.write("sub/kept", "kept\n");
    repo.commit(".", "one");
    repo.git(["rm", "-q", "--cached", "added"]);
    repo.write("new", "new\n");
    repo.write("sub/kept", "changed\n");
    repo.git(["add", "new", "sub"]);
    repo.git(["commit", "-qm", "two"]);
    repo
}

/// With `options`, `ls --json` says of HEAD what `--manifest` says, but for positions.
#[track_caller]
pub(crate) fn assert_lists_the_manifest(repo: &Repo, options: &[&str]) {
    let place = temporary_directory();
    let file = place.path().join("manifest");
    let manifest = format!("--manifest={}", file.display());
    repo.sluice([options, &[&manifest, "-o", "/dev/null", "HEAD"]].concat())
        .success();
    let mut expected = lines("manifest", &fs::read(&file).expect("it was written"));
    for line in &mut expected {
        let line = line.as_object_mut().expect("an object");
        // The size of a file that is in no tree is known once the file is read.
        let is_extra = line.contains_key("path") && !line.contains_key("id");
        let unknown: &[&str] = if is_extra {
            &["offset", "data_offset", "data_length", "size"]
        } else {
            &["offset", "data_offset", "data_length"]
        };
        line.retain(|name, _| !unknown.contains(&&name[..]));
    }
    let listed = repo.sluice([&["ls", "--json"], options, &["HEAD"]].concat());
    assert_eq!(
        lines("manifest", &listed.success()),
        expected,
        "{options:?}"
    );
}

#[test]
fn ls_tells_the_manifest_without_positions() {
    let repo = changed();
    for options in [
        &[][..],
        &["--max-size=1k"],
        &["--max-size=1k", "--large=omit", "--prefix=p/"],
        &["--exclude=sub/", "--add-virtual-file=VERSION:1"],
        &["--base=HEAD~"],
        &["--base=HEAD~", "--max-size=3"],
        &["--base=HEAD~2", "--exclude=large", "--format=tar.gz"],
    ] {
        assert_lists_the_manifest(&repo, options);
    }
}

#[test]
fn ls_marks_what_only_content_decides() {
    let listed = changed().sluice(["ls", "--json", "--binary=omit", "HEAD", "binary"]);
    let lines = lines("manifest", &listed.success());
    assert_eq!(lines[1]["path"], "binary");
    assert_eq!(lines[1]["undecided"], true);
    assert_eq!(lines[2], json!({"end": true, "entries": 1}));
}

#[test]
fn explain_says_the_same_to_programs() {
    let repo = changed();
    let paths = ["added", "new", "sub", "sub/kept", "large", "binary"];
    let mut found = BTreeSet::new();
    for options in [
        &[][..],
        &["--max-size=1k", "--large=omit", "--exclude=binary"],
    ] {
        let asked = [options, &["--ignore-unmatch", "HEAD", "--"], &paths].concat();
        let text = repo.sluice([&["explain"][..], &asked].concat()).success();
        let answer = repo.sluice([&["explain", "--json"][..], &asked].concat());
        let lines = lines("explain", &answer.success());
        let shown = lines.iter().map(|line| {
            let word = |name: &str| line[name].as_str().expect("text").to_owned();
            format!("{}: {}\n", word("path"), word("words"))
        });
        assert_eq!(shown.collect::<String>().as_bytes(), text, "{options:?}");
        for line in lines {
            found.insert(line["outcome"].as_str().expect("text").to_owned());
        }
    }
    let expected = ["directory", "omitted", "sent"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

#[test]
fn verify_names_each_path_that_differs() {
    let repo = changed();
    let copy = repo.path().join(".git/copy");
    repo.sluice(["-o", ".git/full.tar", "HEAD"]).success();
    repo.sluice(["apply", ".git/copy", ".git/full.tar"])
        .success();
    let verify = || repo.sluice(["verify", "--json", ".git/copy"]);
    assert_eq!(verify().success(), b"");
    fs::write(copy.join("new"), "other").expect("our own");
    fs::remove_file(copy.join("large")).expect("our own");
    let output = verify();
    assert_eq!(output.code(), 1);
    let expected = [
        json!({"verify": 1, "path": "large", "difference": "missing"}),
        json!({"verify": 1, "path": "new", "difference": "content"}),
    ];
    assert_eq!(lines("verify", &output.stdout), expected);
}
