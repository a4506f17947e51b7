//! `verify`, `apply` with `--verify` or `--repair`, and full archives in place of what archives have brought before.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;

use super::archive::{Archive, Tree, delta, executable, file, found, id, link, tree};
use super::deltas::any_tree;
use super::interrupted::small;
use super::{FROM, NOBODY, TO, Target, applying, cut_status, laid_down};
use crate::support::process::Output;
use crate::support::{cases, skip};

/// Of each kind one, and one that comes in several pieces.
fn base() -> Tree {
    tree([
        ("bin/run", executable("#!/bin/sh\n")),
        ("doc/a", file("same size\n")),
        ("doc/b", file("b\n")),
        ("doc/deep/er", file("")),
        ("empty", super::Node::Directory),
        ("large", file(&"large\n".repeat(200_000))),
        ("link", link("doc/a")),
    ])
}

impl Target {
    #[track_caller]
    fn verify(&self) -> Output {
        let mut command = self.repo.command(crate::support::binary());
        crate::support::process::run(command.args(["verify", "dir"]))
    }

    #[track_caller]
    pub(super) fn assert_sound(&self) {
        let output = self.verify();
        assert_eq!((output.code(), output.messages()), (0, String::new()));
        assert_eq!(output.stdout, b"", "{output}");
    }

    /// Runs `script` in the directory, which then differs in these `lines`; in none if they are empty.
    #[track_caller]
    fn assert_differs_after(&self, script: &str, lines: &str) {
        self.script(script);
        match lines {
            "" => self.assert_sound(),
            lines => self.assert_differs(lines),
        }
    }

    #[track_caller]
    fn assert_differs(&self, lines: &str) {
        let output = self.verify();
        assert_eq!(String::from_utf8_lossy(&output.stdout), lines, "{output}");
        assert_eq!(output.code(), 1, "{output}");
    }
}

#[test]
fn a_directory_as_archives_have_brought_it() {
    let directory = laid_down(FROM, &base());
    directory.assert_sound();
    let (old, new) = small();
    let _ = directory.apply(&Archive::of_tree(FROM, &old)).success();
    directory.assert_sound();
    let directory = laid_down(FROM, &old);
    let archive = delta([FROM, TO], [&old, &new]);
    let _ = directory.apply_with(&["--verify", "-"], &archive).success();
    directory.assert_holds_soundly(TO, &new);
}

/// What somebody does, and what is said of it.
#[test]
fn each_difference_is_told() {
    for (script, lines) in [
        ("printf 'Same size\\n' > doc/a", "content doc/a\n"),
        ("echo more >> doc/a", "content doc/a\n"),
        ("echo more >> large", "content large\n"),
        ("echo > doc/deep/er", "content doc/deep/er\n"),
        ("rm doc/b large", "missing doc/b\nmissing large\n"),
        ("rm -r doc/deep", "missing doc/deep\nmissing doc/deep/er\n"),
        ("chmod -x bin/run", "permissions bin/run\n"),
        ("chmod +x doc/a", "permissions doc/a\n"),
        ("chmod o+w doc/a", "permissions doc/a\n"),
        ("chmod u+s bin/run", "permissions bin/run\n"),
        ("ln -sf doc/b link", "content link\n"),
        ("ln -sf b doc/a", "kind doc/a\n"),
        ("rm link; echo doc/a > link", "kind link\n"),
        ("rmdir empty; mkfifo empty", "kind empty\n"),
        ("rm doc/b; mkfifo doc/b", "kind doc/b\n"),
        (
            "mv doc d; ln -s d doc",
            "kind doc\nmissing doc/a\nmissing doc/b\nmissing doc/deep\nmissing doc/deep/er\n",
        ),
        ("chmod -R go-w . ; echo mine > new", ""),
    ] {
        let directory = laid_down(FROM, &base());
        directory.assert_differs_after(script, lines);
    }
}

