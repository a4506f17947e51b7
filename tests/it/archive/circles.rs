//! What leads to itself, or further than git goes: refs, replacements, tags, parents, alternates. That a run
//! ends at all is seen to by `process.rs`.

use std::fs;

use crate::support::Repo;
use crate::support::forge;
use crate::support::tar_listing;

/// Two commits: the first has the file `a`, the second a directory beside it.
fn repository() -> Repo {
    let repo = Repo::init();
    repo.write("a", "a\n");
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "first"]);
    fs::create_dir(repo.path().join("d")).expect("our own");
    repo.write("d/b", "b\n");
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "second"]);
    repo
}

fn symbolic_ref(repo: &Repo, name: &str, target: &str) {
    repo.write(format!(".git/{name}"), format!("ref: {target}\n"));
}

/// Say that `replacement` stands for `object`, whatever `git replace` would say to that.
fn replace(repo: &Repo, object: &str, replacement: &str) {
    let directory = repo.path().join(".git/refs/replace");
    fs::create_dir_all(directory).expect("our own");
    repo.write(
        format!(".git/refs/replace/{object}"),
        format!("{replacement}\n"),
    );
}

fn replace_nothing(repo: &Repo) {
    fs::remove_dir_all(repo.path().join(".git/refs/replace")).expect("our own");
}

#[track_caller]
fn assert_fatal(repo: &Repo, revision: &str, message: &str) {
    let output = repo.sluice([revision]);
    let is_fatal = output.messages().lines().any(|line| line == message);
    assert!(output.code() == 128 && is_fatal, "{output}");
    assert!(!tar_listing::is_complete(&output.stdout), "{output}");
}

#[test]
fn symbolic_refs_in_circles() {
    let repo = repository();
    symbolic_ref(&repo, "refs/heads/one", "refs/heads/other");
    symbolic_ref(&repo, "refs/heads/other", "refs/heads/one");
    for name in ["one", "heads/other", "one~1", "one^{tree}", "one:d"] {
        repo.assert_same_once([name]);
    }
    // Another ref of that name serves.
    symbolic_ref(&repo, "refs/tags/main", "refs/tags/main");
    for name in ["main", "main~1", "main:d"] {
        repo.assert_same_once([name]);
    }
    for head in ["refs/heads/one", "HEAD"] {
        symbolic_ref(&repo, "HEAD", head);
        for name in ["HEAD", "@", "HEAD~1"] {
            repo.assert_same_once([name]);
        }
    }
}

#[test]
fn symbolic_refs_in_a_row() {
    let repo = repository();
    let mut last = "refs/heads/main".to_owned();
    for number in 1..=6 {
        let name = format!("refs/heads/link-{number}");
        symbolic_ref(&repo, &name, &last);
        for what in ["", "~1", ":d"] {
            repo.assert_same_once([&format!("link-{number}{what}")]);
        }
        last = name;
    }
}

#[test]
fn replacements_in_circles() {
    let repo = repository();
    let [file, directory, root, commit] =
        ["HEAD:a", "HEAD:d", "HEAD^{tree}", "HEAD"].map(|name| repo.git(["rev-parse", name]));
    let other = repo.git(["rev-parse", "HEAD:d/b"]);
    for circle in [
        &[&file, &other][..],
        &[&file],
        &[&directory],
        &[&root],
        &[&commit],
    ] {
        for (at, object) in circle.iter().enumerate() {
            replace(&repo, object, circle[(at + 1) % circle.len()]);
        }
        let message = format!("fatal: replace depth too high for object {}", circle[0]);
        for name in ["HEAD", "HEAD^{tree}"] {
            assert_fatal(&repo, name, &message);
            assert_eq!(repo.archive([name]).messages(), format!("{message}\n"));
        }
        for name in ["HEAD~1", "HEAD:d"] {
            repo.assert_same_once([name]);
        }
        let served = repo.served(["--remote=.", "HEAD"]);
        assert!(served.code() != 0, "{served}");
        replace_nothing(&repo);
    }
    // What is not read is not looked for.
    replace(&repo, &file, &file);
    repo.assert_same_once(["HEAD", "d"]);
}

#[test]
fn replacements_in_a_row() {
    let repo = repository();
    let file = repo.git(["rev-parse", "HEAD:a"]);
    let mut last = forge::blob(&repo, "the last\n");
    for number in 0..6 {
        replace(&repo, &file, &last);
        repo.assert_same_once(["HEAD"]);
        let next = forge::blob(&repo, number.to_string());
        replace(&repo, &next, &last);
        last = next;
    }
}

