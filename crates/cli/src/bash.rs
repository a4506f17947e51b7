//! Completions for bash: for the program, and for `git sluice` after git's own completion.
//!
//! Candidates are never words for `compgen -W`, which would run a command in the name of a ref.

use std::collections::BTreeMap;

use clap::{Arg, Command};

use super::candidates::{self, Candidates};

/// The script. `COMMANDS` stands for all commands, `OPTIONS` for the cases of the commands' options, `OPERANDS` for those of
/// commands whose operand is one of a few words, `FILES` for the commands whose operands are files, `CHANNELS` for
/// those with a channel next to revisions, `VALUES` for the cases of
/// options that take one of a few values, and `OTHERS` for all other options with a value that is no revision.
const SCRIPT: &str = include_str!("completions.bash");

/// The script of completions.
pub(super) fn completions() -> String {
    let commands = candidates::definitions();
    let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
    let options = commands.iter().map(|(name, command)| {
        let words = option_words(command).join(" ");
        format!("    {name}) printf '%s\\n' {words} ;;\n")
    });
    let (mut operands, mut files, mut channels) = (String::new(), Vec::new(), Vec::new());
    for (name, command) in &commands {
        let kinds: Vec<Candidates> = command.get_positionals().map(Candidates::of).collect();
        match kinds.first().map(Candidates::words) {
            _ if kinds.contains(&Candidates::Channels) => channels.push(*name),
            _ if kinds.contains(&Candidates::Revisions) => {}
            Some(words) if !words.is_empty() => {
                operands += &format!("    {name}) printf '%s\\n' {} ;;\n", words.join(" "));
            }
            _ => files.push(*name),
        }
    }
    let (values, others) = values(commands.iter().map(|(_, command)| command));
    SCRIPT
        .replace("OPTIONS", &options.collect::<String>())
        .replace("OPERANDS", &operands)
        .replace("FILES", &files.join(" | "))
        .replace("CHANNELS", &channels.join(" | "))
        .replace("VALUES", &values)
        .replace("OTHERS", &others)
        .replace("PATTERN", &names.join(" | "))
        .replace("COMMANDS", &names.join(" "))
}

/// The cases of all options that take one of a few values, and the pattern of all others that take a value which is no
/// revision. The formats are listed when they are asked for.
fn values<'c>(commands: impl Iterator<Item = &'c Command>) -> (String, String) {
    let options = commands.flat_map(candidates::options);
    let options: BTreeMap<String, &Arg> = options.map(|it| (pattern(it), it)).collect();
    let (mut values, mut others) = (String::new(), Vec::new());
    for (pattern, option) in options {
        match candidates::value(option) {
            None | Some(Candidates::Revisions | Candidates::Formats) => {}
            Some(Candidates::Channels) => {
                values += &format!("    {pattern}) _git_sluice_channels \"$2\" ;;\n");
            }
            Some(candidates) if candidates.words().is_empty() => others.push(pattern),
            Some(candidates) => {
                let names = candidates.words().join(" ");
                values += &format!("    {pattern}) printf '%s\\n' {names} ;;\n");
            }
        }
    }
    (values, others.join(" | "))
}

/// The long options of `command`, each with `=` if it takes a value.
pub(super) fn option_words(command: &Command) -> Vec<String> {
    let words = candidates::options(command).map(|option| {
        let name = option.get_long().unwrap_or_default();
        let value = if option.get_action().takes_values() {
            "="
        } else {
            ""
        };
        format!("--{name}{value}")
    });
    words.collect()
}

/// The names of `option`, as a pattern of a shell.
fn pattern(option: &Arg) -> String {
    let long = option.get_long().unwrap_or_default();
    match option.get_short() {
        Some(short) => format!("-{short} | --{long}"),
        None => format!("--{long}"),
    }
}