#[test]
fn nothing_goes_over_a_directory_that_differs() {
    let target = tree([("doc/b", file("new\n"))]);
    let archive = delta([FROM, TO], [&base(), &target]);
    let holds = format!("holds {FROM}\n");
    let directory = laid_down(FROM, &base());
    directory.repo.write("dir/doc/a", "changed\n");
    let before = found(&directory.directory());
    for option in ["--verify", "--repair"] {
        let output = directory.apply_with(&[option, "-"], &archive);
        assert_eq!(
            (output.code(), &output.stdout[..]),
            (1, &b"content doc/a\n"[..])
        );
        let message = format!(
            "fatal: 1 path differs from commit {FROM}\n\
             hint: to restore it: git sluice apply --repair dir <full archive>\n"
        );
        assert_eq!(output.messages(), message);
        assert_eq!(
            (directory.state(), found(&directory.directory())),
            (holds.clone(), before.clone())
        );
    }
    // The full archive of what the directory says that it holds already.
    let full = Archive::of_tree(FROM, &base());
    assert_eq!(directory.apply_with(&["--verify", "-"], &full).code(), 1);
    let output = directory.apply_with(&["--repair"], &full);
    assert_eq!(
        (output.code(), &output.stdout[..]),
        (0, &b"content doc/a\n"[..])
    );
    directory.assert_holds_soundly(FROM, &base());
    let _ = directory.apply_with(&["--repair"], &archive).success();
    directory.assert_holds(TO, &target);
}

/// A full archive takes the place of what archives have brought, and of nothing else.
#[test]
fn a_full_archive_over_another_tree() {
    let (old, new) = small();
    let directory = laid_down(FROM, &old);
    directory.repo.write("dir/deleted/mine", "mine\n");
    directory.repo.write("dir/mine", "mine\n");
    let with_mine = |tree: &Tree| {
        let mine = [("deleted/mine", file("mine\n")), ("mine", file("mine\n"))];
        tree.clone().into_iter().chain(self::tree(mine)).collect()
    };
    for (commit, tree) in [(TO, &new), (FROM, &old)] {
        directory.assert_brings_soundly(&Archive::of_tree(commit, tree), commit, &with_mine(tree));
    }
}

/// The list does not say which files of a mixture are those of the base.
#[test]
fn a_delta_that_was_cut_short_is_not_compared() {
    let (old, new) = small();
    let archive = delta([FROM, TO], [&old, &new]);
    let directory = laid_down(FROM, &old);
    directory.set_state(&applying(FROM, TO));
    for option in ["--verify", "--repair"] {
        let output = directory.apply_with(&[option, "-"], &archive);
        let refused = format!("cannot verify: an update to {TO} was interrupted");
        directory.assert_not_applied(&output, &refused, &applying(FROM, TO));
        // A full archive takes the place of everything.
        let full = Archive::of_tree(TO, &new);
        let _ = directory.apply_with(&[option, "-"], &full).success();
        directory.assert_holds(TO, &new);
        directory.set_state(&applying(FROM, TO));
    }
    directory.assert_brings(&archive, TO, &new);
}

/// The output of a build stays where a delta deletes the directory, and the delta is complete.
#[test]
fn files_of_others_keep_a_directory() {
    let old = tree([
        ("gone/a", file("a")),
        ("gone/deep/b", file("b")),
        ("kept", file("x")),
    ]);
    let new = tree([("kept", file("x"))]);
    let directory = laid_down(FROM, &old);
    directory.repo.write("dir/gone/deep/built", "mine\n");
    let _ = directory.apply(&delta([FROM, TO], [&old, &new])).success();
    let with_mine = tree([("gone/deep/built", file("mine\n")), ("kept", file("x"))]);
    directory.assert_holds_soundly(TO, &with_mine);
}

/// Other filters give the same commit other files. An archive does not say which filters made it.
#[test]
fn another_archive_of_the_same_commit() {
    let few = tree([("a", file("a")), ("d/b", file("b"))]);
    let all = tree([("a", file("a")), ("c", file("c"))]);
    let directory = laid_down(FROM, &few);
    directory.assert_brings_soundly(&Archive::of_tree(FROM, &all), FROM, &all);
    // Nothing differs from what archives have brought.
    let archive = Archive::of_tree(FROM, &few);
    let _ = directory.apply_with(&["--repair", "-"], &archive).success();
    directory.assert_holds(FROM, &all);
}

