//! Files of the user, which no archive wrote: they stay as they are, and what would overwrite or delete one is refused before
//! the first change.

use std::fs;

use super::archive::{Archive, Tree, delta, delta_with, file, found, id, link, tree};
use super::{FILTERS, FROM, TO, Target, laid_down};
use crate::support::noise;
use crate::support::process::Output;

fn base() -> Tree {
    tree([
        ("changed", file("old\n")),
        ("deleted/a", file("old\n")),
        ("down/to/file", file("old\n")),
        ("kept", file("kept\n")),
        ("up", file("old\n")),
    ])
}

fn target() -> Tree {
    tree([
        ("changed", file("new\n")),
        ("dir/file", file("new\n")),
        ("dir/link", link("file")),
        ("down", file("new\n")),
        ("kept", file("kept\n")),
        ("new", file("new\n")),
        ("up/to", file("new\n")),
    ])
}

/// What the user does in the directory, and which paths are then in the way.
const IN_THE_WAY: [(&str, &[&str]); 15] = [
    ("echo mine >new", &["new"]),
    ("printf 'new\\n' >new", &["new"]),
    ("ln -s kept new", &["new"]),
    ("ln -s nowhere new", &["new"]),
    ("mkfifo new", &["new"]),
    (
        "mkdir -p new/deep && echo mine >new/deep/er",
        &["new/deep/", "new/deep/er"],
    ),
    ("echo mine >dir", &["dir"]),
    ("ln -s . dir", &["dir"]),
    (
        "mkdir dir && echo mine >dir/file && echo mine >dir/other",
        &["dir/file"],
    ),
    (
        "mkdir dir && mkdir dir/link && echo mine >dir/link/x",
        &["dir/link/x"],
    ),
    ("echo mine >down/to/mine", &["down/to/mine"]),
    ("mkdir -p down/mine", &["down/mine/"]),
    (
        "rm changed && mkdir changed && echo mine >changed/mine",
        &["changed/mine"],
    ),
    ("rm up && mkdir up && echo mine >up/to", &["up/to"]),
    (
        "echo 1 >new; mkdir dir; echo 2 >dir/file; echo 3 >down/x",
        &["dir/file", "down/x", "new"],
    ),
];

impl Target {
    /// These `paths` are named, and nothing was changed.
    #[track_caller]
    fn assert_in_the_way(&self, options: &[&str], archive: &[u8], paths: &[&str]) {
        let listing = || self.repo.shell("ls -lR dir; cat dir/.git*").success();
        let before = listing();
        let output = self.apply_with(&[options, &["-"]].concat(), archive);
        let line = |path: &&str| format!("error: no archive wrote '{path}', which is in the way\n");
        let lines: String = paths.iter().map(line).collect();
        let count = paths.len();
        let them = if count == 1 { "it" } else { "them" };
        output.assert_failure(
            128,
            &format!(
                "{lines}fatal: cannot apply: the archive would overwrite or delete {count} of your files\n\
                 hint: move {them} elsewhere, or run again with --overwrite to replace {them}\n"
            ),
        );
        assert!(listing() == before, "{output}");
        self.assert_nothing_outside();
    }

    #[track_caller]
    fn overwrite(&self, archive: &[u8]) -> Output {
        self.apply_with(&["--overwrite", "-"], archive)
    }

    /// With the option, the directory becomes the target, but for a file of the user that is in nobody's way.
    #[track_caller]
    fn assert_overwritten(&self, archive: &[u8]) {
        let _ = self.overwrite(archive).success();
        let mut there = found(&self.directory());
        there.remove(&b"dir/other"[..]);
        assert!(there == super::with_directories(&target()), "{there:?}");
        assert_eq!(self.state_of_commits(), format!("holds {TO}\n"));
    }
}

/// All archives that lead to the target: deltas of today and of the first versions, and a full one.
fn archives() -> [Vec<u8>; 4] {
    let (base, target) = (base(), target());
    [
        delta_with(FILTERS, [FROM, TO], [&base, &target]),
        delta_with("none", [FROM, TO], [&base, &target]),
        delta([FROM, TO], [&base, &target]),
        Archive::of_tree(TO, &target),
    ]
}

