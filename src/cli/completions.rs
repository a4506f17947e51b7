//! Completions for shells, made from the definitions of the commands.

use clap::{Command, ValueEnum};
use clap_complete::{Shell as Script, generate};

use super::{
    bash,
    commands::{CommandName, Shell},
    names::PROGRAM,
};

/// The completions for `shell`.
pub fn completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash::completions(),
        Shell::Zsh => with_revisions_of_zsh(&script(Script::Zsh)),
        Shell::Fish => script(Script::Fish) + REVISIONS_OF_FISH,
    }
}

fn script(shell: Script) -> String {
    let mut text = Vec::new();
    generate(shell, &mut program(), PROGRAM, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The program: the options of an archive, and all commands.
fn program() -> Command {
    let commands = CommandName::value_variants().iter();
    let commands = commands.map(|command| command.definition());
    CommandName::Archive
        .definition()
        .name(PROGRAM)
        .bin_name(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(commands)
}

/// Revisions where a tree-ish is wanted, for fish.
const REVISIONS_OF_FISH: &str = "
complete -c git-sluice -a \"(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"
complete -c git-sluice -l base -x -a \"(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"
";

/// The function for zsh that completes a revision.
const REVISIONS_OF_ZSH: &str = "
_git-sluice_revisions() {
    local -a revisions
    revisions=(${(f)\"$(git for-each-ref --format='%(refname:short)' 2>/dev/null)\"})
    compadd -a revisions
}
";

/// The completions of zsh in `text`, which complete a revision where a tree-ish is wanted, and files behind it.
fn with_revisions_of_zsh(text: &str) -> String {
    let action = |line: &str| match () {
        () if line.contains(":tree-ish:") || line.contains("'::treeish ") => {
            "_git-sluice_revisions"
        }
        () if line.contains("'*::paths ") => "_files",
        () => "_default",
    };
    let complete = |line: &str| {
        let action = format!(":{}'", action(line));
        line.replace(":_default'", &action) + "\n"
    };
    let text: String = text.lines().map(complete).collect();
    // The script ends with a call, before which the function must stand.
    text.replacen("\n\n", &format!("\n{REVISIONS_OF_ZSH}\n"), 1)
}
