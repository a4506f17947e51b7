//! Compares the objects of packs with gix-pack.

use git_sluice_fuzz::{HASH, id_of, pack};
use gix_pack::{
    cache::Never,
    data::{File, decode::entry::ResolvedBase},
};
use gix_zlib::Inflate;

/// Compares what both read from the pack that `input` describes.
pub fn compare(input: &[u8]) {
    let (data, offsets) = pack::pack(input);
    let theirs = offsets
        .iter()
        .map(|offset| decoded(&data, &offsets, *offset));
    assert_eq!(pack::objects(&data, &offsets), theirs.collect::<Vec<_>>());
}

/// The object at `offset` as gix decodes it. The entries of the pack `data` are at `offsets`, and have the ids 1, 2 and so on.
fn decoded(data: &[u8], offsets: &[u32], offset: u32) -> Option<Vec<u8>> {
    let file = File::from_data(data, "input".into(), HASH).expect("our own");
    let file = file.with_alloc_limit_bytes(Some(THEIR_LIMIT));
    let resolve = |id: &gix_hash::oid, _: &mut Vec<u8>| {
        let found = (1..).zip(offsets).find(|(number, _)| id_of(*number) == id);
        let entry = found
            .map(|(_, &offset)| file.entry(offset.into()))
            .transpose();
        Ok(entry?.map(ResolvedBase::InPack))
    };
    let mut out = Vec::new();
    let entry = file.entry(offset.into()).ok()?;
    let outcome = file.decode_entry(
        entry,
        &mut out,
        &mut Inflate::default(),
        &resolve,
        &mut Never,
    );
    let size = outcome.ok()?.object_size;
    out.truncate(usize::try_from(size).ok()?);
    (size <= pack::LIMIT).then_some(out)
}

/// gix counts the buffers of a whole chain.
const THEIR_LIMIT: usize = 64 << 20;
