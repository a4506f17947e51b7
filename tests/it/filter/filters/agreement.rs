//! `ls` and `explain` say what the archive does, and so does its manifest: for random trees and random filters.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::Repo;
use crate::support::import::{Files, Node, executable, file, link, write_commit};
use crate::support::tar_listing;

/// Directories and names that meet the patterns below in many ways.
const DIRECTORIES: [&str; 6] = ["", "a/", "a/b/", "c/", "c/a/", "d/"];
const NAMES: [&str; 6] = ["x", "y.txt", "z.c", "big.txt", "s", "m"];

/// Options of which each case has some. Those in one group exclude each other.
const OPTIONS: [&[&str]; 9] = [
    &["--max-size=0", "--max-size=10", "--max-size=1k"],
    &[
        "--large=omit",
        "--large=empty",
        "--large=placeholder",
        "--large=keep",
    ],
    &["--size-exempt=*.txt", "--size-exempt=/a/**"],
    &["--binary=omit", "--binary=empty", "--binary=placeholder"],
    &["--profile=zoekt", "--profile=searcher"],
    &["--symlinks=link", "--symlinks=file"],
    &[
        "--exclude=*.txt",
        "--exclude=a/",
        "--exclude=c/**",
        "--exclude=/d/x",
    ],
    &["--submodules=omit", "--submodules=dir"],
    &["--no-attributes", "--exclude-from-tree=rules"],
];
/// Paths that each case may name.
const PATHS: [&[&str]; 5] = [&[], &["a"], &[":(glob)**/x", "c"], &[":!a"], &["*.txt"]];

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        4 => (0..2000_usize, any::<bool>()).prop_map(|(len, is_binary)| {
            let mut text = vec![b'x'; len];
            if let (true, Some(byte)) = (is_binary, text.last_mut()) {
                *byte = 0;
            }
            file(text)
        }),
        2 => Just(file("short")),
        1 => Just(executable("\0#!")),
        1 => Just(link("a/b/some/target")),
        1 => Just(Node::Submodule('1')),
    ]
}

/// A tree with attributes and rules.
fn tree() -> impl Strategy<Value = Files> {
    let path = (
        prop::sample::select(&DIRECTORIES[..]),
        prop::sample::select(&NAMES[..]),
    );
    btree_map(path, node(), 1..20).prop_map(|nodes| {
        let named = |((directory, name), node): ((&str, &str), Node)| {
            (format!("{directory}{name}").into_bytes(), node)
        };
        let mut files: Files = nodes.into_iter().map(named).collect();
        let attributes = "m export-ignore\nd export-ignore\n*.c text eol=crlf\n";
        files.insert(b".gitattributes".to_vec(), file(attributes));
        files.insert(b"rules".to_vec(), file("*.c\nc/a/\n"));
        files
    })
}

/// Some of the options.
fn options() -> impl Strategy<Value = Vec<&'static str>> {
    let indices = vec(any::<Option<prop::sample::Index>>(), OPTIONS.len());
    indices.prop_map(|indices| {
        let chosen = OPTIONS.iter().zip(indices);
        let chosen = chosen.filter_map(|(group, index)| Some(group[index?.index(group.len())]));
        with_companions(chosen.collect())
    })
}

/// Drops options that mean nothing without another one, and are refused.
fn with_companions(mut options: Vec<&'static str>) -> Vec<&'static str> {
    for (companion, dependent) in [
        ("--max-size=", "--large="),
        ("--max-size=", "--size-exempt="),
    ] {
        if !options.iter().any(|option| option.starts_with(companion)) {
            options.retain(|option| !option.starts_with(dependent));
        }
    }
    options
}

/// What is said of each path: a word of `ls`, and perhaps a reason.
type Said = BTreeMap<String, (String, String)>;

/// The lines of the manifest.
fn of_manifest(text: &str) -> Said {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let entries = lines.filter(|line: &Value| line.get("path").is_some());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |line: Value| {
        let said = (text(&line["disposition"]), text(&line["reason"]));
        (text(&line["path"]), said)
    };
    entries.map(entry).collect()
}

/// The lines of `ls`, without the total.
fn of_list(text: &str) -> Said {
    let lines = text.lines().filter(|line| !line.starts_with("total: "));
    let entry = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let mut next = || words.next().unwrap_or_default();
        let (word, _size, path, reason) = (next(), next(), next(), next());
        let reason = reason.trim_matches(['(', ')']).to_owned();
        (path, (word, reason))
    };
    lines.map(entry).collect()
}

