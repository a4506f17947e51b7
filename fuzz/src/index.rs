//! Pack indices and multi-pack indices: a look-up ends, whatever the file says, and finds the same one by one
//! and all at once.
//!
//! The first byte chooses which of the two the rest is.

use std::{cell::RefCell, fs};

use super::{Objects, id_of};
use gix_hash::ObjectId;
use sluice_git::odb::ObjectLocation;

const ID_LEN: usize = 20;
const MULTI: &str = "multi-pack-index";
const SINGLE: &str = "pack-1.idx";
const MAX_IDS: usize = 64;

thread_local! {
    static OBJECTS: RefCell<Objects> = RefCell::default();
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((&choice, file)) = input.split_first() else {
        return;
    };
    let (name, other) = match choice % 2 {
        0 => (SINGLE, MULTI),
        _ => (MULTI, SINGLE),
    };
    OBJECTS.with_borrow(|objects| {
        let _ = fs::remove_file(objects.pack_file(other));
        fs::write(objects.pack_file(name), file).expect("our own");
        fs::write(objects.pack_file("pack-1.pack"), pack(file)).expect("our own");
        let ids = ids(file);
        let mut odb = objects.open();
        let one_by_one: Vec<_> = ids.iter().map(|id| odb.find(id)).collect();
        let mut together = Vec::new();
        odb.find_all(&ids, &mut together);
        assert_eq!(one_by_one, together);
        for place in together.into_iter().flatten() {
            let ObjectLocation::Packed(pack, offset) = place else {
                panic!("no object is loose")
            };
            assert!(odb.id_at(pack, offset).is_some());
        }
    });
}

/// A pack that may belong to the index `file`: of as many objects, and with the checksum that the index says.
fn pack(file: &[u8]) -> Vec<u8> {
    let fanout = if file.starts_with(b"\xfftOc") { 8 } else { 0 };
    let count = file.get(fanout + 255 * 4..fanout + 256 * 4);
    let checksum = file.rchunks_exact(ID_LEN).nth(1);
    [
        b"PACK\0\0\0\x02",
        count.unwrap_or(&[0; 4]),
        checksum.unwrap_or(&[0; ID_LEN]),
    ]
    .concat()
}

/// Ids that the file holds wherever an index has its ids, and some others.
fn ids(file: &[u8]) -> Vec<ObjectId> {
    let held = [8 + 1024, 1024 + 4, 1100]
        .into_iter()
        .filter_map(|start| file.get(start..));
    held.flat_map(|names| names.chunks_exact(ID_LEN))
        .take(MAX_IDS)
        .map(ObjectId::from_bytes_or_panic)
        .chain([id_of(0), id_of(1), id_of(0xff)])
        .collect()
}
