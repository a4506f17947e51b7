//! `help`: explains a command or a group of options.

use super::{Context, write_text};
use crate::cli::{self, CliError, RawArgs};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Help = words.options()?;
    write_text(&cli::help(options.word.as_deref())?, context)
}
