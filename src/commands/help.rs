//! `help`: explains a command, a group of options or a profile.

use sluice_cli as cli;
use sluice_cli::{CliError, Profile, RawArgs};
use sluice_core::context::Context;
use sluice_core::request::profile_options;

pub(super) fn run(words: RawArgs<'_>, context: &Context<'_>) -> Result<(), CliError> {
    let options: cli::Help = words.options()?;
    let word = options.word.as_deref();
    let text = match word.and_then(Profile::of) {
        Some(profile) => profile_options(profile),
        None => cli::help(word)?,
    };
    Ok(context.write_text(&text)?)
}
