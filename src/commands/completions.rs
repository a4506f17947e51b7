//! `completions`: prints completions for a shell.

use sluice_cli as cli;
use sluice_cli::{CliError, RawArgs};
use sluice_core::context::Context;

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Completions = words.options()?;
    Ok(context.write_text(&cli::completions(options.shell))?)
}
