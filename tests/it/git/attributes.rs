//! Where attributes come from, what pathspecs ask of them, and what is said about bad lines.

use std::os::unix::fs::PermissionsExt;

use crate::support::tar_listing;
use crate::support::{Repo, cases, git_version, skip};

/// Each kind of look-up complains for itself, when it first needs the file.
#[test]
fn complaints() {
    let repo = Repo::from("attribute-complaints");
    for args in cases(
        "HEAD | -v HEAD | -v --prefix=p/ HEAD | -v HEAD dir | -v HEAD links | HEAD hollow/deep/leaf | \
         -v HEAD:dir | HEAD :!dir | HEAD ignored",
    ) {
        repo.assert_same(args.split_whitespace());
    }
}

#[test]
fn complaints_about_files_of_the_user() {
    let repo = Repo::copy("attribute-complaints");
    repo.write(
        "user",
        "\u{feff}a bad@name\nb ok\0 bad@too\nc \0\nd bad@last",
    );
    repo.clone()
        .with(["-c", "core.attributesFile=user"])
        .assert_same(["-v", "HEAD"]);
    repo.with(["-c", "core.attributesFile=dir/a.txt/x"])
        .assert_same(["HEAD"]);
}

/// A relative path of the user's file counts from the top of the work tree, whatever directory git is called in.
#[test]
fn a_file_of_the_user_that_is_named_relatively() {
    let repo = Repo::copy("basic");
    repo.write("user", "a.txt export-ignore\n");
    repo.write("dir/user", "* export-ignore\n");
    repo.git(["config", "core.attributesFile", "user"]);
    repo.clone().assert_same(["HEAD"]);
    repo.at("dir").assert_same(["HEAD:"]);
}

