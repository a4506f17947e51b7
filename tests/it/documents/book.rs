//! The book that mdBook makes of the pages: each link of each chapter leads to a chapter, a heading, or a file of the repository.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use super::{read, root};
use crate::support::{BUILT, Repo, installed, process::run, skip};

/// The files of the repository, to look at and to edit.
const REPOSITORY: &str = "https://github.com/git-sluice/git-sluice/(?:blob|edit|tree)/main/";

#[test]
#[ignore = "slow"]
fn links_of_the_book_lead_somewhere() {
    let xtask = Path::new(BUILT).with_file_name("xtask");
    if !installed("mdbook") {
        return;
    }
    if !xtask.exists() {
        return skip("xtask is not built: a test of all packages builds it");
    }
    let place = Repo::scratch();
    let book = place.path().join("book");
    let mut mdbook = place.command("mdbook");
    let command = format!("{} book", xtask.display());
    mdbook.env("MDBOOK_PREPROCESSOR__PAGES__COMMAND", command);
    let output = run(mdbook.arg("build").arg(root()).arg("--dest-dir").arg(&book));
    assert_eq!(output.code(), 0, "{output}");
    let chapters = fs::read_dir(&book).expect("mdBook made it");
    let chapters = chapters.map(|entry| entry.expect("readable").path());
    let chapters = chapters.filter(|path| path.extension().is_some_and(|it| it == "html"));
    let texts: HashMap<PathBuf, String> =
        chapters.map(|path| (path.clone(), read(&path))).collect();
    let link = Regex::new(r#"(?:href|src)="([^"]+)""#).expect("valid");
    let mut dead = Vec::new();
    for (chapter, text) in &texts {
        let links = link
            .captures_iter(text)
            .map(|it| it.get(1).expect("it matched").as_str());
        dead.extend(
            links
                .filter(|it| !leads_somewhere(it, chapter, &texts))
                .map(|it| format!("{}: {it}", chapter.display())),
        );
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

fn leads_somewhere(link: &str, chapter: &Path, texts: &HashMap<PathBuf, String>) -> bool {
    let (address, anchor) = link.split_once('#').unwrap_or((link, ""));
    let inside = Regex::new(REPOSITORY).expect("valid");
    if let Some(start) = inside.find(address) {
        return root().join(&address[start.end()..]).exists();
    }
    if address.contains(':') {
        return true;
    }
    let target = match address {
        "" => chapter.to_owned(),
        _ => chapter.with_file_name(address),
    };
    let has_anchor = |text: &String| text.contains(&format!("id=\"{anchor}\""));
    target.exists() && (anchor.is_empty() || texts.get(&target).is_some_and(has_anchor))
}
