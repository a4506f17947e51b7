//! `missing`: what an archive needs and the repository lacks, without a fetch.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{clone, fetches, ids, missing, origin, traced, url};
use crate::{
    support::schema::Schema,
    support::{Repo, cases, forge::lose},
};

/// The exit status where something is missing.
const MISSING: i32 = 9;

/// A list, which is as its schema says.
pub(crate) struct List {
    pub(crate) header: Value,
    pub(crate) lines: Vec<Value>,
    pub(crate) end: Value,
}

impl List {
    /// The list of `args` in `repo`.
    #[track_caller]
    pub(crate) fn of(repo: &Repo, args: &[&str]) -> Self {
        let output = repo.sluice(["missing"].iter().chain(args));
        assert_eq!(output.messages(), "", "{args:?}");
        let list = Self::parsed(&output.stdout);
        let has_all = list.lines.is_empty() && list.is_complete();
        assert_eq!(output.code(), if has_all { 0 } else { MISSING }, "{args:?}");
        list
    }

    #[track_caller]
    fn parsed(text: &[u8]) -> Self {
        let schema = Schema::read("missing");
        let text = str::from_utf8(text).expect("JSON is UTF-8");
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        lines.iter().for_each(|line| schema.accept(line));
        let (header, end) = (lines.remove(0), lines.pop().expect("an end"));
        assert_eq!((&header["missing"], &end["end"]), (&json!(1), &json!(true)));
        let count = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
        assert_eq!(end["objects"], count("object"));
        assert_eq!(end["lfs_objects"], count("lfs"));
        assert_eq!(end["submodules"], count("submodule"));
        Self { header, lines, end }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.end["complete"] == true
    }

    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let ids = self.lines.iter().filter_map(|line| line["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    /// Paths and roles, by path.
    fn roles(&self) -> BTreeSet<(&str, &str)> {
        let lines = self.lines.iter();
        lines
            .map(|line| (word(line, "path"), word(line, "role")))
            .collect()
    }
}

fn word<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_default()
}

/// Fetches the `ids`.
pub(crate) fn fetch(repo: &Repo, ids: &BTreeSet<String>) {
    let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
    // Without this, git looks in shallow clones for the history of blobs.
    let args = "-c fetch.negotiationAlgorithm=noop fetch -q --no-tags --no-write-fetch-head \
                --filter=blob:none origin --stdin";
    repo.git_with_input(args.split_whitespace(), input);
}

/// Without filters, the list is git's of all objects that are missing. Nothing is fetched.
#[test]
fn whole_trees() {
    let origin = origin();
    for filter in cases("blob:none | tree:0 | tree:1 | blob:limit=8 | sparse:oid=HEAD:a.secret") {
        let (repo, trace) = traced(&clone(&origin, filter));
        let before = missing(&repo);
        let list = List::of(&repo, &["HEAD"]);
        assert_eq!(list.ids(), before, "{filter}");
        assert_eq!(list.lines.len(), before.len(), "{filter}");
        assert_eq!(fetches(&trace), 0);
        assert_eq!(missing(&repo), before);
    }
    let whole = List::of(&origin, &["HEAD"]);
    let ids = |name: &str| origin.git(["rev-parse", name]);
    let header = json!({"missing": 1, "commit": ids("HEAD"), "tree": ids("HEAD^{tree}")});
    assert_eq!(whole.header, header);
    let end =
        json!({"end": true, "objects": 0, "lfs_objects": 0, "submodules": 0, "complete": true});
    assert_eq!((whole.lines.len(), whole.end), (0, end));
}

/// A job that fetches what is listed, until the list is empty, has all that the archive needs.
#[test]
fn what_is_listed_is_enough() {
    let origin = origin();
    origin.write("d03/f00", "changed\n");
    origin.git(["commit", "-qam", "a change"]);
    for (filter, args, rounds) in [
        ("blob:none", &["HEAD"][..], 1),
        ("tree:0", &["HEAD"], 2),
        ("tree:0", &["HEAD:d03"], 2),
        ("tree:0", &["--base=HEAD~1", "HEAD"], 3),
        ("blob:none", &["--base=HEAD~1", "--max-size=8", "HEAD"], 1),
        ("tree:0", &["HEAD", "d00", "d19/f24"], 2),
    ] {
        let args = [&["--mtime=2005-04-07T22:13:13Z"], args].concat();
        let repo = clone(&origin, filter);
        let mut done = 0;
        loop {
            let list = List::of(&repo, &args);
            if list.is_complete() && list.lines.is_empty() {
                break;
            }
            assert!(!list.lines.is_empty() && done < rounds, "{filter} {args:?}");
            fetch(&repo, &list.ids());
            done += 1;
        }
        assert_eq!(done, rounds, "{filter} {args:?}");
        let offline = repo.env("GIT_NO_LAZY_FETCH", "1");
        let expected = origin.sluice(&args).success();
        assert!(offline.sluice(&args).success() == expected, "{filter}");
    }
}

/// Files that are left out need not be there. Attribute files count as empty as long as they are missing.
#[test]
fn filters_leave_out_what_is_not_needed() {
    let origin = origin();
    origin.write("rules", "d0*/\n");
    origin.git(["add", "rules"]);
    origin.git(["commit", "-qm", "rules"]);
    let repo = clone(&origin, "blob:none");
    let five: Vec<_> = (0..5).map(|number| format!("d03/f0{number}")).collect();
    let mut expected: BTreeSet<_> = five.iter().map(|path| (&path[..], "file")).collect();
    let pathspec = "d03/f0[0-4]";
    let with_work_tree = List::of(&repo, &["--worktree-attributes", "HEAD", pathspec]);
    assert_eq!(with_work_tree.roles(), expected);
    assert!(with_work_tree.is_complete());
    let with_tree = List::of(&repo, &["HEAD", pathspec]);
    expected.insert((".gitattributes", "rules"));
    assert_eq!(with_tree.roles(), expected);
    assert!(!with_tree.is_complete());
    // The rules of an ignore file come first.
    let args = ["--exclude-from-tree=rules", "--exclude=d1*/", "HEAD"];
    let rules = List::of(&repo, &args);
    assert_eq!(rules.roles(), BTreeSet::from([("rules", "rules")]));
    fetch(&repo, &rules.ids());
    let rest = List::of(&repo, &args);
    let names = [".gitattributes", "a.secret"];
    assert_eq!(rest.ids(), ids(&origin, &names));
    fetch(
        &repo,
        &ids(&origin, &[".gitattributes", "d00/.gitattributes"]),
    );
    let known = List::of(&repo, &args);
    assert_eq!((known.lines.len(), known.is_complete()), (0, true));
    let all = List::of(&repo, &["HEAD", "d00", "a.secret"]);
    assert_eq!(
        all.ids()
            .intersection(&ids(&origin, &["a.secret", "d00/f01"]))
            .count(),
        0
    );
    assert!(all.is_complete());
    // A reader that does without missing files is told of them all the same.
    let profiled = List::of(&repo, &["--profile=zoekt", "HEAD"]);
    assert_eq!(profiled.ids(), missing(&repo));
}

/// More than one walk lists what the memory has no room for.
#[test]
fn the_list_does_not_depend_on_memory() {
    let origin = origin();
    let repo = clone(&origin, "blob:none");
    let list = |option| repo.sluice(["missing", option, "HEAD"]).stdout;
    assert!(list("--memory=1m") == list("--memory=128m"));
    assert!(list("--threads=8") == list("--threads=1"));
    let deep = clone(&origin, "tree:1");
    let list = |option| deep.sluice(["missing", option, "--base=HEAD^{tree}:d00", "HEAD"]);
    assert!(list("--memory=1m").stdout == list("--memory=128m").stdout);
}

/// A damaged repository that has no remote.
#[test]
fn damaged_repositories() {
    let origin = origin();
    let [file, rules, tree] =
        ["d05/f05", "d00/.gitattributes", "d07"].map(|name| lose(&origin, &format!("HEAD:{name}")));
    let mut expected = vec![
        json!({"kind": "object", "id": file, "type": "blob", "role": "file", "path": "d05/f05"}),
        json!({"kind": "object", "id": rules, "type": "blob", "role": "rules",
            "path": "d00/.gitattributes"}),
        json!({"kind": "object", "id": tree, "type": "tree", "role": "tree", "path": "d07/"}),
    ];
    expected.sort_by_key(|line| line["id"].to_string());
    let list = List::of(&origin, &["--prefix=p/", "HEAD"]);
    assert_eq!(list.lines, expected);
    let end =
        json!({"end": true, "objects": 3, "lfs_objects": 0, "submodules": 0, "complete": false});
    assert_eq!(list.end, end);
    let root = lose(&origin, "HEAD^{tree}");
    let list = List::of(&origin, &["HEAD"]);
    let line = json!({"kind": "object", "id": root, "type": "tree", "role": "tree"});
    assert_eq!(
        (&list.header, &list.lines[..]),
        (&json!({"missing": 1}), &[line][..])
    );
    let commit = lose(&origin, "HEAD");
    let list = List::of(&origin, &[&commit]);
    let line = json!({"kind": "object", "id": commit, "role": "revision"});
    assert_eq!(list.lines, [line]);
}

/// The commit behind the border of a shallow clone is only known by its id.
#[test]
fn shallow_clones() {
    let origin = origin();
    let base = origin.git(["rev-parse", "HEAD"]);
    origin.write("d03/f00", "changed\n");
    origin.git(["commit", "-qam", "a change"]);
    let repo = Repo::scratch();
    repo.git(["clone", "-q", "--bare", "--depth=1", &url(&origin), "."]);
    assert!(List::of(&repo, &["HEAD"]).lines.is_empty());
    let list = List::of(&repo, &[&format!("--base={base}"), "HEAD"]);
    assert_eq!(
        list.lines,
        [json!({"kind": "object", "id": base, "role": "revision"})]
    );
    repo.sluice(["missing", "HEAD~1"])
        .assert_failure(128, "fatal: not a valid object name: HEAD~1\n");
    repo.sluice(["missing", "HEAD", "nothing"])
        .assert_failure(128, "fatal: pathspec 'nothing' did not match any files\n");
}

/// The list has neither path nor id of what the reader may not know.
#[test]
fn hidden_entries_are_not_listed() {
    let origin = origin();
    origin.write("rules", "/d03/**\n/d04/f04\n");
    let rules = format!("--access-rules={}", origin.path().join("rules").display());
    let paths = (0..25).map(|number| format!("d03/f{number:02}"));
    let mut paths: Vec<_> = paths.collect();
    paths.push("d04/f04".to_owned());
    let paths: BTreeSet<_> = paths.iter().map(|path| (&path[..], "file")).collect();
    let repo = clone(&origin, "blob:none");
    let list = List::of(&repo, &["--no-attributes", &rules, "HEAD"]);
    assert_eq!((list.roles(), list.is_complete()), (paths.clone(), true));
    // The attribute file is missing and hidden.
    let list = List::of(&repo, &[&rules, "HEAD"]);
    assert_eq!((list.roles(), list.is_complete()), (paths, false));
    let repo = clone(&origin, "tree:1");
    let list = List::of(&repo, &["--no-attributes", &rules, "HEAD"]);
    assert_eq!(list.roles(), BTreeSet::from([("d03/", "tree")]));
    assert!(!list.is_complete());
}

#[test]
fn no_list_comes_from_elsewhere() {
    let origin = origin();
    let repo = clone(&origin, "tree:1");
    let served = repo.served(["--remote=.", "missing", "HEAD"]);
    assert!(
        !served.messages().is_empty() && served.stdout.is_empty(),
        "{served}"
    );
    let asked = repo.sluice(["missing", "--remote=.", "HEAD"]);
    assert!(asked.code() != 0 && asked.stdout.is_empty(), "{asked}");
}
