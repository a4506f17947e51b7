//! What is refused, with whose words and which status. Each case is the whole result: nothing on
//! stdout, these messages, this status; and git's is the same unless the test says what is
//! different.
//!
//! Damage is for `faults/`, names that would escape for `hostile.rs`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::support::process::Output;
use crate::support::{Repo, cases, git_version, skip};
use crate::support::{forge, tar_listing};

// --- the repository and the tree-ish ---

#[test]
fn no_repository() {
    let nowhere = Repo::scratch();
    let ceiling = nowhere
        .path()
        .parent()
        .expect("a temporary directory is in one")
        .to_owned();
    let nowhere = nowhere.env("GIT_CEILING_DIRECTORIES", ceiling);
    let message = "fatal: not a git repository (or any of the parent directories): .git\n";
    nowhere.assert_both_die(["HEAD"], message);
    let missing = nowhere.path().join("missing").display().to_string();
    let elsewhere = nowhere.clone().env("GIT_DIR", &missing);
    let message = format!("fatal: not a git repository: '{missing}'\n");
    elsewhere.assert_both_die(["HEAD"], &message);
    nowhere.write(".git", "nothing of use\n");
    nowhere.assert_same_once(["HEAD"]);
    nowhere.write(".git", format!("gitdir: {missing}\n"));
    nowhere.assert_same_once(["HEAD"]);
}

#[test]
fn not_a_tree_ish() {
    let repo = Repo::from("basic");
    let invalid = |name| format!("fatal: not a valid object name: {name}\n");
    for name in ["nosuch", "HEAD~9", "HEAD:nosuch", "^HEAD", "HEAD^!"] {
        repo.assert_both_die([name], &invalid(name));
    }
    // A range has a hint behind git's line.
    for range in ["HEAD..v1", "HEAD...v1"] {
        let hinted = invalid(range) + "hint: git sluice --base=HEAD v1\n";
        repo.sluice([range]).assert_failure(128, &hinted);
        repo.archive([range]).assert_failure(128, &invalid(range));
    }
    let blob = repo.git(["rev-parse", "HEAD:file.txt"]);
    let no_tree = |id: &str| format!("fatal: not a tree object: {id}\n");
    repo.assert_both_die(["HEAD:file.txt"], &no_tree(&blob));
    repo.assert_both_die([&blob], &no_tree(&blob));
    let nowhere = "1".repeat(40);
    repo.assert_both_die([&nowhere], &no_tree(&nowhere));

    let tags = Repo::from("tags");
    let tag = tags.git(["rev-parse", "blob"]);
    tags.assert_both_die(["blob"], &no_tree(&tag));
}

// --- configuration ---

#[test]
fn malformed_configuration() {
    let repo = Repo::from("basic");
    for (value, why) in [
        ("x", "invalid unit"),
        ("99999999999999999999", "out of range"),
        ("99999999999", "out of range"),
        ("", "invalid unit"),
    ] {
        let setting = format!("tar.umask={value}");
        let bad = repo.clone().with(["-c", &setting]);
        let messages =
            format!("fatal: bad numeric config value '{value}' for 'tar.umask': {why}\n");
        bad.assert_both_die(["HEAD"], &messages);
    }
    // The configuration comes before the tree-ish and the output file.
    repo.clone()
        .with(["-c", "tar.umask=x"])
        .assert_same_once(["-o", "missing/file", "nosuch"]);
    for setting in cases(
        "core.autocrlf=sideways | core.bigFileThreshold=much | core.ignoreCase=perhaps | tar.umask",
    ) {
        repo.clone()
            .with(["-c", setting])
            .assert_same_once(["HEAD"]);
    }
}

// --- trees and blobs that are not there ---

/// A copy of a fixture without one of its loose objects, and that object's id.
fn without(fixture: &str, object: &str) -> (Repo, String) {
    let repo = Repo::copy(fixture);
    let id = forge::lose(&repo, object);
    (repo, id)
}

/// With the attributes of the work tree git does not go over the whole tree beforehand. A pathspec whose search
/// ends at a missing tree counts as matched, and the failure is told once for each, then by the archive.
#[test]
fn pathspecs_that_lead_to_a_missing_tree() {
    let (repo, id) = without("basic", "HEAD:dir/sub");
    let line = format!("error: Could not read {id}\n");
    for (pathspecs, lines) in [
        (&["*"][..], 1),
        (&["dir"], 1),
        (&["*leaf"], 2),
        (&["dir/sub/deeper/leaf"], 2),
        (&["*leaf", "*x"], 3),
        (&["*leaf", ":!*x"], 2),
        (&[":!*leaf"], 1),
        (&["*leaf", "dir/sub/x", "nosuch"], 2),
        (&["nosuch", "*leaf"], 0),
        (&["nosuch*"], 0),
    ] {
        let args = ["--worktree-attributes", "HEAD", "--"]
            .iter()
            .chain(pathspecs);
        let [ours, theirs] = [repo.sluice(args.clone()), repo.archive(args)];
        let said = |output: &Output| (output.code(), output.messages());
        assert_eq!(said(&ours), said(&theirs), "{pathspecs:?}");
        assert_eq!(ours.messages().matches(&line).count(), lines, "{ours}");
    }
}

