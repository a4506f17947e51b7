//! Below the top of a work tree only what is there is archived, with names relative to it.
//!
//! git changed its ways with 2.41. We follow the newer one; an older one is asked only where both
//! agree.

use crate::support::tar_listing;
use crate::support::{Repo, cases, git_version};

/// Where old and new git agree: no attributes above, no pathspec that leads out.
#[test]
fn sub_directories() {
    let repo = Repo::from("basic").at("dir");
    for args in cases(
        "HEAD | -v HEAD | --prefix=p/ HEAD | -v --prefix=p v1 | HEAD sub | HEAD . | HEAD ./sub/deeper | \
         HEAD :!sub | HEAD~2 | HEAD nosuch",
    ) {
        repo.assert_same(args.split_whitespace());
    }
    Repo::from("basic")
        .at("dir/sub/deeper")
        .assert_same(["HEAD"]);
    Repo::from("worktree").at("sub").assert_same(["other"]);
}

/// What we write in a sub-directory, where only a newer git can be asked.
#[track_caller]
fn assert_names_below(repo: &Repo, args: &[&str], expected: &[&str]) {
    let output = repo.sluice(args);
    assert_eq!(tar_listing::names(&output.stdout), expected, "\n{output}");
    assert!(output.status.success(), "{output}");
    if git_version() >= (2, 41) {
        repo.assert_same(args);
    }
}

#[test]
fn sub_directory_as_newer_git_has_it() {
    let dir = Repo::from("basic").at("dir");
    // The whole tree stays the reference: this looks for dir/dir.
    assert_names_below(&dir, &["HEAD:dir"], &[]);
    assert_names_below(
        &dir,
        &["HEAD", ":(top)dir/sub"],
        &["sub/", "sub/deeper/", "sub/deeper/leaf"],
    );
    assert_names_below(&dir, &["HEAD", "../dir/link"], &["link"]);
    // A tree that has no such directory is no error.
    let repo = Repo::copy("basic");
    std::fs::create_dir(repo.path().join("untracked")).expect("our own");
    assert_names_below(&repo.clone().at("untracked"), &["HEAD"], &[]);
    assert_names_below(&repo.at("untracked"), &["--prefix=p/", "HEAD"], &["p/"]);
}

#[test]
fn pathspecs_that_leave_the_sub_directory() {
    let dir = Repo::from("basic").at("dir");
    for pathspec in ["..", "../file.txt", ":/", ":(top)file.txt"] {
        let message =
            format!("fatal: pathspec '{pathspec}' matches files outside the current directory\n");
        dir.sluice(["HEAD", pathspec]).assert_failure(128, &message);
        if git_version() >= (2, 41) {
            dir.assert_same(["HEAD", pathspec]);
        }
    }
}

/// Where case matters in no pathspec, the directory itself is no match for one that only excludes.
#[test]
fn pathspecs_that_exclude_everything() {
    let repo = Repo::init();
    std::fs::create_dir(repo.path().join("sub")).expect("our own");
    repo.write("sub/g", "line\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "one file"]);
    let sub = repo.at("sub");
    assert_names_below(&sub, &["HEAD", "--", ":!g"], &[]);
    let folding = sub.env("GIT_ICASE_PATHSPECS", "1");
    for pathspec in [":!g", ":!G", ":!*"] {
        folding.assert_both_die(
            ["HEAD", "--", pathspec],
            &format!("fatal: pathspec '{pathspec}' did not match any files\n"),
        );
    }
    assert_names_below(&folding, &["HEAD", "--", ":!other"], &["g"]);
}

/// export-ignore is asked with the path from the root, conversion with the path from here: a defect
/// of git's, and the bytes depend on it.
#[test]
fn attributes_in_a_sub_directory() {
    let repo = Repo::init();
    std::fs::create_dir(repo.path().join("sub")).expect("our own");
    for name in cases("both.txt | rooted.txt | full.txt | own.txt | sub-ignored | top-ignored") {
        repo.write(format!("sub/{name}"), "line\n");
    }
    repo.write(
        ".gitattributes",
        "both.txt text eol=crlf\n/rooted.txt text eol=crlf\nsub/full.txt text eol=crlf\n\
         sub/sub-ignored export-ignore\n/top-ignored export-ignore\n",
    );
    repo.write("sub/.gitattributes", "own.txt text eol=crlf\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "attributes"]);

    let sub = repo.at("sub");
    let names = [
        ".gitattributes",
        "both.txt",
        "full.txt",
        "own.txt",
        "rooted.txt",
        "top-ignored",
    ];
    assert_names_below(&sub, &["HEAD"], &names);
    let archive = sub.sluice(["HEAD"]).success();
    let converted = tar_listing::records(&archive)
        .into_iter()
        .filter(|record| record.data == b"line\r\n");
    assert_eq!(
        converted.map(|record| record.name()).collect::<Vec<_>>(),
        ["both.txt", "rooted.txt"]
    );
}
