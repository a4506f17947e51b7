//! Every kind of change, there and back, with and without filters. What the manifest has to say of each
//! lies in `matrix.txt`.

use super::{Files, History, Node, executable, file, files, link};
use crate::support::process::run;
use crate::support::{Repo, skip};

/// `old` becomes `new` and that becomes `old`, each as the section `name` of the file has it.
#[track_caller]
fn assert_row(name: &str, old: Files, new: Files, options: &[&str]) {
    let history = History::new(&old, &new);
    let there = history.assert_delta(["old", "new"], options);
    let back = history.assert_delta(["new", "old"], options);
    assert_told(name, &format!("{there}< back\n{back}"));
}

#[track_caller]
fn assert_told(name: &str, told: &str) {
    let mut sections = include_str!("matrix.txt").split("# ").skip(1);
    let expected = sections.find_map(|section| section.strip_prefix(&format!("{name}\n")));
    let expected = expected.unwrap_or_default().trim_end();
    assert!(
        told.trim_end() == expected,
        "# {name}\n{told}\nshould be\n{expected}"
    );
}

/// `kept` stands on both sides beside what is looked at.
#[track_caller]
fn assert_plain(name: &str, old: &[(&str, Node)], new: &[(&str, Node)]) {
    assert_with(name, old, new, &[]);
}

#[track_caller]
fn assert_with(name: &str, old: &[(&str, Node)], new: &[(&str, Node)], options: &[&str]) {
    let side = |nodes: &[(&str, Node)]| {
        let kept = [("kept/a", file("x")), ("z", file("x"))];
        files(nodes.iter().cloned().chain(kept))
    };
    assert_row(name, side(old), side(new), options);
}

#[test]
fn contents_and_modes() {
    assert_plain("content", &[("a", file("1"))], &[("a", file("2"))]);
    assert_plain("added", &[], &[("a", file("1")), ("d/e/f", file("1"))]);
    assert_plain("empty", &[("a", file(""))], &[("a", file("1"))]);
    assert_plain("rename", &[("a", file("1"))], &[("d/b", file("1"))]);
    let modes = [[("a", file("1"))], [("a", executable("1"))]];
    assert_plain("mode", &modes[0], &modes[1]);
    let both = [[("a", file("1"))], [("a", executable("2"))]];
    assert_plain("mode and content", &both[0], &both[1]);
}

#[test]
fn modes_can_be_left_out() {
    let old = files([("a", file("1")), ("b", file("1")), ("c", file("1"))]);
    let new = files([
        ("a", executable("1")),
        ("b", executable("2")),
        ("c", link("1")),
    ]);
    let history = History::new(&old, &new);
    let manifest = history.git.join("manifest");
    let report = format!("--manifest={}", manifest.display());
    let ends = ["old", "new"];
    let options = ["--ignore-mode-changes", &report];
    let _ = history.delta(ends, &options).success();
    assert_told("ignored modes", &history.told(ends, &manifest, false));
}

#[test]
fn types() {
    assert_plain("link", &[("a", link("1"))], &[("a", link("2"))]);
    assert_plain("file to link", &[("a", file("1"))], &[("a", link("1"))]);
    let directory = [("a/b", file("1")), ("a/c/d", file("1"))];
    assert_plain("file to directory", &[("a", file("1"))], &directory);
    assert_plain("link to directory", &[("a", link("kept"))], &directory);
    assert_plain("directory in directory", &directory, &[("a/c", file("1"))]);
}

/// What sorts between a file `a` and what is in a directory `a`.
#[test]
fn the_order_of_trees() {
    let around = [("a-b", file("1")), ("a.b/c", file("1")), ("a0", file("1"))];
    let old = [&around[..], &[("a", file("1"))]].concat();
    let new = [&around[..], &[("a/b", file("1"))]].concat();
    assert_plain("file among siblings", &old, &new);
    assert_plain("siblings come", &[("a", file("1"))], &new);
    assert_plain("siblings go", &old, &[("a/b", file("1"))]);
}