#[test]
#[ignore = "slow"]
fn files_in_the_way() {
    for archive in archives() {
        for (script, paths) in IN_THE_WAY {
            let directory = laid_down(FROM, &base());
            directory.script(script);
            for options in [&[][..], &["-j1"]] {
                directory.assert_in_the_way(options, &archive, paths);
            }
            directory.assert_overwritten(&archive);
            directory.assert_sound();
        }
    }
}

/// `--verify` finds nothing that differs, and `--repair` replaces what archives wrote.
#[test]
fn files_in_the_way_of_a_comparison() {
    for archive in archives() {
        for option in ["--verify", "--repair"] {
            let directory = laid_down(FROM, &base());
            directory.script("echo mine >new");
            directory.assert_in_the_way(&[option], &archive, &["new"]);
        }
    }
}

/// Once it is elsewhere, the same command succeeds.
#[test]
fn a_file_that_is_moved_away() {
    for archive in archives() {
        let directory = laid_down(FROM, &base());
        directory.script("echo mine >new");
        directory.assert_in_the_way(&[], &archive, &["new"]);
        directory.script("mv new mine");
        let _ = directory.apply(&archive).success();
        let mut all = target();
        all.extend(tree([("mine", file("mine\n"))]));
        directory.assert_holds(TO, &all);
    }
}

#[test]
fn files_that_are_not_in_the_way() {
    for archive in archives() {
        let directory = laid_down(FROM, &base());
        // Directories of the user may be ours as well, and an empty one gives way to a file.
        directory.script(
            "mkdir -p new dir/mine deleted/mine .git && echo mine >dir/x && echo mine >deleted/x",
        );
        let _ = directory.apply(&archive).success();
        let there = found(&directory.directory());
        for path in ["dir/x", "deleted/x"] {
            assert_eq!(there.get(path.as_bytes()), Some(&file("mine\n")));
        }
        assert_eq!(there.get(&b"new"[..]), Some(&file("new\n")));
        assert_eq!(directory.state_of_commits(), format!("holds {TO}\n"));
        directory.assert_sound();
    }
}

/// What an archive wrote is overwritten, whatever it looks like by now.
#[test]
fn files_of_ours_that_were_changed() {
    for archive in archives() {
        let directory = laid_down(FROM, &base());
        directory.script("echo mine >changed && echo mine >deleted/a && rm up && ln -s kept up");
        directory.assert_brings(&archive, TO, &target());
    }
}

/// A directory that was cloned holds the files of its commit, as its user has written: a delta says which paths are new.
#[test]
fn a_directory_without_a_list() {
    let archive = delta_with(FILTERS, [FROM, TO], [&base(), &target()]);
    for (script, paths) in IN_THE_WAY {
        let directory = Target::holding(FROM, &base());
        directory.script(script);
        directory.assert_in_the_way(&[], &archive, paths);
        directory.assert_overwritten(&archive);
    }
    let directory = Target::holding(FROM, &base());
    directory.script("echo mine >changed; echo mine >mine; mkdir new");
    let _ = directory.apply(&archive).success();
    let mut all = target();
    all.extend(tree([("mine", file("mine\n"))]));
    directory.assert_holds(TO, &all);
}

/// The first run has checked all, and no list tells its files from the user's.
#[test]
fn an_interrupted_run_without_a_list() {
    let archive = delta_with(FILTERS, [FROM, TO], [&base(), &target()]);
    let directory = Target::holding(FROM, &base());
    directory.script("echo new >new && mkdir dir && touch dir/file && rm -r deleted");
    directory.set_state(&super::applying(FROM, TO));
    directory.assert_brings(&archive, TO, &target());
}

