//! Deletes what the lists of the directory name. Nothing else is deleted: what came from elsewhere stays, with the directories
//! that it is in.

use sluice_base::error::Result;

use super::{
    list::{LiveRecords, each_line_of_both},
    path::ArchivePath,
    record::{PathRecord, RecordKind},
    root::LockedDirectory,
};

/// Delete the paths whose records count in `live`. Missing ones count as deleted. Calls `deleted` for each file and link.
pub(super) fn clear(
    root: &LockedDirectory,
    live: &LiveRecords,
    mut deleted: impl FnMut(&ArchivePath<'_>) -> Result<()>,
) -> Result<()> {
    let mut cursor = root.cursor();
    let mut directories = Vec::new();
    each_line_of_both(root.directory(), |number, line| {
        match PathRecord::of_line(line) {
            Ok(record) if live.counts(number, &record) => {
                let path = ArchivePath::new(record.path)?;
                if let RecordKind::Directory { .. } = record.kind {
                    directories.push(record.path.to_vec());
                    return Ok(());
                }
                cursor.delete_file(&path)?;
                deleted(&path)
            }
            _ => Ok(()),
        }
    })?;
    // The entries of a directory follow the directory.
    directories.sort_unstable();
    for directory in directories.iter().rev() {
        cursor.delete_directory(&ArchivePath::new(directory)?)?;
    }
    Ok(())
}
