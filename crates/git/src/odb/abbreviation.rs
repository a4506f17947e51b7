//! Looks up an object by the beginning of its id (gitrevisions(7), "SPECIFYING REVISIONS").

use std::{collections::BTreeSet, fs, path::Path};

use gix_hash::{ObjectId, Prefix};

use super::{Odb, source::SourceKind, table::ObjectTable};

impl Odb {
    /// The ids of objects that begin with `prefix`. There may be many of them, so the list ends after two.
    pub fn abbreviated(&mut self, prefix: Prefix) -> BTreeSet<ObjectId> {
        self.refresh();
        let mut found = BTreeSet::new();
        for source in self.sources.iter().chain(&self.covered) {
            match &source.kind {
                SourceKind::Single(index, _) => {
                    if let Some(index) = self.index(&source.path, index) {
                        add(index.table(), prefix, &mut found);
                    }
                }
                SourceKind::Multi(index, _) => add(index.table(), prefix, &mut found),
            }
        }
        for directory in &self.config.dirs {
            add_loose(directory, prefix, &mut found);
        }
        found
    }
}

/// Adds the ids of `table` that begin with `prefix`.
fn add(table: &ObjectTable, prefix: Prefix, found: &mut BTreeSet<ObjectId>) {
    let ids = table.ids_from(prefix.as_oid());
    for id in ids.take_while(|id| prefix.cmp_oid(id).is_eq()) {
        if found.len() > 1 {
            return;
        }
        found.insert(id);
    }
}

/// Adds the ids of loose objects in the object directory `directory`.
fn add_loose(directory: &Path, prefix: Prefix, found: &mut BTreeSet<ObjectId>) {
    let hex = prefix.as_oid().to_hex().to_string();
    let (first, _) = hex.split_at(2);
    let entries = fs::read_dir(directory.join(first));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let hex = [first.as_bytes(), name.as_encoded_bytes()].concat();
        let id = ObjectId::from_hex(&hex).ok();
        found.extend(id.filter(|id| prefix.cmp_oid(id).is_eq()));
    }
}