#[test]
fn missing_blob() {
    for path in ["bin/run.sh", "dir/ragged", "size-513"] {
        let (repo, id) = without("basic", &format!("HEAD:{path}"));
        let mode = if path.ends_with(".sh") {
            "100755"
        } else {
            "100644"
        };
        let messages =
            format!("error: invalid object {mode} {id} for '{path}'\nerror: cannot read '{id}'\n");
        for threads in ["1", "2", "8"] {
            let output = repo.sluice(["-j", threads, "HEAD"]);
            output.assert_ends(255, &messages);
            assert!(!tar_listing::is_complete(&output.stdout), "{output}");
        }
        let oracle = repo.archive(["HEAD"]);
        oracle.assert_ends(255, &messages);
    }
}

/// git looks all files up beforehand, those of subdirectories first, and names the first missing one. It may be another
/// path of the same object, or an object that the archive leaves out.
#[test]
fn missing_blobs_of_several_paths() {
    let both_name = |paths: &[&str], args: &[&str], named: &str| {
        let repo = without_files(paths);
        let entry = repo.git(["ls-tree", "-r", args[0], named]);
        let id = entry.split_whitespace().nth(2).expect("an entry");
        repo.assert_same(args);
        let output = repo.sluice(args);
        let messages = output.messages();
        let line = format!("error: invalid object 100644 {id} for '{named}'\n");
        assert!(messages.starts_with(&line), "{paths:?} {args:?} {messages}");
    };
    both_name(&["a"], &["HEAD"], "dir/same-as-a");
    both_name(&["a"], &["HEAD", "a"], "dir/same-as-a");
    both_name(&["dir-", "dir/z", "z"], &["HEAD"], "dir/z");
    both_name(&["dir/b", "dir/sub/z", "a"], &["HEAD"], "dir/sub/z");
    both_name(&["dir/b", "dir/sub/z"], &["HEAD:dir"], "sub/z");
    both_name(&["ignored", "z"], &["HEAD"], "ignored");
    both_name(&["dir/z", "z"], &["HEAD", "z"], "dir/z");
    both_name(&[".gitattributes", "z"], &["HEAD"], ".gitattributes");
}

/// git looks for the file of the tree and reads the one that replaces it.
#[test]
fn missing_replacements() {
    let repo = without_files(&[]);
    let id = repo.git(["rev-parse", "HEAD:z"]);
    let other = repo.git_with_input(["hash-object", "-w", "--stdin"], "other\n");
    repo.git(["replace", &id, &other]);
    forge::lose(&repo, &other);
    repo.assert_same(["HEAD"]);
    let message = format!("fatal: replacement {other} not found for {id}\n");
    repo.sluice(["HEAD"]).assert_failure(128, &message);
}

/// A repository that lacks the objects of these files.
fn without_files(missing: &[&str]) -> Repo {
    let repo = Repo::init();
    fs::create_dir_all(repo.path().join("dir/sub")).expect("our own");
    repo.write(".gitattributes", "ignored export-ignore\n");
    repo.write("dir/same-as-a", "a\n");
    for path in ["a", "dir-", "dir/b", "dir/sub/z", "dir/z", "ignored", "z"] {
        repo.write(path, format!("{path}\n"));
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "files"]);
    for path in missing {
        forge::lose(&repo, &format!("HEAD:{path}"));
    }
    repo
}

/// Messages have the path in the tree. Without a look at all blobs beforehand nothing is said of theirs.
#[test]
fn missing_blobs_by_other_options() {
    let (repo, id) = without("basic", "HEAD:dir/ragged");
    repo.assert_same(["--worktree-attributes", "HEAD"]);
    repo.assert_same(["--prefix=x/", "HEAD"]);
    let output = repo.sluice(["--prefix=x/", "HEAD"]);
    let messages =
        format!("error: invalid object 100644 {id} for 'dir/ragged'\nerror: cannot read '{id}'\n");
    assert_eq!(output.messages(), messages, "{output}");
}

/// What was said before a failure is heard, whether anything was written or not.
#[test]
fn missing_blob_and_names() {
    let (repo, id) = without("basic", "HEAD:dir/ragged");
    let messages = format!(
        "dir/\ndir/ragged\nerror: invalid object 100644 {id} for 'dir/ragged'\nerror: cannot read '{id}'\n"
    );
    let output = repo.sluice(["-v", "HEAD", "dir/ragged"]);
    output.assert_ends(255, &messages);
}

