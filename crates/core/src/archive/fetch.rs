//! Fetches what a partial clone lacks of an archive, before the first byte.
//!
//! The plan runs as for the archive and finds what is missing: trees first, since they say which files there are, then the
//! contents of all files at once. A missing attribute file counts as empty and comes with the contents. So a file that the
//! attribute file leaves out is fetched, too, as git does. An archive of repositories without promisor remotes is not looked
//! at.

use std::{collections::HashSet, io::Write};

use super::{measure::refuse_large, survey::survey};
use crate::request::Request;
use sluice_base::error::Result;
use sluice_git::{
    objects::{
        reader::Reader,
        wanted::{Missing, MissingObjects, Role},
    },
    odb::Odb,
    repository::promisors::{Fetched, Promisors},
};

/// The `request`, once all objects are there that its archive needs. git's messages go to `diagnostics`. Refuses an archive that
/// turns out to be over a limit.
pub(super) fn completed(mut request: Request, diagnostics: &mut dyn Write) -> Result<Request> {
    let Some(promisors) = request.run.promisors.clone() else {
        return Ok(request);
    };
    loop {
        let next = Next::of(&request, &promisors)?;
        if next.missing.is_empty() {
            break;
        }
        match promisors.fetch(next.missing, diagnostics)? {
            Fetched::All => {}
            Fetched::Unpromised => break,
            // The attribute files that have come may leave out what is lost.
            Fetched::Lost(lost) if next.has_rules && lost.iter().all(is_content) => {}
            Fetched::Lost(lost) => return Err(promisors.could_not_fetch(&lost)),
        }
        for repository in &mut request.content.repositories {
            reopen(&mut repository.tree.reader);
        }
        if next.is_last {
            break;
        }
    }
    refuse_large(&request).map(|()| request)
}

/// The `request`, once the trees and attribute files are there that decide about its files. No content is fetched.
pub fn with_rules(mut request: Request, diagnostics: &mut dyn Write) -> Result<Request> {
    let Some(promisors) = request.run.promisors.take() else {
        return Ok(request);
    };
    loop {
        let mut missing = Next::of(&request, &promisors)?.missing;
        missing.retain(|it| !is_content(it));
        if missing.is_empty() {
            return Ok(request);
        }
        match promisors.fetch(missing, diagnostics)? {
            Fetched::All => {}
            Fetched::Unpromised => return Ok(request),
            Fetched::Lost(lost) => return Err(promisors.could_not_fetch(&lost)),
        }
        for repository in &mut request.content.repositories {
            reopen(&mut repository.tree.reader);
        }
    }
}

/// Lets `reader` see the packs that have come.
fn reopen(reader: &mut Reader) {
    *reader = Reader::new(Odb::open(reader.odb.config().clone()));
}

/// The next fetch.
struct Next {
    missing: Vec<Missing>,
    /// Whether attribute files are among the missing.
    has_rules: bool,
    /// Whether nothing else is missing.
    is_last: bool,
}

impl Next {
    /// The next fetch for the archive that `request` asks for.
    fn of(request: &Request, promisors: &Promisors) -> Result<Self> {
        let wanted = MissingObjects::within(request.run.budget.wanted());
        let mut planned = request.clone();
        let redacted = wanted
            .clone()
            .redacted(request.content.archived().tree.rules.redacted);
        let mut paths = HashSet::new();
        for repository in &mut planned.content.repositories {
            let (path, location) = (repository.path(), &repository.command_context.location);
            if let Some(noted) = promisors.noted(path, location, &redacted) {
                paths.insert(path.to_owned());
                let reader = &mut repository.tree.reader;
                *reader = reader.clone().recording_missing(&noted);
            }
        }
        // A run of the same plan reports a failure, after the entries before it.
        let _ = survey(planned, &wanted)?;
        let (was_full, mut missing) = (wanted.is_full(), wanted.take());
        // The run reports what nobody can fetch.
        missing.retain(|it| paths.contains(&it.submodule));
        let has_rules = missing.iter().any(is_rules);
        let is_last = !was_full && missing.iter().all(is_content);
        // Without the attribute files of both sides, changes are unknown.
        let is_whole = request.content.delta.is_none();
        let is_ready = |it: &Missing| is_content(it) || is_whole && is_rules(it);
        if !missing.iter().all(is_ready) {
            missing.retain(|it| !is_content(it));
        }
        Ok(Self {
            missing,
            has_rules,
            is_last,
        })
    }
}

fn is_content(missing: &Missing) -> bool {
    matches!(missing.role, Role::File(_))
}

fn is_rules(missing: &Missing) -> bool {
    matches!(missing.role, Role::Rules(_))
}
