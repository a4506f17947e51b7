//! One page of Markdown: its links, its headings, its blocks of shell commands.

use std::{fs, path::PathBuf};

use super::{read, root};

/// The line that stands before a block of commands which the tests do not run.
const NOT_RUN: &str = "<!-- not run here: ";

/// The address of the files of the project, for pages of the book about files that are not in the book.
const REPOSITORY: &str = "https://github.com/git-sluice/git-sluice/blob/main/";

/// A page.
pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A block of shell commands.
pub(super) struct Block {
    pub(super) text: String,
    /// Whether the block shows prompts and outputs.
    pub(super) is_transcript: bool,
    /// The number of its first line.
    pub(super) line: usize,
    /// Why the block does not run.
    pub(super) reason: Option<String>,
}

/// All pages for readers.
pub(super) fn pages() -> Vec<Page> {
    let docs = fs::read_dir(root().join("docs")).expect("a directory of ours");
    let docs = docs.map(|entry| entry.expect("readable").path());
    // The pictures in the pages are files next to them.
    let docs = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let others = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "benches/README.md",
        "crates/git/differences.md",
        "schema/README.md",
    ];
    let others = others.map(|name| root().join(name));
    let page = |path: PathBuf| Page {
        text: read(&path),
        path: path.canonicalize().expect("it is there"),
    };
    docs.chain(others).map(page).collect()
}

impl Page {
    /// The path from the top of the project.
    pub(super) fn name(&self) -> String {
        super::name_of(self)
    }

    /// The targets of links to files and headings of the project.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.text.split("](").skip(1);
        let links = links.filter_map(|rest| rest.split(')').next());
        links.filter(|link| !link.contains("://") || link.starts_with(REPOSITORY))
    }

    /// The file that a link without its heading leads to.
    pub(super) fn target(&self, path: &str) -> PathBuf {
        match path.strip_prefix(REPOSITORY) {
            Some(path) => super::root().join(path),
            None if path.is_empty() => self.path.clone(),
            None => self.path.parent().expect("a file").join(path),
        }
    }

    /// The anchors of the page: those that a viewer of Markdown makes of headings, and the page's own.
    pub(super) fn anchors(&self) -> impl Iterator<Item = String> {
        let own = self.text.split("<a id=\"").skip(1);
        let own = own.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
        self.headings().chain(own)
    }

    fn headings(&self) -> impl Iterator<Item = String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| {
            let text = line.trim_start_matches('#').trim();
            let kept = text.chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ => letter
                    .is_alphanumeric()
                    .then(|| letter.to_ascii_lowercase()),
            });
            kept.collect()
        })
    }

    /// The blocks of shell commands, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        let mut lines = self.text.lines().zip(1..);
        let mut reason = None;
        std::iter::from_fn(move || {
            loop {
                let (line, number) = lines.next()?;
                let is_transcript = line.trim() == "```console";
                if is_transcript || line.trim() == "```sh" {
                    let text = lines.by_ref().map(|(line, _)| line);
                    let text: Vec<_> = text.take_while(|line| line.trim() != "```").collect();
                    return Some(Block {
                        text: text.join("\n"),
                        is_transcript,
                        line: number + 1,
                        reason: reason.take(),
                    });
                }
                if let Some(why) = line.strip_prefix(NOT_RUN) {
                    reason = Some(why.trim_end_matches(" -->").to_owned());
                }
            }
        })
    }
}
