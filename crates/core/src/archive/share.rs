//! Delivers an archive that others may ask for as well: from the cache, or into it, or into it alone.

use std::{fs::File, io::Write};

use std::sync::{Arc, OnceLock};

use super::{
    donor::{self, Donor},
    run::{ArchiveOutputs, RunStats, run},
};
use crate::{
    cache::{self, Account, CacheRequest, Failure, Settings, StoredArchive},
    request::{
        Content, Limits, Request,
        format::{Container, Format},
    },
};
use sluice_base::{
    error::{Error, Result},
    progress::{Console, Meter},
};
use sluice_format::tar;

/// Carries `request` out for `output`, through the cache that `settings` name. Counts in `stats` as
/// [`run`] does, no matter which process made the archive.
pub fn share(
    settings: &Settings,
    request: Request,
    output: &File,
    console: Console<'_>,
    meter: Meter,
    stats: &mut RunStats,
) -> Result<()> {
    let shareable = request.run.shareable.clone();
    let is_shareable = || shareable.holds();
    let order = order(&request, &is_shareable);
    let family = order.family;
    let is_tar = request.content.format.row().container == Container::Tar;
    if let Some(delta) = &request.content.delta {
        stats.summary.changes = Some(delta.counts);
    }
    let mut account = Account::default();
    let donor = Arc::new(OnceLock::new());
    let found = Arc::clone(&donor);
    let produce = |destination: &mut (dyn Write + Send)| {
        let outputs = ArchiveOutputs {
            destination,
            console,
            meter,
        };
        let max_index = request.run.budget.donor_index();
        stats.inheritance.max_index = family.map_or(0, |_| max_index);
        stats.inheritance.donor = family.and_then(|family| find_donor(settings, &family, &request));
        if let Some(donor) = &stats.inheritance.donor {
            let _ = found.set(Arc::clone(donor));
        }
        produce(request, outputs, stats)
    };
    let outcome = cache::deliver(settings, order, output, produce, &mut account);
    let state = |donor: &Arc<Donor>| {
        if donor.is_sound() { "used" } else { "damaged" }
    };
    account.donor = donor.get().map(state);
    let served = account.served;
    stats.summary.bytes_out = served;
    stats.summary.cache = Some(account);
    let outcome = outcome.map_err(|failure| match failure {
        // The client has a part of the archive: it cannot ask again later.
        Failure::Busy if served > 0 => {
            interrupted("no turn came to go on for the process that had begun")
        }
        failure => failed(failure),
    });
    if outcome.is_err() && is_tar && served > 0 {
        // The process that has failed may not have written the bytes that were sent, so it could not end them inside an entry.
        // The run fails anyway, with an error that says more.
        let _ = (&mut &*output).write_all(&tar::torn_at(served));
    }
    stats.summary.counts = donor::counts(&outcome?)?;
    Ok(())
}

/// Makes the archive of `request` for the cache that `settings` name, unless it is there or another process makes it. Returns
/// it, even if the cache cannot keep it.
pub(super) fn complete(
    settings: &Settings,
    request: Request,
    console: Console<'_>,
    meter: Meter,
    account: &mut Account,
) -> Result<StoredArchive> {
    let shareable = request.run.shareable.clone();
    let is_shareable = || shareable.holds();
    let order = order(&request, &is_shareable);
    // Somebody has asked for the archive before, since a part of it is asked for.
    let settings = Settings {
        always: true,
        ..settings.clone()
    };
    let produce = |destination: &mut (dyn Write + Send)| {
        let outputs = ArchiveOutputs {
            destination,
            console,
            meter,
        };
        // The statistics are about the part, not about the entire archive.
        produce(request, outputs, &mut RunStats::default())
    };
    cache::complete(&settings, order, produce, account).map_err(failed)
}

/// What the cache has to know of `request`.
fn order<'a>(request: &Request, is_shareable: &'a (dyn Fn() -> bool + Sync)) -> CacheRequest<'a> {
    CacheRequest {
        key: request.key.clone(),
        family: request.family.filter(|_| is_copied(&request.content)),
        is_readable: &|notes| donor::counts(notes).is_ok(),
        is_shareable,
        end: request.run.limits.end,
    }
}

/// Makes the archive of `request`. Returns the notes that go with it.
fn produce(request: Request, outputs: ArchiveOutputs<'_>, stats: &mut RunStats) -> Result<Vec<u8>> {
    let family = request.family;
    run(request, outputs, stats)?;
    let index = std::mem::take(&mut stats.inheritance.index);
    Ok(donor::join(stats.summary.counts.to_notes(), family, &index))
}

/// Whether archives of `content` store files as they are, so that they can be copied. A rule by content has seen the file when the
/// first archive of the family kept it.
fn is_copied(content: &Content) -> bool {
    let is_plain = matches!(
        content.format,
        Format::Tar | Format::Filtered(_) | Format::Zip(_)
    );
    is_plain && content.delta.is_none()
}

/// The archive of the `family` that was completed last, if `request` can copy from it.
fn find_donor(settings: &Settings, family: &cache::Key, request: &Request) -> Option<Arc<Donor>> {
    let mut archive = StoredArchive::latest(settings, family)?;
    let notes = archive.take_notes();
    let index = donor::index(&notes, family)?;
    if index.len() > request.run.budget.donor_index() {
        return None;
    }
    let id_len = request.content.archived().treeish.tree.as_slice().len();
    let max_size = request.run.budget.whole_object();
    Donor::new(archive, index.to_vec(), id_len, max_size).map(Arc::new)
}

fn failed(failure: Failure<Error>) -> Error {
    match failure {
        Failure::Producer(error) => error,
        Failure::Client(error) => Error::write(&error),
        Failure::Busy => Error::busy(),
        Failure::Late => Limits::late(),
        Failure::Bypass(reason) => {
            Error::fatal("the cache cannot hold this archive").caused_by(reason)
        }
        Failure::Differs => interrupted("a second attempt differs from the part that was sent"),
    }
}

fn interrupted(reason: &'static str) -> Error {
    Error::fatal("cannot go on with the archive").caused_by(reason)
}
