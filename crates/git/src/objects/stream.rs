//! Streams large objects piece by piece, in constant memory.
//!
//! An undeltified entry is inflated through a window. A delta needs random access to its base: each base of
//! the chain is written to a spool and read back, so a gigabyte stored as a delta costs disk and no memory.
//! A false size never fills the disk: a size that the packs cannot back, or that exceeds the room on the
//! disk, is refused before anything is written.

use std::{io::Write, sync::Arc};

use sirocco::{Format, inflate::Decoder};

use super::{
    Failure,
    chain::{Chains, NodeId},
    delta::{Instruction, PackDelta, next_instruction},
};
use crate::odb::pack::{Damage, MAX_RATIO, Pack};
use sluice_base::buffer::{
    Buffer,
    spool::{Spool, Spooled},
};

/// Bytes inflated at once. Deflate refers back up to 32 KiB.
const WINDOW_LEN: usize = 256 << 10;
/// Bytes read from a base at once.
const BLOCK_LEN: usize = 64 << 10;
/// The longest instruction of a delta in bytes.
const INSTRUCTION_MAX: usize = 128;
/// The two sizes at the start of a delta take at most ten bytes each.
const SIZES_MAX: usize = 20;
/// The largest base in bytes whose size is accepted unchecked. By default git makes no deltas of larger
/// files (`core.bigFileThreshold`).
const UNDOUBTED: u64 = 512 << 20;

/// Takes the pieces of an object.
pub type Taker<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>;

/// The size of the object at `id` in bytes. Of a delta only the beginning is read.
pub fn size(chains: &Chains, id: NodeId) -> Result<u64, Failure> {
    let node = chains.node(id);
    match node.base() {
        None => Ok(node.size),
        Some(_) => {
            let sizes =
                head(chains.stream(node)).map_err(|failure| failure.or_failed_read(chains))?;
            Ok(sizes.1)
        }
    }
}

/// The sizes of base and result, from the beginning of the delta in `stream`.
pub(super) fn head(stream: &[u8]) -> Result<(u64, u64), Failure> {
    let mut head = [0; SIZES_MAX];
    let progress = Decoder::new(Format::Zlib)
        .decompress(stream, &mut head, false)
        .map_err(|_| Damage("pack entry does not inflate"))?;
    let delta = PackDelta::parse(progress.output)?;
    Ok((delta.base_size, delta.size))
}

/// Pass the object at `id` to `taker`, piece by piece.
pub fn packed(chains: &Chains, id: NodeId, taker: Taker<'_>) -> Result<(), Failure> {
    decode(chains, id, taker).map_err(|failure| failure.or_failed_read(chains))
}

fn decode(chains: &Chains, id: NodeId, taker: Taker<'_>) -> Result<(), Failure> {
    let mut path = vec![id];
    while let Some(base) = chains.node(path[path.len() - 1]).base() {
        path.push(base);
    }
    check_sizes(chains, &path)?;
    let mut base = None;
    while let Some(id) = path.pop() {
        let node = chains.node(id);
        let stream = chains.stream(node);
        if path.is_empty() {
            return piecewise(stream, node.size, base, taker);
        }
        let spooled = spool(size(chains, id)?, BLOCK_LEN, |taker| {
            piecewise(stream, node.size, base.take(), taker)
        });
        base = Some(spooled?);
    }
    Ok(())
}

/// Append the object at `id` to `out`, unless the object has more than `limit` bytes. Its bases may have any
/// size.
pub fn append(chains: &Chains, id: NodeId, limit: u64, out: &mut Buffer) -> Result<(), Failure> {
    if size(chains, id)? > limit {
        return Err(Failure::TooLarge);
    }
    // No room is made for the claimed size: only the content proves it.
    packed(chains, id, &mut |piece| {
        out.extend(piece);
        Ok(())
    })
}

