//! What depends on more than its key goes past the cache, and is none the worse for it.

use super::Cache;
use crate::support::{Repo, cases};

/// A repository with `attributes` and `content` in one file.
fn with_file(attributes: &str, content: &[u8]) -> Repo {
    let repo = Repo::init();
    repo.write(".gitattributes", attributes);
    repo.write("file", content);
    repo.git(["add", ".gitattributes"]);
    repo.commit("file", "one");
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

/// What git is asked for, commands of the user, and names on standard error. References move, and an archive moves with them.
#[test]
fn what_depends_on_more() {
    for format in ["%d", "%h", "%D", "%(describe)", "%N"] {
        let content = format!("$Format:{format}$\n");
        assert_bypassed(&with_file("file export-subst\n", content.as_bytes()), "");
    }
    let filtered = with_file("file filter=up\n", b"text\n");
    filtered.git(["config", "filter.up.smudge", "tr a-z A-Z"]);
    assert_bypassed(&filtered, "");
    assert_bypassed(&with_file("", b"text\n"), "-v");
}

/// The end of the disk is told as without a cache.
#[test]
fn a_destination_that_takes_a_part() {
    let repo = Repo::init();
    repo.script("seq 100000 >large && git add large && git commit -qm large");
    let output =
        repo.shell("trap '' XFSZ; ulimit -f 8; git-sluice --cache=/dev/null/none -o x HEAD");
    assert_eq!(output.code(), 128, "{output}");
    assert_eq!(output.messages(), "fatal: write error: File too large\n");
}

/// A file that cannot be encoded comes with a message.
#[test]
fn messages() {
    let repo = Repo::init();
    repo.write("file", b"\xff\xfe bad\n");
    repo.commit("file", "bad");
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
