//! Completions for shells, made from the definitions of the commands.

use super::{bash, commands::Shell, fish, zsh};

/// The completions for `shell`.
pub fn completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash::completions(),
        Shell::Zsh => zsh::completions(),
        Shell::Fish => fish::completions(),
    }
}
