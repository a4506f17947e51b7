//! `explain`: prints the rule that decides about a path.

mod rules;
mod search;

use std::{io::Write, os::unix::ffi::OsStrExt};

use bstr::ByteSlice;

use rules::Explanation;
use search::explanation;
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes, printable_path},
};
use sluice_cli::{CliError, Explain, RawArgs};
use sluice_core::context::Context;
use sluice_core::{
    output::report::PathAnswer,
    request::{Content, Purpose},
};
use sluice_git::pathspec::from_root;

pub(super) fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let (explain, question) = context.question(words, |it: &Explain, extras| {
        let mut args = it.described.args(extras);
        // The paths are to be explained, and select nothing.
        args.content.paths.clear();
        args
    })?;
    let paths = &explain.described.content.paths;
    if paths.is_empty() {
        let missing = Error::usage("a path is required");
        return Err(missing
            .hinted("git sluice explain [<options>] <tree-ish> <path>...")
            .into());
    }
    let (request, mut destination) = question.request(Purpose::Explain, &mut context)?;
    let paths = paths.iter().map(|path| path.as_bytes());
    let line = if explain.json { json } else { text };
    let absent = explain_paths(request.content, paths, &mut |path, found| {
        let written = destination.write_all(&line(path, found));
        written.map_err(|error| Error::write(&error))
    })?;
    let absent = absent.filter(|_| !explain.described.content.ignore_unmatch);
    let treeish = explain.described.content.treeish.unwrap_or_default();
    absent.map_or(Ok(()), |path| Err(no_path(path, treeish.as_bytes())))?;
    Ok(destination.complete()?)
}

/// The error of a word that is no path of `treeish`.
fn no_path(word: &[u8], treeish: &[u8]) -> Error {
    let refused = format_bytes("'{}' is no path of '{}'", &[&printable_path(word), treeish]);
    Error::fatal(refused).hinted_command("to list all paths: git sluice ls {}", &[treeish])
}

/// The line about `path` for people.
fn text(path: &[u8], found: &Explanation) -> Vec<u8> {
    format_bytes("{}: {}\n", &[&printable_path(path), &found.words]).into()
}

/// The line about `path` for programs.
fn json(path: &[u8], found: &Explanation) -> Vec<u8> {
    let mut line = Buffer::default();
    let answer = PathAnswer {
        path,
        outcome: found.outcome.as_str(),
        words: &found.words,
    };
    answer.write(&mut line);
    line.to_vec()
}

/// Passes each of `paths`, given from the current directory, to `write`: from the root, with the rule that decides about it in
/// `content`. A path that the reader may not know does not exist. Returns the first path that does not exist, if
/// there is one.
fn explain_paths<'p>(
    content: Content,
    paths: impl Iterator<Item = &'p [u8]>,
    write: &mut dyn FnMut(&[u8], &Explanation) -> Result<()>,
) -> Result<Option<&'p [u8]>> {
    let below = content.blob_policy.naming.below.clone();
    let mut absent = None;
    for path in paths {
        let given = path.strip_suffix(b"/").unwrap_or(path);
        let path = from_root(given.as_bstr(), below.as_bstr());
        let found = path
            .as_ref()
            .map(|path| explanation(&content.repositories, path))
            .transpose()?;
        match path.zip(found.flatten()) {
            Some((path, found)) => write(&path, &found)?,
            None => absent = absent.or(Some(given)),
        }
    }
    Ok(absent)
}
