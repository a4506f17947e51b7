//! `missing` for the contents of submodules.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use serde_json::json;

use super::{Project, RECURSE, project};
use crate::{
    git::lfs::{CONTENT, Lfs, pointer, sha256},
    git::partial::list::{List, fetch},
    support::schema::Schema,
    support::{Repo, forge},
};

impl Project {
    /// A partial clone of the repository `name` becomes the git directory `path`.
    pub(super) fn partial(&self, name: &str, filter: &str, path: &str) -> Repo {
        let origin = self.place.clone().at(name);
        origin.git(["config", "uploadpack.allowFilter", "true"]);
        origin.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let url = format!("file://{}", origin.path().display());
        let filter = format!("--filter={filter}");
        self.place
            .git(["clone", "-q", "--bare", &filter, &url, path]);
        self.place.clone().at(path)
    }

    fn lose(&self, module: &str) {
        fs::remove_dir_all(self.superproject.path().join(".git/modules").join(module)).unwrap();
    }
}

/// The repository of a submodule is asked for first, then the objects that it lacks, then its submodules.
#[test]
fn level_by_level() {
    let project = project();
    let superproject = &project.superproject;
    let id = |repo: &str, name: &str| {
        let repo = project.place.clone().at(repo);
        repo.git(["rev-parse", name])
    };
    let expected = superproject.sluice([RECURSE, "HEAD"]).success();
    assert!(List::of(superproject, &[RECURSE, "HEAD"]).lines.is_empty());
    project.lose("the-lib");
    let lib = json!({"kind": "submodule", "path": "libs/lib", "name": "the-lib",
        "commit": id("lib", "HEAD")});
    for how in [RECURSE, "--submodules=recurse-present"] {
        let list = List::of(superproject, &[how, "HEAD"]);
        assert_eq!(
            (&list.lines[..], list.is_complete()),
            (&[lib.clone()][..], false)
        );
    }
    assert!(List::of(superproject, &["HEAD"]).lines.is_empty());

    let modules = "super/.git/modules/the-lib";
    let lib = project.partial("lib", "blob:none", modules);
    let list = List::of(superproject, &[RECURSE, "HEAD"]);
    let of = |path: &str, role: &str| {
        json!({"kind": "object", "id": id("lib", &format!("HEAD:{path}")), "type": "blob",
            "role": role, "path": format!("libs/lib/{path}"), "submodule": "libs/lib"})
    };
    let mut lines = [
        of(".gitattributes", "rules"),
        of(".gitmodules", "rules"),
        of("a.c", "file"),
        of("a.secret", "file"),
        of("lines.crlf", "file"),
        of("version", "file"),
    ];
    lines.sort_by_key(|line| line["id"].to_string());
    assert_eq!(list.lines, lines);
    fetch(&lib, &list.ids());
    let list = List::of(superproject, &[RECURSE, "HEAD"]);
    let deep = json!({"kind": "submodule", "path": "libs/lib/sub/deep", "name": "deep",
        "commit": id("deep", "HEAD"), "submodule": "libs/lib"});
    assert_eq!(list.lines, [deep]);

    let deep = project.partial("deep", "tree:0", &format!("{modules}/modules/deep"));
    let list = List::of(superproject, &[RECURSE, "HEAD"]);
    let root = json!({"kind": "object", "id": id("deep", "HEAD^{tree}"), "type": "tree",
        "role": "tree", "path": "libs/lib/sub/deep/", "submodule": "libs/lib/sub/deep"});
    assert_eq!(list.lines, [root]);
    fetch(&deep, &list.ids());
    let list = List::of(superproject, &[RECURSE, "HEAD", "libs/lib/sub/deep/dir"]);
    assert_eq!(list.ids(), BTreeSet::from([id("deep", "HEAD:dir/x.txt")]));
    assert!(list.is_complete());
    fetch(&deep, &List::of(superproject, &[RECURSE, "HEAD"]).ids());
    assert!(List::of(superproject, &[RECURSE, "HEAD"]).lines.is_empty());
    assert!(superproject.sluice([RECURSE, "HEAD"]).success() == expected);
}