#[test]
fn missing_trees() {
    let (repo, _) = without("basic", "HEAD^{tree}");
    let named = repo.git(["rev-parse", "HEAD"]);
    let messages = format!("fatal: not a tree object: {named}\n");
    repo.assert_both_die(["HEAD"], &messages);
    let (repo, id) = without("basic", "HEAD:dir/sub");
    let output = repo.sluice(["HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert_eq!(
        output.messages(),
        format!("fatal: unable to read tree ({id})\n"),
        "{output}"
    );
    assert!(!tar_listing::is_complete(&output.stdout), "{output}");
    if git_version() >= (2, 47) {
        let oracle = repo.archive(["HEAD"]);
        let theirs = (oracle.code(), oracle.messages());
        assert_eq!(theirs, (output.code(), output.messages()), "{oracle}");
    } else {
        skip("this git has other words for it, and is not compared");
    }
}

#[test]
fn missing_commit() {
    let (repo, _) = without("basic", "HEAD");
    repo.assert_same_once(["HEAD"]);
    repo.assert_same_once(["HEAD~1"]);
    repo.assert_same_once(["v1"]);
    let (repo, _) = without("basic", "v1");
    repo.assert_same_once(["v1"]);
    let (repo, _) = without("basic", "v1^{}");
    repo.assert_same_once(["v1"]);
}

/// An entry that claims to be what it is not. A file that is a tree git writes as it is stored; a
/// directory that is a file nobody can read.
#[test]
fn objects_of_the_wrong_kind() {
    let repo = Repo::copy("basic");
    let [blob, tree] = ["HEAD:file.txt", "HEAD:dir"].map(|object| repo.git(["rev-parse", object]));
    repo.assert_same([forge::commit(&repo, &[("100644", b"a-tree", &tree)])]);

    let output = repo.sluice([forge::commit(&repo, &[("40000", b"a-blob", &blob)])]);
    let messages = format!("fatal: unable to read tree ({blob})\n");
    output.assert_ends(128, &messages);
    assert!(!tar_listing::is_complete(&output.stdout), "{output}");
}

/// The id of a ref is followed by nothing, or by white space.
#[test]
fn refs_with_words_behind_the_id() {
    let repo = Repo::copy("basic");
    let id = repo.git(["rev-parse", "HEAD"]);
    for directory in ["bisect", "replace"] {
        let refs = repo.path().join(".git/refs");
        fs::create_dir(refs.join(directory)).expect("our own");
    }
    for behind in ["", "\n", "\n\n", " x", "\tx\n", "\r\n", "x", "\0", "0\n"] {
        for name in ["refs/heads/odd", "refs/bisect/odd", "ODD_HEAD"] {
            repo.write(format!(".git/{name}"), format!("{id}{behind}"));
            repo.assert_same_once([name]);
        }
    }
    repo.write(format!(".git/refs/replace/{id}"), format!("{id}x"));
    let (ours, theirs) = (repo.sluice(["main"]), repo.archive(["main"]));
    assert!(
        ours.code() == 128 && theirs.code() == 128,
        "{ours}\n{theirs}"
    );
}

/// git reads a tag up to the line with its name.
#[test]
fn tags_without_a_name() {
    let repo = Repo::copy("basic");
    let head = repo.git(["rev-parse", "HEAD"]);
    for rest in [
        "type commit\n",
        "type commit\ntag\n",
        "type commit\ntag x",
        "type commit\ntag \n",
        "type commit\ntag x\n",
        "type  commit\ntag x\n",
        "type commi\ntag x\n",
        "tag x\ntype commit\n",
    ] {
        let arguments = ["hash-object", "-t", "tag", "-w", "--stdin", "--literally"];
        let tag = repo.git_with_input(arguments, format!("object {head}\n{rest}"));
        let (ours, theirs) = (repo.sluice([&tag]), repo.archive([&tag]));
        let same = ours.stdout == theirs.stdout && ours.code() == theirs.code();
        assert!(same, "{rest:?}\n{ours}\n{theirs}");
    }
}

// --- names in messages ---

/// What controls a terminal becomes a question mark, and bytes that are no text stay.
#[test]
fn names_of_any_bytes() {
    let repo = Repo::from("basic");
    let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    for args in [
        [word(b"HEAD"), word(b"a\x1b[2J\x07\xff\t\n")],
        [word(b"no\x1b[2J\xff"), word(b"a")],
        [word(b"HEAD"), word(b":(bo\x1bgus\xff)x")],
        [word(b"HEAD"), word(b":(attr:\x1b\xff)x")],
        [word(b"HEAD"), word(b"../\x1b\xff")],
        [word(b"HEAD"), word(&[b'x'; 6000])],
        [word(b"--add-file=\x1b\xff"), word(b"HEAD")],
        [word(b"--add-virtual-file=\x1b\xff"), word(b"HEAD")],
        [word(b"--output=/no/\x1b\xff"), word(b"HEAD")],
        [word(b"HEAD"), word(b"/no/\x1b\xff")],
    ] {
        let (ours, theirs) = (repo.sluice(&args), repo.archive(&args));
        assert_eq!(
            (ours.code(), &ours.stderr),
            (theirs.code(), &theirs.stderr),
            "{ours}"
        );
    }
    // Behind git's line stands a hint.
    let args = [word(b"--format=\x1b\xff"), word(b"HEAD")];
    let (ours, theirs) = (repo.sluice(&args), repo.archive(&args));
    assert_eq!(ours.code(), theirs.code(), "{ours}");
    let hint = ours.stderr.strip_prefix(&theirs.stderr[..]);
    assert!(
        hint.is_some_and(|hint| hint.starts_with(b"hint: ")),
        "{ours}"
    );
}

/// In the path of the repository, in what a filter is called and in an attribute file.
#[test]
fn names_of_any_bytes_around_a_repository() {
    let place = Repo::scratch();
    let name = OsStr::from_bytes(b"r\xff");
    let top = place.path().join(name);
    fs::create_dir(&top).expect("a scratch directory");
    let repo = place.at(name);
    repo.git(["init", "-q"]);
    fs::write(top.join("f"), "content\n").expect("our own");
    let attributes = b"* filter=f a\xfe/b\n[attr]m\xfd text\n";
    fs::write(top.join(".gitattributes"), attributes).expect("our own");
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "odd names"]);
    repo.git(["config", "filter.f.required", "true"]);
    let command = OsStr::from_bytes(b"no-such-\xfe");
    repo.git([OsStr::new("config"), OsStr::new("filter.f.smudge"), command]);
    for args in [&["HEAD"][..], &["HEAD", "../x"], &["HEAD", "/no"]] {
        let (ours, theirs) = (repo.sluice(args), repo.archive(args));
        assert!(theirs.stderr.iter().any(|&byte| byte >= 0xfd), "{theirs}");
        assert_eq!(
            (ours.code(), &ours.stderr),
            (theirs.code(), &theirs.stderr),
            "{ours}"
        );
    }
}