/// gix follows one replacement only.
#[test]
fn commits_replaced_in_a_row() {
    let repo = repository();
    let commit = repo.git(["rev-parse", "HEAD"]);
    let first = repo.git(["commit-tree", "-m", "1", "HEAD:d"]);
    let second = repo.git(["commit-tree", "-m", "2", "-p", "HEAD", "HEAD~1^{tree}"]);
    replace(&repo, &commit, &first);
    replace(&repo, &first, &second);
    for name in ["HEAD", "HEAD^{tree}", "HEAD:", "HEAD:d", "HEAD~1"] {
        repo.assert_same_once([name]);
    }
}

/// Refs that replace are followed as others are, and their names end with the object's id.
#[test]
fn replacements_by_refs_of_all_kinds() {
    let repo = repository();
    let file = repo.git(["rev-parse", "HEAD:a"]);
    let other = repo.git(["rev-parse", "HEAD:d/b"]);
    let unreplaced = repo.archive(["HEAD"]).success();

    replace(&repo, &file, "ref: refs/other");
    repo.write(".git/refs/other", format!("{other}\n"));
    assert!(repo.archive(["HEAD"]).success() != unreplaced);
    repo.assert_same_once(["HEAD"]);

    for broken in [
        "ref: refs/nosuch",
        &format!("ref: refs/replace/{file}"),
        "no id",
    ] {
        replace(&repo, &file, broken);
        let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
        assert!(ours.code() != 0 && theirs.code() != 0, "{ours}\n{theirs}");
    }
    replace_nothing(&repo);

    let below = repo.path().join(".git/refs/replace/below");
    fs::create_dir_all(&below).expect("our own");
    fs::write(below.join(&file), format!("{other}\n")).expect("our own");
    assert!(repo.archive(["HEAD"]).success() != unreplaced);
    repo.assert_same_once(["HEAD"]);
    replace(&repo, &file, &other);
    repo.assert_same_once(["HEAD"]);
}

/// git never ends: a tag is replaced by a tag of itself.
#[test]
fn tags_in_circles() {
    let repo = repository();
    let tag = |object: &str, kind: &str| {
        let text = format!("object {object}\ntype {kind}\ntag t\ntagger A <a> 1 +0000\n\nt\n");
        repo.git_with_input(["hash-object", "-t", "tag", "-w", "--stdin"], text)
    };
    let first = tag(&repo.git(["rev-parse", "HEAD"]), "commit");
    let second = tag(&first, "tag");
    repo.git(["tag", "round", &first]);
    replace(&repo, &first, &second);
    assert_fatal(&repo, &first, &format!("fatal: not a tree object: {first}"));
    for name in [
        "round^{tree}",
        "round~0",
        "round:d",
        &format!("{}:d", &first[..9]),
    ] {
        assert_fatal(
            &repo,
            name,
            &format!("fatal: not a valid object name: {name}"),
        );
    }
}

#[test]
fn parents_in_circles() {
    let repo = repository();
    let commit = repo.git(["rev-parse", "HEAD"]);
    let child = repo.git(["commit-tree", "-m", "x", "-p", "HEAD", "HEAD:d"]);
    replace(&repo, &commit, &child);
    for name in ["HEAD~1", "HEAD~3000000", "HEAD~30000000000", "HEAD^1^1^1"] {
        repo.assert_same_once([name]);
    }
}

#[test]
fn alternates_in_circles() {
    let base = repository();
    let id = base.git(["rev-parse", "HEAD"]);
    let root = Repo::scratch();
    let objects = |repo: &Repo| repo.path().join(".git/objects").display().to_string();
    let [one, other] = ["one", "other"].map(|name| {
        root.git(["init", "-q", name]);
        let repo = root.clone().at(name);
        fs::create_dir_all(repo.path().join(".git/objects/info")).expect("our own");
        repo
    });
    let alternates = ".git/objects/info/alternates";
    one.write(
        alternates,
        format!("{}\n{}\n", objects(&other), objects(&base)),
    );
    other.write(
        alternates,
        format!("../../../one/.git/objects\n{}\n", objects(&one)),
    );
    for repo in [&one, &other] {
        for name in [&id, &format!("{id}~1"), &format!("{id}:d"), &id[..9]] {
            repo.assert_same([name]);
        }
    }
}
