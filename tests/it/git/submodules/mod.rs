//! Submodules with their contents: the archive is that of git for each repository, put together.

mod host;
mod hostile;
mod fetch;
mod missing;
mod places;

use std::fs;

use serde_json::Value;

use crate::{
    commands::json::assert_lists_the_manifest,
    support::tar_listing::{names, records},
    support::{Repo, cases, gunzip},
};

const RECURSE: &str = "--submodules=recurse";

/// A superproject `super` with a submodule called `the-lib` in `libs/lib`, which has one called `deep` in `sub/deep`;
/// and the repositories that they come from.
struct Project {
    place: Repo,
    superproject: Repo,
}

fn project() -> Project {
    let place = Repo::copy("submodules");
    let superproject = place.clone().at("super");
    Project {
        place,
        superproject,
    }
}

/// The hash of the filters knows how submodules are read, if that is not how the outer repository is, and not whether they have
/// changed.
#[test]
fn filters_are_those_of_a_delta_without_changes_in_submodules() {
    let project = project();
    let repo = &project.superproject;
    repo.write("z.txt", "changed\n");
    commit(repo);
    let info = |args: &[&str]| {
        let answer = repo.json([&["info", RECURSE], args].concat());
        answer["filters"].as_str().expect("there is one").to_owned()
    };
    let filters = info(&["HEAD~1"]);
    assert_eq!(info(&["--base=HEAD~1", "HEAD"]), filters);
    let given = format!("--base-filters={filters}");
    let delta = repo.sluice([RECURSE, "--base=HEAD~1", &given, "HEAD"]);
    assert_eq!(names(&delta.success()), ["z.txt"]);
    let attributes = repo.path().join(".git/modules/the-lib/info/attributes");
    fs::create_dir_all(attributes.parent().unwrap()).unwrap();
    fs::write(attributes, "*.c -text\n").unwrap();
    assert_ne!(info(&["--base=HEAD~1", "HEAD"]), filters);
    // Nor whether there are any.
    let script = "git rm -qf $(git config -f .gitmodules --get-regexp path | cut -d' ' -f2)";
    let _ = repo.shell(script).success();
    commit(repo);
    assert_eq!(info(&["HEAD"]), filters);
}

fn new(place: &Repo, name: &str) -> Repo {
    place.git(["init", "-q", "-b", "main", name]);
    place.clone().at(name)
}

fn commit(repo: &Repo) {
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "a commit"]);
}

fn add_submodule(repo: &Repo, name: &str, url: &str, path: &str) {
    let allowed = repo.clone().env("GIT_ALLOW_PROTOCOL", "file");
    allowed.git(["submodule", "--quiet", "add", "--name", name, url, path]);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The entries of the tar `archive`: the bytes of the headers and the data of each, by name.
fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut before = Vec::new();
    for record in records(archive) {
        let bytes = &archive[record.offset..record.offset + 512 + record.data.len()];
        before.extend_from_slice(bytes);
        if !matches!(record.kind(), 'x' | 'g') {
            entries.push((record.name(), std::mem::take(&mut before)));
        }
    }
    entries
}

/// git's archive of `repo` with that of `inner` behind the entry of the submodule at `path`.
fn joined(outer: &[u8], path: &str, inner: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut joined = Vec::new();
    for (name, bytes) in entries(outer) {
        let is_it = name == format!("{path}/");
        joined.push((name, bytes));
        if is_it {
            // The first entry is the prefix.
            joined.extend(entries(inner).into_iter().skip(1));
        }
    }
    joined
}

impl Project {
    /// What git makes of each repository, put together, below `prefix`.
    fn expected(&self, prefix: &str) -> Vec<(String, Vec<u8>)> {
        let archive = |repo: &Repo, prefix: &str| {
            let option = format!("--prefix={prefix}");
            repo.archive([&option[..], "HEAD"]).success()
        };
        let lib = self.superproject.clone().at("libs/lib");
        let deep = lib.clone().at("sub/deep");
        let path = format!("{prefix}libs/lib");
        let deep_path = format!("{path}/sub/deep");
        let inner = archive(&deep, &format!("{deep_path}/"));
        let outer = archive(&self.superproject, prefix);
        let lib = archive(&lib, &format!("{path}/"));
        let with_lib = joined(&outer, &path, &lib);
        let mut whole = Vec::new();
        for (name, bytes) in with_lib {
            let is_deep = name == format!("{deep_path}/");
            whole.push((name, bytes));
            if is_deep {
                whole.extend(entries(&inner).into_iter().skip(1));
            }
        }
        whole
    }
}

