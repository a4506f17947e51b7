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
    let directories = directories(root, live, |path| {
        cursor.delete_file(path)?;
        deleted(path)
    })?;
    for directory in directories.iter().rev() {
        cursor.delete_directory(&ArchivePath::new(directory)?)?;
    }
    Ok(())
}

/// Give the user all permissions of the directories that archives have brought, so that they can be repaired.
pub fn open_directories(root: &LockedDirectory) -> Result<()> {
    let live = LiveRecords::of_both(root.directory())?;
    let mut cursor = root.cursor();
    for directory in directories(root, &live, |_| Ok(()))? {
        cursor.open_directory(&ArchivePath::new(&directory)?)?;
    }
    Ok(())
}

/// The directories in `live`, each before what is in it. Calls `other` for each file and link.
fn directories(
    root: &LockedDirectory,
    live: &LiveRecords,
    mut other: impl FnMut(&ArchivePath<'_>) -> Result<()>,
) -> Result<Vec<Vec<u8>>> {
    let mut directories = Vec::new();
    each_line_of_both(root.directory(), |number, line| {
        match PathRecord::of_line(line) {
            Ok(record) if live.counts(number, &record) => match record.kind {
                RecordKind::Directory { .. } => {
                    directories.push(record.path.to_vec());
                    Ok(())
                }
                _ => other(&ArchivePath::new(record.path)?),
            },
            _ => Ok(()),
        }
    })?;
    directories.sort_unstable();
    Ok(directories)
}