#[test]
fn logs_that_are_too_short() {
    Repo::from("basic").assert_same_once(["HEAD@{99}"]);
}

/// git finds it out while it writes, where it does not go over the whole tree beforehand.
#[test]
fn missing_trees_and_attributes_of_the_work_tree() {
    let (repo, id) = without("basic", "HEAD:dir/sub");
    let args = ["--worktree-attributes", "HEAD"];
    let (ours, theirs) = (repo.sluice(args), repo.archive(args));
    let messages = format!("error: Could not read {id}\n");
    assert_eq!((ours.code(), ours.messages()), (255, messages.clone()));
    assert_eq!((theirs.code(), theirs.messages()), (255, messages));
    assert!(!tar_listing::is_complete(&ours.stdout), "{ours}");
}

#[test]
fn blobs_in_place_of_trees_and_attributes_of_the_work_tree() {
    let repo = Repo::init();
    let id = forge::blob(&repo, "x");
    let commit = forge::commit(&repo, &[("40000", b"dir", &id)]);
    let args = ["--worktree-attributes", &commit];
    let (ours, theirs) = (repo.sluice(args), repo.archive(args));
    let messages = format!("error: Object {id} not a tree\n");
    assert_eq!((ours.code(), ours.messages()), (255, messages.clone()));
    assert_eq!((theirs.code(), theirs.messages()), (255, messages));
    assert!(!tar_listing::is_complete(&ours.stdout), "{ours}");
}

/// git, which goes over the whole tree beforehand, ends with 128.
#[test]
fn missing_trees_that_are_left_out() {
    let whole = Repo::from("basic").sluice(["HEAD", "--", ":!dir"]);
    let (repo, _) = without("basic", "HEAD:dir/sub");
    let pathspecs = repo.sluice(["HEAD", "--", ":!dir"]);
    assert_eq!((pathspecs.code(), &pathspecs.stdout), (0, &whole.stdout));
    fs::create_dir_all(repo.path().join(".git/info")).expect("our own directory can be written to");
    repo.write(".git/info/attributes", "dir export-ignore\n");
    assert_eq!(repo.sluice(["HEAD"]).code(), 0);
}

#[test]
fn attributes_from_a_missing_tree() {
    let repo = Repo::from("basic").env("GIT_ATTR_SOURCE", forge::made_up(0x12));
    repo.assert_same_once(["HEAD"]);
    repo.assert_same_once(["HEAD", "nosuch"]);
}
