//! The list for programs: the manifest that the archive would have, without the positions of entries.

use std::io::Write;

use bstr::ByteSlice;

use super::entries::{Listed, Readers, doubles, each_entry};
use sluice_base::{buffer::Buffer, error::Result};
use sluice_core::{
    archive::{archive_length, list_deletions, record},
    output::report::{Listing, Record},
    plan::lfs_object,
    request::Request,
};

/// Lists to `out` what `request` would send.
pub(super) fn list(request: Request, out: &mut dyn Write) -> Result<()> {
    let length = archive_length(&request);
    let mut listing = Listing::begin(out, &request.manifest_header(), length)?;
    let content = request.content;
    let redacted = content.archived().tree.rules.redacted;
    if let Some(delta) = &content.delta {
        list_deletions(delta, redacted, |lines| listing.write(lines))?;
    }
    let repositories = content.repositories.clone();
    let mut readers = Readers::of(&content);
    let doubles = doubles(content.clone())?;
    let mut line = Buffer::default();
    each_entry(content, |listed| {
        let Listed { window, entry, .. } = listed;
        let repository = &repositories[window.store.0];
        let submodule = (
            repository.path().as_bytes(),
            repository.enters(window.path(entry)),
        );
        let problems = doubles.problems(window.path(entry), readers.target(window, entry));
        let record = Record {
            undecided: listed.is_undecided,
            lfs: lfs_object(readers.reader(window), entry).map(|object| object.hash()),
            unportable: if entry.is_omitted() { &[] } else { &problems },
            ..record(window, entry, submodule, redacted)
        };
        line.clear();
        record.write(&mut line);
        listing.write(&line)
    })?;
    listing.end()
}
