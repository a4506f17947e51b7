//! Where the repositories of submodules are, and what is said where there is none.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{Project, RECURSE, add_submodule, commit, files, new, project};
use crate::{support::Repo, support::tar_listing::names};

const ALL: [&str; 10] = [
    ".gitattributes",
    ".gitmodules",
    "libs/lib/.gitattributes",
    "libs/lib/.gitmodules",
    "libs/lib/a.c",
    "libs/lib/lines.crlf",
    "libs/lib/sub/deep/dir/x.txt",
    "libs/lib/sub/deep/top.txt",
    "libs/lib/version",
    "z.txt",
];

impl Project {
    /// A bare clone of `name` at `path`.
    fn bare(&self, name: &str, path: &str) -> Repo {
        self.place.git(["clone", "-q", "--bare", name, path]);
        self.place.clone().at(path)
    }

    fn option(&self, submodule: &str, git_dir: &str) -> String {
        let git_dir = self.place.path().join(git_dir);
        format!("--submodule-git-dir={submodule}={}", git_dir.display())
    }
}

fn lose(directory: impl AsRef<Path>) {
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn below_the_git_directory() {
    let project = project();
    assert_eq!(files(&project.superproject, &["HEAD"]), ALL);
    // In no work tree, and in that of another branch.
    let git = project.superproject.clone().at(".git");
    assert_eq!(files(&git, &["HEAD"]), ALL);
    project
        .superproject
        .git(["worktree", "add", "-q", "../other", "-b", "other"]);
    let other = project.place.clone().at("other");
    assert_eq!(files(&other, &["HEAD"]), ALL);
    let mirror = project.bare("super", "mirror.git");
    project.bare("lib", "mirror.git/modules/the-lib");
    project.bare("deep", "mirror.git/modules/the-lib/modules/deep");
    assert_eq!(files(&mirror, &["HEAD"]), ALL);
}

/// A repository that was cloned into the work tree and then added.
#[test]
fn in_the_work_tree() {
    let project = project();
    let place = &project.place;
    let repo = new(place, "old-style");
    repo.git(["clone", "-q", "../lib", "inner"]);
    fs::create_dir(repo.path().join("by-file")).unwrap();
    repo.git([
        "clone",
        "-q",
        "--separate-git-dir=../elsewhere.git",
        "../deep",
        "by-file",
    ]);
    fs::remove_dir_all(repo.path().join("by-file")).unwrap();
    add_submodule(&repo, "inner", "../lib", "inner");
    commit(&repo);
    assert!(repo.path().join("inner/.git").is_dir());
    let output = repo.sluice(["--submodules=recurse-present", "HEAD"]);
    assert!(
        names(&output.stdout).contains(&"inner/a.c".to_owned()),
        "{output}"
    );
    assert!(
        output
            .messages()
            .contains("submodule 'inner/sub/deep' is empty")
    );
    // A link may lead anywhere.
    fs::rename(repo.path().join("inner"), place.path().join("moved")).unwrap();
    symlink("../moved", repo.path().join("inner")).unwrap();
    repo.sluice([RECURSE, "HEAD"])
        .assert_refused(128, &["could not find a repository"]);
}

#[test]
fn where_the_caller_says() {
    let project = project();
    let mirror = project.bare("super", "mirror.git");
    project.bare("lib", "lib.git");
    project.bare("deep", "deep.git");
    let deep = project.option("libs/lib/sub/deep", "deep.git");
    for lib in [
        project.option("the-lib", "lib.git"),
        project.option("libs/lib/", "lib.git"),
    ] {
        assert_eq!(files(&mirror, &[&lib, &deep, "HEAD"]), ALL);
        // What is not named is not looked for.
        let only = [RECURSE, &lib, "HEAD"];
        mirror
            .sluice(only)
            .assert_refused(128, &["'libs/lib/sub/deep' (name 'deep')"]);
        project
            .superproject
            .sluice(only)
            .assert_refused(128, &["could not find a repository"]);
    }
    // A name is one of the archived tree's.
    let by_name = [
        RECURSE,
        &project.option("libs/lib", "lib.git"),
        &project.option("deep", "deep.git"),
    ];
    mirror
        .sluice([&by_name[..], &["HEAD"]].concat())
        .assert_refused(128, &["could not find"]);
    let unknown = project.option("other", "lib.git");
    mirror
        .sluice([
            RECURSE,
            &project.option("the-lib", "lib.git"),
            &deep,
            &unknown,
            "HEAD",
        ])
        .assert_failure(
            128,
            "fatal: option '--submodule-git-dir' matches no submodule: 'other'\n",
        );
    // Every mapping may be given for any archive of the project.
    let some = [
        RECURSE,
        &project.option("the-lib", "lib.git"),
        &deep,
        "HEAD",
        "z.txt",
    ];
    assert_eq!(names(&mirror.sluice(some).success()), ["z.txt"]);
    let nowhere = project.option("the-lib", "nowhere");
    mirror
        .sluice([RECURSE, &nowhere, "HEAD"])
        .assert_refused(128, &["not a git repository: '"]);
    mirror
        .sluice([RECURSE, "--submodule-git-dir=x", "HEAD"])
        .assert_refused(129, &["option `submodule-git-dir' expects"]);
}

/// A name stays when the path changes, so that old commits are found.
#[test]
fn renamed_submodules_are_found() {
    let project = project();
    let superproject = &project.superproject;
    superproject.git(["mv", "libs/lib", "moved"]);
    commit(superproject);
    assert_eq!(files(superproject, &["HEAD~"]), ALL);
    assert!(files(superproject, &["HEAD"]).contains(&"moved/sub/deep/top.txt".to_owned()));
}

/// The work tree plays no part: neither where git is asked nor where a command runs.
#[test]
fn work_trees_that_are_gone() {
    let project = project();
    let superproject = &project.superproject;
    let lib = superproject.clone().at("libs/lib");
    lib.write(".gitattributes", "a.c filter=told\nversion export-subst\n");
    lib.write("version", "$Format:%s %d$\n");
    commit(&lib);
    lib.git(["config", "filter.told.smudge", "cat; git rev-parse HEAD"]);
    commit(superproject);
    let expected = superproject.sluice([RECURSE, "HEAD"]).success();
    superproject.git(["rm", "-q", "libs/lib"]);
    commit(superproject);
    let output = superproject.sluice([RECURSE, "HEAD~"]);
    assert_eq!((output.code(), output.messages().as_ref()), (0, ""));
    assert!(output.stdout == expected);
}

/// The comparison, its repetition and the archive find the objects of both repositories.
#[test]
fn two_repositories_at_one_path() {
    let project = project();
    let superproject = &project.superproject;
    superproject.git(["rm", "-q", "libs/lib"]);
    add_submodule(superproject, "other", "../deep", "libs/lib");
    commit(superproject);
    let expected = [".gitmodules", "libs/lib/dir/x.txt", "libs/lib/top.txt"];
    for memory in ["--memory=1m", "--memory=128m"] {
        let args = [memory, "--base=HEAD~", "HEAD"];
        assert_eq!(files(superproject, &args), expected);
    }
    let list = superproject.sluice(["ls", RECURSE, "--base=HEAD~", "HEAD"]);
    assert_eq!((list.code(), list.messages().as_ref()), (0, ""));
}

#[test]
fn submodules_that_are_not_there() {
    let project = project();
    let superproject = &project.superproject;
    let deep = superproject
        .clone()
        .at("libs/lib/sub/deep")
        .git(["rev-parse", "HEAD"]);
    lose(
        superproject
            .path()
            .join(".git/modules/the-lib/modules/deep"),
    );
    let output = superproject.sluice([RECURSE, "HEAD"]);
    assert!(output.stdout.is_empty());
    output.assert_failure(
        128,
        "fatal: could not find a repository for submodule path 'libs/lib/sub/deep' (name 'deep')\n\
         hint: in a work tree, 'git submodule update --init --recursive' gets it; \
         --submodule-git-dir=libs/lib/sub/deep=<git dir> names another repository\n",
    );
    let present = superproject.sluice(["--submodules=recurse-present", "HEAD"]);
    let warning =
        format!("warning: submodule 'libs/lib/sub/deep' is empty: commit {deep} is missing\n");
    present.assert_ends(0, &warning[..]);
    let found = names(&present.stdout);
    assert!(found.contains(&"libs/lib/sub/deep/".to_owned()));
    assert!(
        !found
            .iter()
            .any(|name| name.starts_with("libs/lib/sub/deep/d"))
    );
    // One that is not asked for need not be there.
    assert_eq!(
        files(superproject, &["HEAD", "libs/lib/a.c"]),
        ["libs/lib/a.c"]
    );
    let both = ["--submodules=recurse-present", "--base=HEAD", "HEAD"];
    superproject
        .sluice(both)
        .assert_refused(129, &["cannot be used together"]);
}

#[test]
fn commits_that_are_not_there() {
    let project = project();
    let superproject = &project.superproject;
    let nowhere = "1".repeat(40);
    let gitlink = format!("160000,{nowhere},libs/lib");
    superproject.git(["update-index", "--cacheinfo", &gitlink]);
    superproject.git(["commit", "-qm", "a pointer to nowhere"]);
    let lost = format!("fatal: submodule path 'libs/lib': commit {nowhere} is not in '");
    superproject
        .sluice([RECURSE, "HEAD"])
        .assert_refused(128, &[&lost]);
    // As a base it is not available.
    superproject
        .sluice([RECURSE, "--base=HEAD", "HEAD~"])
        .assert_refused(3, &[&lost[7..]]);
}

/// Ids of one kind cannot name commits of the other.
#[test]
fn another_hash_is_refused() {
    let project = project();
    project.place.git([
        "init",
        "-q",
        "--bare",
        "--object-format=sha256",
        "sha256.git",
    ]);
    let option = project.option("the-lib", "sha256.git");
    let refused = "submodule path 'libs/lib' uses object format sha256, its superproject sha1";
    project
        .superproject
        .sluice([RECURSE, &option, "HEAD"])
        .assert_refused(128, &[refused]);
}

/// The configuration of a submodule says how its files are converted, and its commands run in its repository.
#[test]
fn each_repository_has_its_own_configuration() {
    let project = project();
    let superproject = &project.superproject;
    let lib = superproject.clone().at("libs/lib");
    lib.write(".gitattributes", "a.c filter=told\nversion export-subst\n");
    lib.write("version", "$Format:%d$\n");
    commit(&lib);
    lib.git(["tag", "of-the-lib"]);
    lib.git([
        "config",
        "filter.told.smudge",
        "cat; git rev-parse HEAD; pwd",
    ]);
    commit(superproject);
    let head = lib.git(["rev-parse", "HEAD"]);
    for repo in [
        superproject.clone(),
        superproject.clone().at("libs"),
        superproject.clone().at(".git"),
    ] {
        let args = ["--prefix=p/", RECURSE, "HEAD"];
        let output = repo.sluice(args);
        output.assert_ends(0, "");
        let archive = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = format!("lib\n{head}\n{}\n", lib.path().display());
        assert!(archive.contains(&told), "{archive}");
        assert!(archive.contains("tag: of-the-lib"));
    }
}

/// The entity tag stands for the contents of submodules and their settings, wherever they are.
#[test]
fn entity_tags() {
    let project = project();
    let superproject = &project.superproject;
    let tag = |repo: &Repo, args: &[&str]| {
        // The file `version` depends on more than the commit.
        let args = [&["info", RECURSE], args, &["*.txt", "*.c"]].concat();
        repo.json(args)["etag"].take()
    };
    let first = tag(superproject, &["HEAD"]);
    assert!(first.is_string());
    let mirror = project.bare("super", "mirror.git");
    project.bare("lib", "lib.git");
    project.bare("deep", "deep.git");
    let (lib, deep) = (
        project.option("the-lib", "lib.git"),
        project.option("libs/lib/sub/deep", "deep.git"),
    );
    assert_eq!(tag(&mirror, &[&lib, &deep, "HEAD"]), first);
    assert_ne!(tag(superproject, &["HEAD", "libs/lib/lines.crlf"]), first);
    let inner = superproject.clone().at("libs/lib/sub/deep");
    inner.git(["config", "core.autocrlf", "true"]);
    let converted = tag(superproject, &["HEAD"]);
    assert_ne!(converted, first);
    inner.git(["config", "--unset", "core.autocrlf"]);
    assert_eq!(tag(superproject, &["HEAD"]), first);
    let changes = superproject.json(["info", RECURSE, "--base=HEAD", "HEAD"]);
    assert_eq!(changes["etag_reason"], "changes in submodules are archived");
}
