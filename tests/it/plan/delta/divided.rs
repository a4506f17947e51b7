//! Threads divide a walk between them: whatever they divide, they find what one alone does.

use std::ffi::OsString;

use proptest::prelude::*;
use sluice_cli::{OptionTables, RawArgs};
use sluice_core::plan::view::Sizes;
use sluice_core::plan::{TreeSource, Window, WindowBuilder};
use sluice_core::request::{Access, Inputs, Purpose, Request, format::Formats};
use sluice_git::objects::reader::Reader;
use sluice_git::{
    config::Config,
    environment::{DiscoveryVariables, Environment},
    repository::{Repository, promisor::FetchAccount},
};

use super::property::{edited, edits, options};
use super::{Files, History, file, files, write_commit};
use crate::support::Repo;
use crate::support::forge;

/// What a walk found.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    entries: Vec<String>,
    directories: u64,
    failure: Option<String>,
}

/// What is found on `route`, divided every `often` steps in each part of it, or never; and how often it was.
fn find(route: TreeSource, reader: &mut Reader, often: Option<usize>) -> (Found, usize) {
    let mut found = Found {
        entries: Vec::new(),
        directories: 0,
        failure: None,
    };
    let mut divided = 0;
    let mut builder = WindowBuilder::default();
    // The earliest part is the last.
    let mut parts = vec![route];
    let mut steps = 0;
    while let Some(mut part) = parts.pop() {
        match part.step(reader, &mut builder) {
            Err(failure) => {
                found.failure = Some(failure.to_string());
                break;
            }
            Ok(false) => found.directories += part.directories(),
            Ok(true) => {
                steps += 1;
                let divides = often.is_some_and(|often| steps % often == 0);
                if let Some(later) = divides.then(|| part.fork()).flatten() {
                    divided += 1;
                    parts.push(later);
                }
                parts.push(part);
            }
        }
    }
    found.entries = told(&builder.finish());
    (found, divided)
}

fn told(window: &Window) -> Vec<String> {
    let entries = window.entries.iter();
    let told = entries.map(|entry| {
        let path = window.path(entry).escape_ascii();
        let is = (entry.mode, entry.kind, entry.id, entry.disposition);
        format!(
            "{path} {is:?} {:?} {:?} {:?}",
            entry.treatment, entry.note, entry.change
        )
    });
    told.collect()
}

/// What the command would be asked in `repo`; nothing if it refuses.
fn request(repo: &Repo, options: &[&str], base: Option<&str>) -> Option<Request> {
    let base = base.map(|base| format!("--base={base}"));
    let split = options.iter().position(|option| *option == "--");
    let (options, paths) = options.split_at(split.unwrap_or(options.len()));
    let words = options.iter().copied().chain(base.as_deref());
    let words = words.chain(["new"]).chain(paths.iter().copied());
    let mut tables = OptionTables::default();
    let (archive, extras) = RawArgs::new(&mut tables, words.map(OsString::from))
        .first_pass(|_| false)
        .and_then(|words| words.second_pass(|_| Ok(Vec::new())))
        .expect("all options are known");
    let args = archive.args(extras, None);
    let environment = Environment {
        cwd: repo.path().to_owned(),
        discovery: DiscoveryVariables {
            git_dir: Some(repo.path().join(".git")),
            ..DiscoveryVariables::default()
        },
        ..Environment::default()
    };
    let formats = Formats::read(&Config::default(), repo.path());
    let formats = formats.expect("there are some");
    let repository = Repository::open(&environment).expect("the configuration is sound");
    let said = &mut std::io::sink();
    let inputs = Inputs {
        args: &args,
        purpose: Purpose::Archive,
        formats: &formats,
        environment: &environment,
        access: Access::Local,
        fetches: &FetchAccount::default(),
    };
    Request::resolve(inputs, repository, said).ok()
}

fn find_all(repo: &Repo, options: &[&str], often: Option<usize>) -> Option<(Found, usize)> {
    let mut request = request(repo, options, None)?;
    let archived = request.content.repositories.remove(0);
    let (walk, mut reader) = archived.tree.into_source(Some(request.content.extras));
    Some(find(walk, &mut reader, often))
}

/// The same for what changed. Its trees are read again, as they are if much changed.
fn find_changes(repo: &Repo, options: &[&str], often: Option<usize>) -> Option<(Found, usize)> {
    let mut request = request(repo, options, Some("old"))?;
    let archived = request.content.repositories.remove(0);
    let changes = archived.tree.with(Sizes::Limited);
    let (walk, mut reader) = changes.into_source(Some(request.content.extras));
    Some(find(walk, &mut reader, often))
}