/// The list of an interrupted run tells its files from those that the user makes afterwards.
#[test]
fn a_file_that_is_made_after_an_interruption() {
    for archive in archives() {
        let directory = laid_down(FROM, &base());
        directory.set_state(&super::applying(FROM, TO));
        directory.script("echo mine >new");
        directory.assert_in_the_way(&[], &archive, &["new"]);
    }
    // A full archive that is cut after a large file.
    let many = (0..300).map(|number| (format!("a{number:03}").into_bytes(), file("ours\n")));
    let whole: Tree = many.chain(target()).collect();
    let archive = Archive::of_tree(TO, &whole);
    let directory = laid_down(FROM, &base());
    assert_eq!(directory.apply(&archive[..archive.len() / 2]).code(), 11);
    assert!(directory.directory().join("a000").exists());
    directory.script("echo mine >new");
    directory.assert_in_the_way(&[], &archive, &["new"]);
    directory.script("rm new");
    directory.assert_brings_soundly(&archive, TO, &whole);
}

/// A directory of ours that the user replaces afterwards is the user's, whichever archive follows.
#[test]
fn something_else_in_the_place_of_a_directory_after_an_interruption() {
    let many = (0..300).map(|number| (format!("z{number:03}").into_bytes(), file("ours\n")));
    let next: Tree = many.chain(base()).collect();
    let archive = Archive::of_tree(TO, &next);
    let other = id('c');
    let last = tree([("down", file("last\n"))]);
    let last_archive = Archive::of_tree(&other, &last);
    for mine in ["echo mine >down", "ln -s kept down"] {
        let directory = laid_down(FROM, &base());
        assert_eq!(directory.apply(&archive[..archive.len() / 2]).code(), 11);
        directory.script(&format!("rm -r down && {mine}"));
        directory.assert_in_the_way(&[], &archive, &["down"]);
        directory.assert_in_the_way(&[], &last_archive, &["down"]);
        let _ = directory.overwrite(&archive).success();
        directory.assert_holds_soundly(TO, &next);
        directory.assert_brings_soundly(&last_archive, &other, &last);
    }
}

/// What an interrupted full archive has deleted is nobody's: a file that is there afterwards is the user's.
#[test]
fn a_file_in_the_place_of_one_that_was_deleted() {
    let archive = Archive::of_tree(TO, &target());
    let directory = laid_down(FROM, &base());
    // The second run deletes what the first one may have left.
    for _ in 0..2 {
        let cut = directory.apply(&archive[..archive.len() - 4096]);
        assert_eq!(cut.code(), 11);
    }
    directory.script("mkdir deleted && echo mine >deleted/a");
    let old = Archive::of_tree(FROM, &base());
    directory.assert_in_the_way(&[], &old, &["deleted/a"]);
    let _ = directory.apply(&archive).success();
    let mine = fs::read(directory.directory().join("deleted/a")).expect("it stays");
    assert_eq!(mine, b"mine\n");
}

/// A directory in the place of a file of ours is the user's, and so is a file in the place of a directory.
#[test]
fn something_else_in_the_place_of_ours() {
    let archive = Archive::of_tree(TO, &target());
    for (script, paths) in [
        (
            "rm down/to/file && mkdir down/to/file",
            &["down/to/file/"][..],
        ),
        (
            "rm down/to/file && mkdir down/to/file && echo mine >down/to/file/mine",
            &["down/to/file/", "down/to/file/mine"],
        ),
        ("rm -r down && echo mine >down", &["down"]),
        ("rm -r down && ln -s kept down", &["down"]),
    ] {
        let directory = laid_down(FROM, &base());
        directory.script(script);
        directory.assert_in_the_way(&[], &archive, paths);
        let _ = directory.overwrite(&archive).success();
        directory.assert_holds_soundly(TO, &target());
    }
    let directory = laid_down(FROM, &base());
    directory.script("rm -r deleted && echo mine >deleted");
    let _ = directory.apply(&archive).success();
    let mine = fs::read(directory.directory().join("deleted")).expect("it stays");
    assert_eq!(mine, b"mine\n");
}

