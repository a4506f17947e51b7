//! `manual`: prints a manual page.

use sluice_cli as cli;
use sluice_cli::{CliError, CommandName, RawArgs};
use sluice_core::context::Context;

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Manual = words.options()?;
    let command = options.command.unwrap_or(CommandName::Archive);
    Ok(context.write_text(&cli::manual(command))?)
}
