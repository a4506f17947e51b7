//! Large objects, piece by piece, in constant memory.
//!
//! A whole entry is inflated through a window. A delta needs its base at random: each base on the
//! way is written to an unnamed temporary file and read back from there, so that even a gigabyte
//! stored as a delta costs disk and not memory.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
};

use sirocco::{Format, inflate::Decoder};

use super::{
    Failure,
    chain::{Chains, Node, NodeId},
    delta::{Delta, Instruction, next_instruction},
};
use crate::{buffer::Buffer, odb::pack::Damage};

/// Bytes inflated at once; more than the 32 KiB that deflate looks back.
const WINDOW_LEN: usize = 256 << 10;
/// Bytes read from a base at once.
const BLOCK_LEN: usize = 64 << 10;
/// No instruction of a delta is longer.
const INSTRUCTION_MAX: usize = 128;
/// The two sizes at the start of a delta take ten bytes each at most.
const SIZES_MAX: usize = 20;

/// Who takes the pieces.
type Taker<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>;

/// The size of the object at `id` in bytes; of a delta only the beginning is read.
pub fn size(chains: &Chains, id: NodeId) -> Result<u64, Failure> {
    let node = chains.node(id);
    match node.base() {
        None => Ok(node.size),
        Some(_) => head(chains, id).map(|(_, size)| size),
    }
}

/// What the delta at `id` says of the sizes of its base and its result.
fn head(chains: &Chains, id: NodeId) -> Result<(u64, u64), Failure> {
    let mut head = [0; SIZES_MAX];
    let stream = chains.stream(chains.node(id));
    let progress = Decoder::new(Format::Zlib)
        .decompress(stream, &mut head, false)
        .map_err(|_| Damage("pack entry does not inflate"))?;
    let delta = Delta::parse(progress.output)?;
    Ok((delta.base_size, delta.size))
}

/// Hand the object at `id` to `taker`, piece by piece.
pub fn packed(chains: &Chains, id: NodeId, taker: Taker<'_>) -> Result<(), Failure> {
    let mut path = vec![id];
    while let Some(base) = chains.node(path[path.len() - 1]).base() {
        path.push(base);
    }
    check_sizes(chains, &path)?;
    let mut base = None;
    while let Some(id) = path.pop() {
        let node = chains.node(id);
        if path.is_empty() {
            return piecewise(chains, node, base, taker);
        }
        let mut file = BufWriter::with_capacity(BLOCK_LEN, tempfile::tempfile()?);
        piecewise(chains, node, base, &mut |piece| Ok(file.write_all(piece)?))?;
        base = Some(file.into_inner().map_err(io::IntoInnerError::into_error)?);
    }
    Ok(())
}

/// Before anything is written to disk: each delta of the chain must be one of what comes below it.
fn check_sizes(chains: &Chains, path: &[NodeId]) -> Result<(), Failure> {
    for pair in path.windows(2) {
        let (delta, base) = (pair[0], pair[1]);
        if head(chains, delta)?.0 != size(chains, base)? {
            return Err(Damage("delta was made against another base").into());
        }
    }
    Ok(())
}

fn piecewise(
    chains: &Chains,
    node: &Node,
    base: Option<File>,
    taker: Taker<'_>,
) -> Result<(), Failure> {
    match base {
        None => inflate(chains.stream(node), node.size, taker),
        Some(base) => {
            let mut applier = Applier::new(base, taker)?;
            inflate(chains.stream(node), node.size, &mut |piece| {
                applier.feed(piece)
            })?;
            applier.finish()
        }
    }
}

/// Inflate the stream at the start of `input`, which has `size` bytes; its checksum is verified.
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

/// Applies a delta that arrives in pieces to a base that lies in a file.
struct Applier<'a> {
    base: Base,
    taker: Taker<'a>,
    /// Delta bytes that are not a whole instruction yet.
    pending: Vec<u8>,
    /// Result bytes not handed on yet.
    out: Buffer,
    /// What the delta says the result's size is, once that was read.
    size: Option<u64>,
    total: u64,
}

impl<'a> Applier<'a> {
    fn new(base: File, taker: Taker<'a>) -> io::Result<Self> {
        let base = Base::new(base)?;
        let (pending, out) = (Vec::new(), Buffer::default());
        Ok(Self {
            base,
            taker,
            pending,
            out,
            size: None,
            total: 0,
        })
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

    /// Follow the instructions until no more than `reserve` bytes of them are left.
    fn advance(&mut self, reserve: usize) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        if self.size.is_none() && rest.len() > reserve {
            let delta = Delta::parse(rest)?;
            if delta.base_size != self.base.len {
                return Err(Damage("delta was made against another base").into());
            }
            self.size = Some(delta.size);
            rest = delta.instructions;
        }
        while rest.len() > reserve {
            match next_instruction(&mut rest)? {
                Some(Instruction::Copy(offset, len)) => {
                    self.base.copy(offset as u64, len, &mut self.out)?;
                    self.total += len as u64;
                }
                Some(Instruction::Insert(bytes)) => {
                    self.out.extend(bytes);
                    self.total += bytes.len() as u64;
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

/// A delta base in a file, read in blocks: copies mostly follow one another.
struct Base {
    file: File,
    len: u64,
    block: Buffer,
    block_start: u64,
}

impl Base {
    fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self {
            file,
            len,
            block: Buffer::default(),
            block_start: 0,
        })
    }

    fn copy(&mut self, offset: u64, len: usize, out: &mut Buffer) -> Result<(), Failure> {
        let end = offset + len as u64;
        if end > self.len {
            return Err(Damage("delta is corrupt").into());
        }
        if len >= BLOCK_LEN {
            return Ok(self.file.read_exact_at(out.space(len), offset)?);
        }
        if offset < self.block_start || end > self.block_start + self.block.len() as u64 {
            self.block.clear();
            let block_len = (self.len - offset).min(BLOCK_LEN as u64) as usize;
            self.file
                .read_exact_at(self.block.space(block_len), offset)?;
            self.block_start = offset;
        }
        let at = (offset - self.block_start) as usize;
        out.extend(&self.block[at..at + len]);
        Ok(())
    }
}
