//! The commands: which word is one, which options each has, what each says of itself, and how each ends.

pub(crate) mod batch;
pub(crate) mod conversation;
pub(crate) mod handover;
pub(crate) mod host;
pub(crate) mod info;
pub(crate) mod json;
pub(crate) mod library;
pub(crate) mod remote;

mod compare;
mod first_word;
mod ls;
mod products;
mod stand_in;
mod statuses;
mod strangers;
mod texts;
mod zoekt_index;

use crate::support::Repo;

/// All commands.
pub(crate) const COMMANDS: [&str; 16] = [
    "archive",
    "ls",
    "explain",
    "info",
    "missing",
    "apply",
    "verify",
    "compare",
    "publish",
    "prune",
    "batch",
    "upload-archive",
    "stand-in",
    "completions",
    "manual",
    "help",
];

/// What a command prints outside of a repository.
#[track_caller]
pub(crate) fn text(words: &[&str]) -> String {
    let text = Repo::scratch().sluice(words).success();
    String::from_utf8(text).expect("text")
}

/// The long options of a command, as its help has them.
#[track_caller]
pub(crate) fn options(command: &str) -> Vec<String> {
    options_in(&text(&[command, "--help"]))
}

/// The long options that a help lists, each with two hyphens.
fn options_in(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start);
    let listed = lines.filter(|line| line.starts_with('-'));
    // Two spaces stand before the explanation.
    let spelled = listed.filter_map(|line| line.split("  ").next());
    let words = spelled.flat_map(|line| line.split([' ', ',', '=', '[', '<', '.']));
    let names = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    names.map(ToOwned::to_owned).collect()
}
