//! Deletes what the lists of the directory name, before a full archive takes its place. Nothing else is deleted: what
//! came from elsewhere stays, with the directories that it is in.

use sluice_base::error::Result;

use super::{
    list::List,
    path::ArchivePath,
    record::RecordKind,
    root::LockedDirectory,
    state_files::{LIST, NEW_LIST},
};

/// Delete the paths of both lists. Missing ones count as deleted.
pub(super) fn clear(root: &LockedDirectory) -> Result<()> {
    let mut cursor = root.cursor();
    let mut directories = Vec::new();
    for name in [LIST, NEW_LIST] {
        let Some(list) = List::open(root.directory(), name)? else {
            continue;
        };
        list.each(|record| {
            let path = ArchivePath::new(record.path)?;
            match record.kind {
                RecordKind::Directory { .. } => directories.push(record.path.to_vec()),
                _ => cursor.delete_file(&path)?,
            }
            Ok(())
        })?;
    }
    // The entries of a directory follow the directory.
    directories.sort_unstable();
    for directory in directories.iter().rev() {
        cursor.delete_directory(&ArchivePath::new(directory)?)?;
    }
    Ok(())
}
