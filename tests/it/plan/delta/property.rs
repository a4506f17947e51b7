//! The equation for random pairs of trees and random options; whatever the threads and the memory, the
//! same bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Files, History, Node};

const IGNORE: &str = ".ignore";
const ATTRIBUTES: &str = ".gitattributes";

/// Of some size, with a NUL, with an expansion.
const CONTENTS: &[&str] = &[
    "",
    "1\n",
    "2\n",
    "1\r\n",
    "nul\0\n",
    "a long line of text\n",
    "$Format:%H$\n",
];

const IGNORE_RULES: &[&str] = &["a", "*b", "a/", "b/**", "**/c", "?", "# none"];

const RULES: &[&str] = &[
    "export-ignore",
    "-export-ignore",
    "export-subst",
    "-export-subst",
    "eol=crlf",
    "-text",
    "x",
    "!x",
];
const GLOBS: &[&str] = &["a", "b*", "*", "a/**", "/c", "c/"];

const PATHSPECS: &[&str] = &["a", "b/", ":(glob)**/c", ":!a", ":(attr:x)", "*b*"];

/// Each with a value to choose.
const OPTIONS: &[&[&str]] = &[
    &["--prefix=p/", "--prefix=p/q/", "--prefix=p-"],
    &["--exclude-from-tree=.ignore"],
    &["--exclude=b", "--exclude=**/a"],
    &["--profile=zoekt", "--profile=searcher"],
    &["--no-attributes"],
    &["--max-size=3"],
    &["--max-size=3", "--size-exempt=a*"],
    &["--max-size=3", "--large=empty"],
    &["--max-size=3", "--large=placeholder"],
    &["--binary=omit", "--binary=placeholder"],
    &["--symlinks=file"],
    &["--submodules=omit"],
    &["--pax-notes"],
];

fn content() -> impl Strategy<Value = Vec<u8>> {
    select(CONTENTS).prop_map(|content| content.as_bytes().to_vec())
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        6 => content().prop_map(Node::File),
        2 => content().prop_map(Node::Executable),
        1 => select(&["a", "../c", "1\n"][..]).prop_map(super::link),
        1 => select(&['1', '2'][..]).prop_map(Node::Submodule),
    ]
}

/// Few names, so that each is a file here and a directory there; some sort beside the slash.
fn path() -> impl Strategy<Value = String> {
    vec(select(&["a", "b", "c", "a.b", "a-"][..]), 1..4).prop_map(|names| names.join("/"))
}

fn attributes() -> impl Strategy<Value = String> {
    let line = (select(GLOBS), select(RULES)).prop_map(|(glob, rule)| format!("{glob} {rule}\n"));
    vec(line, 1..3).prop_map(|lines| lines.concat())
}

/// One change of a tree: something comes to a path, or what is there goes.
pub(super) fn edits() -> impl Strategy<Value = Vec<(String, Option<Node>)>> {
    let file = |content: String| Some(super::file(content));
    let lines = vec(select(IGNORE_RULES), 1..3).prop_map(|lines| lines.join("\n"));
    let edit = prop_oneof![
        8 => (path(), node()).prop_map(|(path, node)| (path, Some(node))),
        3 => path().prop_map(|path| (path, None)),
        1 => lines.prop_map(move |lines| (IGNORE.to_owned(), file(lines))),
        1 => attributes().prop_map(move |rules| (ATTRIBUTES.to_owned(), file(rules))),
        1 => (path(), attributes())
            .prop_map(move |(path, rules)| (format!("{path}/{ATTRIBUTES}"), file(rules))),
        1 => select(&[IGNORE, ATTRIBUTES, "a/.gitattributes"][..])
            .prop_map(|path| (path.to_owned(), None)),
    ];
    vec(edit, 0..14)
}

pub(super) fn edited(mut files: Files, edits: Vec<(String, Option<Node>)>) -> Files {
    for (path, node) in edits {
        let path = path.into_bytes();
        let below = |long: &[u8], short: &[u8]| {
            long.strip_prefix(short)
                .is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
        };
        files.retain(|other, _| !(below(other, &path) || node.is_some() && below(&path, other)));
        files.extend(node.map(|node| (path, node)));
    }
    files
}

pub(super) fn options() -> impl Strategy<Value = Vec<&'static str>> {
    let chosen = select(OPTIONS).prop_flat_map(|values| match values {
        ["--max-size=3", rest @ ..] => Just(vec!["--max-size=3"])
            .prop_map(move |some| [&some[..], rest].concat())
            .boxed(),
        values => select(values).prop_map(|value| vec![value]).boxed(),
    });
    let pathspecs = vec(select(PATHSPECS), 0..2);
    (vec(chosen, 0..3), pathspecs).prop_map(|(chosen, pathspecs)| {
        let mut options: Vec<&str> = Vec::new();
        for option in chosen.concat() {
            let name = option.split('=').next().unwrap_or(option);
            // Some may be given once only.
            if !options.iter().any(|other| other.starts_with(name)) {
                options.push(option);
            }
        }
        if !pathspecs.is_empty() {
            options.push("--");
            options.extend(pathspecs);
        }
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    #[ignore = "slow"]
    fn base_and_delta_make_the_target(
        first in edits(),
        then in edits(),
        options in options(),
    ) {
        let old = edited(Files::new(), first);
        let new = edited(old.clone(), then);
        let history = History::new(&old, &new);
        let fails = |end| history.sluice(&options, end).code() != 0;
        if fails("old") && fails("new") {
            // As git does, for a path that is not there.
            prop_assert_eq!(history.delta(["old", "new"], &options).code(), 128);
            return Ok(());
        }
        for ends in [["old", "new"], ["new", "old"]] {
            history.assert_delta(ends, &options);
        }
        let deltas = ["--threads=1", "--threads=4", "--memory=1m"].map(|option| {
            history.delta(["old", "new"], &[&[option], &options[..]].concat()).success()
        });
        prop_assert!(deltas[0] == deltas[1] && deltas[0] == deltas[2]);
    }
}
