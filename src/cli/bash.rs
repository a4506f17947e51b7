//! Completions for bash: for the program, and for `git sluice` behind git's own completion.
//!
//! Candidates are never words for `compgen -W`, which would run a command in the name of a ref.

use std::collections::BTreeMap;

use clap::{Arg, Command, ValueEnum};

use super::commands::CommandName;

/// The script. `COMMANDS` stands for all commands, `OPTIONS` for the cases of the commands' options, `OPERANDS` for those of
/// commands whose operand is one of a few words, `VALUES` for those of options that take one of a few values, and `OTHERS` for
/// all other options with a value that is no revision.
const SCRIPT: &str = include_str!("completions.bash");

/// The script of completions.
pub(super) fn completions() -> String {
    let commands = CommandName::value_variants().iter();
    let commands: Vec<(&str, Command)> = commands
        .map(|command| (command.as_str(), command.definition()))
        .collect();
    let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
    let options = commands.iter().map(|(name, command)| {
        let words = option_words(command).join(" ");
        format!("    {name}) printf '%s\\n' {words} ;;\n")
    });
    let operands = commands.iter().filter_map(|(name, command)| {
        let operand = command.get_positionals().next()?;
        let values = value_names(operand);
        (!values.is_empty()).then(|| format!("    {name}) printf '%s\\n' {values} ;;\n"))
    });
    let (values, others) = values(commands.iter().map(|(_, command)| command));
    SCRIPT
        .replace("OPTIONS", &options.collect::<String>())
        .replace("OPERANDS", &operands.collect::<String>())
        .replace("VALUES", &values)
        .replace("OTHERS", &others)
        .replace("PATTERN", &names.join(" | "))
        .replace("COMMANDS", &names.join(" "))
}

/// The cases of all options that take one of a few values, and the pattern of all others that take a value which is no
/// revision.
fn values<'c>(commands: impl Iterator<Item = &'c Command>) -> (String, String) {
    let options = commands.flat_map(Command::get_arguments);
    let options = options.filter(|option| takes_plain_value(option));
    let options: BTreeMap<String, &Arg> = options.map(|it| (pattern(it), it)).collect();
    let (mut values, mut others) = (String::new(), Vec::new());
    for (pattern, option) in options {
        match value_names(option) {
            names if names.is_empty() => others.push(pattern),
            names => values += &format!("    {pattern}) printf '%s\\n' {names} ;;\n"),
        }
    }
    (values, others.join(" | "))
}

/// The words that `argument` can be, if there are only a few.
fn value_names(argument: &Arg) -> String {
    let values = argument.get_possible_values();
    let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    names.join(" ")
}

/// The long options of `command`, each with `=` if it takes a value.
pub(super) fn option_words(command: &Command) -> Vec<String> {
    let visible = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = visible.filter_map(|option| {
        let name = option.get_long()?;
        let value = if option.get_action().takes_values() {
            "="
        } else {
            ""
        };
        Some(format!("--{name}{value}"))
    });
    options.collect()
}

/// Whether `option` takes a value that is no revision. The formats are listed when they are asked for.
fn takes_plain_value(option: &Arg) -> bool {
    let names = option.get_value_names().unwrap_or_default();
    option.get_action().takes_values()
        && !option.is_hide_set()
        && option.get_long().is_some_and(|name| name != "format")
        && !names.iter().any(|name| name == "tree-ish")
}

/// The names of `option`, as a pattern of a shell.
fn pattern(option: &Arg) -> String {
    let long = option.get_long().unwrap_or_default();
    match option.get_short() {
        Some(short) => format!("-{short} | --{long}"),
        None => format!("--{long}"),
    }
}
