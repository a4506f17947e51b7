//! What the project promises of its own files, checked: no list of ours may go stale without a test
//! that fails.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files with this extension, however deep.
fn files(directory: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(directory)];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of this package") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .expect("our files have plain names")
}

#[test]
fn every_module_says_what_it_is_for() {
    for directory in ["src", "crates", "tests", "benches", "xtask/src"] {
        if root().join(directory).exists() {
            for file in files(directory, "rs") {
                assert!(
                    text(&file).starts_with("//! "),
                    "{} does not open with a paragraph",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_fixture_says_what_is_special_and_is_used() {
    let tests: String = files("tests", "rs").iter().map(|file| text(file)).collect();
    for file in files("fixtures", "sh") {
        let comment = text(&file).starts_with("#!/bin/sh\n# ");
        assert!(comment, "{} does not say what it is", file.display());
        let name = stem(&file);
        assert!(
            tests.contains(&format!("\"{name}\"")),
            "no test uses the fixture {name}"
        );
    }
}

#[test]
fn no_test_file_is_forgotten() {
    for file in files("tests/it", "rs") {
        let parent = file.parent().expect("it is in a directory");
        let declared_in = match stem(&file) {
            "main" => continue,
            "mod" if parent.parent().is_some_and(|above| above.ends_with("it")) => {
                parent.with_file_name("main.rs")
            }
            "mod" => parent.with_file_name("mod.rs"),
            _ if parent.ends_with("it") => parent.join("main.rs"),
            _ => parent.join("mod.rs"),
        };
        let module = if stem(&file) == "mod" {
            stem(parent)
        } else {
            stem(&file)
        };
        let declaration = format!("mod {module};");
        let declared = text(&declared_in)
            .lines()
            .any(|line| line.trim_start_matches("pub(crate) ") == declaration);
        assert!(declared, "{} is in no module", file.display());
    }
}

#[test]
fn the_changelog_has_this_version_once() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    let changelog = text(&root().join("CHANGELOG.md"));
    let found = changelog
        .lines()
        .filter(|line| line.starts_with(&heading))
        .count();
    assert_eq!(found, 1, "CHANGELOG.md should have one line {heading:?}");
}

/// Words that a reader has to read twice, each with a plain one. Uses that mean something else are exceptions.
const BANNED: [(&str, &str); 24] = [
    ("beside", "next to, in addition to"),
    ("behind", "after"),
    ("anew", "again"),
    ("told", "notified, printed"),
    ("gone", "deleted, missing"),
    ("ceiling", "limit"),
    ("whoever", "a user who"),
    ("nothing but", "only"),
    ("does without", "skips"),
    ("passed over", "ignored"),
    ("lay down", "create"),
    ("laid down", "created"),
    ("get past", "bypass"),
    ("goes with", "can be combined with"),
    ("in force", "used"),
    ("makes no sense", "cannot be parsed"),
    ("not a part, such", "not a fraction, such"),
    ("whole archive", "full archive"),
    ("ignore rule", "exclude rule"),
    ("first into", "first in"),
    ("as by git", "as in git"),
    ("of yours", "one of your"),
    ("of somebody else", "another"),
    ("except:", "one exception:"),
];
/// git's own word in the name of a variable.
const OTHER_MEANINGS: [(&str, &str); 3] = [
    ("crates/git/src/environment.rs", "ceiling"),
    ("crates/git/src/program.rs", "ceiling"),
    ("crates/git/src/repository/discover.rs", "ceiling"),
];

/// Texts at other places.
const PAGES: [&str; 7] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benches/README.md",
    "Cargo.toml",
    "examples/ssh-command",
];

#[test]
fn words_are_plain() {
    let mut found = Vec::new();
    let texts = [
        ("src", "rs"),
        ("crates", "rs"),
        ("crates", "md"),
        ("docs", "md"),
        ("schema", "json"),
        ("examples", "rs"),
        ("examples", "py"),
        ("examples", "go"),
        ("examples", "md"),
        ("examples", "sh"),
    ];
    let texts = texts.map(|(directory, extension)| files(directory, extension));
    let texts = texts
        .into_iter()
        .flatten()
        .chain(PAGES.map(|page| root().join(page)));
    for file in texts {
        let name = file.strip_prefix(root()).expect("below").to_string_lossy();
        for (number, line) in (1..).zip(text(&file).lines()) {
            let line = line.to_lowercase();
            for (word, plain) in BANNED {
                let is_other = OTHER_MEANINGS.contains(&(&*name, word));
                if !is_other && has_word(&line, word) {
                    found.push(format!(
                        "{name}:{number}: {word:?} is better said as {plain:?}"
                    ));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Whether `line` has `word`, not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        !is_letter(line[..at].chars().next_back())
            && !is_letter(line[at + word.len()..].chars().next())
    })
}

/// Files that start programs, and what SECURITY says about these programs.
const STARTERS: [(&str, &str); 6] = [
    ("src/main.rs", "**Itself**"),
    ("src/commands/stand_in/check.rs", "**The stand-in**"),
    (
        "crates/format/src/unarchive/compression.rs",
        "**`xz`, `bzip2` or `lzip`**",
    ),
    (
        "crates/git/src/command.rs",
        "**Commands of the configuration**",
    ),
    (
        "crates/git/src/convert/iconv_program.rs",
        "**The system's `iconv`**",
    ),
    ("crates/git/src/program.rs", "**The installed `git`**"),
];

#[test]
fn programs_are_listed_in_the_security_page() {
    let security = text(&root().join("SECURITY.md"));
    let is_of_program = |file: &PathBuf| file.components().any(|part| part.as_os_str() == "src");
    let all = [files("src", "rs"), files("crates", "rs")].concat();
    for file in all.into_iter().filter(is_of_program) {
        let code = text(&file);
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        // Definitions of the command line have a type of this name as well.
        if !code.contains("Command::new(")
            || !code.contains("process::")
            || code.contains("use clap")
        {
            continue;
        }
        let starter = STARTERS.iter().find(|(path, _)| file.ends_with(path));
        let (_, words) = starter.unwrap_or_else(|| panic!("{} starts a program", file.display()));
        assert!(
            security.contains(words),
            "SECURITY.md does not say '{words}'"
        );
    }
}
