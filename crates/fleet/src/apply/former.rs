//! What earlier archives have brought, while a full archive takes its place. Files that are the same stay, and what the archive
//! does not name is deleted at the end.

use cap_std::fs::MetadataExt;

use sluice_base::error::Result;

use super::{
    cursor::Cursor,
    list::{ListedKind, LiveRecords},
    path::ArchivePath,
    state_files::{self, StateDirectory},
};

/// What earlier archives have brought.
pub(super) struct Former {
    /// What the archive has not named so far.
    pub(super) rest: LiveRecords,
    /// The permissions that a new file has if all are asked for.
    pub(super) granted: u32,
}

impl Former {
    /// What the directory `root` has of the commit that it holds. `None` if all of that has to be deleted first: where names
    /// ignore case, a deletion at the end could meet a new file.
    pub(super) fn of(root: &StateDirectory) -> Result<Option<Self>> {
        let Some(granted) = state_files::granted(root)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            rest: LiveRecords::of_both(root)?,
            granted,
        }))
    }

    /// Whether the directory there has other permissions than a new one with this `mode`.
    pub(super) fn differs(
        &self,
        cursor: &mut Cursor<'_>,
        at: &ArchivePath<'_>,
        mode: u32,
    ) -> Result<bool> {
        let (there, new) = (cursor.status(at)?, mode & self.granted | 0o700);
        let is_other = there.is_some_and(|there| there.mode() & 0o777 != new);
        Ok(is_other && self.rest.kind(at.bytes()) == Some(ListedKind::Directory))
    }

    /// Deletes the file or the link at `path`; or files in the directory there, and then the directory, unless it has more.
    pub(super) fn delete(&self, cursor: &mut Cursor<'_>, path: &[u8]) -> Result<()> {
        let (place, kind) = (ArchivePath::of_checked(path), self.rest.kind(path));
        if kind == Some(ListedKind::Other) {
            return cursor.delete_file(&place);
        }
        for (path, _) in cursor.entries(path)? {
            self.delete(cursor, &path)?;
        }
        kind.map_or(Ok(()), |_| cursor.delete_directory(&place))
    }
}