#[test]
fn directories() {
    let deep = [
        ("a/b/c/d", file("1")),
        ("a/b/c/e", file("1")),
        ("a/f", file("1")),
    ];
    assert_plain("directory", &deep, &[]);
    assert_plain("directory with rest", &deep, &deep[2..]);
    assert_plain("last in directory", &deep, &deep[..2]);
    let other = [
        ("b/b/c/d", file("1")),
        ("b/b/c/e", file("1")),
        ("b/f", file("1")),
    ];
    assert_plain("moved directory", &deep, &other);
    assert_plain("nothing", &deep, &deep);
}

#[test]
fn submodules() {
    for submodules in ["dir", "omit"] {
        let option = format!("--submodules={submodules}");
        let assert = |name: &str, old: &[(&str, Node)], new: &[(&str, Node)]| {
            assert_with(&format!("{submodules}: {name}"), old, new, &[&option]);
        };
        let submodule = |digit| [("a", Node::Submodule(digit))];
        assert("submodule", &[], &submodule('1'));
        assert("submodule moved on", &submodule('1'), &submodule('2'));
        assert("submodule to file", &submodule('1'), &[("a", file("1"))]);
        assert("submodule to link", &submodule('1'), &[("a", link("1"))]);
        let directory = [("a/b", file("1"))];
        assert("submodule to directory", &submodule('1'), &directory);
        let inside = [("d/a", Node::Submodule('1'))];
        assert("submodule in directory", &inside, &[("d/b", file("1"))]);
        assert("only a submodule", &inside, &[]);
    }
}

#[test]
fn names_of_all_bytes() {
    let odd: [&[u8]; 6] = [
        b"caf\xe9",
        b"new\nline",
        b"\"q\"",
        b"-x",
        b"a\\b",
        b"\xff/\x01",
    ];
    let old = odd.iter().step_by(2).map(|name| (name, file("1")));
    let new = odd.iter().skip(1).step_by(2).map(|name| (name, file("1")));
    let long = [&b"d/".repeat(3)[..], &[b'f'; 255]].concat();
    let mut new = files(new);
    new.insert(long, file("1"));
    assert_row("odd names", files(old), new, &[]);
}

#[test]
fn no_files_at_all() {
    assert_row(
        "from nothing",
        Files::new(),
        files([("a/b", file("1"))]),
        &[],
    );
    let history = History::new(&files([("a/b", file("1"))]), &Files::new());
    let empty = history.repo.git_with_input(["mktree"], "");
    let told = history.assert_delta([&empty, "old"], &[]);
    assert_eq!(told, "- a/ - 040000 content\nA a/b - 100644 content\n");
    let root = history.repo.git(["rev-parse", "old"]);
    assert_eq!(history.assert_delta([&root, &root], &[]), "");
}

const IGNORE: [&str; 2] = ["--exclude-from-tree=.ignore", "--profile=zoekt"];