/// Directories that were there before, with files of others in them, get the permissions of the archive.
#[test]
fn permissions_of_directories() {
    let archive = Archive::of_tree(FROM, &base());
    let directory = laid_down(FROM, &base());
    let open = "chmod 0777 dir/doc && chmod 0500 dir/bin && touch dir/doc/mine dir/bin/mine";
    directory.repo.script(open);
    directory.assert_differs("permissions bin\npermissions doc\n");
    let _ = directory.apply_with(&["--repair", "-"], &archive).success();
    directory.assert_sound();
}

/// Whoever owns a directory may write to it again.
#[test]
fn a_directory_that_its_owner_may_not_write_to() {
    let directory = laid_down(FROM, &base());
    let mut next = base();
    next.insert(b"bin/run".to_vec(), executable("#!/bin/bash\n"));
    let repo = &directory.repo;
    repo.write("full", Archive::of_tree(FROM, &base()));
    repo.write("delta", delta([FROM, TO], [&base(), &next]));
    let script = "chmod 0555 dir/bin && git-sluice apply --repair dir full && git-sluice verify dir && \
                  chmod 0555 dir/bin && git-sluice apply dir delta && git-sluice verify dir";
    if let Some(output) = repo.unprivileged_shell(script) {
        let _ = output.success();
    }
}

/// A copy of the directory by hard links has a list of its own from the first change on.
#[test]
fn hard_links_to_the_list() {
    let (old, new) = small();
    let directory = laid_down(FROM, &old);
    directory.repo.script("mv dir first && cp -al first dir");
    let archive = delta([FROM, TO], [&old, &new]);
    assert_eq!(directory.apply(&archive).code(), 0);
    directory.assert_sound();
    directory.repo.script("rm -r dir && mv first dir");
    directory.assert_holds_soundly(FROM, &old);
}

/// With a last file that [`Target::interrupt`] does not write wholly.
fn too_large(tree: &Tree) -> Tree {
    let large = [("zz", file(&"x".repeat(100_000)))];
    tree.clone().into_iter().chain(self::tree(large)).collect()
}

impl Target {
    /// Applies `archive` as somebody whose files may have 32 KiB.
    #[track_caller]
    fn interrupt(&self, archive: &[u8]) {
        self.repo.write("archive", archive);
        let script = "ulimit -f 64; git-sluice apply dir archive";
        assert_ne!(self.repo.shell(script).code(), 0);
        fs::remove_file(self.repo.path().join("archive")).expect("our own");
    }
}

/// Whoever may not enter a directory cannot see what is in it. Its owner can get it back.
#[test]
fn directories_that_their_owner_cannot_enter() {
    if NOBODY.is_empty() && rustix::process::geteuid().is_root() {
        return skip("root may enter every directory, and there is nobody else to be");
    }
    let archive = Archive::of_tree(FROM, &base());
    for mode in ["000", "200", "400", "600"] {
        let directory = Target::empty();
        let _ = directory.apply_without_rights(&archive).success();
        directory.script(&format!("chmod {mode} doc/deep empty doc"));
        let output = directory.run_without_rights(&["verify", "dir"], b"");
        let lines = "permissions doc\nmissing doc/a\nmissing doc/b\nmissing doc/deep\nmissing doc/deep/er\n\
            permissions empty\n";
        assert_eq!(
            (output.code(), &output.stdout[..]),
            (1, lines.as_bytes()),
            "{mode} {output}"
        );
        let output = directory.run_without_rights(&["apply", "--repair", "dir", "-"], &archive);
        let _ = output.success();
        let output = directory.run_without_rights(&["verify", "dir"], b"");
        let _ = output.success();
    }
}

