//! What the words name: the archive, and the file with expectations.

use std::{
    ffi::OsStr,
    io::{Read, Write},
    os::unix::ffi::OsStrExt,
};

use gix_hash::Kind as HashKind;

use super::{
    applied,
    collector::{Contents, Reading, collect},
    expect::Expectations,
    report::Report,
    table::Table,
};
use sluice_base::{
    error::{Error, Result},
    progress::{Console, Meter, Total},
};
use sluice_cli::{Args, Compare};
use sluice_core::context::Context;
use sluice_format::unarchive::{Source, unreadable};

/// Reads the archive `word`, whose contents get ids of the kind `hash`.
pub(super) fn read(
    (options, word): (&Compare, &OsStr),
    args: &Args,
    hash: HashKind,
    context: &mut Context<'_>,
) -> Result<Contents> {
    let (source, len) = source(options, word, context)?;
    let applied = match &source {
        Source::Directory(path) => applied::commit(path),
        Source::File(_) | Source::Stream(_) => None,
    };
    let screen = context.screen(&options.progress);
    let reading = Reading {
        threads: args.run.threads,
        memory: args.run.memory,
        console: Console::new(&mut *context.messages, screen),
        meter: Meter::new("Comparing", len.map_or(Total::Unknown, Total::Bytes)),
    };
    let mut contents = collect(source, Table::new(hash, args.run.memory), reading)?;
    contents.comment = contents.comment.or(applied);
    match &contents.base {
        None => Ok(contents),
        Some(base) => Err(Error::fatal(format!(
            "the archive is a delta: it has only the changes since commit {base}"
        ))
        .hinted("apply it to a directory with that commit, and compare the directory")),
    }
}

/// The archive that is called `word`, and its length if it is a file.
pub(super) fn source(
    options: &Compare,
    word: &OsStr,
    context: &Context<'_>,
) -> Result<(Source, Option<u64>)> {
    if word == "-" {
        if options.diff {
            let refused = "the option '--diff' requires a file or a directory";
            return Err(Error::usage(refused));
        }
        if context.runtime.input_is_terminal() {
            let refused = Error::fatal("cannot read an archive from a terminal");
            return Err(refused.hinted("git sluice compare <archive>"));
        }
        let stream = context.runtime.input()?;
        return Ok((Source::Stream(stream), context.runtime.input_len()));
    }
    let file = context.directory().file(word);
    if file.path.is_dir() {
        if options.bytes {
            let refused = "the option '--bytes' requires an archive, not a directory";
            return Err(Error::usage(refused));
        }
        return Ok((Source::Directory(file.path), None));
    }
    let open = file
        .open()
        .map_err(|error| match &options.content.treeish {
            Some(other) if context.directory().file(other).path.exists() => {
                let words = [other.as_bytes(), word.as_bytes()];
                error.hinted_command("git sluice compare {} {}", &words)
            }
            _ => error,
        })?;
    let metadata = open.metadata().ok().filter(|it| it.is_file());
    Ok((Source::File(open), metadata.map(|it| it.len())))
}

/// The differences that the user expects.
pub(super) fn expectations(options: &Compare, context: &Context<'_>) -> Result<Expectations> {
    let Some(name) = &options.expect else {
        return Ok(Expectations::default());
    };
    let mut text = Vec::new();
    let mut file = context.directory().file(name).open()?;
    let _ = file.read_to_end(&mut text).map_err(unreadable)?;
    Expectations::parse(name.as_bytes(), &text)
}

/// The report of a comparison, which goes to `out`.
pub(super) fn report<'o>(
    options: &Compare,
    expected: &'o Expectations,
    out: &'o mut dyn Write,
) -> Report<'o> {
    Report {
        out,
        json: options.json,
        verbose: options.verbosity.is_verbose(),
        expected,
        met: Default::default(),
        counts: Default::default(),
        accepted: 0,
        has_others: false,
        left_out: 0,
    }
}
