//! Completions for fish: for the program, and for `git sluice` after fish's own completion of git.
//!
//! Own code, because the generator of clap knows no command whose name may be left out.

use std::fmt::Write;

use clap::{Arg, Command};

use super::candidates::{self, Candidates};

/// The script. `COMMANDS` stands for the names of the commands; the lines about options and operands follow it.
const SCRIPT: &str = include_str!("completions.fish");
/// The names of refs, as a list that the shell asks for.
const REVISIONS: &str = "(git for-each-ref --format='%(refname:short)' 2>/dev/null)";

/// The script of completions.
pub(super) fn completions() -> String {
    let definitions = candidates::definitions();
    let names: Vec<&str> = definitions.iter().map(|(name, _)| *name).collect();
    let mut script = SCRIPT.replace("COMMANDS", &names.join(" "));
    for (name, about) in candidates::commands() {
        let about = quoted(&about);
        let _ = writeln!(
            script,
            "complete -c git-sluice -n __git_sluice_is_first -a {name} -d {about}"
        );
    }
    for (name, command) in &definitions {
        let start = format!("complete -c git-sluice -n '__git_sluice_is {name}'");
        let lines = candidates::options(command).map(option);
        for line in lines.chain(operands(command)) {
            let _ = writeln!(script, "{start} {line}");
        }
    }
    script
}

/// The words of `complete` about `option`.
fn option(option: &Arg) -> String {
    let mut words = String::new();
    if let Some(letter) = option.get_short() {
        let _ = write!(words, "-s {letter} ");
    }
    let name = option.get_long().unwrap_or_default();
    let about = quoted(&candidates::about(option));
    let _ = write!(words, "-l {name} -d {about}");
    match candidates::value(option) {
        None => words,
        Some(Candidates::Files) => words + " -r -F",
        Some(candidates) => words + " -x" + &offer(&candidates),
    }
}

/// The words of `complete` about each kind of operand of `command`. Without any, no file is offered.
fn operands(command: &Command) -> Vec<String> {
    let operands = command.get_positionals().map(Candidates::of);
    let operands: Vec<Candidates> = operands.collect();
    let takes_files = operands.contains(&Candidates::Files);
    let files = if takes_files { "-F" } else { "-f" };
    let others = operands.iter().filter(|it| **it != Candidates::Files);
    let others = others.map(|candidates| format!("{files}{}", offer(candidates)));
    std::iter::once(files.to_owned()).chain(others).collect()
}

/// The words of `complete` that offer `candidates`.
fn offer(candidates: &Candidates) -> String {
    match candidates {
        Candidates::Nothing | Candidates::Files => String::new(),
        Candidates::Directories => " -a '(__fish_complete_directories)'".to_owned(),
        Candidates::Channels => " -a '(__git_sluice_channels)'".to_owned(),
        Candidates::Revisions => format!(" -a {}", quoted(REVISIONS)),
        Candidates::Formats => " -a '(git-sluice --list 2>/dev/null)'".to_owned(),
        Candidates::Words(words) => {
            let lines = words.iter().map(|(word, about)| {
                if about.is_empty() {
                    word.clone()
                } else {
                    format!("{word}\\t{}", quoted(about))
                }
            });
            let lines: Vec<String> = lines.collect();
            format!(" -a {}", double_quoted(&lines.join("\n")))
        }
    }
}

/// `text` as one word of fish.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// `text` as one word whose escapes are read when the candidates are listed.
fn double_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\"").replace('$', "\\$"))
}