/// However an application ends, another full archive can follow.
#[test]
fn a_full_archive_over_an_application_that_was_cut_short() {
    let other = id('c');
    let (old, new) = small();
    let full = Archive::of_tree(TO, &new);
    let delta = delta([FROM, TO], [&old, &too_large(&new)]);
    for len in (0..full.len()).step_by(512) {
        let directory = Target::empty();
        let output = directory.apply(&full[..len]);
        assert_eq!(output.code(), cut_status(len), "{output}");
        directory.assert_brings_soundly(&Archive::of_tree(&other, &base()), &other, &base());
        let directory = laid_down(FROM, &old);
        assert_eq!(directory.apply(&full[..len]).code(), cut_status(len));
        directory.assert_brings(&Archive::of_tree(&other, &base()), &other, &base());
    }
    // A delta changes nothing before it is read wholly, so a file that is too large has to end it.
    let directory = laid_down(FROM, &old);
    directory.interrupt(&delta);
    assert_eq!(directory.state(), applying(FROM, TO));
    directory.assert_brings_soundly(&Archive::of_tree(&other, &base()), &other, &base());
}

/// What the first of two interrupted applications has brought is not forgotten by the second.
#[test]
fn a_full_archive_over_two_applications_that_were_cut_short() {
    let old = tree([("deleted", file("x")), ("z", file("old\n"))]);
    let new = tree([("new", file("new\n")), ("z", file("new\n"))]);
    let archive = delta([FROM, TO], [&old, &too_large(&new)]);
    let directory = laid_down(FROM, &old);
    for _ in 0..2 {
        directory.interrupt(&archive);
        assert_eq!(directory.state(), applying(FROM, TO));
        assert!(directory.directory().join("new").exists());
    }
    directory.assert_brings_soundly(&Archive::of_tree(FROM, &old), FROM, &old);
}

/// Who writes the state by hand may leave the list of another tree.
#[test]
fn a_list_of_another_tree() {
    let (old, new) = (base(), tree([("new", file("new\n"))]));
    let directory = laid_down(&id('c'), &tree([("other", file("x"))]));
    super::archive::build(&old, &directory.directory());
    directory.set_state(&format!("holds {FROM}\n"));
    directory
        .repo
        .script("cd dir && rm doc/a && mkdir doc/a && touch doc/a/x");
    let output = directory.apply(&delta([FROM, TO], [&old, &new]));
    assert_eq!(
        (output.code(), directory.state()),
        (128, applying(FROM, TO)),
        "{output}"
    );
    let output = directory.apply(&Archive::of_tree(FROM, &old));
    let refused = "the archive is a full one, and the directory is not empty";
    directory.assert_not_applied(&output, refused, &applying(FROM, TO));
}

/// The state and the list are believed only where nobody else can have written them.
#[test]
fn own_files_of_doubtful_origin() {
    let archive = delta([FROM, TO], [&base(), &Tree::new()]);
    let mut cases = vec![
        ("rm $f && mkdir $f", "it is no regular file"),
        ("rm $f && mkfifo $f", "it is no regular file"),
        ("ln -sf ../outside/file $f", "it is a symbolic link"),
        ("ln -sf nowhere $f", "it is a symbolic link"),
        ("chmod o+w $f", "everybody may write it"),
    ];
    if rustix::process::geteuid().is_root() {
        cases.push(("chown 65534 $f", "it belongs to another user"));
    } else {
        skip("only root can give a file away: one of somebody else is not tried");
    }
    for name in [".git-sluice", ".git-sluice.files"] {
        for (script, words) in &cases {
            let directory = laid_down(FROM, &base());
            directory.script(&script.replace("$f", name));
            for output in [directory.verify(), directory.apply(&archive)] {
                let expected = format!("fatal: cannot trust 'dir/{name}': {words}\n");
                let messages = output.messages();
                assert!(messages.starts_with(&expected), "{output}");
                assert_eq!(output.code(), 128, "{output}");
            }
            // A pipe in the directory would block whoever reads all of it.
            assert!(directory.directory().join("doc/a").exists());
            directory.assert_nothing_outside();
        }
    }
}

