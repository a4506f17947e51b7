//! Repositories stay open between requests, and no change of one is missed.

use std::{fs, os::unix::fs::chown, sync::Arc, thread, time::Duration};

use sluice_git::{
    environment::Environment,
    repository::{Repository, pool::RepositoryPool},
};

use super::{Batch, alone, repositories_in};
use crate::support::{Repo, skip};

/// A change of a repository.
type Change = fn(&Repo);

/// Changes of all that decides about an archive.
const CHANGES: [(&str, Change); 12] = [
    ("nothing", |_| ()),
    ("a commit", |repo| {
        repo.write("new", "new\n");
        repo.commit("new", "new");
    }),
    ("another branch", |repo| {
        repo.git(["symbolic-ref", "HEAD", "refs/heads/none"]);
    }),
    ("a repack", |repo| {
        repo.git(["commit", "-q", "--allow-empty", "-m", "empty"]);
        repo.git(["gc", "-q", "--prune=now"]);
    }),
    ("the configuration", |repo| {
        repo.git(["config", "tar.umask", "0077"]);
    }),
    ("configuration that is included", |repo| {
        repo.write("more", "[tar]\n\tumask = 0007\n");
        repo.git(["config", "include.path", "../more"]);
    }),
    ("bad configuration", |repo| {
        fs::write(repo.path().join(".git/config"), "[core\n").unwrap();
    }),
    ("attributes", |repo| {
        let info = repo.path().join(".git/info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("attributes"), "* export-ignore\n").unwrap();
    }),
    ("a replacement", |repo| {
        repo.git(["replace", "HEAD", "HEAD~1"]);
    }),
    ("another repository", |repo| {
        let other = Repo::copy("basic");
        other.git(["commit", "-q", "--allow-empty", "-m", "other"]);
        let git = repo.path().join(".git");
        fs::rename(&git, repo.path().join("old")).unwrap();
        fs::rename(other.path().join(".git"), &git).unwrap();
    }),
    ("no repository", |repo| {
        fs::rename(repo.path().join(".git"), repo.path().join("old")).unwrap();
    }),
    ("objects elsewhere", |repo| {
        let objects = repo.path().join(".git/objects");
        fs::rename(&objects, repo.path().join("old")).unwrap();
        fs::create_dir_all(objects.join("info")).unwrap();
        fs::write(objects.join("info/alternates"), "../../old\n").unwrap();
    }),
];

/// Every request sees the repository as it is then, whether the repository stays open or was opened just now.
#[test]
#[ignore = "slow"]
fn changes_are_seen() {
    let place = Repo::scratch();
    let mut batch = Batch::start(&place);
    let repos = CHANGES.map(|(name, change)| (name, change, Repo::copy("basic")));
    let mut same = |what: &str, repo: &Repo| {
        let directory = repo.path().display().to_string();
        let words = ["-C", &directory, "-v", "HEAD"];
        assert_eq!(batch.ask(&words), alone(repo, &words[2..]), "{what}");
    };
    for pause in [Duration::ZERO, OLD_ENOUGH] {
        thread::sleep(pause);
        for (name, _, repo) in &repos {
            same(name, repo);
            same(name, repo);
        }
    }
    for (name, change, repo) in &repos {
        change(repo);
        same(name, repo);
        same(name, repo);
    }
}

/// What appears where something was looked for and not found, and replacements in unusual places.
#[test]
#[ignore = "slow"]
fn what_was_not_there_is_looked_for_again() {
    let place = Repo::scratch();
    let replace_base = Repo::copy("basic").env("GIT_REPLACE_REF_BASE", "refs/other/");
    let [deep, other, lacking, bare] = [(); 4].map(|()| Repo::copy("basic"));
    let git = |repo: &Repo, name: &str| repo.path().join(".git").join(name);
    fs::create_dir_all(git(&deep, "refs/replace/deep")).unwrap();
    fs::create_dir_all(git(&replace_base, "refs/other")).unwrap();
    fs::rename(git(&lacking, "objects"), other.path().join("objects")).unwrap();
    fs::create_dir_all(git(&lacking, "objects/info")).unwrap();
    let alternate = other.path().join("later");
    let listed = format!("{}\n", alternate.display());
    fs::write(git(&lacking, "objects/info/alternates"), listed).unwrap();
    let bare = bare.at(".git");
    thread::sleep(OLD_ENOUGH);

    let mut plain = Batch::start(&place);
    let mut based = Batch::start(&place.clone().env("GIT_REPLACE_REF_BASE", "refs/other/"));
    let mut same = |repo: &Repo, directory: &str| {
        let directory = repo.path().join(directory).display().to_string();
        let batch = if std::ptr::eq(repo, &replace_base) {
            &mut based
        } else {
            &mut plain
        };
        let words = ["-C", &directory, "HEAD"];
        let (answer, expected) = (batch.ask(&words), alone(repo, &words[2..]));
        assert!(answer == expected, "{directory}: {}", answer.messages);
    };
    let mut all_same = || {
        for _ in 0..4 {
            same(&deep, "");
            same(&replace_base, "");
            same(&lacking, "");
            same(&bare, "");
        }
    };
    all_same();
    let [blob, new] = ["HEAD:file.txt", "HEAD:size-513"].map(|name| deep.git(["rev-parse", name]));
    let name = format!("refs/replace/deep/{blob}");
    deep.git(["update-ref", &name, &new]);
    let name = format!("refs/other/{blob}");
    replace_base.git(["update-ref", &name, &new]);
    fs::rename(other.path().join("objects"), &alternate).unwrap();
    let inner = Repo::copy("basic");
    inner.git(["commit", "-q", "--allow-empty", "-m", "inner"]);
    fs::rename(inner.path().join(".git"), bare.path().join(".git")).unwrap();
    all_same();
}

/// After this time, files count as old: a change would leave a trace.
const OLD_ENOUGH: Duration = Duration::from_millis(2100);

/// A repository stays open once it was opened twice without a change in between, until others take its room.
#[test]
#[ignore = "slow"]
fn repositories_stay_open() {
    let repos = [Repo::copy("basic"), Repo::copy("basic")];
    thread::sleep(OLD_ENOUGH);
    let is_same = |one: &Repository, other: &Repository| Arc::ptr_eq(&one.config, &other.config);
    // One repository by number, one by memory, and none.
    for (max, memory, is_kept) in [
        (1, 1 << 20, true),
        (9, 200 << 10, true),
        (9, 1 << 10, false),
    ] {
        let kept = RepositoryPool::new(max, memory);
        let open = |repo: &Repo| {
            let environment = Environment::read(repo.path().to_owned(), |_| None).unwrap();
            kept.open(&environment).unwrap().unwrap()
        };
        let [first, second, third, fourth] = [(); 4].map(|()| open(&repos[0]));
        assert!(!is_same(&first, &second));
        assert_eq!(
            is_same(&second, &third) && is_same(&third, &fourth),
            is_kept
        );
        open(&repos[1]);
        assert!(!is_same(&second, &open(&repos[0])));
    }
}

/// Each request checks the owner of its repository. A repository that stays open is refused once it belongs to somebody
/// else.
#[test]
#[ignore = "slow"]
fn owners_are_looked_at() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a repository to somebody else");
    }
    let place = Repo::scratch();
    let [one, two] = repositories_in(&place);
    let mut batch = Batch::start(&place);
    thread::sleep(OLD_ENOUGH);
    let ask = |batch: &mut Batch, name| batch.ask(&["-C", name, "HEAD"]);
    for _ in 0..3 {
        assert_eq!(ask(&mut batch, "one").status, 0);
    }
    for directory in ["", ".git"] {
        chown(one.path().join(directory), Some(65534), Some(65534)).unwrap();
    }
    for _ in 0..2 {
        let refused = ask(&mut batch, "one");
        assert_eq!(refused, alone(&one, &["HEAD"]));
        assert!(refused.messages.contains("dubious ownership"));
        assert_eq!(ask(&mut batch, "two"), alone(&two, &["HEAD"]));
    }
}
