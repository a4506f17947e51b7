//! What each command says of itself.

use std::{fs, path::Path};

use super::{COMMANDS, options, options_in, text};
use crate::support::process::run_with_input;
use crate::support::{Repo, binary, cases, installed};

/// The lines of a common terminal, without the prompt.
const LINES: usize = 48;
const COLUMNS: usize = 80;

#[track_caller]
fn assert_fits(words: &[&str], lines: usize) -> String {
    let text = text(words);
    let wide = text.lines().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(wide, None, "{words:?}");
    assert!(text.lines().count() <= lines, "{words:?}\n{text}");
    text
}

#[test]
fn the_short_help_fits_a_screen() {
    let all = [
        assert_fits(&["-h"], LINES),
        assert_fits(&["--help"], usize::MAX),
    ];
    for command in COMMANDS {
        let names_it = |line: &str| line.split([' ', ',']).any(|word| word == command);
        for help in &all {
            assert!(help.lines().any(names_it), "{command}: {help}");
        }
        let help = assert_fits(&[command, "-h"], LINES);
        assert!(
            help.contains(&format!("git sluice {command}")) || command == "archive",
            "{help}"
        );
        // With git's program in between, and outside of it.
        let place = Repo::scratch();
        let by_git = place.git(["sluice", command, "-h"]);
        assert_eq!(by_git, help.trim_end_matches('\n'), "{command}");
    }
}

/// The long help has more than the short one, and ends with the exit statuses.
#[test]
fn the_long_help_has_all() {
    for command in COMMANDS {
        let help = assert_fits(&[command, "--help"], usize::MAX);
        let short = text(&[command, "-h"]);
        let long = options(command);
        for option in options_in(&short) {
            assert!(long.contains(&option), "{command} {option}");
        }
        assert!(short.lines().count() <= help.lines().count(), "{command}");
        if command != "upload-archive" {
            assert!(help.contains("\nExit status:\n"), "{help}");
        }
    }
}

#[test]
fn topics() {
    let all = text(&["help"]);
    for (topic, words) in [
        (
            "filters",
            &["--exclude", "--max-size", "--binary", "--submodules"][..],
        ),
        ("changes", &["--base", "--deletions", "--max-changed-ratio"]),
        ("cache", &["--cache", "--cache-age", "--cache-wait"]),
        ("http", &["--byte-range", "--if-none-match", "--if-range"]),
        (
            "paths",
            &["--relative", "--pathspec-from-file", "--add-directory"],
        ),
        ("bytes", &["--stable", "--umask", "--gzip-compat"]),
        ("reports", &["--manifest", "--summary", "--fail-if-empty"]),
        ("run", &["--threads", "--memory", "--no-progress"]),
        ("basic", &["--prefix", "--output", "--exec"]),
    ] {
        let text = assert_fits(&["help", topic], usize::MAX);
        for word in words {
            assert!(text.contains(word), "{topic} {word}");
        }
        assert!(all.contains(topic), "{topic}");
        let is_of_git = text.contains("--add-virtual-file");
        assert_eq!(is_of_git, topic == "basic", "{topic}");
        assert!(!text.contains("--level"), "{topic}");
    }
    for command in COMMANDS {
        assert_eq!(
            text(&["help", command]),
            text(&[command, "--help"]),
            "{command}"
        );
    }
    let refused = Repo::scratch().sluice(["help", "filtres"]);
    refused.assert_refused(
        129,
        &["error: ", "paths", "filters", "changes", "cache", "http"],
    );
}

/// A page for the program, and one for each command.
#[test]
fn manual_pages() {
    let place = Repo::scratch();
    let pages = COMMANDS.map(|command| vec!["manual", command]);
    for words in std::iter::once(vec!["manual"]).chain(pages) {
        let page = text(&words);
        assert!(page.contains(".TH GIT-SLUICE"), "{words:?}\n{page}");
        let mut sections = vec!["SYNOPSIS"];
        if words.len() == 1 {
            let name = "git\\-sluice \\- Write, check, publish and apply archives";
            assert!(page.contains(name), "{page}");
            sections.extend(cases(
                "OPTIONS | FILES | EXAMPLES | EXIT STATUS | DOCUMENTATION | SEE ALSO",
            ));
        }
        for section in sections {
            let is_head = |line: &str| line.starts_with(".SH") && line.contains(section);
            assert!(page.lines().any(is_head), "{words:?} {section}");
        }
        for option in options(words.get(1).unwrap_or(&"archive")) {
            assert!(
                page.contains(&option.replace('-', "\\-")),
                "{words:?} {option}"
            );
        }
        if installed("man") {
            let mut man = place.command("man");
            man.args(["--local-file", "--warnings", "-"]);
            let shown = run_with_input(&mut man, page.as_bytes());
            assert_eq!(shown.messages(), "", "{words:?}");
            let shown = String::from_utf8(shown.success()).expect("text");
            assert!(words.len() > 1 || shown.contains("--max-changed-ratio"));
        }
    }
}

/// No text needs a repository, or a git that works.
#[test]
fn texts_need_nothing() {
    let place = Repo::scratch();
    let missing = place.path().join("missing");
    let place = place
        .env("PATH", &missing)
        .env("GIT_CONFIG_PARAMETERS", "'tar.x.command'")
        .env("GIT_DIR", &missing);
    for words in [
        &["help"][..],
        &["help", "cache"],
        &["manual"],
        &["manual", "apply"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["help", "zoekt"],
        &["help", "ls"],
        &["batch", "--help"],
    ] {
        let mut command = place.command(binary());
        let output = run_with_input(command.args(words), "");
        assert!(!output.success().is_empty(), "{words:?}");
    }
}

/// Without its manual page, `git help` does not know a command.
#[test]
fn every_manual_page_is_installed() {
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("xtask/src/layout.rs");
    let layout = fs::read_to_string(layout).expect("a file of this package");
    for command in COMMANDS.iter().filter(|command| **command != "archive") {
        assert!(
            layout.contains(&format!("    \"{command}\",\n")),
            "{command}"
        );
    }
}
