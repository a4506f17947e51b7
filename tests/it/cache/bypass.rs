//! What depends on more than its key goes past the cache, and is none the worse for it.

use super::Cache;
use crate::support::{Repo, cases};

/// A repository with `attributes` and `content` in one file.
fn with_file(attributes: &str, content: &[u8]) -> Repo {
    let repo = Repo::init();
    repo.write(".gitattributes", attributes);
    repo.write("file", content);
    repo.git(["add", ".gitattributes"]);
    repo.git(["add", "file"]);
    repo.git(["commit", "-q", "-m", "one"]);
    repo
}

/// Twice with git's bytes, status and messages; nothing is kept.
#[track_caller]
fn assert_bypassed(repo: &Repo, args: &str) {
    let cache = Cache::new();
    for _ in 0..3 {
        cache.assert_role(repo, &format!("{args} HEAD"), "bypass");
        assert!(cache.told()["reason"].is_string());
        assert!(cache.archives().is_empty());
    }
    let expected = repo.archive(args.split_whitespace().chain(["HEAD"])).stdout;
    let clients: Vec<_> = (0..4)
        .map(|_| cache.start(repo, &format!("--cache-always {args} HEAD")))
        .collect();
    for client in clients {
        let output = client.finish();
        assert!(output.code() == 0 && output.stdout == expected, "{output}");
    }
    assert!(cache.archives().is_empty());
    cache.assert_tidy();
}

#[test]
fn what_git_is_asked_for() {
    for format in ["%d", "%h", "%D", "%(describe)", "%N"] {
        let repo = with_file(
            "file export-subst\n",
            format!("$Format:{format}$\n").as_bytes(),
        );
        assert_bypassed(&repo, "");
    }
}

/// The end of the disk is told as without a cache.
#[test]
fn a_destination_that_takes_a_part() {
    let repo = Repo::init();
    let _ = repo
        .shell("seq 100000 >large && git add large && git commit -qm large")
        .success();
    let output =
        repo.shell("trap '' XFSZ; ulimit -f 8; git-sluice --cache=/dev/null/none -o x HEAD");
    assert_eq!(output.code(), 128, "{output}");
    assert_eq!(output.messages(), "fatal: write error: File too large\n");
}

/// References move, and the archive with them.
#[test]
fn decorations_are_never_old() {
    let cache = Cache::new();
    let repo = with_file("file export-subst\n", b"$Format:%d$\n");
    for tag in ["one", "two", "three"] {
        let _ = cache.run(&repo, "--cache-always HEAD").success();
        repo.git(["tag", tag]);
        cache.assert_role(&repo, "HEAD", "bypass");
    }
}

#[test]
fn commands_of_the_user() {
    let repo = with_file("file filter=up\n", b"text\n");
    repo.git(["config", "filter.up.smudge", "tr a-z A-Z"]);
    assert_bypassed(&repo, "");
}

#[test]
fn names_on_standard_error() {
    assert_bypassed(&with_file("", b"text\n"), "-v");
}

/// A file that cannot be encoded comes with a message.
#[test]
fn messages() {
    let repo = Repo::init();
    repo.write("file", b"\xff\xfe bad\n");
    repo.git(["add", "file"]);
    repo.git(["commit", "-q", "-m", "bad"]);
    std::fs::create_dir_all(repo.path().join(".git/info")).expect("our own");
    repo.write(
        ".git/info/attributes",
        "file working-tree-encoding=UTF-16\n",
    );
    assert_bypassed(&repo, "");
}

#[test]
fn options_with_results_of_their_own() {
    let (cache, repo) = (Cache::new(), with_file("", b"text\n"));
    let expected = repo.archive(["HEAD"]).success();
    for option in cases("--manifest=manifest | --missing=omit | --worktree-attributes") {
        let args = format!("--cache-always {option} HEAD");
        let output = cache.run(&repo, &args);
        assert!(output.stdout == expected, "{output}");
        assert_eq!(cache.told()["role"], "bypass", "{option}");
    }
    let args = "--cache-always HEAD^{tree}";
    let _ = cache.run(&repo, args).success();
    assert_eq!(cache.told()["role"], "bypass");
    assert!(cache.archives().is_empty());
}
