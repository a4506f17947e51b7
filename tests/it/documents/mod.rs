//! The documents: their links lead somewhere, and their commands run as pasted.
//!
//! No command may change anything outside of the directory of its test: home and the system's configuration are files there.

mod book;
mod fields;
mod figures;
mod page;
mod ssh_command;
mod transcript;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Repo, installed};
use page::{Block, Page, pages};

/// Programs that commands of the documents call, and the words that call them.
const PROGRAMS: [(&str, &str); 6] = [
    ("jq", "jq "),
    ("zstd", "| zstd "),
    ("xz", "xz -c"),
    ("git-lfs", "git lfs "),
    ("curl", "curl "),
    ("python3", "python3 "),
];

/// The beginning of the tutorial's script.
const TUTORIAL: &str = "\
#!/bin/sh
# The commands of docs/tutorial.md. Run this script in an empty directory: it shows each command and its output.
set -ex
";

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    for page in &pages {
        for link in page.links() {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = page.target(path);
            let place = format!("{}: {link}", page.name());
            assert!(target.exists(), "{place}");
            // The book has the pages of its directory, and those that its summary names.
            let is_in_book = page.name().starts_with("docs/") && page.name() != "docs/SUMMARY.md";
            assert!(!is_in_book || !path.starts_with("../"), "{place}");
            if !anchor.is_empty() {
                let target = target.canonicalize().expect("it exists");
                let target = pages.iter().find(|page| page.path == target);
                let target = target.unwrap_or_else(|| panic!("{place}: no page"));
                assert!(target.anchors().any(|it| it == anchor), "{place}");
            }
        }
    }
}

#[test]
fn the_readme_leads_to_every_page() {
    let pages = pages();
    for page in &pages {
        let name = page.name();
        assert!(
            name == "README.md" || leads_to(&pages, "README.md", &name),
            "the README does not lead to {name}"
        );
    }
}

/// The book, which mdBook makes of the same pages, has all of them.
#[test]
fn the_summary_leads_to_every_page() {
    let pages = pages();
    let names = pages.iter().map(Page::name);
    for name in names.filter(|name| name.starts_with("docs/")) {
        let page = name.trim_start_matches("docs/");
        assert!(
            page == "SUMMARY.md" || leads_to(&pages, "docs/SUMMARY.md", page),
            "the summary does not lead to {name}"
        );
    }
}

/// Whether the page `from` has a link to the file `link`.
fn leads_to(pages: &[Page], from: &str, link: &str) -> bool {
    let from = pages.iter().find(|page| page.name() == from);
    let mut links = from.expect("there is one").links();
    links.any(|it| it.split('#').next() == Some(link))
}

/// Each page has a place of its own, in which its blocks run one after the other.
#[test]
#[ignore = "slow"]
fn commands_run_as_pasted() {
    let pages = pages();
    let differing: Vec<_> = pages.iter().filter_map(differing).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Runs the blocks of `page`. Writes the page with the outputs that the commands have now, if they differ from those shown, and says
/// how they differ.
fn differing(page: &Page) -> Option<String> {
    let mut place = Place::new();
    let mut text = page.text.clone();
    for block in page.blocks().filter(|block| block.reason.is_none()) {
        let mut programs = PROGRAMS.iter();
        if programs.all(|(name, call)| !block.text.contains(call) || installed(name)) {
            let now = place.run(page, &block);
            text = text.replacen(&block.text, &now, 1);
        }
    }
    if text == page.text {
        return None;
    }
    let name = page.name().replace('/', "-");
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&now, text).expect("ours");
    let diff = Command::new("diff").args([&page.path, &now]).output();
    let lines = String::from_utf8(diff.expect("installed").stdout);
    Some(format!(
        "other outputs: {}\n{}",
        now.display(),
        lines.expect("pages are text")
    ))
}

/// A project with two commits, a remote repository that ssh leads to, and the examples next to both.
struct Place {
    project: Repo,
    /// The system's configuration, for commands that write one.
    system: PathBuf,
}

impl Place {
    fn new() -> Place {
        let top = Repo::scratch();
        let _ = top.shell(include_str!("place.sh")).success();
        symlink(root().join("examples"), top.path().join("examples")).expect("our own");
        let home = top.path().join("home");
        let ssh = top.path().join("ssh");
        let system = top.path().join("system");
        let project = top.at("project").env("HOME", home);
        let project = project.env("GIT_CONFIG_SYSTEM", &system);
        Place {
            project: project.env("GIT_SSH", ssh).env("GIT_SSH_VARIANT", "ssh"),
            system,
        }
    }

    /// Runs a block. Returns its text, with the outputs of now.
    fn run(&mut self, page: &Page, block: &Block) -> String {
        let steps = if block.is_transcript {
            transcript::steps(&block.text)
        } else {
            Vec::new()
        };
        let script = if block.is_transcript {
            transcript::script(&steps)
        } else {
            format!("set -euo pipefail\n{}", block.text)
        };
        let mut bash = self.project.command("bash");
        let output = crate::support::process::run(bash.args(["-c", &script]));
        assert_eq!(output.code(), 0, "{}:{}: {output}", page.name(), block.line);
        // An example of `info` shows a length.
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.contains("\"content_length\":null"), "{printed}");
        let is_for_system = block.text.contains("git config --system");
        assert_eq!(self.system.exists(), is_for_system, "{}", page.name());
        let _ = fs::remove_file(&self.system);
        if !block.is_transcript {
            return block.text.clone();
        }
        let (now, directory) = transcript::transcript(&steps, &printed);
        self.project = self.project.clone().at(directory);
        now
    }
}

/// The tutorial is a script as well: it has the commands of the page, and works in an empty directory.
#[test]
fn the_tutorial_is_a_script() {
    let pages = pages();
    let page = pages.iter().find(|page| page.name() == "docs/tutorial.md");
    let mut script = TUTORIAL.to_owned();
    for line in page.expect("there is one").text.lines() {
        if let Some(heading) = line.strip_prefix("## ").filter(|it| *it != "What next?") {
            script += &format!("\n# {heading}\n");
        } else if let Some(command) = line.strip_prefix("$ ") {
            script += &format!("{command}\n");
        }
    }
    assert_same_file("examples/ten-minutes.sh", &script);
    let place = Repo::scratch();
    let mut sh = place.command("sh");
    let output = crate::support::process::run(sh.arg(root().join("examples/ten-minutes.sh")));
    assert_eq!(output.code(), 0, "{output}");
}

/// A block that does not run has its reason, and no page hides all of its blocks.
#[test]
fn what_does_not_run_has_a_reason() {
    for page in pages() {
        let reasons = page.blocks().filter_map(|block| block.reason);
        for reason in reasons {
            assert!(reason.len() > 10, "{}: {reason}", page.name());
        }
    }
}

/// The file `name` of the project has the content `text`, which a test makes.
#[track_caller]
fn assert_same_file(name: &str, text: &str) {
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
    fs::write(&now, text).expect("ours");
    assert!(
        read(&root().join(name)) == text,
        "cp {} {name}",
        now.display()
    );
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn name_of(page: &Page) -> String {
    let path = page
        .path
        .strip_prefix(root().canonicalize().expect("it exists"));
    path.expect("a page of ours").display().to_string()
}
