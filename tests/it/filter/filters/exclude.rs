//! Exclude rules as gitignore(5) has them, next to `git check-ignore`.

use std::{collections::BTreeSet, fs};

use proptest::prelude::*;

use super::{GRAMMAR, files, unpack};
use crate::support::{Repo, forge, git_version, rounds};

/// Paths that patterns tell apart.
const PATHS: [&str; 24] = [
    "a",
    "a.c",
    "b/a",
    "b/a.c",
    "b/c/a.c",
    "b/c/d/e",
    "b/c/d/a",
    "build/out",
    "src/build/out",
    "src/Build",
    "src/x y",
    "src/x ",
    "!bang",
    "#hash",
    "[ab]",
    "b/[ab]",
    "foo/bar",
    "foo/x/bar",
    "foo/x/y/bar",
    "foox/bar",
    "foo.d/bar",
    ".github/ci.yml",
    "keys/host.pem",
    "keys/public/host.pem",
];

/// Since this version of git, two stars after a name are one star, at the end of a pattern or before a slash too.
const TWO_STARS: (u32, u32) = (2, 52);

/// Files of rules. None depends on [`TWO_STARS`].
const RULES: [&str; 65] = [
    "a",
    "/a",
    "a/",
    "*.c",
    "/*.c",
    "b/*.c",
    "b/",
    "/b/",
    "b/*",
    "b/**",
    "**",
    "*",
    "/*",
    "/*/",
    "**/a",
    "**/a.c",
    "a/**",
    "b/**/a",
    "b/**/a.c",
    "b/c/",
    "c/d",
    "/c/d",
    "c/",
    "**/c/",
    "**/c/**",
    "build",
    "build/",
    "/build",
    "[bB]uild",
    "src/?uild",
    "out",
    "x y",
    "x\\ y",
    "x ",
    "x\\ ",
    "x \\ ",
    "!bang",
    "\\!bang",
    "#hash",
    "\\#hash",
    "[ab]",
    "\\[ab\\]",
    "[",
    "[!a]",
    "[z-a]",
    "foo**bar",
    "foo/**/bar",
    "foo/**bar",
    "foo/*/bar",
    "foo*/bar",
    ".github/",
    ".*",
    "*.pem",
    "/*.pem",
    "keys/*.pem",
    "*.pem\n!host.pem",
    "!host.pem\n*.pem",
    "*.pem\n!/keys/public/",
    "keys/*\n!keys/public/",
    "keys/\n!keys/public/host.pem",
    "*\n!*/\n!*.c",
    "*\n!b\n!b/**\nb/c/d",
    "# a\n\n  \nb  \r\n",
    "\u{feff}a\nb\r\n",
    "/\n//\n!\n",
];

/// A work tree with these files, all of them committed.
fn tree(paths: impl IntoIterator<Item = impl AsRef<str>>) -> Repo {
    let repo = Repo::init();
    for path in paths {
        let path = path.as_ref();
        if let Some((directory, _)) = path.rsplit_once('/') {
            fs::create_dir_all(repo.path().join(directory)).expect("our own");
        }
        repo.write(path, "content\n");
    }
    repo.git(["add", "-Af"]);
    repo.git(["commit", "-q", "-m", "first"]);
    repo
}

/// The files that git does not ignore under these rules.
fn kept(repo: &Repo, rules: &str) -> BTreeSet<String> {
    repo.write(".git/rules", rules);
    let all = repo.git(["-c", "core.quotePath=false", "ls-files"]);
    let all: BTreeSet<String> = all.lines().map(str::to_owned).collect();
    // Status 1 says that nothing is ignored.
    let ask = "git ls-files -z | git -c core.excludesFile=.git/rules check-ignore --no-index -z --stdin || test $? = 1";
    let ignored = String::from_utf8(repo.shell(ask).success()).expect("our own names");
    let ignored: BTreeSet<&str> = ignored.split_terminator('\0').collect();
    let kept = all.iter().filter(|path| !ignored.contains(path.as_str()));
    kept.cloned().collect()
}

#[track_caller]
fn assert_as_git(repo: &Repo, rules: &str) {
    let expected = kept(repo, rules);
    let found = files(repo, &["--exclude-from=.git/rules"]);
    let found: BTreeSet<String> = found.into_iter().collect();
    assert_eq!(found, expected, "{rules:?}");
}