/// One line is one command line's pathspecs.
const SELECTIONS: &str = "
    :(attr:label)
    :(attr:-label)
    :(attr:!label)
    :(attr:label=one)
    :(attr:label=one\\,two-three_4)
    :(attr:label=deep)
    :(attr:other=yes)
    :(attr:both)
    :(attr:other=no)
    :(attr:label)dir
    :(attr:label)dir/
    :(attr:-label)dir/*
    :(attr:label)marked
    :(attr:!label)marked
    :(attr:label)linked
    :(attr:label)module
    :(attr:label,glob)*.set
    :(attr:label,icase)*.SET
    :(attr:label,exclude)
    :(exclude,attr:!label)
    dir :(exclude,attr:label)
    dir :(exclude,attr:label=deep)dir/sub
    :(attr:label) :(attr:-label)dir
    :(attr:both,top)a.both
    :(attr)dir
    :(attr:binary)
    :(attr:label=none)
    :(attr:label)plain/a.value
    :(prefix:0,icase)DIR
    :(prefix:0)./dir
    :(prefix:0)../dir
    :(prefix:0)/dir
    :(prefix:0)dir/
";

#[test]
fn pathspecs() {
    let repo = Repo::from("attribute-pathspecs");
    for line in SELECTIONS.lines().filter(|line| !line.is_empty()) {
        repo.assert_same_once(["-v", "HEAD"].into_iter().chain(line.split_whitespace()));
    }
    for several in cases(":(attr:label other=yes) | :(attr: label  -other ) | :(attr: )dir") {
        repo.assert_same_once(["-v", "HEAD", several]);
    }
}

/// The name of the file, and a name that is none, are shown as they are.
#[test]
fn complaints_about_names() {
    let repo = Repo::init();
    repo.write(".gitattributes", "* bad!\n* a\x01b\n");
    let _ = repo.shell("mkdir dir").success();
    repo.write("dir/.gitattributes", "[attr]macro text\r\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "first"]);
    repo.assert_same_once(["HEAD"]);
    repo.write("user", "* worse!\n");
    let file = repo.path().join("user");
    let setting = format!("core.attributesFile={}", file.display());
    repo.clone()
        .with(["-c", &setting])
        .assert_same_once(["HEAD"]);
    repo.with(["-c", "core.attributesFile=user"])
        .assert_same_once(["HEAD"]);
}

/// Since 2.47 it is the attributes of the tree alone that decide, also whether anything matches.
#[test]
fn pathspecs_against_the_tree() {
    let repo = Repo::copy("attribute-pathspecs");
    repo.write(".gitattributes", "a.txt label\n");
    let names = |pathspec| {
        let archive = repo.sluice(["HEAD", "--", pathspec]).success();
        tar_listing::names(&archive).join(" ")
    };
    assert_eq!(names(":(attr:label=deep)"), "dir/ dir/sub/ dir/sub/a.txt");
    assert_eq!(
        names(":(attr:label=one)dir"),
        "dir/ dir/a.value dir/sub/ dir/sub/a.value"
    );
    let message = "fatal: pathspec ':(attr:label)a.txt' did not match any files\n";
    repo.sluice(["HEAD", ":(attr:label)a.txt"])
        .assert_failure(128, message);
    if git_version() < (2, 47) {
        return skip("git before 2.47 asks the work tree whether anything matches");
    }
    for pathspec in cases(":(attr:label=deep) | :(attr:label=one)dir | :(attr:label)a.txt") {
        repo.assert_same_once(["HEAD", "--", pathspec]);
    }
}

#[test]
fn pathspecs_by_mode() {
    let repo = Repo::from("attribute-pathspecs");
    for (mode, expected) in [
        ("100755", "a.set dir/ dir/a.txt"),
        ("120000", "linked"),
        ("160000", "module/"),
    ] {
        let pathspec = format!(":(attr:builtin_objectmode={mode})");
        let archive = repo.sluice(["HEAD", &pathspec]).success();
        assert_eq!(tar_listing::names(&archive).join(" "), expected);
        if git_version() >= (2, 47) {
            repo.assert_same_once(["HEAD", &pathspec]);
        }
    }
    if git_version() < (2, 47) {
        skip("git before 2.44 does not know the mode as an attribute");
    }
}

#[test]
fn malformed_pathspecs() {
    let repo = Repo::from("attribute-pathspecs");
    for (pathspec, complaint) in [
        (":(attr:)x", "attr spec must not be empty"),
        (
            ":(attr:a,attr:b)x",
            "Only one 'attr:' specification is allowed.",
        ),
        (":(attr:^x)", "invalid attribute name ^x"),
        (":(attr:-)", "invalid attribute name "),
        (":(attr:a=%)", "cannot use '%' for value matching"),
        (":(attr:a=\\)x)", "cannot use ')' for value matching"),
        (
            ":(prefix:x)a",
            "invalid parameter for pathspec magic 'prefix'",
        ),
    ] {
        repo.assert_both_die(["HEAD", pathspec], &format!("fatal: {complaint}\n"));
    }
}

#[test]
fn work_tree() {
    let repo = Repo::copy("export-ignore");
    let args = ["-v", "--worktree-attributes", "HEAD"];
    repo.assert_same(args);
    repo.write(
        ".gitattributes",
        "\u{feff}ignored export-ignore\nnested/kept export-ignore",
    );
    repo.assert_same(args);
    std::fs::remove_file(repo.path().join("nested/.gitattributes")).expect("our own");
    std::os::unix::fs::symlink("../kept", repo.path().join("nested/.gitattributes"))
        .expect("our own");
    repo.assert_same(args);
    Repo::from("bare").assert_same(["--worktree-attributes", "HEAD"]);
    Repo::from("attribute-pathspecs").assert_same(["--worktree-attributes", "HEAD"]);
}

#[test]
fn another_tree() {
    let repo = Repo::from("export-ignore").env("GIT_ATTR_SOURCE", "HEAD");
    let as_tree = repo.sluice(["HEAD~1"]).success();
    let named = repo.sluice(["--worktree-attributes", "HEAD~1"]).success();
    assert_ne!(as_tree, named);
    if git_version() < (2, 43) {
        return skip("git before 2.43 knows no tree instead of the work tree");
    }
    repo.assert_same(["--worktree-attributes", "HEAD~1"]);
}

/// With the attributes of the work tree, a mode is that of the file there, which has to exist.
#[test]
fn pathspecs_by_the_mode_in_the_work_tree() {
    let repo = Repo::copy("attribute-pathspecs");
    let pathspec = ":(attr:builtin_objectmode=100644)a.txt";
    let args = ["--worktree-attributes", "HEAD", pathspec];
    let archive = repo.sluice(args).success();
    assert_eq!(tar_listing::names(&archive), ["a.txt"]);
    let file = repo.path().join("a.txt");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("our own");
    let message = format!("fatal: pathspec '{pathspec}' did not match any files\n");
    repo.sluice(args).assert_failure(128, &message);
    std::fs::remove_file(&file).expect("our own");
    let message = "fatal: unable to stat 'a.txt': No such file or directory\n";
    repo.sluice(args).assert_failure(128, message);
    if git_version() < (2, 47) {
        return skip("git before 2.44 does not know the mode as an attribute");
    }
    repo.assert_same(args);
}

/// It matters once attributes are looked up: not for a pathspec that matches nothing, nor where nothing is archived.
#[test]
fn a_tree_of_attributes_that_does_not_exist() {
    let repo = Repo::copy("attribute-pathspecs").env("GIT_ATTR_SOURCE", "nosuch");
    std::fs::create_dir(repo.path().join("untracked")).expect("our own");
    let untracked = repo.clone().at("untracked");
    assert!(tar_listing::names(&untracked.sluice(["HEAD"]).success()).is_empty());
    let unmatched = "fatal: pathspec 'nosuch' did not match any files\n";
    repo.sluice(["HEAD", "nosuch"])
        .assert_failure(128, unmatched);
    let refused = "fatal: bad --attr-source or GIT_ATTR_SOURCE\n";
    for args in [
        &["HEAD"][..],
        &["HEAD", "a.txt"],
        &["--worktree-attributes", "HEAD"],
        &["HEAD", ":(attr:label)"],
    ] {
        repo.sluice(args).assert_failure(128, refused);
        if git_version() >= (2, 43) {
            repo.assert_same_once(args);
        }
    }
    repo.clone()
        .at("dir")
        .sluice(["HEAD"])
        .assert_failure(128, refused);
}

/// git asks the older attribute `crlf` if it does not know the value of `text`.
#[test]
fn values_of_text() {
    let repo = Repo::init();
    let texts = [
        "text",
        "-text",
        "!text",
        "text=auto",
        "text=input",
        "text=true",
        "text=x",
        "text=",
    ];
    let others = [
        "",
        "crlf",
        "-crlf",
        "crlf=input",
        "crlf=auto",
        "crlf=x",
        "eol=crlf",
        "eol=lf",
        "eol=x crlf",
    ];
    let mut lines = String::new();
    for (row, text) in texts.iter().enumerate() {
        for (column, other) in others.iter().enumerate() {
            let name = format!("{row}-{column}");
            lines += &format!("{name} {text} {other}\n");
            repo.write(&name, "one\ntwo\r\nthree\n");
            repo.write(format!("{name}-plain"), "one\ntwo\n");
            lines += &format!("{name}-plain {text} {other}\n");
        }
    }
    repo.git(["add", "."]);
    repo.write(".gitattributes", lines);
    repo.git(["add", ".gitattributes"]);
    repo.git(["commit", "-q", "-m", "all"]);
    for settings in
        cases("core.autocrlf=false | core.autocrlf=true | core.autocrlf=input | core.eol=crlf")
    {
        repo.clone()
            .with(["-c", settings])
            .assert_same_once(["HEAD"]);
    }
}

/// Sets and ranges, with and without case. What git makes of them is its own.
#[test]
#[ignore = "slow"]
fn sets_in_patterns() {
    let repo = Repo::init();
    let names = [
        "a", "b", "B", "m", "Z", "z", "_", "-", "^", "]", "ab", "aB", "x.c", "X.C",
    ];
    for name in names {
        repo.write(name, name);
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-q", "-m", "names"]);
    for pattern in cases(
        "[z-a]* | [Z-A] | [A-z] | [a-Z] | [B] | [b] | [!a-m] | [^a-m] | []] | []-a] | [a-] | [\\]] | \
         [[:upper:]] | [[:lower:]]* | [[:alpha:]_] | [[:bad:]] | [a | [[:alpha:] | *.[c] | *.[C] | ?[B] | \
         [A-Z]? | \\B | *[!z] | [--0] | [+--] | [[-_] | [[:]",
    ) {
        repo.write(".git/attributes", format!("{pattern} export-ignore\n"));
        for ignores in ["core.ignoreCase=false", "core.ignoreCase=true"] {
            let with = ["-c", ignores, "-c", "core.attributesFile=.git/attributes"];
            repo.clone().with(with).assert_same_once(["HEAD"]);
        }
        for magic in ["", ":(icase)", ":(glob)", ":(glob,icase)"] {
            let pathspec = format!("{magic}{pattern}");
            repo.assert_same_once(["HEAD", "--", &pathspec]);
        }
    }
}
