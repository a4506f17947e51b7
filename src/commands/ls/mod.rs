//! `ls`: lists the entries that an archive would have, and warns of names that break on other systems. No file is read.

mod entries;
mod json;
mod text;

use std::io::{BufWriter, Write};

use sluice_base::error::Error;
use sluice_cli::{Args, CliError, Ls, RawArgs};
use sluice_core::context::Context;
use sluice_core::request::Purpose;

pub(super) fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let (ls, question) = context.question(words, |ls: &Ls, extras| Args {
        has_manifest: ls.json,
        delta: ls.delta.clone(),
        ..ls.described.args(extras)
    })?;
    let (request, mut destination) = question.request(Purpose::List, &mut context)?;
    let mut out = BufWriter::new(&mut destination);
    if ls.json {
        json::list(request, &mut out)?
    } else {
        text::list(request, &mut out, context.messages)?
    }
    out.flush().map_err(|error| Error::write(&error))?;
    drop(out);
    Ok(destination.complete()?)
}
