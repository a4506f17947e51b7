//! `.gitmodules` that lies: nothing but a repository below that of the superproject is ever opened.

use std::fs;

use super::{Project, RECURSE, commit, new, project};
use crate::support::Repo;

/// A repository with `.gitmodules` of this text and with the submodules of `project` at `paths`.
fn with_modules(project: &Project, text: &str, paths: &[&str]) -> Repo {
    let repo = new(&project.place, "hostile");
    repo.write(".gitmodules", text);
    repo.write("file", "");
    let lib = project
        .superproject
        .clone()
        .at("libs/lib")
        .git(["rev-parse", "HEAD"]);
    for path in paths {
        repo.git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{lib},{path}"),
        ]);
    }
    repo.git(["add", ".gitmodules", "file"]);
    repo.git(["commit", "-qm", "hostile"]);
    repo
}

/// Nothing is written, and the words are these.
#[track_caller]
fn assert_nothing(repo: &Repo, words: &[&str]) {
    let output = repo.sluice([RECURSE, "HEAD"]);
    assert!(output.stdout.is_empty(), "{output}");
    output.assert_refused(128, words);
}

/// Each name leads to a repository that has the commit.
#[test]
fn names_lead_nowhere_else() {
    let project = project();
    let text = "[submodule \"../../lib/.git\"]\n\tpath = lib\n\turl = ../lib\n";
    let words = [
        "warning: ignoring suspicious submodule name: ",
        "no submodule mapping found in .gitmodules for path 'lib'",
    ];
    let repo = with_modules(&project, text, &["lib"]);
    assert_nothing(&repo, &words);
    let absolute = project.place.path().join("lib/.git");
    let text = format!("[submodule \"{}\"]\n\tpath = lib\n", absolute.display());
    repo.write(".gitmodules", text);
    repo.git(["add", ".gitmodules"]);
    repo.git(["commit", "-qm", "another name"]);
    assert_nothing(
        &repo,
        &["could not find a repository for submodule path 'lib'"],
    );
}

#[test]
fn a_repository_in_that_of_another_submodule() {
    let project = project();
    let text = "[submodule \"d\"]\n\tpath = d\n[submodule \"d/hooks\"]\n\tpath = e\n";
    let repo = with_modules(&project, text, &["d", "e"]);
    let modules = repo.path().join(".git/modules");
    fs::create_dir_all(&modules).unwrap();
    for name in ["d", "d/hooks"] {
        let _ = fs::remove_dir_all(modules.join(name));
        let path = modules.join(name);
        project
            .place
            .git(["clone", "-q", "--bare", "lib", path.to_str().unwrap()]);
    }
    let deep = modules.join("d/modules/deep");
    project
        .place
        .git(["clone", "-q", "--bare", "deep", deep.to_str().unwrap()]);
    assert_nothing(
        &repo,
        &[
            "submodule git dir '",
            "/modules/d/hooks' is inside git dir '",
        ],
    );
}

#[test]
fn lines_that_are_no_configuration() {
    let project = project();
    let repo = with_modules(
        &project,
        "[submodule \"a\"]\n\tpath = lib\n[oops\n",
        &["lib"],
    );
    let id = repo.git(["rev-parse", "HEAD:.gitmodules"]);
    assert_nothing(&repo, &[&format!("bad config line 3 in blob {id}")]);
    // Without a submodule nobody reads the file.
    repo.git(["rm", "-q", "--cached", "lib"]);
    repo.git(["commit", "-qm", "no submodule"]);
    let _ = repo.sluice([RECURSE, "HEAD"]).success();
}

/// A commit that holds its parent as a submodule, each in the same repository: as deep as the history.
#[test]
fn a_history_inside_of_itself() {
    let place = Repo::scratch();
    let repo = new(&place, "self");
    repo.write("f", "0");
    commit(&repo);
    for number in 1..=5 {
        let head = repo.git(["rev-parse", "HEAD"]);
        repo.git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{head},me"),
        ]);
        repo.write("f", number.to_string());
        repo.write(".gitmodules", "[submodule \"me\"]\n\tpath = me\n");
        repo.git(["add", "f", ".gitmodules"]);
        repo.git(["commit", "-qm", "one more"]);
    }
    let modules = repo.path().join(".git/modules");
    fs::create_dir(&modules).unwrap();
    std::os::unix::fs::symlink("..", modules.join("me")).unwrap();
    let archive = repo.sluice([RECURSE, "HEAD"]).success();
    let names = crate::support::tar_listing::names(&archive);
    assert!(names.contains(&"me/me/me/me/me/f".to_owned()), "{names:?}");
    let bounded = repo.clone().with(["-c", "core.maxTreeDepth=3"]);
    bounded
        .sluice([RECURSE, "HEAD"])
        .assert_refused(128, &["submodules nested too deep at 'me/me/me/me'"]);
}

/// A client of a server cannot ask for submodules: it would choose which repositories are opened.
#[test]
fn clients_cannot_ask() {
    let project = project();
    let output = project.superproject.served([RECURSE, "HEAD"]);
    assert!(output.code() != 0 && output.stdout.is_empty(), "{output}");
}
