//! Finds a file in a tar that git wrote, for the expansion of `$Format:…$`.

use std::io::Read;

use sluice_base::error::Result;
use sluice_format::unarchive::{Item, Kind, Visitor, read_tar, unreadable};

/// The content of the file at `path` in `tar`, if the file is there.
pub(super) fn find_in_tar(mut tar: &[u8], path: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut wanted = Wanted {
        path,
        content: None,
    };
    read_tar(&mut tar, &mut wanted)?;
    Ok(wanted.content)
}

/// Takes one file of a tar.
struct Wanted<'a> {
    path: &'a [u8],
    content: Option<Vec<u8>>,
}

impl Visitor for Wanted<'_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        if item.kind == Kind::File && item.path == self.path {
            let bytes = self.content.insert(Vec::new());
            content.read_to_end(bytes).map_err(unreadable)?;
        }
        Ok(())
    }
}
