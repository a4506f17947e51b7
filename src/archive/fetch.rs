//! Fetches what a partial clone lacks of an archive, before the first byte.
//!
//! The plan runs as for the archive and finds what is missing: trees and attribute files first, since they decide which
//! files are archived, then the contents of all files at once. A repository without promisor remotes is not looked at.

use std::io::Write;

use super::prepare::{self, Prepared};
use crate::{
    decode::{
        reader::Reader,
        wanted::{Missing, Wanted},
    },
    error::Result,
    odb::Odb,
    pipeline::Source,
    plan::StoreId,
    repository::promisor::Fetched,
    request::Request,
};

/// The `request`, once all objects are there that its archive needs. git's messages go to `diagnostics`.
pub(super) fn completed(mut request: Request, diagnostics: &mut dyn Write) -> Result<Request> {
    let Some(promisor) = request.promisor.take() else {
        return Ok(request);
    };
    loop {
        let missing = Survey::of(&request)?.missing();
        if missing.is_empty() {
            return Ok(request);
        }
        let objects = request.reader.odb.config().clone();
        match promisor.fetch(missing, &objects, diagnostics)? {
            Fetched::All => request.reader = Reader::new(Odb::open(objects)),
            Fetched::Unpromised => return Ok(request),
            Fetched::Lost(lost) => return Err(promisor.could_not_fetch(&lost)),
        }
    }
}

/// The objects that are missing.
struct Survey {
    /// Those that the plan reads.
    planning: Wanted,
    /// Those with contents of files.
    contents: Wanted,
}

impl Survey {
    /// Plans the archive that `request` asks for.
    fn of(request: &Request) -> Result<Self> {
        let wanted = || Wanted::within(request.budget.wanted());
        let survey = Self {
            planning: wanted().redacted(request.rules.redacted),
            contents: wanted(),
        };
        let mut request = request.clone();
        request.reader = request.reader.noting(&survey.planning);
        let Prepared {
            archiver,
            mut planner,
            ..
        } = Prepared::new(prepare::tar(&request), request, false)?;
        while !survey.contents.is_full() {
            // A run of the same plan reports the failure, behind the entries before it.
            let Ok(made) = planner.next() else {
                break;
            };
            // What a submodule lacks is its own business.
            if made.batch.store == StoreId::default() {
                let locators = &archiver.store(&made.batch).locators;
                locators.note_missing(&made.batch, &survey.contents)?;
            }
            if made.last {
                break;
            }
        }
        Ok(survey)
    }

    /// What is to be fetched first.
    fn missing(&self) -> Vec<Missing> {
        let planning = self.planning.take();
        match planning.is_empty() {
            true => self.contents.take(),
            false => planning,
        }
    }
}