/// A submodule that the reader may not know is not named.
#[test]
fn hidden_submodules() {
    let project = project();
    project.lose("the-lib");
    let list = |rules: &str| {
        project.place.write("rules", rules);
        let rules = project.place.path().join("rules");
        let option = format!("--access-rules={}", rules.display());
        let list = List::of(&project.superproject, &[RECURSE, &option, "HEAD"]);
        (list.lines.len(), list.is_complete())
    };
    assert_eq!(list("/z.txt\n"), (0, true));
    assert_eq!(list("/z.txt\n/libs/lib/a.c\n"), (0, false));
    assert_eq!(list("/**\n"), (1, false));
}

/// The lists of both commits, where a pointer has moved.
#[test]
fn submodules_of_a_base() {
    let project = project();
    let superproject = &project.superproject;
    let before = superproject.git(["rev-parse", "HEAD:libs/lib"]);
    let lib = superproject.clone().at("libs/lib");
    lib.write("new", "new\n");
    lib.git(["add", "new"]);
    lib.git(["commit", "-qm", "new"]);
    superproject.git(["commit", "-qam", "moved"]);
    let args = [RECURSE, "--base=HEAD~1", "HEAD"];
    assert!(List::of(superproject, &args).lines.is_empty());
    project.partial("lib", "blob:none", "clone");
    project.lose("the-lib");
    let both = List::of(superproject, &args);
    let commits = both.lines.iter().map(|line| line["commit"].as_str());
    let after = superproject.git(["rev-parse", "HEAD:libs/lib"]);
    let expected = BTreeSet::from([Some(&before[..]), Some(&after)]);
    assert_eq!(commits.collect::<BTreeSet<_>>(), expected);
}

/// The text with a byte that is not UTF-8 in place of each `?`.
fn odd(text: &str) -> OsString {
    let bytes = text
        .bytes()
        .map(|byte| if byte == b'?' { 0xff } else { byte });
    OsString::from_vec(bytes.collect())
}

/// A commit in `repo` of a file `file?` and of a submodule at `path?`, which is called `name?`.
fn commit_odd(repo: &Repo, link: &str) -> String {
    let modules = odd("[submodule \"name?\"]\npath = path?\n");
    repo.write(".gitmodules", modules.as_bytes());
    repo.write(odd("file?"), "a file\n");
    repo.git(["add", "."]);
    let entry = odd(&format!("160000,{link},path?"));
    let args = ["update-index", "--add", "--cacheinfo"].map(OsString::from);
    repo.git(args.into_iter().chain([entry]));
    repo.git(["commit", "-qm", "a commit"]);
    repo.git(["rev-parse", "HEAD"])
}

/// The fields of a list are those of its schema. Paths and names need not be UTF-8.
#[test]
fn no_field_is_undescribed_and_none_is_made_up() {
    let mut found = BTreeSet::new();
    let mut collect = |repo: &Repo, args: &[&str]| {
        let list = List::of(repo, args);
        for line in list.lines.iter().chain([&list.header, &list.end]) {
            let fields = line.as_object().into_iter().flatten();
            found.extend(fields.map(|(name, _)| name.clone()));
        }
    };
    let inner = Repo::init();
    let commit = commit_odd(&inner, &"1".repeat(40));
    let file = inner.git_with_input(["hash-object", "--stdin"], "a file\n");
    forge::lose(&inner, &file);
    let outer = Repo::init();
    commit_odd(&outer, &commit);
    collect(&outer, &[RECURSE, "HEAD"]);
    let modules = outer.path().join(".git/modules");
    fs::create_dir(&modules).unwrap();
    fs::rename(inner.path().join(".git"), modules.join(odd("name?"))).unwrap();
    collect(&outer, &[RECURSE, "HEAD"]);
    let project = project();
    let deep = project
        .superproject
        .path()
        .join(".git/modules/the-lib/modules");
    fs::remove_dir_all(deep).unwrap();
    collect(
        &project.superproject,
        &[RECURSE, "--base=HEAD^{tree}:libs", "HEAD"],
    );
    let lfs = Lfs::new();
    lfs.point("a.bin", &pointer(&sha256(b"absent"), 6));
    lfs.commit();
    collect(&lfs.repo, &[CONTENT, "HEAD"]);
    assert_eq!(found, Schema::read("missing").properties());
}
