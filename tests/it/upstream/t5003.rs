//! t5003: zip, as unzip(1) understands it.

use super::{SIDES, assert_same_contents, below, content, expected, file, unzipped};
use crate::archive::readers::{Contents, Node};
use crate::support::process::run;
use crate::support::zip;
use crate::support::{Repo, installed, skip};

const FIXTURE: &str = "upstream-zip";

/// "check_zip": names and contents, and with `unzip -a` the line ends of what is text.
#[track_caller]
fn assert_unzips(archive: Vec<u8>, prefix: &str, expected: &Contents) {
    assert_same_contents(&unzipped(&[], archive.clone()), expected);
    let converted = unzipped(&["-a"], archive);
    let line_end = |name: &str, end: &str| {
        let path = format!("{prefix}eol/{name}.{end}");
        match converted.get(path.as_bytes()) {
            Some(Node::File(content, _)) => content.clone(),
            _ => panic!("{path} is missing"),
        }
    };
    let unchanged = |name: &str, end: &str| {
        let path = format!("{prefix}eol/{name}.{end}");
        assert_eq!(
            Some(&file(line_end(name, end))),
            expected.get(path.as_bytes()),
            "{path}"
        );
    };
    for end in ["cr", "crlf", "lf"] {
        for text in ["text", "diff"] {
            assert_eq!(line_end(text, end), line_end(text, "lf"), "{text}.{end}");
        }
        for binary in ["binary", "nodiff", "custom"] {
            unchanged(binary, end);
        }
    }
    unchanged("text", "lf");
}

#[test]
fn git_archive_zip() {
    let repo = Repo::copy(FIXTURE);
    if !installed("unzip") {
        return;
    }
    let plain = repo.sluice(["--format=zip", "HEAD"]).success();
    assert_unzips(plain.clone(), "", &expected(&repo));

    // "git archive --format=zip in a bare repo", "… vs. the same in a bare repo"
    let bare = repo.clone().at("../bare.git");
    assert!(bare.sluice(["--format=zip", "HEAD"]).success() == plain);
    // "git archive --format=zip with --output", "… inferring format (local)"
    for args in [["--format=zip", "-od1"], ["-o", "d1.zip"]] {
        let _ = repo.sluice(args.iter().chain(&["HEAD"])).success();
        let name = args[1].trim_start_matches("-o");
        assert!(content(&repo, name) == plain, "{args:?}");
    }
    // "… inferring format (remote)"
    for run in SIDES {
        let _ = run(&repo, &["--remote=.", "--output=d2.zip", "HEAD"]).success();
        assert!(content(&repo, "d2.zip") == plain);
    }
}

#[test]
fn git_archive_zip_with_prefix() {
    let repo = Repo::from(FIXTURE);
    if installed("unzip") {
        let args = ["--format=zip", "--prefix=prefix/", "HEAD"];
        let expected = below("prefix", expected(&repo));
        assert_unzips(repo.sluice(args).success(), "prefix/", &expected);
    }
}

#[test]
fn git_archive_zip_on_large_files() {
    let repo = Repo::from(FIXTURE);
    if !installed("unzip") {
        return;
    }
    let large = repo.clone().with(["-c", "core.bigFileThreshold=1"]);
    for level in ["-0", "-6"] {
        let archive = large.sluice(["--format=zip", level, "HEAD"]).success();
        assert_unzips(archive, "", &expected(&repo));
    }
}

#[test]
fn git_archive_zip_add_file() {
    let repo = Repo::copy(FIXTURE);
    if !installed("unzip") {
        return;
    }
    let mut expected = expected(&repo);
    repo.write("untracked", "untracked\n");
    let extra = "--add-file=untracked";
    expected.insert(b"untracked".to_vec(), file("untracked\n"));
    let archive = repo.sluice(["--format=zip", extra, "HEAD"]).success();
    assert_unzips(archive, "", &expected);

    // "git archive --format=zip --add-file twice"
    expected.remove(&b"untracked"[..]);
    for directory in ["one", "two"] {
        let extra = Contents::from([(b"untracked".to_vec(), file("untracked\n"))]);
        expected.extend(below(directory, extra));
    }
    let prefixes = ["--prefix=one/", "--prefix=two/", "--prefix="];
    let args = [prefixes[0], extra, prefixes[1], extra, prefixes[2], "HEAD"];
    let archive = repo.sluice(["--format=zip"].iter().chain(&args)).success();
    assert_unzips(archive, "", &expected);
}

#[test]
fn git_archive_zip_add_virtual_file() {
    let repo = Repo::from(FIXTURE);
    if !installed("unzip") {
        return;
    }
    let empty_tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let names = [
        "--add-virtual-file=\"path with :colon\":",
        "--add-virtual-file=hello:world",
    ];
    let args = ["--format=zip", names[0], names[1], empty_tree];
    let found = unzipped(&[], repo.sluice(args).success());
    let expected = [("path with :colon", ""), ("hello", "world")];
    let expected = expected.map(|(name, content)| (name.into(), file(content)));
    assert_same_contents(&found, &Contents::from(expected));
    repo.assert_same(args);
}

#[test]
fn git_archive_zip_with_big_file_delta_chains() {
    let repo = Repo::from("deltas").with(["-c", "core.bigFileThreshold=1k"]);
    repo.assert_same(["--format=zip", "HEAD"]);
    let archive = repo.sluice(["--format=zip", "HEAD"]).success();
    let streamed = zip::entries(&archive)
        .iter()
        .filter(|e| e.flags() & 8 != 0)
        .count();
    assert_ne!(streamed, 0, "nothing is above the threshold");
    if installed("unzip") {
        let target = Repo::scratch();
        target.write("archive.zip", archive);
        let _ = run(target.command("unzip").args(["-tqq", "archive.zip"])).success();
    }
}

/// "remote archive does not work with protocol v1", "archive remote http repository".
#[test]
fn archive_remote_http_repository() {
    skip("it needs a web server; for remote repositories the command asks git");
}
