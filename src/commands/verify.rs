//! `verify`: compares a directory with the archives that were applied to it.

use super::Context;
use crate::{
    cli::{self, CliError, RawArgs},
    directory::apply::{self, TargetDirectory},
    output::report::Console,
};

pub(super) fn run(words: RawArgs<'_>, context: Context<'_>) -> Result<(), CliError> {
    let options: cli::Verify = words.options()?;
    let mut destination = (context.output)()?;
    let screen = context.screen(&options.progress);
    let directory = TargetDirectory {
        directory: context.directory().file(&options.directory),
        threads: options.threads.count,
    };
    let mut console = Console::new(context.messages, screen);
    Ok(apply::check(&directory, &mut destination, &mut console)?)
}
