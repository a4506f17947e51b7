//! `profile`: prints the options that a profile stands for.

use super::Context;
use crate::{
    cli::{self, CliError, RawArgs},
    request::profile_options,
};

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::ProfileName = words.options()?;
    Ok(context.write_text(&profile_options(options.name))?)
}
