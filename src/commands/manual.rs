//! `manual`: prints a manual page.

use super::Context;
use crate::cli::{self, CliError, CommandName, RawArgs};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Manual = words.options()?;
    let command = options.command.unwrap_or(CommandName::Archive);
    Ok(context.write_text(&cli::manual(command))?)
}
