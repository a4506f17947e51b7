//! Full archives over a directory that holds an earlier one: only what differs is written.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;

use super::archive::{Archive, Node, Tree, executable, file, link, tree, with_directories};
use super::deltas::any_tree;
use super::{FROM, TO, Target, cut_status, laid_down};
use crate::support::{installed, noise, process::run_with_input, skip};

/// What tells that a file was written, or that its permissions were set: its number and its times.
type Stamps = BTreeMap<String, String>;

/// What the next archive has at some paths.
type Changes<'a> = &'a [(&'a str, Option<Node>)];

/// Of each kind one.
fn base() -> Tree {
    tree([
        ("changed", file("old\n")),
        ("deleted/a", file("old\n")),
        ("deleted/deep/er", file("old\n")),
        ("empty", Node::Directory),
        ("kept/a", file("kept\n")),
        ("kept/b", executable("kept\n")),
        ("kept/empty", file("")),
        ("kept/link", link("a")),
        ("link", link("kept")),
    ])
}

impl Target {
    /// The stamps of all but directories and the state.
    fn stamps(&self) -> Stamps {
        let script =
            "cd dir && find . ! -type d ! -name '.git-sluice*' -printf '%P\\t%i %C@ %T@ %M %U\\n'";
        let stamps = String::from_utf8(self.repo.shell(script).success()).expect("our own names");
        let stamp = |line: &str| {
            line.split_once('\t')
                .map(|(path, stamp)| (path.into(), stamp.into()))
        };
        stamps.lines().filter_map(stamp).collect()
    }

    /// Applies `archive`. Returns the paths that were written.
    #[track_caller]
    pub(super) fn written(&self, archive: &[u8]) -> Vec<String> {
        let before = self.stamps();
        let _ = self.apply(archive).success();
        let is_new = |(path, stamp): &(String, String)| before.get(path) != Some(stamp);
        let new = self.stamps().into_iter().filter(is_new);
        new.map(|(path, _)| path).collect()
    }
}

#[test]
fn the_same_archive_writes_nothing() {
    let mut whole = base();
    whole.insert(b"large".to_vec(), Node::File(false, noise(1, 1 << 20)));
    let archive = Archive::of_tree(FROM, &whole);
    let directory = laid_down(FROM, &whole);
    assert_eq!(directory.written(&archive), [""; 0]);
    directory.assert_holds_soundly(FROM, &whole);
    // Files of the user are not looked at, and neither are links to a file nor its times.
    directory.script("echo mine >mine; ln kept/a ../outside/a; touch -d 2000-01-01 kept/b");
    assert_eq!(directory.written(&archive), [""; 0]);
    fs::remove_file(directory.repo.path().join("outside/a")).expect("our own");
    directory.script("rm mine");
    directory.assert_holds_soundly(FROM, &whole);
}

/// Files and links of the next archive, and what is then written.
#[test]
fn the_next_archive_writes_what_differs() {
    let cases: [(Changes<'_>, &[&str]); 11] = [
        (&[("changed", Some(file("new\n")))], &["changed"]),
        (&[("changed", Some(executable("old\n")))], &["changed"]),
        (&[("link", Some(link("changed")))], &["link"]),
        (&[("deleted/a", None), ("deleted/deep/er", None)], &[]),
        (&[("new/a", Some(file("kept\n")))], &["new/a"]),
        (
            &[("kept/A", Some(file("kept\n"))), ("kept/a", None)],
            &["kept/A"],
        ),
        (&[("changed", Some(link("kept")))], &["changed"]),
        (&[("link", Some(file("kept")))], &["link"]),
        (
            &[("changed", None), ("changed/a/b", Some(file("old\n")))],
            &["changed/a/b"],
        ),
        (
            &[
                ("deleted/a", None),
                ("deleted/deep/er", None),
                ("deleted", Some(file("old\n"))),
            ],
            &["deleted"],
        ),
        (
            &[
                ("link", None),
                ("link/a", Some(link("x"))),
                ("empty", Some(link("x"))),
            ],
            &["empty", "link/a"],
        ),
    ];
    for (changes, expected) in cases {
        for mine in [false, true] {
            let directory = laid_down(FROM, &base());
            let mut target = base();
            for (path, node) in changes {
                match node {
                    Some(node) => target.insert(path.as_bytes().to_vec(), node.clone()),
                    None => target.remove(path.as_bytes()),
                };
            }
            let mut holds = target.clone();
            if mine {
                directory.script("echo mine >kept/mine");
                holds.extend(tree([("kept/mine", file("mine\n"))]));
            }
            let written = directory.written(&Archive::of_tree(TO, &target));
            assert_eq!(written, expected, "{changes:?}");
            directory.assert_holds_soundly(TO, &holds);
        }
    }
}

/// What the user does to files, and which are then written again by the same archive.
#[test]
fn what_the_user_has_changed_is_written_again() {
    let mut cases = vec![
        ("printf 'Kept\\n' >kept/a", &["kept/a"][..]),
        (
            "printf 'Kept\\n' >kept/a; touch -r kept/b kept/a",
            &["kept/a"],
        ),
        ("echo >>kept/a; rm kept/b", &["kept/a", "kept/b"]),
        ("chmod 400 kept/a; chmod 4755 kept/b", &["kept/a", "kept/b"]),
        ("chmod 604 changed", &["changed"]),
        ("chmod 000 changed", &["changed"]),
        ("rm kept/a; ln -s b kept/a", &["kept/a"]),
        ("rm link; mkfifo link", &["link"]),
        ("ln -sfn x link", &["link"]),
        ("rm -r deleted", &["deleted/a", "deleted/deep/er"]),
        // A directory is made again, with what archives have brought into it.
        ("chmod 711 deleted/deep", &["deleted/deep/er"]),
    ];
    if rustix::process::geteuid().is_root() {
        cases.push(("chown 65534 kept/a", &["kept/a"]));
    } else {
        skip("only root can give a file away: a file of somebody else is not tried");
    }
    let archive = Archive::of_tree(FROM, &base());
    let fresh = laid_down(FROM, &base());
    let listing = |target: &Target| {
        let script = "cd dir && find . ! -name '.git*' -printf '%p %M %U %l\\n' | sort";
        target.repo.shell(script).success()
    };
    for (script, expected) in cases {
        let directory = laid_down(FROM, &base());
        directory.script(script);
        assert_eq!(directory.written(&archive), expected, "{script}");
        directory.assert_holds_soundly(FROM, &base());
        assert!(listing(&directory) == listing(&fresh), "{script}");
        directory.script(script);
        let _ = directory.apply_with(&["--repair"], &archive);
        directory.assert_sound();
    }
}

/// A large file is compared piece by piece, and written from the first one that differs.
#[test]
fn large_files_that_differ_somewhere() {
    let old = noise(1, 1 << 20);
    let last = old.len() - 1;
    for at in [0, 131_072, last] {
        let mut new = old.clone();
        new[at] ^= 1;
        let of = |content: &[u8]| tree([("large", Node::File(false, content.to_vec()))]);
        let directory = laid_down(FROM, &of(&old));
        fs::hard_link(
            directory.directory().join("large"),
            directory.repo.path().join("linked"),
        )
        .expect("our own");
        let written = directory.written(&Archive::of_tree(TO, &of(&new)));
        assert_eq!(written, ["large"], "{at}");
        let linked = fs::read(directory.repo.path().join("linked")).expect("our own");
        assert!(linked == old);
        fs::remove_file(directory.repo.path().join("linked")).expect("our own");
        directory.assert_holds_soundly(TO, &of(&new));
        let longer = [&new[..], b"x"].concat();
        for content in [&longer[..], &new[..last]] {
            let archive = Archive::of_tree(FROM, &of(content));
            assert_eq!(directory.written(&archive), ["large"]);
            directory.assert_holds_soundly(FROM, &of(content));
        }
    }
}

/// A name in other case could be the same file. Where it is, everything is deleted first.
#[test]
fn names_that_differ_in_case_only() {
    let trees = ["README", "Readme"].map(|name| tree([(name, file("same\n")), ("a", file("a\n"))]));
    let directory = laid_down(FROM, &trees[0]);
    let archive = Archive::of_tree(TO, &trees[1]);
    assert_eq!(directory.written(&archive), ["Readme"]);
    directory.assert_holds_soundly(TO, &trees[1]);
    let directory = laid_down(FROM, &trees[0]);
    // As if the list were found under another name.
    directory.script("touch .GIT-SLUICE.FILES.NEXT");
    assert_eq!(directory.written(&archive), ["Readme", "a"]);
    directory.script("rm .GIT-SLUICE.FILES.NEXT");
    directory.assert_holds_soundly(TO, &trees[1]);
}

/// The later content counts, whichever was there.
#[test]
fn a_path_that_comes_twice_again() {
    let large = "large\n".repeat(100_000);
    for contents in [["one\n", "two\n"], [&large, "two\n"], ["one\n", &large]] {
        let archive = Archive::full(FROM).file("a", contents[0]).symlink("b", "x");
        let archive = archive.file("a", contents[1]).file("b", "b\n").end();
        let directory = Target::empty();
        for _ in 0..2 {
            let _ = directory.apply(&archive).success();
            let holds = [("a", file(contents[1])), ("b", file("b\n"))];
            directory.assert_holds_soundly(FROM, &tree(holds));
        }
    }
    // A directory of old takes no file and a file no directory, if the archive has both.
    let directory = laid_down(FROM, &tree([("a/old", file("x")), ("b", file("x"))]));
    let archive = Archive::full(FROM).file("a/new", "x").file("a", "x").end();
    let output = directory.apply(&archive);
    output.assert_refused(128, &["cannot create 'a'"]);
    let archive = Archive::of_tree(FROM, &tree([("a", file("x"))]));
    directory.assert_brings(&archive, FROM, &tree([("a", file("x"))]));
}

/// Archives of other programs may lack entries for directories.
#[test]
fn directories_without_an_entry() {
    let directory = Target::empty();
    let archive = Archive::full(FROM).file("a/b/c", "x").file("d", "x").end();
    let _ = directory.apply(&archive).success();
    assert_eq!(directory.written(&archive), [""; 0]);
    let archive = Archive::full(TO).file("a/b", "x").file("d/e", "x").end();
    assert_eq!(directory.written(&archive), ["a/b", "d/e"]);
    directory.assert_holds_soundly(TO, &tree([("a/b", file("x")), ("d/e", file("x"))]));
}

/// Permissions follow the umask of the last run.
#[test]
fn another_umask() {
    let directory = laid_down(FROM, &base());
    let archive = directory.repo.path().join("archive");
    fs::write(&archive, Archive::of_tree(FROM, &base())).expect("our own");
    for umask in ["077", "022", "002"] {
        let script = format!(
            "umask {umask}; git-sluice apply dir archive; git-sluice apply fresh archive
             for i in dir fresh; do (cd $i && find . ! -name '.git*' ! -name . -printf '%p %M\\n' | sort) >$i.list; done
             cmp dir.list fresh.list; result=$?; rm -r fresh dir.list fresh.list; exit $result"
        );
        directory.repo.script(&script);
    }
    fs::remove_file(&archive).expect("our own");
    directory.assert_holds_soundly(FROM, &base());
}

/// Ends `apply` at the first call of this name, after which the directory is neither old nor new.
#[track_caller]
fn kill_at(directory: &Target, call: &str, archive: &[u8]) -> bool {
    let mut command = directory.repo.command("strace");
    let (trace, kill) = (
        format!("-etrace={call}"),
        format!("-einject={call}:signal=KILL:when=1"),
    );
    command.args(["-f", "-qqq", "-o", "/dev/null", &trace, &kill]);
    let words = [crate::support::binary(), "apply", "dir"];
    run_with_input(command.args(words), archive).code() == 137
}

/// Between the last file and the end, what was deleted is nobody's any more, and what is not deleted yet is ours.
#[test]
fn killed_before_and_after_the_deletions() {
    let target = tree([("changed", file("new\n")), ("deleted", file("new\n"))]);
    let archive = Archive::of_tree(TO, &target);
    let directory = laid_down(FROM, &base());
    if !installed("strace") || !kill_at(&directory, "syncfs", &archive) {
        return skip("strace may not trace here");
    }
    assert_eq!(directory.state(), super::applying("-", TO));
    // These were deleted, one of them for a file.
    directory.script("mkdir kept && echo mine >kept/a");
    directory.script("rm deleted && mkdir deleted && echo mine >deleted/a");
    let refused = directory.apply(&Archive::of_tree(FROM, &base()));
    refused.assert_refused(
        128,
        &[
            "'deleted/a', which is in the way",
            "'kept/a', which is in the way",
        ],
    );
    directory.script("rm -r deleted");
    let _ = directory.apply(&archive).success();
    let mut holds = target.clone();
    holds.extend(tree([("kept/a", file("mine\n"))]));
    directory.assert_holds_soundly(TO, &holds);
    // An archive that breaks off has deleted nothing.
    let directory = laid_down(FROM, &base());
    let cut = directory.apply(&archive[..archive.len() - 2048]);
    cut.assert_refused(11, &["the archive is incomplete"]);
    assert!(directory.directory().join("kept/a").exists());
    directory.assert_brings_soundly(&archive, TO, &target);
}

/// A directory that an interrupted run has replaced by a file, or not yet, does not count as the user's.
#[test]
fn a_third_archive_over_an_interrupted_one() {
    let old = tree([("a/b/c", file("x")), ("d", file("x"))]);
    let many = |first: Tree| -> Tree {
        let rest = (0..300).map(|number| (format!("z{number:03}").into_bytes(), file("ours\n")));
        rest.chain(first).collect()
    };
    let next = many(tree([("a/b", file("x")), ("d/e", file("x"))]));
    let archive = Archive::of_tree(TO, &next);
    for len in (0..archive.len())
        .step_by(512 * 150)
        .chain([3072, 4096, 5120])
    {
        let directory = laid_down(FROM, &old);
        assert_eq!(directory.apply(&archive[..len]).code(), cut_status(len));
        let last = tree([("a", file("x")), ("d", link("x"))]);
        directory.assert_brings_soundly(&Archive::of_tree(FROM, &last), FROM, &last);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    /// What both trees have stays, all else is as the later one has it.
    #[test]
    fn any_tree_follows_any_other(trees in proptest::array::uniform2(any_tree())) {
        let [base, target] = &trees;
        let directory = laid_down(FROM, base);
        let written = directory.written(&Archive::of_tree(TO, target));
        directory.assert_holds_soundly(TO, target);
        let (base, target) = (with_directories(base), with_directories(target));
        let is_new = |(path, node): &(&Vec<u8>, &Node)| {
            **node != Node::Directory && base.get(*path) != Some(*node)
        };
        let expected = target.iter().filter(is_new);
        let expected: Vec<_> = expected.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
        prop_assert_eq!(written, expected);
    }
}