#[test]
fn ignored_files() {
    let rules = [(".ignore", file("*.log\nout/\n"))];
    let old = [
        ("a.log", file("1")),
        ("b.c", file("1")),
        ("out/a", file("1")),
    ];
    let new = [
        ("a.log", file("2")),
        ("b.c", file("2")),
        ("out/a", file("2")),
    ];
    let with = |nodes: &[(&'static str, Node)]| [&rules[..], nodes].concat();
    assert_with("ignored", &with(&old), &with(&new), &IGNORE);
    assert_with("ignore file comes", &old, &with(&old), &IGNORE);
    assert_with("ignore file comes with changes", &old, &with(&new), &IGNORE);
    let other = [&[(".ignore", file("*.c\nout/a\n"))], &old[..]].concat();
    assert_with("ignore file changes", &with(&old), &other, &IGNORE);
    let deep = [
        ("d/e/a.log", file("1")),
        ("d/f", file("1")),
        ("g/b.log", file("1")),
    ];
    assert_with("ignore file below", &deep, &with(&deep), &IGNORE);
    assert_with("ignored by option", &old, &new, &["--exclude=*.log"]);
}

#[test]
fn attributes() {
    let nodes = [
        ("a.txt", file("1\n2\n")),
        ("d/b.txt", file("1\n")),
        ("d/c", file("1\n")),
    ];
    let with = |path: &'static str, rules: &str| [&[(path, file(rules))], &nodes[..]].concat();
    let root = ".gitattributes";
    assert_plain("eol", &nodes, &with(root, "*.txt text eol=crlf\n"));
    assert_plain(
        "export-ignore",
        &nodes,
        &with(root, "*.txt export-ignore\n"),
    );
    assert_plain(
        "export-ignore of a directory",
        &nodes,
        &with(root, "d export-ignore\n"),
    );
    assert_plain(
        "export-ignore below",
        &nodes,
        &with("d/.gitattributes", "* export-ignore\n"),
    );
    let [one, other] = ["a.txt", "d/*"].map(|glob| with(root, &format!("{glob} export-ignore\n")));
    assert_plain("another export-ignore", &one, &other);
    assert_with(
        "raw",
        &nodes,
        &with(root, "* export-ignore eol=crlf\n"),
        &["--no-attributes"],
    );
    let conversion = with("d/.gitattributes", "*.txt eol=crlf\n");
    assert_with(
        "eol below, filtered",
        &nodes,
        &conversion,
        &["--exclude=zz"],
    );
}

/// The commit is in their content, so they change with it.
#[test]
fn substitutions() {
    let rules = (".gitattributes", file("v* export-subst\n"));
    let old = [
        rules,
        ("d/v", file("$Format:%H$")),
        ("d/w", file("$Format:%H$")),
    ];
    let new = [&old[..], &[("new", file("1"))]].concat();
    assert_plain("substituted", &old, &new);
    let history = History::new(&files(old.clone()), &files(new));
    let [tree, commit] = ["old^{tree}", "old"];
    // Without a commit nothing is expanded.
    let told = history.assert_delta([commit, commit], &[]);
    assert_eq!(told, "");
    let summary = history.summary([tree, "new^{tree}"], &[]);
    assert_eq!(summary["changes"]["modified"], 0, "{summary}");
}

/// A macro is for all directories, those that do not differ among them.
#[test]
fn substitutions_by_macros() {
    let subst = "[attr]subst export-subst\n";
    for (root, below) in [
        (format!("{subst}v subst\n"), ""),
        (format!("{subst}[attr]all subst\nv all\n"), ""),
        (subst.to_owned(), "v subst\n"),
    ] {
        let old = [
            (".gitattributes", file(&root)),
            ("d/e/.gitattributes", file(below)),
            ("d/e/v", file("$Format:%H$")),
        ];
        let new = [&old[..], &[("new", file("1"))]].concat();
        let history = History::new(&files(old), &files(new));
        let told = history.assert_delta(["old", "new"], &[]);
        assert!(told.contains("M d/e/v"), "{root}\n{told}");
    }
}

/// The rules lie in directories that do not differ, of the tree or of the work tree.
#[test]
fn substitutions_by_unchanged_rules() {
    let expands = "$Format:%H$";
    let rules = ("a/d/.gitattributes", file("v export-subst\n"));
    let old = [
        ("a/d/e/f/v", file(expands)),
        ("a/d/e/w", file(expands)),
        ("a/v", file(expands)),
        ("b/c/v", file(expands)),
    ];
    let new = [&old[..], &[("new", file("1"))]].concat();
    let with =
        |nodes: &[(&'static str, Node)]| files([nodes, std::slice::from_ref(&rules)].concat());
    let changed = "M a/d/e/f/v 100644 100644 content\n";
    for ends in [["old", "new"], ["new", "old"]] {
        let history = History::new(&with(&old), &with(&new));
        let told = history.assert_delta(ends, &[]);
        assert_eq!(told.lines().filter(|line| line.starts_with('M')).count(), 1);
        assert!(told.contains(changed), "{told}");
        let told = history.assert_delta(ends, &["--", ":!a/d/e"]);
        assert!(!told.contains("v"), "{told}");
    }
    let history = History::new(&files(old), &files(new));
    std::fs::create_dir_all(history.repo.path().join("a/d")).expect("our own");
    history.repo.write("a/d/.gitattributes", "v export-subst\n");
    let told = history.assert_delta(["old", "new"], &["--worktree-attributes"]);
    assert!(told.contains(changed), "{told}");
}

/// What cannot expand, or what expands to the same, is not looked for.
#[test]
fn unchanged_directories_that_are_not_read() {
    let rules = ("d/.gitattributes", file("* export-subst\n"));
    let old = [rules, ("d/e/v", file("$Format:%H$"))];
    let new = [&old[..], &[("new", file("1"))]].concat();
    let history = History::new(&files(old), &files(new));
    for (ends, options, read) in [
        (["old", "new"], &[][..], 6),
        (["old", "new"], &["--no-attributes"], 2),
        (["old", "new"], &["--exclude=d"], 2),
        (["old^{tree}", "new^{tree}"], &[], 2),
        (["new", "new"], &[], 2),
    ] {
        let summary = history.summary(ends, options);
        let was_read = &summary["directories"]["read"];
        assert_eq!(was_read, read, "{ends:?} {options:?}");
    }
}

#[test]
fn sizes() {
    let old = [("a", file("small")), ("d/b", file("large enough"))];
    let new = [("a", file("large enough")), ("d/b", file("small"))];
    for large in ["keep", "omit", "empty", "placeholder"] {
        let options = ["--max-size=8", &format!("--large={large}")];
        assert_with(&format!("large {large}"), &old, &new, &options);
    }
    let options = ["--max-size=8", "--size-exempt=d/*"];
    assert_with("exceptions", &old, &new, &options);
    let still = [("a", file("larger still")), ("d/b", file("large enough"))];
    let large = [("a", file("large enough")), ("d/b", file("large enough"))];
    assert_with("both too large", &large, &still, &["--max-size=8"]);
    let deep = [("a", file("small")), ("d/e/b", file("large enough"))];
    assert_with("all too large", &old[..1], &deep, &["--max-size=8"]);
}

#[test]
fn binary_files() {
    let old = [("a", file("text")), ("d/b", file("nul\0"))];
    let new = [("a", file("nul\0")), ("d/b", file("text"))];
    for binary in ["keep", "omit", "empty", "placeholder"] {
        let option = format!("--binary={binary}");
        assert_with(&format!("binary {binary}"), &old, &new, &[&option]);
    }
    let late = |end: &str| file([&[b't'; 32 << 10][..], end.as_bytes()].concat());
    let old = [("a", late("text")), ("d/b", late("nul\0"))];
    let new = [("a", late("nul\0")), ("d/b", late("text"))];
    let option = ["--profile=searcher", "--binary=omit"];
    assert_with("binary too late", &old, &new, &option);
}

#[test]
fn links_as_files() {
    let option = ["--symlinks=file"];
    assert_with(
        "file as link",
        &[("a", file("1"))],
        &[("a", link("1"))],
        &option,
    );
    assert_with(
        "link as file",
        &[("a", link("1"))],
        &[("a", link("2"))],
        &option,
    );
    let executable = [("a", executable("1"))];
    assert_with("program as link", &executable, &[("a", link("1"))], &option);
}

#[test]
fn profiles() {
    let rules = (".sourcegraph/ignore", file("*.log\n"));
    let old = [
        rules.clone(),
        ("a.log", file("1")),
        ("b", file("1")),
        ("c", link("1")),
    ];
    let new = [
        rules,
        ("a.log", file("2")),
        ("b", file("two\0")),
        ("m", Node::Submodule('1')),
    ];
    for profile in ["git", "zoekt", "searcher"] {
        let option = format!("--profile={profile}");
        assert_with(&format!("profile {profile}"), &old, &new, &[&option]);
    }
}

#[test]
fn prefixes_and_pathspecs() {
    let old = [
        ("a", file("1")),
        ("d/b", file("1")),
        ("d/e/c", file("1")),
        ("f/g", file("1")),
    ];
    let new = [("a/b", file("1")), ("d/b", file("2")), ("f", file("1"))];
    assert_with("prefix", &old, &new, &["--prefix=p/q/"]);
    assert_with("prefix without slash", &old, &new, &["--prefix=p-"]);
    assert_with("pathspec", &old, &new, &["--", "d", "f"]);
    assert_with("pathspec of one side", &old, &new, &["--", "a/b"]);
    let prefixed = ["--prefix=p/q/", "--", "a/b"];
    assert_with("pathspec of one side, prefix", &old, &new, &prefixed);
    assert_with(
        "pathspec with glob",
        &old,
        &new,
        &["--prefix=p/", "--", ":(glob)**/b"],
    );
    assert_with("pathspec exclude", &old, &new, &["--", ":!d/e", ":!f"]);
}

/// Those of the work tree count for both sides, and those of the trees do not.
#[test]
fn attributes_of_the_work_tree() {
    let nodes = |rules: &str, content: &str| {
        files([
            (".gitattributes", file(rules)),
            ("a.txt", file(content)),
            ("a.c", file(content)),
            ("d/b.txt", file("1\n")),
            ("d/c", file("1\n")),
        ])
    };
    let history = History::new(
        &nodes("a.c export-ignore\n", "1\n"),
        &nodes("d export-ignore\n", "2\n"),
    );
    let option = "--worktree-attributes";
    let rules = [
        ("*.txt eol=crlf\na.c export-ignore\n", "crlf and ignored"),
        ("", "no attributes"),
    ];
    for (rules, name) in rules {
        history.repo.write(".gitattributes", rules);
        let told = history.assert_delta(["old", "new"], &[option]);
        assert_told(&format!("work tree: {name}"), &told);
    }
}

/// Ids are of another length.
#[test]
fn sha256() {
    let repo = Repo::scratch();
    let mut init = repo.command("git");
    let init = run(init.args(["init", "-q", "-b", "main", "--object-format=sha256"]));
    if init.code() != 0 {
        return skip("git knows no SHA-256");
    }
    let old = files([
        ("a", file("1")),
        ("d/b", file("1")),
        ("d/c", file("1")),
        ("e/f", link("a")),
        ("kept/g", file("1")),
    ]);
    let new = files([
        ("a", executable("2")),
        ("d", file("1")),
        ("e/f", file("a")),
        ("h/i", file("$Format:%H$")),
        ("kept/g", file("1")),
        (".gitattributes", file("i export-subst\n")),
    ]);
    let history = History::of(repo, &old, &new);
    let told = history.assert_delta(["old", "new"], &[]);
    assert_told("sha256", &told);
    for options in [&["--prefix=p/"][..], &["--format=tar.gz"], &["--", "d"]] {
        history.assert_delta(["new", "old"], options);
    }
}

#[test]
fn below_the_top() {
    let old = files([("s/a", file("1")), ("s/d/b", file("1")), ("c", file("1"))]);
    for rest in [&[("s/a", file("2")), ("s/e", file("1"))][..], &[]] {
        let new = files(rest.iter().cloned().chain([("c", file("2"))]));
        let mut history = History::new(&old, &new);
        std::fs::create_dir(history.repo.path().join("s")).expect("our own");
        history.repo = history.repo.at("s");
        for [base, target] in [["old", "new"], ["new", "old"]] {
            history.assert_delta([base, target], &[]);
        }
    }
}

/// There git converts `s/d/b.txt` by `d/.gitattributes`.
#[test]
fn conversions_below_the_top() {
    let kept = [("s/d/b.txt", file("1\n")), ("s/c", file("1\n"))];
    let rules = [("d/.gitattributes", file("*.txt eol=crlf\n"))];
    let old = files(kept.iter().cloned());
    let new = files(kept.iter().chain(&rules).cloned());
    let mut history = History::new(&old, &new);
    std::fs::create_dir(history.repo.path().join("s")).expect("our own");
    history.repo = history.repo.at("s");
    for ends in [["old", "new"], ["new", "old"]] {
        let told = history.assert_delta(ends, &[]);
        assert!(
            told.ends_with("M d/b.txt 100644 100644 content\n"),
            "{told}"
        );
    }
}
