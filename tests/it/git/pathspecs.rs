//! Which entries pathspecs select, and which of them are errors.

use std::{ffi::OsString, fs, os::unix::fs::symlink, path::PathBuf};

use crate::support::{Repo, cases, rows};

#[test]
fn without_a_match() {
    let repo = Repo::from("basic");
    for (args, unmatched) in [
        ("HEAD nosuch", "nosuch"),
        ("HEAD dir nosuch neither", "nosuch"),
        ("HEAD file.txt/", "file.txt/"),
        ("HEAD dir/module/x", "dir/module/x"),
        ("HEAD :!*", ":!*"),
        ("HEAD -v -- -x", "-x"),
        ("HEAD:dir dir", "dir"),
    ] {
        let message = format!("fatal: pathspec '{unmatched}' did not match any files\n");
        repo.assert_both_die(args.split_whitespace(), &message);
    }
    let message = "fatal: pathspec '.' did not match any files\n";
    Repo::from("empty").assert_both_die(["HEAD", "."], message);
}

#[test]
fn malformed() {
    let repo = Repo::from("basic");
    let empty = "fatal: empty string is not a valid pathspec. \
                 please use . instead if you meant to match all paths\n";
    repo.assert_both_die(["HEAD", ""], empty);
    let top = repo.path().display();
    let outside = format!("fatal: ../x: '../x' is outside repository at '{top}'\n");
    repo.assert_both_die(["HEAD", "../x"], &outside);
    for [pathspec, complaint] in rows(
        ":(bogus)x | Invalid pathspec magic 'bogus' in ':(bogus)x'
        :(glob | Missing ')' at the end of pathspec magic in ':(glob'
        :%x | Unimplemented pathspec magic '%' in ':%x'
        :(glob,literal)x | :(glob,literal)x: 'literal' and 'glob' are incompatible",
    ) {
        repo.assert_both_die(["HEAD", pathspec], &format!("fatal: {complaint}\n"));
    }
}

/// Of absolute pathspecs that are elsewhere, git looks for each directory.
#[test]
fn absolute_and_outside() {
    let repo = Repo::copy("basic");
    let other = Repo::scratch();
    let missing = other.path().join("missing").display().to_string();
    symlink(&missing, other.path().join("link")).expect("a scratch directory");
    let (dangling, below) = (other.path().join("link"), other.path().join("link/x"));
    for pathspec in [
        "/",
        "//",
        &missing,
        &format!("{missing}/"),
        &format!("{missing}/x"),
        &format!("{missing}/x/y"),
        &format!(":(glob){missing}/*"),
        "/etc/passwd/x",
    ]
    .map(OsString::from)
    .into_iter()
    .chain([other.path().into(), dangling.into(), below.into()])
    {
        let args = ["HEAD".into(), "--".into(), pathspec];
        repo.assert_same_once(&args);
        repo.clone().at(".git").assert_same_once(&args);
    }
    let named = |path: PathBuf| ["HEAD".into(), "--".into(), OsString::from(path)];
    let inside = named(repo.path().join("dir"));
    repo.assert_same_once(&inside);
    // Without a work tree nothing is in it.
    for directory in [".git", ".git/objects"] {
        let repo = repo.clone().at(directory);
        repo.assert_same_once(&inside);
    }
    let here = repo.path().to_owned();
    let implied = other.env("GIT_DIR", here.join(".git"));
    implied.assert_same_once(&inside);
    implied.assert_same_once(named(implied.path().join("no")));
}

/// One line is one command line's pathspecs.
const SELECTIONS: &str = "
    dir/
    dir
    dir/sub/deeper/leaf
    ./dir
    dir//sub
    dir/../file.txt
    bin/../bin
    .
    ./
    :
    :/
    :/dir
    :(top)dir
    dir/module
    dir/module/
    dir/link
    empty
    file.txt file.txt
    size-* bin
    *
    *.txt
    *.md
    d*
    d?r
    ?
    [df]i*
    dir\\/link
    */*
    dir/*
    dir/**
    :(glob)*
    :(glob)d*
    :(glob)dir/*
    :(glob)**/leaf
    :(glob)dir/**/leaf
    :(literal)dir
    :(literal)d*
    :(icase)DIR
    :(icase)*.TXT
    :(glob,icase)D*/**
    :!dir
    :^dir
    :!/dir
    :(exclude)dir
    :(icase,exclude)DIR
    :!*a*
    dir :!dir/sub
    dir :!dir
";

#[test]
#[ignore = "slow"]
fn selections() {
    let repo = Repo::from("basic");
    for line in SELECTIONS.lines().filter(|line| !line.is_empty()) {
        repo.assert_same_once(["-v", "HEAD"].into_iter().chain(line.split_whitespace()));
    }
}

#[test]
fn odd_names() {
    let repo = Repo::from("names-odd");
    for pathspec in
        cases("star* | :(literal)star* | :(literal):colon | *colon | new* | back\\\\slash | [[]*")
    {
        repo.assert_same_once(["inner", "--", pathspec]);
    }
}

#[test]
fn variables_and_options_of_git() {
    let repo = Repo::from("basic");
    for kind in ["LITERAL", "GLOB", "NOGLOB", "ICASE"] {
        let repo = repo.clone().env(format!("GIT_{kind}_PATHSPECS"), "1");
        for pathspec in ["d*", "DIR", "dir", ":(top)dir"] {
            repo.assert_same_once(["HEAD", pathspec]);
        }
    }
    for (kinds, value) in [
        ("LITERAL", "00"),
        ("GLOB", "0x0"),
        ("ICASE", "2"),
        ("GLOB NOGLOB", "1"),
        ("LITERAL GLOB", "1"),
        ("LITERAL ICASE", "1"),
        ("LITERAL NOGLOB", "1"),
    ] {
        let kinds = kinds.split(' ');
        let repo = kinds.fold(repo.clone(), |repo, kind| {
            repo.env(format!("GIT_{kind}_PATHSPECS"), value)
        });
        repo.assert_same_once(["HEAD", "d*"]);
    }
    repo.clone()
        .with(["--literal-pathspecs"])
        .assert_same_once(["HEAD", "dir"]);
    repo.with(["--icase-pathspecs"])
        .assert_same_once(["HEAD", "DIR"]);
}

/// Names taken literally from the tree, all at once, some twice, in an odd order.
#[test]
#[ignore = "slow"]
fn all_by_name() {
    for fixture in ["basic", "wide"] {
        let repo = Repo::from(fixture);
        let listed = repo.git(["ls-tree", "-r", "-t", "--name-only", "HEAD"]);
        let mut names: Vec<&str> = listed.lines().collect();
        names.reverse();
        names.extend_from_within(..3);
        repo.assert_same(["-v", "HEAD", "--"].iter().chain(&names));
        names.truncate(names.len() / 2);
        repo.assert_same(["HEAD", "--"].iter().chain(&names));
        let unmatched = ["./neither", "nosuch"];
        repo.assert_same(["HEAD", "--"].iter().chain(&names).chain(&unmatched));
    }
}

#[test]
fn absolute_paths() {
    let repo = Repo::from("basic");
    let top = repo.path().display();
    for path in cases(" | / | /dir | //dir/./sub | /file.txt/ | /*.txt | x | /..") {
        repo.assert_same_once(["HEAD", "--", &format!("{top}{path}")]);
    }
    for from_top in cases(":/./dir | :/dir//sub | :/dir/ | :/. | :(top)/ | :(top)/dir") {
        repo.assert_same_once(["HEAD", from_top]);
    }
}

/// Pathspecs are checked against the whole tree; what is then left out by attributes is no error.
#[test]
fn ignored_entries() {
    let repo = Repo::from("export-ignore");
    for pathspec in cases("ignored | whole | contents | only-directory | nested | link-ignored") {
        repo.assert_same(["-v", "HEAD", pathspec]);
    }
}

/// Directories that are really called like a wildcard: git compares what follows such a name in the pathspec
/// with the names in the directory.
#[test]
fn directories_named_like_wildcards() {
    let repo = Repo::init();
    for directory in ["d/*ba/c", "d/xba/c", "[ab]", "a", "a*", "ax/y"] {
        fs::create_dir_all(repo.path().join(directory)).expect("a scratch directory");
        for name in ["a", "b", "cx", "xa"] {
            repo.write(format!("{directory}/{name}"), name);
        }
    }
    repo.write("ab", "");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "odd"]);
    let once = |args: &[&str]| repo.assert_same_once(args);
    for pathspec in cases(
        "d/*ba/c | d/*ba/xa | d/*ba/xc | :(glob)*/c | d/*ba/c/ | [ab]/c* | a*/ | [a]*/ | :(glob)a**/b | :(glob)a**/ | \
         :(glob)ab**/ | :(glob)**/ab**/ | a*/. | d/. | d/*/.. | a*b/. | ab/. | :(glob)d/*ba/c | \
         :(icase)D/*BA/XA | d/[*]ba/c | d/\\*ba/c",
    ) {
        once(&["HEAD", "--", pathspec]);
        once(&["HEAD", "--", pathspec, ":!d/*ba/cx"]);
        once(&["HEAD", "--", "d", &format!(":!{pathspec}")]);
    }
    let below = repo.clone().at("d");
    for pathspec in ["*ba/c", ":(icase)*BA/c", "*ba/xa"] {
        below.assert_same_once(["HEAD", "--", pathspec]);
    }
}
