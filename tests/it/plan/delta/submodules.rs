//! The equation for histories in which submodules come, go and move, with submodules of their own.

use std::{fs, path::Path};

use super::{Files, History, Node, apply, file, found, write_commit};
use crate::support::Repo;

const COMMITS: usize = 6;
const PATHS: [&str; 8] = ["a", "b.txt", "d/x", "d/y", "d/e/z", "g/h", "libs/f", "q"];
const ATTRIBUTES: [&str; 4] = [
    "a export-ignore\n",
    "*.txt export-subst\n",
    "d export-ignore\n",
    "",
];
const OPTIONS: [&[&str]; 8] = [
    &[],
    &["--prefix=p/"],
    &["--exclude=libs/**"],
    &["--exclude=o*e", "--exclude=**/m"],
    &["--exclude=one/", "--exclude=**/sub/*"],
    &["--max-size=2", "--binary=omit"],
    &["--threads=1", "--", "*.txt"],
    &["--", ":(exclude)d"],
];

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn files(&mut self) -> Files {
        let mut files = Files::new();
        for path in PATHS {
            if self.below(3) > 0 {
                let content = format!("{}\n$Format:%H$\n", self.below(3));
                files.insert(path.into(), file(&content[..2 + 12 * self.below(2)]));
            }
        }
        files.insert(".gitattributes".into(), file(self.one_of(&ATTRIBUTES)));
        files
    }
}

/// Puts the submodule `name` at `commit` to `path`, in place of all that is there.
fn put(files: &mut Files, name: &str, path: &str, commit: &str) {
    let inside = format!("{path}/");
    files.retain(|other, _| {
        let is_above =
            path.as_bytes().starts_with(other) && path.as_bytes().get(other.len()) == Some(&b'/');
        !other.starts_with(inside.as_bytes()) && other != path.as_bytes() && !is_above
    });
    files.insert(path.into(), Node::Commit(commit.to_owned()));
    let Node::File(modules) = files
        .entry(b".gitmodules".to_vec())
        .or_insert_with(|| file(""))
    else {
        panic!(".gitmodules is a file");
    };
    modules.extend(format!("[submodule \"{name}\"]\n\tpath = {path}\n").into_bytes());
}

/// Makes commits of `trees` in a new repository, and returns their ids.
fn commits(repo: &Repo, trees: &[Files]) -> Vec<String> {
    let mut stream = Vec::new();
    for (number, files) in trees.iter().enumerate() {
        write_commit(&mut stream, &format!("c{number}"), None, files);
    }
    repo.git_with_input(["fast-import", "--quiet"], stream);
    let id = |number| repo.git(["rev-parse", &format!("c{number}")]);
    (0..trees.len()).map(id).collect()
}

fn bare(place: &Repo, path: &Path) -> Repo {
    fs::create_dir_all(path).unwrap();
    let repo = place.clone().at(path);
    repo.git(["init", "-q", "--bare"]);
    repo
}

/// A history of commits, each with some of two submodules, each of which may have a submodule.
fn history(dice: &mut Dice) -> History {
    let repo = Repo::init();
    let git = repo.path().join(".git");
    let mut pinned = Vec::new();
    for name in ["one", "two"] {
        let directory = git.join("modules").join(name);
        let outer = bare(&repo, &directory);
        let inner = bare(&repo, &directory.join("modules/inner"));
        let trees: Vec<_> = (0..3).map(|_| dice.files()).collect();
        let inner = commits(&inner, &trees);
        let tree = |dice: &mut Dice| {
            let mut files = dice.files();
            if dice.below(3) > 0 {
                let path = dice.one_of(&["sub", "d/sub", "d/e"]);
                put(
                    &mut files,
                    "inner",
                    path,
                    dice.one_of(&[&inner[0], &inner[1], &inner[2]]),
                );
            }
            files
        };
        let trees: Vec<_> = (0..3).map(|_| tree(dice)).collect();
        pinned.push((name, commits(&outer, &trees)));
    }
    let tree = |dice: &mut Dice| {
        let mut files = dice.files();
        for (name, commits) in &pinned {
            if dice.below(4) > 0 {
                let places = [*name, "libs/m", "g/h", "d"];
                let path = dice.one_of(&places[..3 + usize::from(*name == "two")]);
                if files
                    .get(path.as_bytes())
                    .is_none_or(|node| !matches!(node, Node::Commit(_)))
                {
                    put(&mut files, name, path, &commits[dice.below(3)]);
                }
            }
        }
        files
    };
    let trees: Vec<_> = (0..COMMITS).map(|_| tree(dice)).collect();
    commits(&repo, &trees);
    History { repo, git }
}

#[test]
#[ignore = "slow"]
fn pointers_that_move() {
    let mut dice = Dice(7);
    let history = history(&mut dice);
    for base in 0..COMMITS {
        for target in 0..COMMITS {
            let ends = [format!("c{base}"), format!("c{target}")];
            let options = OPTIONS[dice.below(OPTIONS.len())];
            let options = [&["--submodules=recurse"], options].concat();
            let expected = history.extracted(&options, &ends[1]);
            let laid = history.base(&ends[0], &options).lay_down();
            let delta = history.delta([&ends[0], &ends[1]], &options).success();
            apply(laid.path(), &delta);
            let actual = found(laid.path());
            assert!(
                actual == expected,
                "{ends:?} {options:?}\nis        {actual:?}\nshould be {expected:?}"
            );
        }
    }
}