/// Names, ids, times, attributes, conversions and `$Format:…$` are those of each repository alone.
#[test]
fn each_repository_is_archived_as_alone() {
    let project = project();
    for prefix in ["", "p/", "p/q-"] {
        let prefix_option = format!("--prefix={prefix}");
        let expected = project.expected(prefix);
        assert!(
            expected
                .iter()
                .any(|(name, _)| name.ends_with("libs/lib/sub/deep/dir/x.txt"))
        );
        for threads in ["--threads=1", "--threads=2", "--threads=8"] {
            let args = [RECURSE, threads, &prefix_option, "HEAD"];
            let output = project.superproject.sluice(args);
            assert_eq!((output.code(), output.messages().as_ref()), (0, ""));
            let found = entries(&output.stdout);
            assert!(found == expected, "{prefix} {threads}");
        }
    }
}

/// git is asked in the repository that the file belongs to.
#[test]
fn a_file_that_git_expands() {
    let project = project();
    let lib = project.superproject.clone().at("libs/lib");
    lib.write("version", "$Format:%+s %+h$\n");
    commit(&lib);
    commit(&project.superproject);
    let archive = project
        .superproject
        .sluice([RECURSE, "--prefix=p/", "HEAD"]);
    assert!(entries(&archive.success()) == project.expected("p/"));
}

/// Without the option, and with the other values, nothing of a submodule is read.
#[test]
fn submodules_are_entered_only_on_demand() {
    let project = project();
    let superproject = &project.superproject;
    superproject.assert_same(["HEAD"]);
    let archive = superproject.sluice(["--submodules=omit", "HEAD"]).success();
    assert!(!names(&archive).iter().any(|name| name.starts_with("libs")));
    assert_eq!(
        superproject
            .sluice(["--submodule-git-dir=libs/lib=x", "HEAD"])
            .messages(),
        "error: the option '--submodule-git-dir' requires '--submodules=recurse'\n"
    );
}

/// Other formats, reports and questions know of the contents, too.
#[test]
fn formats_and_reports() {
    let project = project();
    let superproject = &project.superproject;
    let tar = superproject.sluice([RECURSE, "HEAD"]).success();
    let gz = superproject
        .sluice([RECURSE, "--format=tgz", "HEAD"])
        .success();
    assert!(gunzip(&gz) == tar);
    let zip = superproject
        .sluice([RECURSE, "--format=zip", "HEAD"])
        .success();
    assert_eq!(crate::support::zip::names(&zip), names(&tar));
    let (lines, _) = superproject.manifest([RECURSE, "HEAD"]);
    assert_eq!(lines[0]["content_length"], tar.len());
    let of = |path: &str| lines.iter().find(|line| line["path"] == path).expect(path);
    let id = |repo: &Repo, name: &str| repo.git(["rev-parse", name]);
    let lib = superproject.clone().at("libs/lib");
    let link = of("libs/lib/");
    assert_eq!(link["mode"], "160000");
    assert_eq!(link["id"], id(&lib, "HEAD"));
    assert_eq!(
        (&link["disposition"], &link["submodule"]),
        (&"content".into(), &Value::Null)
    );
    let file = of("libs/lib/a.c");
    assert_eq!(
        (&file["submodule"], &file["id"]),
        (&"libs/lib".into(), &id(&lib, "HEAD:a.c").into())
    );
    assert_eq!(of("libs/lib/sub/deep/")["submodule"], "libs/lib");
    assert_eq!(
        of("libs/lib/sub/deep/top.txt")["submodule"],
        "libs/lib/sub/deep"
    );
    let head = superproject.json(["info", RECURSE, "HEAD"]);
    assert_eq!(head["content_length"], tar.len());
    let half = tar.len() / 2;
    let first = format!("--byte-range=0-{}", half - 1);
    let second = format!("--byte-range={half}-");
    let parts =
        [first, second].map(|range| superproject.sluice([RECURSE, &range, "HEAD"]).success());
    assert!(parts.concat() == tar);
    let list = superproject.sluice(["ls", RECURSE, "HEAD"]);
    assert!(
        text(&list.stdout).contains("libs/lib/sub/deep/dir/x.txt"),
        "{list}"
    );
    let explained = superproject.sluice(["explain", RECURSE, "HEAD", "libs/lib/a.secret"]);
    assert_eq!(
        text(&explained.stdout),
        "libs/lib/a.secret: omitted: by the attribute export-ignore (libs/lib/.gitattributes:1)\n"
    );
    assert_lists_the_manifest(superproject, &[RECURSE]);
}