/// A delta appends to the list what it changes. The list is written again from time to time.
#[test]
fn a_list_that_grows() {
    let names: Vec<String> = (0..600)
        .map(|number| format!("d{}/{number}", number % 7))
        .collect();
    let all = |content| tree(names.iter().map(|name| (&**name, file(content))));
    let few = tree([("d1", file("")), ("d2/2", file("c\n"))]);
    let trees = [all("a\n"), all("b\n"), few];
    let directory = laid_down(&id('0'), &trees[0]);
    let list = directory.directory().join(".git-sluice.files");
    let len = || std::fs::metadata(&list).expect("it is there").len();
    let first = len();
    let mut lens = vec![first];
    for number in 0..15 {
        let [from, to] = [number, number + 1].map(|number| format!("{number:x}").repeat(40));
        let changes = [&trees[number % 3], &trees[(number + 1) % 3]];
        directory.assert_brings_soundly(&delta([&from, &to], changes), &to, changes[1]);
        lens.push(len());
    }
    assert!(
        lens.iter().all(|&len| len < 4 * first + (64 << 10)),
        "{lens:?}"
    );
    assert!(lens.windows(2).any(|lens| lens[1] < lens[0]), "{lens:?}");
    directory.assert_brings(&Archive::of_tree(&id('c'), &base()), &id('c'), &base());
}

/// Whoever was interrupted while writing the list, or while deleting, goes on.
#[test]
fn a_list_that_breaks_off() {
    let (old, new) = small();
    for torn in
        cases(" | begun do | file 644 1 0 | deleted doc/a\\0deleted do | hole 644 1 extra/new\\0x")
    {
        let directory = laid_down(FROM, &old);
        let tear = format!("printf '{torn}' >>dir/.git-sluice.files");
        directory.repo.script(&tear);
        directory.set_state(&applying(FROM, TO));
        let archive = delta([FROM, TO], [&old, &new]);
        directory.assert_brings(&archive, TO, &new);
        let missing = if torn.contains("extra") {
            "missing extra/new\n"
        } else {
            ""
        };
        match missing {
            "" => directory.assert_sound(),
            missing => directory.assert_differs(missing),
        }
    }
}

/// A file of zeros takes no room, or is compared. The same archive writes it again only where it differs.
#[test]
fn holes() {
    let archive = Archive::full(FROM).hole("", "hole", &[]).end();
    let directory = Target::empty();
    assert_eq!(directory.written(&archive), ["hole"]);
    directory.assert_sound();
    assert_eq!(directory.written(&archive), [""; 0]);
    for (script, lines) in [
        ("head -c 1048577 /dev/zero > hole", ""),
        (
            "printf x | dd of=hole conv=notrunc status=none",
            "content hole\n",
        ),
        ("truncate -s 1 hole", "content hole\n"),
    ] {
        directory.assert_differs_after(script, lines);
    }
    assert_eq!(directory.written(&archive), ["hole"]);
    directory.assert_sound();
}

#[test]
fn what_cannot_be_compared() {
    let assert_refused = |directory: &Target, message: &str| {
        let output = directory.verify();
        assert!(
            output.code() == 128 && output.messages().starts_with(message),
            "{output}"
        );
    };
    let directory = Target::holding(FROM, &base());
    let unlisted = "fatal: cannot verify: '.git-sluice.files' does not list commit ";
    assert_refused(&directory, unlisted);
    // Nor after a delta: the list would not be whole.
    let target = tree([("doc/b", file("new\n"))]);
    directory.assert_brings(&delta([FROM, TO], [&base(), &target]), TO, &target);
    assert_refused(&directory, unlisted);
    directory.set_state(&applying(FROM, TO));
    assert_refused(
        &directory,
        &format!("fatal: cannot verify: an update to {TO} was interrupted\n"),
    );
    directory.forget();
    assert_refused(
        &directory,
        "fatal: cannot verify: the directory has no file '.git-sluice'\n\
         hint: 'git status' compares a checkout; in another directory, apply a full archive first\n",
    );
    let directory = laid_down(FROM, &base());
    let damage = "printf 'what?\\0' >>dir/.git-sluice.files";
    directory.repo.script(damage);
    let damaged = "fatal: the list of the directory is damaged\n";
    assert_refused(&directory, damaged);
    // A delta does not read the list.
    let archive = delta([FROM, TO], [&base(), &target]);
    directory.assert_brings(&archive, TO, &target);
    assert_refused(&directory, damaged);
    let output = directory.repo.sluice(["--verify", "HEAD"]);
    assert_eq!(
        (output.code(), output.messages()),
        (
            129,
            "error: unknown option `verify'\nhint: '--verify' is an option of 'git sluice apply'\n"
                .into()
        )
    );
}

