//! Delivers an archive that others may ask for as well: from the cache, or into it.

use std::{fs::File, io::Write};

use super::run::{ArchiveOutputs, RunStats, run};
use crate::{
    base::error::{Error, Result},
    cache::{self, Account, CacheRequest, Failure},
    output::report::{Console, Counts, Meter},
    request::{Request, Scope, format::Format},
};

/// Bytes of a record of a tar. A tar that ends between two records may pass for a whole one.
const RECORD: u64 = 512;

/// Carries `request` out for `output`, through the cache that `settings` name. Counts in `stats` as
/// [`run`] does, no matter which process made the archive.
pub fn share(
    settings: &cache::Settings,
    request: Request,
    output: &File,
    console: Console<'_>,
    meter: Meter,
    stats: &mut RunStats,
) -> Result<()> {
    let shareable = request.shareable.clone();
    let order = CacheRequest {
        key: request.key.clone(),
        output,
        is_shareable: &|| shareable.holds(),
    };
    let is_tar = matches!(request.format, Format::Tar | Format::Filtered(_));
    if let Scope::Delta(delta) = &request.scope {
        stats.summary.changes = Some(delta.counts);
    }
    let mut account = Account::default();
    let produce = |destination: &mut (dyn Write + Send)| {
        let outputs = ArchiveOutputs {
            destination,
            console,
            meter,
        };
        run(request, outputs, stats)?;
        Ok(stats.summary.counts.to_notes())
    };
    let outcome = cache::deliver(settings, order, produce, &mut account);
    let served = account.served;
    stats.summary.bytes_out = served;
    stats.summary.cache = Some(account);
    match outcome {
        Ok(notes) => {
            stats.summary.counts = Counts::of_notes(&notes)?;
            Ok(())
        }
        Err(Failure::Producer(error)) => Err(error),
        Err(Failure::Client(error)) => Err(Error::write(&error)),
        Err(Failure::Busy) => Err(Error::busy()),
        Err(Failure::Differs) => {
            if is_tar && served.is_multiple_of(RECORD) {
                // The run fails anyway, with an error that says more.
                let _ = (&mut &*output).write_all(b"\0");
            }
            Err(Error::fatal("cannot go on with the archive")
                .caused_by("a second attempt differs from the part that was sent"))
        }
    }
}
