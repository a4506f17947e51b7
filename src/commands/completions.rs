//! `completions`: prints completions for a shell.

use super::Context;
use crate::cli::{self, CliError, RawArgs};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Completions = words.options()?;
    Ok(context.write_text(&cli::completions(options.shell))?)
}