/// Nobody shall think that an archive was applied.
#[test]
fn an_archive_that_would_not_be_applied() {
    let directory = laid_down(FROM, &base());
    let archive = delta([FROM, TO], [&base(), &Tree::new()]);
    directory.repo.write("outside/archive", &archive);
    let words = ["verify", "dir", "outside/archive"];
    let output = directory.repo.sluice(words);
    output.assert_refused(
        129,
        &["error: extra command line parameter 'outside/archive'"],
    );
    // What is on standard input is nobody's, and stays there.
    let script = "{ git sluice verify dir && cat; } <outside/archive";
    assert!(directory.repo.shell(script).success() == archive);
    std::fs::remove_file(directory.repo.path().join("outside/archive")).expect("our own");
    directory.assert_holds(FROM, &base());
    let output = directory.apply_with(&["--verify"], b"");
    directory.assert_not_applied(&output, "the archive is empty", &format!("holds {FROM}\n"));
    let _ = directory.apply_with(&["--verify"], &archive).success();
    directory.assert_holds(TO, &Tree::new());
}

/// Files around the length that is read at once, and around that of a batch.
fn files_of_all_lengths() -> Tree {
    let lengths = [0, 1, 512, 513, 131_071, 131_072, 131_073, 262_144, 900_000];
    let content = |number: usize| {
        let text = format!("{number}\n").repeat(lengths[number % 9]);
        file(&text[..lengths[number % 9]])
    };
    let path = |number: usize| format!("{}/{number:03}", number % 7).into_bytes();
    (0..200)
        .map(|number| (path(number), content(number)))
        .collect()
}

#[test]
fn many_files_of_all_lengths() {
    let holds = files_of_all_lengths();
    let directory = laid_down(FROM, &holds);
    directory.assert_holds_soundly(FROM, &holds);
}

#[test]
#[ignore = "slow"]
fn any_number_of_threads() {
    let holds = files_of_all_lengths();
    for threads in ["-j1", "-j2", "--threads=30"] {
        let directory = Target::empty();
        let archive = Archive::of_tree(FROM, &holds);
        let _ = directory.apply_with(&[threads], &archive).success();
        directory.assert_holds(FROM, &holds);
        let verified = directory.repo.sluice(["verify", threads, "dir"]);
        assert_eq!(verified.success(), b"");
    }
}

/// Many batches wait at once, and each brings the path again: the last content counts all the same.
#[test]
fn a_path_that_comes_in_many_batches() {
    let (mut archive, mut holds) = (Archive::full(FROM), BTreeMap::new());
    for round in 0..20 {
        let others = (0..300).map(|number| format!("{round:02}/{number:03}"));
        for path in others.chain(["same".into()]) {
            let content = round.to_string();
            archive = archive.file(&path, &content);
            holds.insert(path.into_bytes(), file(&content));
        }
    }
    let directory = Target::empty();
    directory.assert_brings_soundly(&archive.end(), FROM, &holds);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn any_tree_is_sound_and_gives_way(trees in proptest::array::uniform3(any_tree())) {
        let [base, target, other] = &trees;
        let directory = laid_down(FROM, base);
        let archive = delta([FROM, TO], [base, target]);
        directory.assert_brings_soundly(&archive, TO, target);
        let archive = delta([TO, FROM], [target, base]);
        directory.assert_brings_soundly(&archive, FROM, base);
        directory.assert_brings_soundly(&Archive::of_tree(TO, other), TO, other);
    }
}
