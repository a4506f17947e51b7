//! Fetches what a partial clone lacks of an archive, before the first byte.
//!
//! The plan runs as for the archive and finds what is missing: trees and attribute files first, since they decide which
//! files are archived, then the contents of all files at once. A repository without promisor remotes is not looked at.

use std::io::Write;

use super::survey::survey;
use crate::{
    decode::{
        reader::Reader,
        wanted::{Missing, Wanted},
    },
    error::Result,
    odb::Odb,
    repository::promisor::Fetched,
    request::Request,
};

/// The `request`, once all objects are there that its archive needs. git's messages go to `diagnostics`.
pub(super) fn completed(mut request: Request, diagnostics: &mut dyn Write) -> Result<Request> {
    let Some(promisor) = request.promisor.take() else {
        return Ok(request);
    };
    loop {
        let missing = missing(&request)?;
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

/// What is to be fetched next for the archive that `request` asks for.
fn missing(request: &Request) -> Result<Vec<Missing>> {
    let wanted = || Wanted::within(request.budget.wanted());
    let (planning, contents) = (wanted().redacted(request.rules.redacted), wanted());
    let mut request = request.clone();
    request.reader = request.reader.noting(&planning);
    // A run of the same plan reports a failure, behind the entries before it.
    let _ = survey(request, &contents)?;
    let planning = planning.take();
    Ok(match planning.is_empty() {
        true => contents.take(),
        false => planning,
    })
}