/// All that is found in a repository with these trees is found by parts as well.
fn assert_divisible(old: &Files, new: &Files, options: &[&str]) {
    let History { repo, .. } = History::new(old, new);
    for find in [find_all, find_changes] {
        let alone = find(&repo, options, None).map(|(found, _)| found);
        for often in [1, 2, 3, 5] {
            let together = find(&repo, options, Some(often)).map(|(found, _)| found);
            assert_eq!(together, alone, "divided every {often} steps");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    #[ignore = "slow"]
    fn parts_of_a_walk_are_the_walk(first in edits(), then in edits(), options in options()) {
        let old = edited(Files::new(), first);
        let new = edited(old.clone(), then);
        assert_divisible(&old, &new, &options);
    }
}

fn texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Files {
    files(texts.into_iter().map(|(path, text)| (path, file(text))))
}

/// A file sorts elsewhere than a directory of its name, and is where the rest is divided.
#[test]
fn what_is_a_file_there_and_a_directory_here() {
    let same = ["A", "B", "C", "D", "E", "a-", "a.b", "a.c", "z"].map(|name| (name, "same"));
    let old = texts([("0", "1"), ("a/x", "was")].into_iter().chain(same));
    let new = texts([("0", "2"), ("a", "is")].into_iter().chain(same));
    assert_divisible(&old, &new, &[]);
    assert_divisible(&new, &old, &[]);
}

/// All of a directory is looked at, and its entry comes with the first file that differs.
#[test]
fn where_attributes_differ() {
    let names = ["d/a", "d/b/c", "d/b/d", "d/e/f", "d/g", "d/h/i", "d/j"];
    let rules = |rules| {
        [
            (".gitattributes", rules),
            ("d/b/.gitattributes", "* text\n"),
        ]
    };
    let old = names.map(|name| (name, "text\n")).into_iter();
    let new = old.clone();
    let old = texts(old.chain(rules("*.x text\n")));
    let new = texts(new.chain(rules("i eol=crlf\nf eol=crlf\n/d/j eol=crlf\n")));
    assert_divisible(&old, &new, &[]);
}

/// Rules of a directory hold in it, and nowhere else.
#[test]
fn where_directories_have_rules_of_their_own() {
    let rules = ["a", "a/b", "c", "d/e"].map(|at| (format!("{at}/.gitattributes"), "* eol=crlf\n"));
    let names = [
        "a/b/x", "a/c/x", "a/x", "b/x", "c/x", "d/d/x", "d/e/x", "d/f/x", "d/x", "e",
    ];
    let tree = |text| {
        let rules = rules.iter().map(|(path, rules)| (path.as_str(), *rules));
        texts(names.map(|name| (name, text)).into_iter().chain(rules))
    };
    assert_divisible(&tree("old\n"), &tree("new\n"), &[]);
}

/// A complaint about the root's attributes is told with the first file, which is not theirs, and once.
#[test]
fn where_there_is_something_to_complain_of() {
    let names = ["-a/b/c/d", "-a/b/e/f", "-a/g", "h/i", "h/j/k", "l"];
    let tree = |text| {
        let rules = [
            (".gitattributes", "!a text\n"),
            ("h/.gitattributes", "!b text\n"),
        ];
        texts(names.map(|name| (name, text)).into_iter().chain(rules))
    };
    assert_divisible(&tree("old\n"), &tree("new\n"), &[]);
}

/// A link in one part and what would be written through it in another: the run fails, whoever sees it.
#[test]
fn where_a_link_leads_out() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "text");
    let target = forge::blob(&repo, "../outside");
    let sub = forge::tree(&repo, &[("100644", b"file", &blob)]);
    let links = forge::tree(&repo, &[("120000", b"link", &target)]);
    let file = |name| ("100644", name, blob.as_str());
    let directory = |name, id| ("40000", name, id);
    let between = [b"b", b"c", b"d", b"e", b"f", b"g"].map(|name: &[u8; 1]| file(&name[..]));
    let first = directory(&b"0"[..], sub.as_str());
    let link = ("120000", &b"a"[..], target.as_str());
    for (link, last) in [
        (link, directory(&b"a"[..], &sub)),
        (link, file(&b"a"[..])),
        (directory(&b"1"[..], &links), file(&b"1/link/file"[..])),
        (file(&b"1/link"[..]), directory(&b"h"[..], &links)),
    ] {
        let entries = [&[first, link][..], &between, &[last]].concat();
        let commit = forge::commit(&repo, &entries);
        repo.git(["update-ref", "refs/heads/new", &commit]);
        let (alone, _) = find_all(&repo, &[], None).expect("there is something");
        assert!(alone.failure.is_some(), "{alone:?}");
        for often in [1, 2, 3] {
            let (found, divided) = find_all(&repo, &[], Some(often)).expect("there is something");
            assert_eq!(found.failure, alone.failure);
            assert!(divided > 0);
        }
        for steps in 1..12 {
            assert_eq!(fail_later_first(&repo, steps), alone.failure, "{steps}");
        }
    }
}

