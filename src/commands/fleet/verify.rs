//! `verify`: compares a directory with the archives that were applied to it.

use sluice_base::{buffer::Buffer, progress::Console};
use sluice_cli as cli;
use sluice_cli::{CliError, RawArgs};
use sluice_core::context::Context;
use sluice_core::output::report::difference;
use sluice_fleet::apply::{self, TargetDirectory};

pub(in crate::commands) fn run(words: RawArgs<'_>, context: Context<'_>) -> Result<(), CliError> {
    let options: cli::Verify = words.options()?;
    let mut destination = context.runtime.output()?;
    let screen = context.screen(&options.progress);
    let directory = TargetDirectory {
        directory: context.directory().file(&options.directory),
        threads: options.threads.count,
    };
    let mut console = Console::new(context.messages, screen);
    let line = if options.json {
        json_line
    } else {
        apply::text_line
    };
    Ok(apply::check(
        &directory,
        &mut destination,
        line,
        &mut console,
    )?)
}

fn json_line(path: &[u8], what: &str) -> Vec<u8> {
    let mut line = Buffer::default();
    difference(path, what, &mut line);
    line.to_vec()
}
