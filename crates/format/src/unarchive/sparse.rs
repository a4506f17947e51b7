//! Sparse files, about which programs disagree: busybox and 7-Zip write maps as a part of the content. Only a hole is read, as
//! git-sluice writes it in place of a large file: the newest of GNU tar's four forms, with one piece that has no data.

use super::pax::decimal;

/// How the keys of their records begin.
pub(super) const PREFIX: &[u8] = b"GNU.sparse.";

/// Where the header of the old form, and a block after it, says whether another block of the map follows.
pub(super) const HAS_MORE: usize = 482;
pub(super) const HAS_STILL_MORE: usize = 504;

/// The records of a sparse file.
#[derive(Default)]
pub(super) struct Sparse(Vec<(Vec<u8>, Vec<u8>)>);

impl Sparse {
    /// Adds a record, whose `key` is without its prefix.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.0.push((key.to_vec(), value.to_vec()));
    }

    /// The name of the file. The other name is for programs that know no sparse files.
    pub(super) fn name(&self) -> Option<&[u8]> {
        let name = self.0.iter().find(|(key, _)| key == b"name");
        name.map(|(_, name)| &name[..])
    }

    /// The size of a hole, if these are the records of one that has `other` as its other name.
    pub(super) fn hole(&self, other: &[u8]) -> Option<u64> {
        let keys = self.0.iter().map(|(key, _)| &key[..]);
        let is_known = keys.eq([&b"major"[..], b"minor", b"name", b"realsize"]);
        let [(_, major), (_, minor), (_, name), (_, size)] = &self.0[..] else {
            return None;
        };
        let at = name.iter().rposition(|byte| *byte == b'/');
        let (directory, base) = name.split_at(at.map_or(0, |at| at + 1));
        let is_named = other == [directory, b"GNUSparseFile.0/", base].concat();
        let is_it = is_known && major == b"1" && minor == b"0" && is_named;
        decimal(size).filter(|_| is_it)
    }
}

/// The body of a hole of `size` bytes.
pub(super) fn map(size: u64) -> Vec<u8> {
    let mut map = format!("1\n{size}\n0\n").into_bytes();
    map.resize(512, 0);
    map
}