/// The first failure of a walk that is divided after so many `steps`, whose later part is walked before the
/// earlier one.
fn fail_later_first(repo: &Repo, steps: usize) -> Option<String> {
    let mut request = request(repo, &[], None).expect("there is something");
    let archived = request.content.repositories.remove(0);
    let (mut earlier, mut reader) = archived.tree.into_source(Some(request.content.extras));
    let mut walk = |part: &mut TreeSource, steps| {
        let mut builder = WindowBuilder::default();
        let mut outcomes = (0..steps).map(|_| part.step(&mut reader, &mut builder));
        let failure = outcomes.find_map(Result::err);
        failure.map(|failure| failure.to_string())
    };
    let failure = walk(&mut earlier, steps);
    let later = earlier.fork().and_then(|mut later| walk(&mut later, 100));
    failure.or(walk(&mut earlier, 100)).or(later)
}

/// Two directories of one name are odd, and a link elsewhere is not below them: whoever sees which first,
/// the tree passes as it does in git.
#[test]
fn where_a_link_leads_elsewhere() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "text");
    let target = forge::blob(&repo, "../outside");
    let sub = forge::tree(&repo, &[("100644", b"file", &blob)]);
    let odd = forge::tree(&repo, &[("40000", b"x", &sub), ("40000", b"x", &sub)]);
    let link = |name| ("120000", name, target.as_str());
    let entries = [
        link(&b"a"[..]),
        ("40000", b"b", &odd),
        ("100644", b"c", &blob),
        ("40000", b"d", &sub),
        link(&b"e"[..]),
    ];
    let commit = forge::commit(&repo, &entries);
    repo.git(["update-ref", "refs/heads/new", &commit]);
    for steps in 1..12 {
        assert_eq!(fail_later_first(&repo, steps), None, "{steps}");
    }
    repo.assert_same_within(&["1", "8"], &["128m"], ["new"]);
}

/// Files in 2,100 directories on three levels and in one with many; those in `changes` of them differ.
fn wide(changes: impl Fn(u32) -> bool) -> Files {
    let mut files = Files::new();
    let mut add = |path: String, content: String| {
        files.insert(path.into_bytes(), file(content));
    };
    for number in 0..2000 {
        let directory = format!("{:02}/{:02}", number / 40, number % 40);
        add(format!("{directory}/same"), format!("{number}\n"));
        let changed = changes(number);
        add(format!("{directory}/file"), format!("{changed}\n"));
        let gone = if changed { "came" } else { "went" };
        if number % 3 == 0 {
            add(format!("{directory}/{gone}/deep"), "deep\n".to_owned());
        }
    }
    for number in 0..3000 {
        add(format!("flat/{number}"), format!("{number}\n"));
    }
    add(
        "50/.gitattributes".to_owned(),
        "*.x export-ignore\n".to_owned(),
    );
    files
}

fn two_wide_trees() -> Repo {
    let repo = Repo::init();
    let mut stream = Vec::new();
    write_commit(&mut stream, "old", None, &wide(|_| false));
    write_commit(
        &mut stream,
        "new",
        Some("old"),
        &wide(|number| number % 2 == 0),
    );
    repo.git_with_input(["fast-import", "--quiet"], stream);
    repo
}

#[test]
fn every_walk_of_some_size_is_divided() {
    let repo = two_wide_trees();
    for find in [find_all, find_changes] {
        let (alone, divided) = find(&repo, &[], None).expect("there is something");
        assert_eq!(divided, 0);
        let (together, divided) = find(&repo, &[], Some(7)).expect("there is something");
        assert_eq!(together, alone);
        assert!(divided > 100, "only {divided} times");
    }
}

#[test]
#[ignore = "slow"]
fn whatever_the_threads_the_bytes_are_the_same() {
    let repo = two_wide_trees();
    repo.assert_same_within(&["1", "2", "8"], &["1m", "128m"], ["new"]);
    let delta = |options: &[&str]| {
        let args = [&["--base=old"], options, &["new"]].concat();
        repo.sluice(args).success()
    };
    let alone = delta(&["--threads=1"]);
    for threads in ["--threads=2", "--threads=8"] {
        for memory in ["--memory=1m", "--memory=128m"] {
            assert!(delta(&[threads, memory]) == alone, "{threads} {memory}");
        }
    }
}