/// The names of the files and links in what `args` archive.
#[track_caller]
fn files(repo: &Repo, args: &[&str]) -> Vec<String> {
    let output = repo.sluice([RECURSE].iter().chain(args));
    output.assert_ends(0, "");
    let mut files = names(&output.stdout);
    files.retain(|name| !name.ends_with('/'));
    files
}

/// Pathspecs see paths of the whole archive, and a submodule without a match is left out.
#[test]
fn pathspecs_reach_into_submodules() {
    let project = project();
    let superproject = &project.superproject;
    for (pathspecs, expected) in [
        (&["libs/lib/a.c"][..], &["libs/lib/a.c"][..]),
        (
            &["libs/lib/sub"],
            &["libs/lib/sub/deep/dir/x.txt", "libs/lib/sub/deep/top.txt"],
        ),
        (
            &["*.txt"],
            &[
                "libs/lib/sub/deep/dir/x.txt",
                "libs/lib/sub/deep/top.txt",
                "z.txt",
            ],
        ),
        (
            &["libs/lib/sub/deep/dir/"],
            &["libs/lib/sub/deep/dir/x.txt"],
        ),
        (&[":(icase)LIBS/lib/A.C"], &["libs/lib/a.c"]),
        (&["*.txt", ":(exclude)libs/lib/sub/deep"], &["z.txt"]),
        (&[":(glob)libs/*/*.c"], &["libs/lib/a.c"]),
    ] {
        let args = [&["HEAD", "--"][..], pathspecs].concat();
        assert_eq!(files(superproject, &args), expected, "{pathspecs:?}");
    }
    let top = superproject.sluice([RECURSE, "HEAD", "z.txt"]).success();
    assert_eq!(names(&top), ["z.txt"]);
    let inside = superproject
        .sluice([RECURSE, "HEAD", "libs/lib/sub/deep/top.txt"])
        .success();
    let above = ["libs/", "libs/lib/", "libs/lib/sub/", "libs/lib/sub/deep/"];
    assert_eq!(names(&inside)[..4], above);
    for wrong in ["libs/lib/nothing", "libs/lib/a.secret/x", "lib/a.c"] {
        let message = format!("fatal: pathspec '{wrong}' did not match any files\n");
        superproject
            .sluice([RECURSE, "HEAD", wrong])
            .assert_failure(128, &message);
    }
    let below = superproject.clone().at("libs");
    assert_eq!(files(&below, &["HEAD", "lib/a.c"]), ["lib/a.c"]);
}

/// A tree of a commit takes the names of its submodules from the commit.
#[test]
fn directories_of_a_commit() {
    let project = project();
    let inside = files(&project.superproject, &["HEAD:libs"]);
    assert!(
        inside.contains(&"lib/sub/deep/top.txt".to_owned()),
        "{inside:?}"
    );
    let tree = project.superproject.git(["rev-parse", "HEAD:libs"]);
    project
        .superproject
        .sluice([RECURSE, &tree])
        .assert_failure(
            128,
            "fatal: no submodule mapping found in .gitmodules for path 'lib'\n\
         hint: --submodules=dir archives submodules as empty directories\n",
        );
}