/// 1,560 pairs of rules and paths.
#[test]
fn vectors() {
    let repo = tree(PATHS);
    for rules in RULES {
        assert_as_git(&repo, rules);
    }
}

/// Whether versions of git differ about `rule`.
fn has_two_stars(rule: &str) -> bool {
    let pattern = rule.strip_prefix('!').unwrap_or(rule);
    let mut parts = pattern.split('/');
    parts.any(|part| part.ends_with("**") && !part.trim_end_matches('*').is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(rounds(192)).expect("a few"),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_rules_exclude_as_gits_do(
        paths in prop::collection::btree_set("[ab]{1,2}(/[ab.]{1}[ab]){0,3}/f", 1..12),
        rules in prop::collection::vec("!?/?[ab*?.]{1,3}(/[ab*?.]{1,3}){0,2}/?", 1..5),
    ) {
        prop_assume!(git_version() >= TWO_STARS || !rules.iter().any(|rule| has_two_stars(rule)));
        let repo = tree(&paths);
        assert_as_git(&repo, &rules.join("\n"));
    }
}

/// The command line has the last word, then the file that is named last, then the files of the tree.
#[test]
fn sources_in_the_order_of_git() {
    let repo = tree(["a.c", "b.c", "c.c", "d/a.c"]);
    repo.write("one", "*.c\n");
    repo.write("other", "!b.c\n");
    repo.write(".rules", "!*.c\n");
    repo.git(["add", ".rules"]);
    repo.git(["commit", "-q", "-m", "rules"]);
    let tree = "--exclude-from-tree=.rules";
    for (options, expected) in [
        (&["--exclude-from=one"][..], &[".rules"][..]),
        (
            &["--exclude-from=one", "--exclude-from=other"],
            &[".rules", "b.c"],
        ),
        (&["--exclude-from=other", "--exclude-from=one"], &[".rules"]),
        (&[tree, "--exclude=*.c"], &[".rules"]),
        (
            &["--exclude=*.c", "--exclude=!a.c"],
            &[".rules", "a.c", "d/a.c"],
        ),
        (
            &["--exclude=!/a.c", "--exclude-from=one"],
            &[".rules", "a.c"],
        ),
        (
            &["--exclude=d/", "--exclude=!d/a.c"],
            &[".rules", "a.c", "b.c", "c.c"],
        ),
    ] {
        assert_eq!(files(&repo, options), expected, "{options:?}");
    }
}

/// On a command line, nobody writes comments.
#[test]
fn an_option_is_no_comment() {
    let repo = tree(["#hash", "a"]);
    assert_eq!(files(&repo, &["--exclude=#hash"]), ["a"]);
}

/// The files of a tree have git's grammar, and that of Sourcegraph if the profile says so.
#[test]
fn a_file_of_the_tree_in_either_grammar() {
    let repo = tree(["a.c", "d/a.c"]);
    repo.write(".rules", "*.c\n");
    repo.git(["add", ".rules"]);
    repo.git(["commit", "-q", "-m", "rules"]);
    let option = "--exclude-from-tree=.rules";
    assert_eq!(files(&repo, &[option]), [".rules"]);
    assert_eq!(files(&repo, &[option, GRAMMAR]), [".rules", "d/a.c"]);
}

#[test]
fn an_excluded_directory_is_not_read() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    forge::lose(&repo, "HEAD:ignored");
    assert_ne!(repo.sluice(["HEAD"]).code(), 0);
    for option in ["--exclude=/ignored", "--exclude=ignored/", "--exclude=i*d"] {
        let (told, output) = repo.summary([option, "HEAD"]);
        let _ = output.success();
        assert_eq!(told["directories"]["pruned"], 1);
    }
    // A file below cannot be taken back.
    let words = ["--exclude=/ignored/", "--exclude=!/ignored/a", "HEAD"];
    let _ = repo.sluice(words).success();
}

/// No pattern is refused, whatever its bytes are.
#[test]
fn a_pattern_of_any_bytes() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "content");
    let tree = forge::tree(
        &repo,
        &[("100644", b"caf\xe9", &blob), ("100644", b"x", &blob)],
    );
    repo.write("rules", b"caf\xe9\n[\n");
    let archive = repo.sluice(["--exclude-from=rules", &tree]).success();
    assert_eq!(crate::support::tar_listing::names(&archive), ["x"]);
}
