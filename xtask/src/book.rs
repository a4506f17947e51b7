//! `cargo xtask book`: what mdBook calls to get the pages at the top of the repository as chapters.
//!
//! The pages are written for the repository's own viewer. In the book, all chapters are in one directory, so links to pages are
//! changed to links to chapters. Nothing else changes.

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
const OUTER: [(&str, &str); 5] = [
    ("README.md", "index.md"),
    ("CHANGELOG.md", "changelog.md"),
    ("CONTRIBUTING.md", "contributing.md"),
    ("SECURITY.md", "security.md"),
    ("benches/README.md", "benches.md"),
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
    let path = chapter["path"].as_str().unwrap_or_default().to_owned();
    let outer = path.strip_prefix("../");
    let content = chapter["content"].as_str().unwrap_or_default();
    chapter["content"] = linked(content, outer).into();
    let place = outer.and_then(|outer| OUTER.iter().find(|(page, _)| *page == outer));
    if let Some((_, place)) = place {
        chapter["path"] = (*place).into();
    }
}

/// The `content` of the page `outer`, or of a page in `docs`, with links between chapters.
fn linked(content: &str, outer: Option<&str>) -> String {
    let mut text = content.to_owned();
    for (page, chapter) in OUTER {
        text = text.replace(&format!("]({REPOSITORY}{page}"), &format!("]({chapter}"));
        if outer.is_some() {
            text = text.replace(&format!("]({page}"), &format!("]({chapter}"));
        }
    }
    match outer {
        None => text,
        Some(page) => {
            let up = "../".repeat(page.matches('/').count());
            text.replace(&format!("]({up}docs/"), "](")
                .replace("\"docs/", "\"")
        }
    }
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
            page("../README.md", "[a](docs/a.md#x) [s](SECURITY.md) <img src=\"docs/a.svg\">"),
            page("../benches/README.md", "[a](../docs/a.md)"),
            page("a.md", "[s](https://github.com/git-sluice/git-sluice/blob/main/SECURITY.md) [b](b.md)"),
        ]});
        each_chapter(&mut book, &mut convert);
        let expected = json!({"items": [
            page("index.md", "[a](a.md#x) [s](security.md) <img src=\"a.svg\">"),
            page("benches.md", "[a](a.md)"),
            page("a.md", "[s](security.md) [b](b.md)"),
        ]});
        assert_eq!(book, expected);
    }
}