/// Options about paths and sizes hold for the whole archive, ignore files for their own repository.
#[test]
fn filters_see_whole_paths() {
    let project = project();
    let superproject = &project.superproject;
    let all = files(superproject, &["HEAD"]);
    let without = |name: &str| {
        let rest = all.iter().filter(|other| *other != name);
        rest.cloned().collect::<Vec<_>>()
    };
    let ignored = files(superproject, &["--exclude=libs/lib/a.c", "HEAD"]);
    assert_eq!(ignored, without("libs/lib/a.c"));
    assert_eq!(files(superproject, &["--exclude=/a.c", "HEAD"]), all);
    let named = files(superproject, &["--exclude=a.c", "HEAD"]);
    assert_eq!(named, without("libs/lib/a.c"));
    let large = ["--max-size=1", "--size-exempt=libs/lib/*.c", "HEAD"];
    assert_eq!(files(superproject, &large), ["libs/lib/a.c"]);
    let lib = superproject.clone().at("libs/lib");
    lib.write("ignored", "a.c\n");
    commit(&lib);
    commit(superproject);
    let own = files(superproject, &["--exclude-from-tree=ignored", "HEAD"]);
    assert!(!own.contains(&"libs/lib/a.c".to_owned()) && own.contains(&"z.txt".to_owned()));
}

/// Ignore rules take a submodule for the directory that it is in the archive.
#[test]
fn ignore_rules_see_directories() {
    let superproject = &project().superproject;
    let all = superproject.sluice([RECURSE, "HEAD"]).success();
    let explain = |rule: &str, path: &str| {
        let words = ["explain", RECURSE, rule, "HEAD", path];
        text(&superproject.sluice(words).success())
    };
    for rule in cases("--exclude=/lib | --exclude=libs/l | --exclude=libs/lib/none") {
        let archive = superproject.sluice([RECURSE, rule, "HEAD"]).success();
        assert!(archive == all, "{rule}");
        assert_eq!(explain(rule, "libs/lib"), "libs/lib: sent\n");
    }
    for rule in cases(
        "--exclude=libs/lib | --exclude=libs/lib/ | --exclude=lib/ | --exclude=libs/l*b | \
         --exclude=**/lib | --exclude=libs/???",
    ) {
        let archive = superproject.sluice([RECURSE, rule, "HEAD"]).success();
        assert_eq!(names(&archive), [".gitattributes", ".gitmodules", "z.txt"]);
        let pattern = &rule["--exclude=".len()..];
        let ignored = format!("libs/lib: omitted: '{pattern}' (--exclude) excludes it\n");
        assert_eq!(explain(rule, "libs/lib"), ignored);
    }
    let lib = superproject.clone().at("libs/lib");
    lib.write("a.c", "other\n");
    commit(&lib);
    commit(superproject);
    let changed = ["--exclude=libs/l", "--base=HEAD~", "HEAD"];
    assert_eq!(
        files(superproject, &changed),
        ["libs/lib/a.c", "libs/lib/version"]
    );
}

/// An ignore file that no tree has is warned of once, however many trees there are.
#[test]
fn an_ignore_file_that_is_nowhere() {
    let superproject = &project().superproject;
    let args = [
        RECURSE,
        "--exclude-from-tree=nowhere",
        "--base=HEAD",
        "HEAD",
    ];
    let output = superproject.sluice(args);
    let warning = "warning: no tree contains the --exclude-from-tree file 'nowhere'\n";
    assert_eq!((output.messages().as_ref(), output.code()), (warning, 0));
}

/// What a reader may not know is neither sent nor opened.
#[test]
fn access_rules_hide_submodules() {
    let project = project();
    let superproject = &project.superproject;
    let rules = |text: &str| {
        project.place.write("rules", text);
        format!(
            "--access-rules={}",
            project.place.path().join("rules").display()
        )
    };
    let some = rules("/z.txt\n/libs/lib/sub/deep/dir/**\n");
    assert_eq!(
        files(superproject, &[&some, "HEAD"]),
        ["libs/lib/sub/deep/dir/x.txt", "z.txt"]
    );
    fs::remove_dir_all(superproject.path().join(".git/modules/the-lib")).unwrap();
    assert_eq!(
        files(superproject, &[&rules("/z.txt\n"), "HEAD"]),
        ["z.txt"]
    );
}
