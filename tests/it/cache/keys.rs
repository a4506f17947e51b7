//! What the key of an archive depends on.

use std::fs;

use super::Cache;
use crate::support::Repo;

/// A command line in a repository, and the archive that comes of it.
struct Asked {
    key: String,
    bytes: Vec<u8>,
}

#[track_caller]
fn ask(repo: &Repo, args: &str) -> Asked {
    let cache = Cache::new();
    let bytes = cache.run(repo, args).success();
    let told = cache.told();
    let key = told["key"].as_str();
    let key = key.unwrap_or_else(|| panic!("no key for {args}: {told}"));
    Asked {
        key: key.to_owned(),
        bytes,
    }
}

#[track_caller]
fn assert_same_key(one: &Asked, other: &Asked, what: &str) {
    assert_eq!(one.key, other.key, "{what}");
    assert!(one.bytes == other.bytes, "one key, two archives: {what}");
}

#[track_caller]
fn assert_other_key(one: &Asked, other: &Asked, what: &str) {
    assert_ne!(one.key, other.key, "{what}");
}

/// A commit of texts that attributes and settings can change.
fn texts() -> Repo {
    let repo = Repo::init();
    repo.write("a.txt", "one\ntwo\n");
    repo.write("b.bin", "x\0\n");
    repo.write("extra", "extra\n");
    repo.write("ignored", "b.bin\n");
    repo.git(["add", "a.txt", "b.bin"]);
    repo.git(["commit", "-q", "-m", "texts"]);
    repo.git(["update-ref", "refs/heads/same", "HEAD"]);
    repo
}

#[test]
fn options_that_change_the_archive() {
    let repo = texts();
    let lines = [
        "HEAD",
        "--prefix=a/ HEAD",
        "--prefix=b/ HEAD",
        "--format=zip HEAD",
        "--format=zip -1 HEAD",
        "--format=tgz HEAD",
        "--format=tgz -1 HEAD",
        "--format=tgz --gzip-compat=gnu HEAD",
        "--format=tar.zst HEAD",
        "--mtime=2001-01-01T00:00:00Z HEAD",
        "--mtime=2001-01-01T00:00:00Z HEAD^{tree}",
        "--mtime=2002-01-01T00:00:00Z HEAD^{tree}",
        "HEAD a.txt",
        "HEAD b.bin",
        "HEAD a.txt b.bin",
        "HEAD :!b.bin",
        "--add-virtual-file=v:one HEAD",
        "--add-virtual-file=v:two HEAD",
        "--add-file=extra HEAD",
        "--prefix=p/ --add-file=extra HEAD",
        "--exclude=*.bin HEAD",
    ];
    let asked = lines.map(|line| ask(&repo, line));
    for (at, one) in asked.iter().enumerate() {
        for (later, other) in asked.iter().enumerate().skip(at + 1) {
            assert_other_key(one, other, &format!("{} | {}", lines[at], lines[later]));
        }
    }
}

#[test]
fn options_that_leave_the_archive_alone() {
    let repo = texts();
    let plain = ask(&repo, "HEAD");
    let lines = [
        "--threads=1 HEAD",
        "--threads=8 --memory=1m HEAD",
        "--cache-always --cache-size=8m --cache-age=1h --cache-jobs=2 --cache-wait=3 HEAD",
        "same",
        "HEAD~0",
        "--format=tar HEAD",
        "--prefix= HEAD",
    ];
    for line in lines {
        assert_same_key(&ask(&repo, line), &plain, line);
    }
    let zip = ask(&repo, "--format=zip HEAD");
    assert_same_key(&ask(&repo, "--format=zip same"), &zip, "zip of a name");
}

/// `change` decides between two archives of the same command line.
#[track_caller]
fn assert_decides(args: &str, change: impl FnOnce(&Repo)) {
    let repo = texts();
    let before = ask(&repo, args);
    change(&repo);
    assert_other_key(&before, &ask(&repo, args), args);
}

#[test]
fn configuration_that_changes_the_archive() {
    for (name, value) in [
        ("tar.umask", "0077"),
        ("core.autocrlf", "true"),
        ("filter.a.smudge", "cat"),
    ] {
        assert_decides("HEAD", |repo| {
            repo.git(["config", name, value]);
        });
    }
    // A zip of large files has another layout, whatever is converted.
    assert_decides("--no-attributes --format=zip HEAD", |repo| {
        repo.git(["config", "core.bigFileThreshold", "1"]);
    });
    let settings = [
        ("user.name", "other"),
        ("core.compression", "3"),
        ("pack.threads", "1"),
    ];
    let repo = texts();
    let plain = ask(&repo, "HEAD");
    for (name, value) in settings {
        repo.git(["config", name, value]);
        assert_same_key(&ask(&repo, "HEAD"), &plain, name);
    }
}

