//! `cargo xtask book`: what mdBook calls to get the pages at the top of the repository as chapters.
//!
//! The pages are written for the repository's own viewer. In the book, all chapters are in one directory, so links to pages are
//! changed to links to chapters, and links to other files to links to the repository. Nothing else changes.

use std::io::{Read as _, Write as _};

use anyhow::{Context, Result};
use serde_json::Value;

/// Answer mdBook, which calls this as a preprocessor
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `supports` and the name of a renderer: asks whether the chapters are for it
    #[arg(hide = true)]
    question: Vec<String>,
}

/// The files of the repository, for pages that have no chapter.
const REPOSITORY: &str = "https://github.com/git-sluice/git-sluice/blob/main/";

/// Pages outside of `docs`, as the summary names them, and their chapters.
const OUTER: [(&str, &str); 6] = [
    ("README.md", "index.md"),
    ("CHANGELOG.md", "changelog.md"),
    ("CONTRIBUTING.md", "contributing.md"),
    ("SECURITY.md", "security.md"),
    ("benches/README.md", "benches.md"),
    ("schema/README.md", "fields.md"),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.question.is_empty() {
        return Ok(());
    }
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let (_, mut book): (Value, Value) =
        serde_json::from_str(&input).context("mdBook calls this task: run 'mdbook build'")?;
    each_chapter(&mut book, &mut convert);
    std::io::stdout().write_all(book.to_string().as_bytes())?;
    Ok(())
}

/// Calls `change` with each chapter, however deep.
fn each_chapter(value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_chapter(item, change)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "Chapter" {
                    change(field);
                }
                each_chapter(field, change);
            }
        }
        _ => {}
    }
}

/// Gives a page outside of `docs` its place in the book, and changes the links of any page.
fn convert(chapter: &mut Value) {
    let path = chapter["path"].as_str().unwrap_or_default();
    let page = normal(&format!("docs/{path}"));
    let content = chapter["content"].as_str().unwrap_or_default();
    chapter["content"] = linked(content, &page).into();
    if let Some(place) = chapter_of(&page) {
        chapter["path"] = place.into();
    }
}

/// The `content` of `page`, with links between chapters.
fn linked(content: &str, page: &str) -> String {
    let mut pieces = content.split("](");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (link, rest) = piece.split_at(piece.find(')').unwrap_or(0));
        text += &format!("]({}{rest}", target(link, page));
    }
    if page.starts_with("docs/") {
        text
    } else {
        // Pictures.
        text.replace("\"docs/", "\"")
    }
}

/// Where a link of `page` leads in the book: to a chapter, or to the repository if it is to another file.
fn target(link: &str, page: &str) -> String {
    let is_address = link.is_empty() || link.starts_with('#') || link.contains("://");
    let file = match link.strip_prefix(REPOSITORY) {
        None if is_address => return link.to_owned(),
        None => normal(&format!("{page}/../{link}")),
        Some(file) => file.to_owned(),
    };
    let (file, anchor) = file.split_at(file.find('#').unwrap_or(file.len()));
    match chapter_of(file) {
        Some(chapter) => format!("{chapter}{anchor}"),
        None => format!("{REPOSITORY}{file}{anchor}"),
    }
}

/// The place in the book of a `file` of the repository.
fn chapter_of(file: &str) -> Option<&str> {
    let outer = OUTER.iter().find(|(page, _)| *page == file);
    let inner = file.strip_prefix("docs/").filter(|it| *it != "SUMMARY.md");
    outer.map(|(_, chapter)| *chapter).or(inner)
}

/// The path without `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|it| !it.is_empty()) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{convert, each_chapter};
    use serde_json::json;

    #[test]
    fn pages_become_chapters() {
        let page =
            |path, content| json!({"Chapter": {"path": path, "content": content, "sub_items": []}});
        let mut book = json!({"items": [
            page("../README.md", "[a](docs/a.md#x) [s](SECURITY.md) [l](src/lib.rs) [x](https://x.y/docs/z) <img src=\"docs/a.svg\">"),
            page("../benches/README.md", "[a](../docs/a.md) [s](../docs/SUMMARY.md#x) [h](#h)"),
            page("a.md", "[s](https://github.com/git-sluice/git-sluice/blob/main/SECURITY.md) [b](b.md)"),
        ]});
        each_chapter(&mut book, &mut convert);
        let expected = json!({"items": [
            page("index.md", "[a](a.md#x) [s](security.md) [l](https://github.com/git-sluice/git-sluice/blob/main/src/lib.rs) [x](https://x.y/docs/z) <img src=\"a.svg\">"),
            page("benches.md", "[a](a.md) [s](https://github.com/git-sluice/git-sluice/blob/main/docs/SUMMARY.md#x) [h](#h)"),
            page("a.md", "[s](security.md) [b](b.md)"),
        ]});
        assert_eq!(book, expected);
    }
}