/// What `ls --json` says where `ls` says `list`: the words of the manifest.
fn listed_as_manifest(list: &Said) -> Said {
    let certain = |(word, reason): &(String, String)| (word.replace('?', ""), reason.clone());
    let lines = list.iter();
    lines
        .map(|(path, said)| (path.clone(), certain(said)))
        .collect()
}

/// The lines of `explain`: the word of `ls` that each stands for, and whether no entry is there at all.
fn of_explanation(text: &str) -> BTreeMap<String, &'static str> {
    let word = |words: &str| match words {
        _ if words.starts_with("sent as ") => "placeholder",
        _ if words.starts_with("sent if ") => "directory",
        _ if words.contains(", unless its content") => "content?",
        _ if words.starts_with("sent") => "content",
        _ if words.starts_with("omitted") => "omitted",
        _ => panic!("{words}"),
    };
    let entry = |line: &str| {
        let (path, words) = line.split_once(": ").expect("a path and a verdict");
        (path.to_owned(), word(words))
    };
    text.lines().map(entry).collect()
}

/// Whether `word`, said before the content is read, fits the `outcome`.
fn fits(word: &str, (disposition, reason): &(String, String)) -> bool {
    match word {
        "content?" => disposition == "content" || reason == "binary",
        word => word == disposition,
    }
}

#[track_caller]
fn said(repo: &Repo, args: &[&[&str]]) -> Option<String> {
    let output = repo.sluice(args.concat());
    (output.code() == 0).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The outcome of `path`: its own, or that of a directory above that is omitted as a whole.
fn outcome<'a>(manifest: &'a Said, path: &str) -> Option<&'a (String, String)> {
    let above = path.match_indices('/').map(|(at, _)| &path[..=at]);
    let omitted = above.filter_map(|path| manifest.get(path));
    let own = manifest.get(path);
    own.or_else(|| omitted.into_iter().find(|(word, _)| word == "omitted"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    #[ignore = "slow"]
    fn all_say_the_same(
        tree in tree(),
        options in options(),
        paths in prop::sample::select(&PATHS[..]),
    ) {
        let mut stream = Vec::new();
        write_commit(&mut stream, "main", None, &tree);
        let repo = Repo::init();
        repo.git_with_input(["fast-import", "--quiet"], stream);
        let paths = [&["--ignore-unmatch", "main", "--"], paths].concat();
        let report = repo.path().join(".git/manifest");
        let option = format!("--manifest={}", report.display());
        let archive = repo.sluice([&options[..], &[&option], &paths].concat()).success();
        let manifest = of_manifest(&std::fs::read_to_string(report).expect("it was written"));

        let sent = manifest.iter().filter(|(_, (word, _))| word != "omitted");
        let mut sent: Vec<_> = sent.map(|(path, _)| path.clone()).collect();
        // A reader that knows no sparse files sees this directory.
        let names = tar_listing::names(&archive).into_iter();
        let mut names: Vec<_> = names.map(|name| name.replace("GNUSparseFile.0/", "")).collect();
        sent.sort();
        names.sort();
        prop_assert_eq!(&names, &sent);

        let list = of_list(&said(&repo, &[&["ls"], &options, &paths]).expect("the archive is there"));
        prop_assert!(list.keys().eq(manifest.keys()), "{:?}\n{:?}", list, manifest);
        for (path, (word, reason)) in &list {
            let outcome = &manifest[path];
            prop_assert!(fits(word, outcome), "ls: {} is {}, {:?}", path, word, outcome);
            prop_assert!(word == "content?" || *reason == outcome.1, "{} {}", path, reason);
        }

        let lines = said(&repo, &[&["ls", "--json"], &options, &paths]).expect("the archive is there");
        prop_assert_eq!(of_manifest(&lines), listed_as_manifest(&list));

        // Pathspecs are what is explained here, so the archive has none.
        if paths.len() > 3 {
            return Ok(());
        }
        let all: Vec<_> = tree.keys().map(|path| std::str::from_utf8(path).expect("ASCII")).collect();
        let explained = said(&repo, &[&["explain"], &options, &["main", "--"], &all]);
        for (path, word) in of_explanation(&explained.expect("all are there")) {
            match outcome(&manifest, &path) {
                Some(outcome) => prop_assert!(fits(word, outcome), "{} is {}, {:?}", path, word, outcome),
                // A submodule is a directory, and an attribute leaves no line.
                None if word == "omitted" => {}
                None => {
                    let directory = manifest.get(&format!("{path}/"));
                    prop_assert!(directory.is_some_and(|it| fits(word, it)), "{} is {}", path, word);
                }
            }
        }
    }
}
