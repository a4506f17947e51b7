//! `help`: explains a command or a group of options.

use super::Context;
use crate::cli::{self, CliError, RawArgs};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Help = words.options()?;
    Ok(context.write_text(&cli::help(options.word.as_deref())?)?)
}
