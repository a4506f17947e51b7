//! `profile`: prints the options that a profile stands for.

use super::{Context, write_text};
use crate::{
    cli::{self, CliError, RawArgs},
    request::profile_options,
};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::ProfileName = words.options()?;
    write_text(&profile_options(options.name), context)
}