/// Write the pieces of `content`, which claims `size` bytes, to a spool that holds up to `max_memory` bytes
/// in memory.
pub(super) fn spool(
    size: u64,
    max_memory: usize,
    content: impl FnOnce(Taker<'_>) -> Result<(), Failure>,
) -> Result<Spooled, Failure> {
    let mut spool = Spool::new(max_memory);
    spool.check_room(size)?;
    content(&mut |piece| Ok(spool.write_all(piece)?))?;
    Ok(spool.finish()?)
}

/// Check the chain before anything is written to disk: each delta must match the size of its base, and the
/// packs must be able to back the size of each base.
fn check_sizes(chains: &Chains, path: &[NodeId]) -> Result<(), Failure> {
    let pack_bytes = pack_bytes(chains, path);
    for pair in path.windows(2) {
        let (delta, base) = (pair[0], pair[1]);
        let base_size = size(chains, base)?;
        if head(chains.stream(chains.node(delta)))?.0 != base_size {
            return Err(Damage("delta was made against another base").into());
        }
        check_claim(base_size, pack_bytes)?;
    }
    Ok(())
}

/// Refuse a base of `size` bytes that files of `backing` bytes cannot back. Deflate expands at most 1032
/// times. Deltas that copy the same bytes over and over could expand further, but no honest deltas do.
pub(super) fn check_claim(size: u64, backing: u64) -> Result<(), Failure> {
    if size > backing.saturating_mul(MAX_RATIO).max(UNDOUBTED) {
        Err(Damage("delta base claims more than its pack can hold").into())
    } else {
        Ok(())
    }
}

/// The size in bytes of all packs that contain nodes of `path`.
fn pack_bytes(chains: &Chains, path: &[NodeId]) -> u64 {
    let mut packs: Vec<&Arc<Pack>> = Vec::new();
    for &id in path {
        let pack = chains.pack(chains.node(id));
        if !packs.iter().any(|known| Arc::ptr_eq(known, pack)) {
            packs.push(pack);
        }
    }
    packs.iter().map(|pack| pack.size()).sum()
}

/// Decode the pack entry in `stream`, which inflates to `size` bytes, against its `base`, and pass the
/// result to `taker`.
pub(super) fn piecewise(
    stream: &[u8],
    size: u64,
    base: Option<Spooled>,
    taker: Taker<'_>,
) -> Result<(), Failure> {
    match base {
        None => inflate(stream, size, taker),
        Some(base) => {
            let mut applier = Applier::new(base, taker);
            inflate(stream, size, &mut |piece| applier.feed(piece))?;
            applier.finish()
        }
    }
}

/// Inflate the stream at the start of `input`, which has `size` bytes. The checksum is verified.
fn inflate(mut input: &[u8], size: u64, taker: Taker<'_>) -> Result<(), Failure> {
    let damage = Damage("pack entry does not inflate to its size");
    let mut decoder = Decoder::new(Format::Zlib);
    let mut window = vec![0; WINDOW_LEN];
    let mut total = 0;
    loop {
        let progress = decoder
            .decompress(input, &mut window, true)
            .map_err(|_| damage)?;
        total += progress.output.len() as u64;
        if total > size || (progress.done && total < size) {
            return Err(damage.into());
        }
        taker(progress.output)?;
        if progress.done {
            return Ok(());
        }
        let (consumed, full) = (progress.consumed, progress.full);
        input = &input[consumed..];
        if full {
            decoder.make_room(&mut window);
        }
    }
}

/// Applies a delta that arrives in pieces to a base in a spool.
struct Applier<'a> {
    base: Base,
    taker: Taker<'a>,
    /// Delta bytes that form no whole instruction yet.
    pending: Vec<u8>,
    /// Result bytes that are not passed on yet.
    out: Buffer,
    /// The size of the result as the delta states it, once read.
    size: Option<u64>,
    total: u64,
}

impl<'a> Applier<'a> {
    fn new(base: Spooled, taker: Taker<'a>) -> Self {
        Self {
            base: Base::new(base),
            taker,
            pending: Vec::new(),
            out: Buffer::default(),
            size: None,
            total: 0,
        }
    }

    fn feed(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.pending.extend_from_slice(piece);
        self.advance(INSTRUCTION_MAX)
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.advance(0)?;
        (self.taker)(&self.out)?;
        match self.size {
            Some(size) if size == self.total => Ok(()),
            _ => Err(Damage("delta is corrupt").into()),
        }
    }

    /// Count `len` further bytes of the result, within the stated size.
    fn count(&mut self, len: usize) -> Result<(), Failure> {
        self.total += len as u64;
        if self.size.is_some_and(|size| self.total > size) {
            Err(Damage("delta is corrupt").into())
        } else {
            Ok(())
        }
    }

    /// Follow the instructions until at most `reserve` bytes of them are left.
    fn advance(&mut self, reserve: usize) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        if self.size.is_none() && rest.len() > reserve {
            let delta = PackDelta::parse(rest)?;
            if delta.base_size != self.base.spooled.size() {
                return Err(Damage("delta was made against another base").into());
            }
            self.size = Some(delta.size);
            rest = delta.instructions;
        }
        while rest.len() > reserve {
            match next_instruction(&mut rest)? {
                Some(Instruction::Copy(offset, len)) => {
                    self.count(len)?;
                    self.base.copy(offset as u64, len, &mut self.out)?;
                }
                Some(Instruction::Insert(bytes)) => {
                    self.count(bytes.len())?;
                    self.out.extend(bytes);
                }
                None => {}
            }
            if self.out.len() >= WINDOW_LEN {
                (self.taker)(&self.out)?;
                self.out.clear();
            }
        }
        self.pending.extend_from_slice(rest);
        Ok(())
    }
}

/// A delta base in a spool, read in blocks: copies are mostly consecutive.
struct Base {
    spooled: Spooled,
    block: Buffer,
    block_start: u64,
}

impl Base {
    fn new(spooled: Spooled) -> Self {
        Self {
            spooled,
            block: Buffer::default(),
            block_start: 0,
        }
    }

    fn copy(&mut self, offset: u64, len: usize, out: &mut Buffer) -> Result<(), Failure> {
        let end = offset + len as u64;
        let size = self.spooled.size();
        if end > size {
            return Err(Damage("delta is corrupt").into());
        }
        if len >= BLOCK_LEN {
            return Ok(self.spooled.read_exact_at(out.space(len), offset)?);
        }
        if offset < self.block_start || end > self.block_start + self.block.len() as u64 {
            self.block.clear();
            let block_len = (size - offset).min(BLOCK_LEN as u64) as usize;
            self.spooled
                .read_exact_at(self.block.space(block_len), offset)?;
            self.block_start = offset;
        }
        let at = (offset - self.block_start) as usize;
        out.extend(&self.block[at..at + len]);
        Ok(())
    }
}
