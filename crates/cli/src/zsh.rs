//! Completions for zsh: for the program, and for `git sluice` after zsh's own completion of git.
//!
//! Own code, because the generator of clap takes a word for an operand where a command may be.

use clap::{Arg, Command};

use super::candidates::{self, Candidates};

/// The script. `COMMANDS` stands for the commands with their meanings, `PATTERN` for their names, and `ARGUMENTS` for the options
/// and operands of each.
const SCRIPT: &str = include_str!("completions.zsh");

/// The script of completions.
pub(super) fn completions() -> String {
    let definitions = candidates::definitions();
    let commands = candidates::commands();
    let commands = commands.map(|(name, about)| format!("        '{name}:{}'\n", quoted(&about)));
    let names: Vec<&str> = definitions.iter().map(|(name, _)| *name).collect();
    let arguments = definitions.iter().map(|(name, command)| {
        let specs: String = specs(command)
            .map(|spec| format!(" \\\n            {spec}"))
            .collect();
        format!("    {name})\n        _arguments -s -S{specs}\n        ;;\n")
    });
    SCRIPT
        .replace("COMMANDS", &commands.collect::<String>())
        .replace("PATTERN", &names.join(" | "))
        .replace("ARGUMENTS", &arguments.collect::<String>())
}

/// The options and operands of `command`, as `_arguments` takes them.
fn specs(command: &Command) -> impl Iterator<Item = String> {
    let options = candidates::options(command).flat_map(option);
    options.chain(command.get_positionals().map(operand))
}

/// The spellings of `option`, each a word of its own. In git's grammar each option may be written again.
fn option(option: &Arg) -> Vec<String> {
    let about = special(&candidates::about(option), "[]");
    let value = candidates::value(option).map(|candidates| action(option, &candidates));
    let spelling = |dashes: &str, name: &str, end: &str| match &value {
        Some(value) => format!("'*{dashes}{name}{end}[{about}]{value}'"),
        None => format!("'*{dashes}{name}[{about}]'"),
    };
    let long = option.get_long().map(|name| spelling("--", name, "="));
    let short = option.get_short();
    let short = short.map(|letter| spelling("-", &letter.to_string(), "+"));
    long.into_iter().chain(short).collect()
}

fn operand(operand: &Arg) -> String {
    let stars = if candidates::repeats(operand) {
        "*"
    } else {
        ""
    };
    format!("'{stars}{}'", action(operand, &Candidates::of(operand)))
}

/// The name of a value, and what makes its candidates.
fn action(argument: &Arg, candidates: &Candidates) -> String {
    let name = special(&candidates::name(argument), "");
    let words = |words: &[(String, String)]| {
        let words = words.iter().map(|(word, about)| {
            if about.is_empty() {
                word.clone()
            } else {
                format!(r#"{word}\:"{}""#, special(about, r#""`"#))
            }
        });
        format!("(({}))", words.collect::<Vec<_>>().join(" "))
    };
    let action = match candidates {
        Candidates::Nothing => " ".to_owned(),
        Candidates::Files => "_files".to_owned(),
        Candidates::Directories => "_directories".to_owned(),
        Candidates::Channels => "_git-sluice_channels".to_owned(),
        Candidates::Revisions => "_git-sluice_revisions".to_owned(),
        Candidates::Formats => "_git-sluice_formats".to_owned(),
        Candidates::Words(known) => words(known),
    };
    format!(":{name}:{action}")
}

/// `text` within single quotes, with a backslash before each of `characters`, before a colon and before a backslash.
fn special(text: &str, characters: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter == ':' || letter == '\\' || characters.contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    quoted(&escaped)
}

/// `text` within single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}
