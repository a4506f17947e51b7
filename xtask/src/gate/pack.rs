//! A pack that depends on its objects alone: neither on git's choice of deltas nor on git's zlib.
//!
//! It is as git's are in what a reader notices: older versions are deltas of newer ones, in chains of
//! up to fifty; files whose names end alike are deltas of each other.

use std::collections::HashMap;
use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, write::ZlibEncoder};

/// What a pack is made of.
pub(super) struct Object {
    pub(super) kind: Kind,
    /// Where the newest commit that has it keeps it; empty for those without a path.
    pub(super) path: Vec<u8>,
    pub(super) data: Vec<u8>,
}

/// As in the header of a pack's entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
    Tag = 4,
}

const OFFSET_DELTA: u8 = 6;

/// As git's own `pack.depth`.
const MAX_DEPTH: u32 = 50;

/// An object that was written, which others can be deltas of.
#[derive(Clone, Copy)]
struct Written {
    /// In the list of objects.
    index: usize,
    /// In the pack.
    offset: usize,
    depth: u32,
}

/// Writes `objects` in their order, the newest first.
pub(super) fn write(objects: &[Object]) -> Result<Vec<u8>> {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend((objects.len() as u32).to_be_bytes());
    let mut same_path: HashMap<(Kind, &[u8]), Written> = HashMap::new();
    let mut same_end: HashMap<(Kind, &[u8]), Written> = HashMap::new();
    for (index, object) in objects.iter().enumerate() {
        let key = (object.kind, object.path.as_slice());
        let end = (object.kind, end(&object.path));
        let bases = [same_path.get(&key), same_end.get(&end)];
        let best = bases
            .into_iter()
            .flatten()
            .filter(|base| base.depth < MAX_DEPTH)
            .map(|base| (base, delta(&objects[base.index].data, &object.data)))
            .min_by_key(|(_, delta)| delta.len())
            .filter(|(_, delta)| delta.len() < object.data.len() / 2);
        let offset = pack.len();
        let depth = match best {
            Some((base, delta)) => {
                entry_header(OFFSET_DELTA, delta.len(), &mut pack);
                distance(offset - base.offset, &mut pack);
                deflate(&delta, &mut pack)?;
                base.depth + 1
            }
            None => {
                entry_header(object.kind as u8, object.data.len(), &mut pack);
                deflate(&object.data, &mut pack)?;
                0
            }
        };
        let written = Written {
            index,
            offset,
            depth,
        };
        if matches!(object.kind, Kind::Tree | Kind::Blob) {
            same_path.insert(key, written);
            same_end.insert(end, written);
        }
    }
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(&pack);
    pack.extend_from_slice(hasher.try_finalize()?.as_slice());
    Ok(pack)
}

/// What decides whether two files look alike.
fn end(path: &[u8]) -> &[u8] {
    &path[path.len().saturating_sub(16)..]
}

fn deflate(data: &[u8], pack: &mut Vec<u8>) -> Result<()> {
    let mut encoder = ZlibEncoder::new(pack, Compression::new(6));
    encoder.write_all(data)?;
    encoder.finish()?;
    Ok(())
}

/// The type and four bits of the size, then seven bits at a time, the low ones first.
fn entry_header(kind: u8, size: usize, pack: &mut Vec<u8>) {
    let more = |rest: usize| if rest > 0 { 0x80 } else { 0 };
    let mut rest = size >> 4;
    pack.push(more(rest) | kind << 4 | (size & 0xf) as u8);
    while rest > 0 {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        pack.push(more(rest) | low);
    }
}

/// How far back the base lies: seven bits at a time, the high ones first, one less in all but the last.
fn distance(distance: usize, pack: &mut Vec<u8>) {
    let mut bytes = vec![(distance & 0x7f) as u8];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        bytes.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    pack.extend(bytes.iter().rev());
}

/// Bytes of the base that are found again only if they stand together.
const BLOCK: usize = 16;

/// The instructions that make `target` of `base`: whatever is in both is copied, greedily.
fn delta(base: &[u8], target: &[u8]) -> Vec<u8> {
    let mut blocks = HashMap::new();
    for (number, block) in base.chunks_exact(BLOCK).enumerate() {
        blocks.entry(block).or_insert(number * BLOCK);
    }
    let mut delta = Vec::new();
    delta_size(base.len(), &mut delta);
    delta_size(target.len(), &mut delta);
    let (mut at, mut inserted) = (0, 0);
    while at + BLOCK <= target.len() {
        let Some(&from) = blocks.get(&target[at..at + BLOCK]) else {
            at += 1;
            continue;
        };
        let before = target[inserted..at]
            .iter()
            .rev()
            .zip(base[..from].iter().rev())
            .take_while(|(one, two)| one == two)
            .count();
        let after = target[at..]
            .iter()
            .zip(&base[from..])
            .take_while(|(one, two)| one == two)
            .count();
        insert(&target[inserted..at - before], &mut delta);
        copy(from - before, before + after, &mut delta);
        at += after;
        inserted = at;
    }
    insert(&target[inserted..], &mut delta);
    delta
}

fn delta_size(mut size: usize, delta: &mut Vec<u8>) {
    while size > 0x7f {
        delta.push(0x80 | (size & 0x7f) as u8);
        size >>= 7;
    }
    delta.push(size as u8);
}

fn insert(bytes: &[u8], delta: &mut Vec<u8>) {
    for piece in bytes.chunks(0x7f) {
        delta.push(piece.len() as u8);
        delta.extend_from_slice(piece);
    }
}

/// Four bytes of offset and two of length, of which those that are zero are left out.
fn copy(mut from: usize, mut length: usize, delta: &mut Vec<u8>) {
    while length > 0 {
        let now = length.min(0xffff);
        let arguments = (from as u64) | (now as u64) << 32;
        let opcode = delta.len();
        delta.push(0x80);
        for (bit, &byte) in arguments.to_le_bytes()[..6].iter().enumerate() {
            if byte > 0 {
                delta[opcode] |= 1 << bit;
                delta.push(byte);
            }
        }
        from += now;
        length -= now;
    }
}