#[test]
fn files_beside_the_tree() {
    assert_decides("HEAD", |repo| {
        std::fs::create_dir_all(repo.path().join(".git/info")).expect("our own");
        repo.write(".git/info/attributes", "*.bin export-ignore\n");
    });
    assert_decides("HEAD", |repo| {
        repo.write("attributes", "*.bin export-ignore\n");
        repo.git(["config", "core.attributesFile", "attributes"]);
    });
    assert_decides("--add-file=extra HEAD", |repo| {
        repo.write("extra", "other\n");
    });
    assert_decides("--exclude-from=ignored HEAD", |repo| {
        repo.write("ignored", "a.txt\n");
    });
}

/// Two files with the same rules are one.
#[test]
fn attributes_by_content() {
    let repo = texts();
    repo.write("one", "*.bin export-ignore\n");
    repo.write("two", "*.bin export-ignore\n");
    let asked = ["one", "two"].map(|name| {
        repo.git(["config", "core.attributesFile", name]);
        ask(&repo, "HEAD")
    });
    assert_same_key(&asked[0], &asked[1], "attributes files");
    repo.write("two", "*.txt export-ignore\n");
    assert_other_key(&asked[1], &ask(&repo, "HEAD"), "the content changed");
}

#[test]
fn variables_and_replacements() {
    assert_decides("HEAD *", |repo| {
        repo.git(["commit", "-q", "--allow-empty", "-m", "next"]);
    });
    let repo = texts();
    repo.write("*", "star\n");
    repo.commit("*", "star");
    let literal = repo.clone().env("GIT_LITERAL_PATHSPECS", "1");
    assert_other_key(&ask(&repo, "HEAD *"), &ask(&literal, "HEAD *"), "literal");
    let before = ask(&repo, "HEAD");
    repo.write("a.txt", "replaced\n");
    let blob = repo.git(["hash-object", "-w", "a.txt"]);
    let old = repo.git(["rev-parse", "HEAD:a.txt"]);
    repo.git(["replace", &old, &blob]);
    let after = ask(&repo, "HEAD");
    assert_other_key(&before, &after, "replaced");
    assert!(after.bytes == repo.archive(["HEAD"]).success());
    repo.git(["replace", "-d", &old]);
    assert_same_key(&ask(&repo, "HEAD"), &before, "not replaced any more");
}

/// A bare repository has no files next to it, so that attributes come from nowhere.
#[test]
fn attributes_of_the_work_tree_in_a_bare_repository() {
    let repo = texts();
    repo.write(".gitattributes", "b.bin export-ignore\n");
    repo.commit(".gitattributes", "attributes");
    repo.git(["clone", "-q", "--bare", ".", "bare.git"]);
    let bare = repo.clone().at("bare.git");
    let (of_tree, of_nothing) = (ask(&bare, "HEAD"), ask(&bare, "--worktree-attributes HEAD"));
    assert_other_key(&of_tree, &of_nothing, "attributes of the tree");
    let literal = ask(&bare, "--worktree-attributes HEAD :(literal)a.txt");
    assert_other_key(&of_nothing, &literal, "a pathspec");
    for args in [
        "--worktree-attributes HEAD",
        "--worktree-attributes HEAD :(literal)a.txt",
    ] {
        let cache = Cache::new();
        for role in ["producer", "producer", "hit"] {
            cache.assert_role(&bare, args, role);
        }
    }
    // The attributes of the repository count, as always.
    fs::create_dir_all(bare.path().join("info")).expect("our own");
    fs::write(bare.path().join("info/attributes"), "a.txt export-ignore\n").expect("our own");
    let other = ask(&bare, "--worktree-attributes HEAD");
    assert_other_key(&of_nothing, &other, "info/attributes");
    // A file of the directory decides: its mode, and in a work tree its attributes.
    let cache = Cache::new();
    let modes = ":(attr:builtin_objectmode=100644)config";
    let _ = cache.run(&bare, &format!("--worktree-attributes HEAD {modes}"));
    assert!(cache.told()["key"].is_null(), "{}", cache.told());
    cache.assert_role(&repo, "--worktree-attributes HEAD", "bypass");
    assert!(cache.told()["key"].is_null(), "{}", cache.told());
}
