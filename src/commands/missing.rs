//! `missing`: lists what an archive needs and the repository does not have. Fetches nothing.

use std::io::{self, BufWriter, Write};

use bstr::ByteSlice;

use sluice_base::error::{Error, Result};
use sluice_cli as cli;
use sluice_cli::{Args, CliError, RawArgs};
use sluice_core::context::{Context, Opened};
use sluice_core::{
    archive::survey,
    filter::access::AccessRules,
    output::report::{MissingList, Subject},
    request::{Inputs, PartialRequest, Purpose},
};
use sluice_git::{
    objects::wanted::{Missing, MissingObjects, Role},
    repository::{Repository, promisor::FetchAccount},
};

pub(super) fn run(words: RawArgs<'_>, mut context: Context<'_>) -> Result<(), CliError> {
    let (_, question) = context.question(words, |missing: &cli::Missing, extras| Args {
        delta: missing.delta.clone(),
        ..missing.described.args(extras)
    })?;
    let fetches = FetchAccount::new(false);
    let Opened {
        repository,
        formats,
        environment,
    } = question.opened;
    let inputs = context.inputs(
        (&question.args, &formats, &environment),
        Purpose::Missing,
        &fetches,
    );
    let mut destination = question.destination;
    let has_all = list_missing(inputs, repository, &mut destination, context.messages)?;
    destination.complete()?;
    if has_all {
        Ok(())
    } else {
        Err(Error::missing().into())
    }
}

/// Writes to `out` a JSON line for everything that `repository` lacks of the archive that `inputs` ask for. Nothing is
/// fetched. Warnings go to `diagnostics`. Returns whether nothing is missing.
///
/// The list is made in parts that fit the memory: each part is found by a walk of its own.
fn list_missing(
    inputs: Inputs<'_>,
    repository: Result<Repository>,
    out: &mut dyn Write,
    diagnostics: &mut dyn Write,
) -> Result<bool> {
    let incomplete = PartialRequest::new(inputs, repository)?;
    let wanted = incomplete.wanted().only_listed();
    let mut out = BufWriter::new(out);
    let (subject, mut missing) = part(&incomplete, &wanted, diagnostics)?;
    let mut list = MissingList::begin(&mut out, subject.as_ref())?;
    loop {
        let (shown, hidden): (Vec<_>, Vec<_>) = missing
            .into_iter()
            .partition(|missing| is_shown(missing, incomplete.access()));
        list.add(&shown)?;
        if !hidden.is_empty() {
            list.hide();
        }
        if !wanted.take_cut() {
            break;
        }
        (_, missing) = part(&incomplete, &wanted, &mut io::sink())?;
    }
    let has_all = list.end()?;
    out.flush().map_err(|error| Error::write(&error))?;
    Ok(has_all)
}

/// The next part of what is missing, and the archived tree if it is known.
fn part(
    incomplete: &PartialRequest<'_>,
    wanted: &MissingObjects,
    diagnostics: &mut dyn Write,
) -> Result<(Option<Subject>, Vec<Missing>)> {
    let before = wanted.misses();
    let mut warnings = Vec::new();
    let request = incomplete.resolve(wanted, &mut warnings);
    if request.is_err() && wanted.misses() > before {
        // The list says why. But objects may be unreadable for this user.
        let missing = wanted.take();
        let refusal = incomplete.refusal(&missing);
        return refusal.map_or(Ok((None, missing)), Err);
    }
    let _ = diagnostics.write_all(&warnings);
    let request = request?;
    let subject = request.content.subject();
    match survey(request, wanted)? {
        Some(failure) => Err(failure),
        None => Ok((Some(subject), wanted.take())),
    }
}

/// Whether the reader may know of `missing`.
fn is_shown(missing: &Missing, access: Option<&AccessRules>) -> bool {
    let Some(access) = access else {
        return true;
    };
    let path = missing.path().unwrap_or_default();
    let path = path.trim_end_with(|c| c == '/');
    match &missing.role {
        // The reader named the archived tree.
        Role::Tree(path) if path.is_empty() && missing.submodule.is_empty() => true,
        Role::Tree(_) => access.admits_all(path),
        Role::Rules(_) | Role::File(_) | Role::LfsObject { .. } | Role::Submodule { .. } => {
            access.allows(path)
        }
        Role::Secret | Role::Unknown => false,
    }
}
