//! `completions`: prints completions for a shell.

use super::{Context, write_text};
use crate::cli::{self, CliError, RawArgs};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Completions = words.options()?;
    write_text(&cli::completions(options.shell), context)
}
