//! Pack entries: whatever a pack holds, an object is decoded or refused, and streamed as it is decoded whole. Its size is
//! the one that its headers tell.
//!
//! The input describes the entries: a byte of choices, a length, and so many bytes. They are deflated and
//! given a header, so that the inflater seldom refuses what the fuzzer has found. Deltas have the input's
//! instructions and may lead to any other entry.

use std::{cell::RefCell, fs};

use super::{Objects, deflated, id_of};
use sluice_base::buffer::Buffer;
use sluice_git::{
    objects::{
        chain::ChainBuilder,
        reader::Reader,
        size::{Size, Sizer},
        stream,
    },
    odb::{ObjectLocation, Odb, PackId},
};

/// Objects above this are refused.
pub const LIMIT: u64 = 1 << 20;
const MAX_ENTRIES: usize = 32;
const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;
/// The checksum of the pack. Nothing compares it with the pack's bytes.
const CHECKSUM: [u8; 20] = [0; 20];

thread_local! {
    static OBJECTS: RefCell<Objects> = RefCell::default();
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    let (pack, offsets) = pack(input);
    objects(&pack, &offsets);
}

/// The objects of a `pack` whose entries are at `offsets`; `None` for one that is refused.
pub fn objects(pack: &[u8], offsets: &[u32]) -> Vec<Option<Vec<u8>>> {
    OBJECTS.with_borrow(|objects| {
        fs::write(objects.pack_file("pack-1.pack"), pack).expect("our own");
        fs::write(objects.pack_file("pack-1.idx"), index(offsets)).expect("our own");
        let mut found = Vec::new();
        let mut reader = Reader::new(objects.open());
        let mut whole = Buffer::default();
        for (number, &offset) in (1..).zip(offsets) {
            whole.clear();
            let place = ObjectLocation::Packed(PackId(0), offset.into());
            // The first look-up opens the pack.
            reader.odb.find(&id_of(number));
            let read = reader.read_at(&id_of(number), place, LIMIT, &mut whole);
            found.push(read.is_ok().then(|| whole.to_vec()));
            if read.is_ok() {
                let size = Sizer::default().size_of(&mut reader.odb, &id_of(number), place);
                assert_eq!(size, Size::Exactly(whole.len() as u64));
                let streamed = streamed(&mut reader.odb, offset.into());
                assert!(streamed == whole[..], "a stream differs");
            }
        }
        found
    })
}

/// The pack that `input` describes, and where its entries begin.
pub fn pack(mut input: &[u8]) -> (Vec<u8>, Vec<u32>) {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
    let mut offsets: Vec<u32> = Vec::new();
    while let Some((&[choices, length], rest)) = input.split_first_chunk()
        && offsets.len() < MAX_ENTRIES
    {
        let (data, rest) = rest.split_at(rest.len().min(length.into()));
        input = rest;
        let offset = u32::try_from(pack.len()).expect("the input is short");
        let (kind, is_raw, is_wrong) = (choices & 7, choices & 8 != 0, choices & 16 != 0);
        let back = usize::from(choices >> 5);
        let size = data.len() + usize::from(is_wrong);
        pack.extend([0x80 | kind << 4 | (size & 15) as u8, (size >> 4) as u8]);
        match kind {
            OFS_DELTA => {
                let base = offsets.iter().rev().nth(back).copied().unwrap_or_default();
                pack.extend(distance(offset - base));
            }
            REF_DELTA => pack.extend([choices >> 5; 20]),
            _ => {}
        }
        if is_raw {
            pack.extend(data)
        } else {
            pack.extend(deflated(data))
        }
        offsets.push(offset);
    }
    pack[11] = offsets.len() as u8;
    pack.extend(CHECKSUM);
    (pack, offsets)
}

/// How a pack writes the distance to the base of a delta; up to 14 bits.
fn distance(distance: u32) -> [u8; 2] {
    let rest = distance.saturating_sub(0x80);
    [0x80 | (rest >> 7 & 0x7f) as u8, (rest & 0x7f) as u8]
}

/// An index of version 2 whose ids are [`id_of`] 1, 2 and so on.
fn index(offsets: &[u32]) -> Vec<u8> {
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..256 {
        let count = offsets.len().min(first) as u32;
        index.extend(count.to_be_bytes());
    }
    for (number, _) in (1..).zip(offsets) {
        index.extend(id_of(number).as_slice());
    }
    index.extend(vec![0; 4 * offsets.len()]);
    index.extend(offsets.iter().flat_map(|offset| offset.to_be_bytes()));
    index.extend([CHECKSUM, CHECKSUM].concat());
    index
}

fn streamed(odb: &mut Odb, offset: u64) -> Vec<u8> {
    let mut chains = ChainBuilder::default();
    let node = chains.add(odb, PackId(0), offset);
    let node = node.expect("the object was decoded");
    let mut bytes = Vec::new();
    let taken = stream::packed(&chains.finish(), node, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    taken.expect("the object was decoded");
    bytes
}