/// A name that is too long for a file system is noticed before the first change, and the next archive meets nothing of it.
#[test]
fn a_name_that_the_system_refuses() {
    let named = tree([("changed", file("new\n")), (&"n".repeat(256), file("1\n"))]);
    let words = "has a name of more than 255 bytes";
    let directory = laid_down(FROM, &base());
    let refused = directory.apply(&delta_with(FILTERS, [FROM, TO], [&base(), &named]));
    directory.assert_not_applied(&refused, words, &format!("holds {FROM}\n"));
    directory.assert_holds_soundly(FROM, &base());
    let directory = Target::empty();
    let refused = directory.apply(&Archive::of_tree(FROM, &named));
    directory.assert_not_applied(&refused, words, &super::applying("-", FROM));
    directory.script("echo mine >mine");
    let _ = directory.apply(&Archive::of_tree(TO, &target())).success();
}

/// A full archive that is read twice, because the directory has files of the user: it has the same bytes the second time, is
/// checked to its end, and may be large.
#[test]
fn a_large_full_archive() {
    let mut large = target();
    large.insert(
        b"large".to_vec(),
        super::Node::File(false, noise(1, 3 << 20)),
    );
    let plain = Archive::of_tree(TO, &large);
    let zstd = zstd::encode_all(&plain[..], 1).expect("memory takes it");
    for archive in [plain, zstd] {
        let directory = laid_down(FROM, &base());
        directory.script("echo mine >mine");
        let cut = directory.apply(&archive[..archive.len() - 2048]);
        cut.assert_refused(11, &["the archive is incomplete"]);
        let mut all = base();
        all.extend(tree([("mine", file("mine\n"))]));
        directory.assert_holds(FROM, &all);
        let _ = directory.apply(&archive).success();
        let mut all = large.clone();
        all.extend(tree([("mine", file("mine\n"))]));
        directory.assert_holds_soundly(TO, &all);
    }
}

/// The base may have left a path out because of its content: what is there now is the user's.
#[test]
fn a_deletion_of_a_file_of_the_user() {
    let archive = Archive::delta_with(FILTERS, [FROM, TO])
        .delete(["binary", "absent"])
        .list("add", ["binary", "absent"])
        .end();
    let directory = laid_down(FROM, &base());
    directory.script("echo mine >binary");
    directory.assert_in_the_way(&[], &archive, &["binary"]);
    let _ = directory.overwrite(&archive).success();
    directory.assert_holds(TO, &base());
}

/// Names that could be taken for something else in a message, and very many.
#[test]
fn names_of_all_kinds() {
    let names = ["-x", "a b", "a\nb", "\u{1b}[31m", "\u{e4}"];
    let target: Tree = tree(names.map(|name| (name, file("new\n"))));
    let archive = delta_with(FILTERS, [FROM, TO], [&Tree::new(), &target]);
    let directory = laid_down(FROM, &Tree::new());
    for name in names {
        fs::write(directory.directory().join(name), "mine\n").expect("our own");
    }
    let shown = ["?[31m", "-x", "a?b", "a b", "\u{e4}"];
    directory.assert_in_the_way(&[], &archive, &shown);
    let many: Vec<_> = (0..2000)
        .map(|number| format!("many/{number:04}"))
        .collect();
    let target: Tree = tree(many.iter().map(|name| (&**name, file("new\n"))));
    let archive = delta_with(FILTERS, [FROM, TO], [&Tree::new(), &target]);
    let directory = laid_down(FROM, &Tree::new());
    directory.script(
        "mkdir many && cd many && touch $(seq -w 0 1999 | sed 's/.*/0&/;s/.*\\(....\\)$/\\1/')",
    );
    let names: Vec<_> = many.iter().map(|name| &**name).collect();
    directory.assert_in_the_way(&[], &archive, &names);
}

/// A full archive goes into a directory of unknown origin under no condition.
#[test]
fn overwriting_is_no_permission_for_a_directory_of_unknown_origin() {
    let directory = Target::holding(FROM, &base());
    let output = directory.overwrite(&Archive::of_tree(TO, &target()));
    let refused = "the archive is a full one, and the directory is not empty";
    directory.assert_not_applied(&output, refused, &format!("holds {FROM}\n"));
    let output = directory.overwrite(&delta([&id('c'), TO], [&base(), &target()]));
    directory.assert_not_applied(&output, "the archive needs", &format!("holds {FROM}\n"));
}
