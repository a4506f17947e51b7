//! `explain`: prints the rule that decides about a path, and with a base what has become of the path.

mod answer;
mod comparison;
mod rules;
mod search;

use std::{io::Write, os::unix::ffi::OsStrExt};

use bstr::ByteSlice;

use super::Context;
use crate::{
    base::error::{Error, Result, printable_path},
    cli::{CliError, Explain, RawArgs},
    git::pathspec::from_root,
    request::{ArchivedRepository, Content, Purpose},
};
use answer::Answer;
use comparison::Comparison;
use search::explanation;

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
    let line = if explain.json {
        Answer::json
    } else {
        Answer::text
    };
    let absent = explain_paths(request.content, paths, &mut |path, answer| {
        let written = destination.write_all(&line(answer, path));
        written.map_err(|error| Error::write(&error))
    })?;
    let absent = absent.filter(|_| !explain.described.content.ignore_unmatch);
    absent.map_or(Ok(()), |path| Err(Error::unmatched(&printable_path(path))))?;
    Ok(destination.complete()?)
}

/// Passes each of `paths`, given from the current directory, to `write`: from the root, with the verdict on it in `content` and
/// the rule that decides. A path that the reader may not know does not exist. Returns the first path that does not exist, if
/// there is one.
fn explain_paths<'p>(
    content: Content,
    paths: impl Iterator<Item = &'p [u8]>,
    write: &mut dyn FnMut(&[u8], &Answer) -> Result<()>,
) -> Result<Option<&'p [u8]>> {
    let below = content.blob_policy.naming.below.clone();
    let subject = Subject::new(content);
    let mut absent = None;
    for path in paths {
        let given = path.strip_suffix(b"/").unwrap_or(path);
        let path = from_root(given.as_bstr(), below.as_bstr());
        let verdict = path
            .as_ref()
            .map(|path| subject.verdict(path))
            .transpose()?;
        match path.zip(verdict.flatten()) {
            Some((path, answer)) => write(&path, &answer)?,
            None => absent = absent.or(Some(given)),
        }
    }
    Ok(absent)
}

/// What is archived.
enum Subject {
    Whole(Vec<ArchivedRepository>),
    Delta(Comparison),
}

impl Subject {
    fn new(content: Content) -> Self {
        let repositories = content.repositories;
        match content.delta {
            None => Self::Whole(repositories),
            Some(delta) => Self::Delta(Comparison {
                delta,
                repositories,
            }),
        }
    }

    /// The verdict on `path`. `None` if the path does not exist.
    fn verdict(&self, path: &[u8]) -> Result<Option<Answer>> {
        match self {
            Self::Whole(repositories) => {
                let found = explanation(repositories, path)?;
                Ok(found.map(|found| Answer {
                    outcome: Some(found.outcome),
                    change: None,
                    words: found.words,
                }))
            }
            Self::Delta(comparison) => comparison.verdict(path),
        }
    }
}
