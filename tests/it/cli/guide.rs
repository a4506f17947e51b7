//! Texts about the command line: help, manual page, documents.

use std::{fs, path::Path};

use sluice_cli::{CommandName, all_exit_statuses};

use crate::commands::{COMMANDS, text};

/// A file of the source.
fn document(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(file).expect("a file of the source")
}

/// The table of the documents is that of the program.
#[test]
fn the_documents_have_the_exit_statuses() {
    let page = document("docs/exit-status.md").replace('`', "");
    let rows = page.lines().filter_map(|row| {
        let (status, meaning) = row.strip_prefix("| ")?.split_once(" | ")?;
        Some((status.parse().ok()?, meaning.strip_suffix(" |")?.to_owned()))
    });
    assert_eq!(rows.collect::<Vec<(u8, _)>>(), all_exit_statuses());
}

/// Help, manual page and documents have the commands in the same groups, in the same order.
#[test]
fn the_commands_are_grouped() {
    let help = text(&["-h"]);
    let long = text(&["--help"]);
    let manual = text(&["manual"]);
    let mut manual = &manual[..];
    let page = document("docs/options.md");
    let mut rows = page
        .lines()
        .skip_while(|line| *line != "|---|---|---|")
        .skip(1);
    let mut row = || rows.next().expect("a row").replace("\\|", "|");
    for (title, commands) in CommandName::groups() {
        let head = format!("\n{title}:");
        assert!(help.contains(&head) && long.contains(&head), "{title}");
        assert_eq!(row(), format!("| **{title}** | | |"));
        let heading = heading(title);
        manual = manual.split_once(&heading).expect(title).1;
        for command in commands {
            let name = command.as_str();
            let usage = text(&[name, "-h"]);
            let usage = usage
                .lines()
                .find_map(|line| line.strip_prefix("Usage: git sluice "));
            let cells = format!("| `{}` | {} | ", usage.expect(name), command.about());
            let row = row();
            assert!(row.starts_with(&cells), "{row}\n{cells}");
            let entry = format!("\\fB{}\\fR\n", name.replace('-', "\\-"));
            assert!(manual.contains(&entry), "{entry}");
        }
    }
}

/// The README has a task for each command, in the same groups.
#[test]
fn the_readme_has_a_task_for_each_command() {
    let readme = document("README.md");
    let mut rest = &readme[..];
    for (title, commands) in CommandName::groups().filter(|(title, _)| *title != "Help") {
        let head = format!("| **{title}** | |\n");
        rest = rest.split_once(&head).expect(title).1;
        let tasks = rest.split("\n| **").next().unwrap_or_default();
        for command in commands {
            let words = match command {
                CommandName::Archive => "`git sluice --".to_owned(),
                _ => format!("`git sluice {}", command.as_str()),
            };
            assert!(tasks.contains(&words), "{title}: {words}");
        }
    }
}

/// A heading of a group in a manual page.
fn heading(title: &str) -> String {
    let quote = if title.contains(' ') { "\"" } else { "" };
    format!("\n.SS {quote}{title}{quote}\n")
}

/// The page has a row for each option of each command, with a guide, the first line of its help, and a default.
#[test]
fn the_documents_have_all_options() {
    let page = document("docs/options.md");
    let rows: Vec<_> = page
        .lines()
        .filter(|row| row.contains("<a id=\""))
        .collect();
    let mut missing = Vec::new();
    for command in COMMANDS {
        let help = text(&[command, "--help"]);
        for (option, about) in abouts(&help) {
            let has_it =
                |row: &&str| row.contains(&format!("{option}\"></a>")) && row.contains(about);
            if !rows.iter().any(has_it) {
                missing.push(format!("{command} {option}: {about}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    for row in rows {
        let row = row.replace("\\|", "");
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let ["", option, _, default, ""] = cells[..] else {
            panic!("{row}");
        };
        let has_guide = option.contains("</a>[`") && option.contains(".md");
        assert!(has_guide && !default.is_empty(), "{row}");
    }
}

/// A default that the program knows is that of the page.
#[test]
fn the_documents_have_the_defaults() {
    let page = document("docs/options.md");
    for command in COMMANDS {
        let help = text(&[command, "--help"]);
        for (option, about) in abouts(&help) {
            let (_, rest) = help.split_once(about).expect("it is there");
            let own = rest.split("\n      --").next().unwrap_or_default();
            let Some((_, default)) = own.split_once("[default: ") else {
                continue;
            };
            let default = default.split(']').next().unwrap_or_default();
            let cell = format!("| {about} | `{default}` |");
            assert!(page.contains(&cell), "{command} {option}: {cell}");
        }
    }
}

/// Each text about an option is one short instruction.
#[test]
fn texts_about_options_are_short() {
    for command in COMMANDS {
        for (option, about) in abouts(&text(&[command, "--help"])) {
            assert!(about.len() <= 60, "{command} {option}: {about}");
            let is_imperative = !about.starts_with("The ") && !about.ends_with('.');
            assert!(is_imperative, "{command} {option}: {about}");
        }
    }
}

/// The long names of the options in a `help`, each with the first line about it.
fn abouts(help: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = help.lines().zip(help.lines().skip(1));
    pairs.filter_map(|(line, next)| {
        let is_option = line.trim_start().starts_with('-') && !line.starts_with("        ");
        let mut words = line.split([' ', '.']);
        let option = words.find(|word| word.starts_with("--"))?;
        is_option.then_some((option, next.trim()))
    })
}
