//! Decodes located objects to bytes.
//!
//! A [`Decoder`] belongs to one thread and reuses its inflate state, its delta buffer and its scratch
//! buffers. A decoder appends to the caller's buffer. The plan has located every object, so a decoder looks
//! nothing up. A decoder refuses objects above a limit; [`stream`] streams them. This module sees no path
//! and knows no archive format.

pub mod chain;
pub mod delta;
pub mod stream;
pub mod reader;
mod recent;
pub mod repeated;
pub mod recovery;
pub mod size;
pub mod slot;
pub mod wanted;

use std::{io, path::Path, sync::Arc};

use flate2::{Decompress, FlushDecompress, Status};
use gix_object::Kind as ObjectKind;

use crate::odb::{loose, pack::Damage};
use chain::{Chains, Node, NodeId};
use delta::PackDelta;
use recent::{Recent, suits};
use slot::{Allowance, DecodedObject};
use sluice_base::{
    buffer::Buffer,
    error::{Error, strerror},
};

/// The most buffers kept for results that other threads wait for.
const SPARE_BUFFERS: usize = 32;
/// The most bytes of the buffers in reserve.
const SPARE_BYTES: usize = 2 << 20;

/// Why an object was not decoded.
#[derive(Debug)]
pub enum Failure {
    /// The object has more bytes than the limit allows; for a [`Decoder`], the object or a base of the object.
    TooLarge,
    /// The object is not in the repository, as in a partial clone.
    Absent,
    /// More tags of tags than are followed lead to the object.
    TooManyTags,
    /// The copy at the planned location is damaged. Another copy may be sound.
    Damaged(Damage),
    /// The operating system reported an error.
    Io(io::Error),
    /// The receiver of the bytes failed.
    Taker(Error),
    /// The object exists, but the run must not continue with the object.
    Refused(Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge => f.write_str("object is too large"),
            Self::Absent => f.write_str("object does not exist"),
            Self::TooManyTags => f.write_str("too many tags of tags"),
            Self::Damaged(damage) => damage.fmt(f),
            Self::Io(error) => f.write_str(&strerror(error)),
            Self::Taker(error) | Self::Refused(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// This failure as the cause of `error`. A refusal explains itself and replaces `error`.
    pub fn explain(self, error: Error) -> Error {
        match self {
            Self::Refused(refused) => refused,
            failure => error.caused_by(failure),
        }
    }

    /// This failure, or the failed read of a pack of `chains` that looks like damage.
    fn or_failed_read(self, chains: &Chains) -> Self {
        match self {
            Self::Damaged(_) => chains.failed_read().map_or(self, Self::Refused),
            failure => failure,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Taker(error)
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Inflates whole zlib streams of known size.
#[derive(Default)]
pub struct Inflater(Box<sluice_inflate::Inflater>);

impl Inflater {
    /// Inflate the stream at the start of `input` and append its `size` bytes to `out`. The Adler-32 at the
    /// end is verified.
    pub fn whole(&mut self, input: &[u8], size: usize, out: &mut Buffer) -> Result<(), Damage> {
        let space = out.space_with_slack(size, sluice_inflate::SLACK);
        match self.0.whole(input, space) {
            Ok(()) => Ok(()),
            Err(sluice_inflate::Refused) => second_opinion(input, &mut space[..size]),
        }
    }
}

/// Inflate again with zlib itself, which is what git has, before an entry counts as damaged.
fn second_opinion(input: &[u8], out: &mut [u8]) -> Result<(), Damage> {
    let mut zlib = Decompress::new(true);
    match zlib.decompress(input, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) if zlib.total_out() == out.len() as u64 => Ok(()),
        _ => Err(Damage("pack entry does not inflate to its size")),
    }
}

/// The state with which one thread decodes objects.
pub struct Decoder {
    inflater: Inflater,
    loose: loose::Reader,
    allowance: Arc<Allowance>,
    /// Recently decoded objects that may be bases again. Only for a reader of single objects.
    recent: Option<Recent>,
    /// The nodes from the wanted object down to the end of its chain.
    path: Vec<NodeId>,
    delta: Buffer,
    /// Two buffers that take turns: the result of one delta is the base of the next.
    scratch: [Buffer; 2],
    spare: Vec<Buffer>,
    spare_bytes: usize,
}

/// Where the result of the last step lies.
enum DecodeStep {
    Scratch(usize),
    Kept(Arc<DecodedObject>),
}

impl Decoder {
    /// Create a decoder whose shared results count against `allowance`.
    pub fn new(allowance: Arc<Allowance>) -> Self {
        Self {
            inflater: Inflater::default(),
            loose: loose::Reader::default(),
            allowance,
            recent: None,
            path: Vec::new(),
            delta: Buffer::default(),
            scratch: Default::default(),
            spare: Vec::new(),
            spare_bytes: 0,
        }
    }

    /// Prepares the decoder for single objects, each with chains of its own. It caches up to `bytes` bytes of bases.
    pub fn with_recent(mut self, bytes: usize) -> Self {
        self.recent = Some(Recent::new(bytes));
        self
    }

    /// Append the object at node `wanted` to `out`. On failure `out` may have grown.
    pub fn packed(
        &mut self,
        chains: &Chains,
        wanted: NodeId,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let decoded = self.decode(chains, wanted, limit, out);
        decoded.map_err(|failure| failure.or_failed_read(chains))
    }

    fn decode(
        &mut self,
        chains: &Chains,
        wanted: NodeId,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let mut step = self.descend(chains, wanted, limit)?;
        while let Some(id) = self.path.pop() {
            let node = chains.node(id);
            let keep = chains.wanted_again(node);
            if self.path.is_empty() && !keep && !self.would_hold(node) {
                self.produce(chains, node, step.as_ref(), limit, out)?;
                self.leave(chains, node, step);
                chains.release(node);
                return Ok(());
            }
            let result = self.intermediate(chains, node, step.as_ref(), limit, keep)?;
            self.leave(chains, node, step);
            step = Some(result);
        }
        match &step {
            Some(DecodeStep::Kept(kept)) => out.extend(&kept.bytes),
            Some(DecodeStep::Scratch(at)) => out.extend(&self.scratch[*at]),
            None => {}
        }
        chains.release(chains.node(wanted));
        if let Some(step) = step {
            self.reclaim(step);
        }
        Ok(())
    }

    /// Append the loose object in the file at `path` to `out` and return its type.
    pub fn loose(
        &mut self,
        path: &Path,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<ObjectKind, Failure> {
        let opened = self.loose.open(path)?;
        if opened.size > limit {
            return Err(Failure::TooLarge);
        }
        let kind = opened.kind;
        opened.read(out)?;
        Ok(kind)
    }

    /// Whether the decoded `node` may be cached as a base.
    fn would_hold(&self, node: &Node) -> bool {
        let recent = self.recent.as_ref();
        recent.is_some_and(|recent| recent.would_hold(node.estimate))
    }

    /// Free every scratch buffer of more than `max` bytes.
    pub fn trim(&mut self, max: usize) {
        self.loose.trim(max);
        for buffer in self.scratch.iter_mut().chain([&mut self.delta]) {
            if buffer.capacity() > max {
                *buffer = Buffer::default();
            }
        }
    }

    /// Collect the path from `wanted` down to a cached result or to the end of the chain.
    fn descend(
        &mut self,
        chains: &Chains,
        wanted: NodeId,
        limit: u64,
    ) -> Result<Option<DecodeStep>, Failure> {
        self.path.clear();
        let mut at = Some(wanted);
        while let Some(id) = at {
            let node = chains.node(id);
            let recent = || {
                let kept = self.recent.as_ref()?.find(chains.pack(node), node.data);
                kept.filter(|kept| kept.bytes.len() as u64 <= limit)
            };
            if let Some(kept) = chains.kept(node).or_else(recent) {
                return Ok(Some(DecodeStep::Kept(kept)));
            }
            if node.size > limit {
                return Err(Failure::TooLarge);
            }
            self.path.push(id);
            at = node.base();
        }
        Ok(None)
    }

    /// Decode one node to a place where the next step finds the result.
    fn intermediate(
        &mut self,
        chains: &Chains,
        node: &Node,
        base: Option<&DecodeStep>,
        limit: u64,
        keep: bool,
    ) -> Result<DecodeStep, Failure> {
        let free = match base {
            Some(DecodeStep::Scratch(0)) => 1,
            _ => 0,
        };
        let size = node.estimate as usize;
        let mut result = match &mut self.recent {
            _ if keep => self.spare(size),
            Some(recent) => recent.buffer(size),
            None => std::mem::take(&mut self.scratch[free]),
        };
        result.clear();
        self.produce(chains, node, base, limit, &mut result)?;
        if keep {
            match chains.keep(node, result, &self.allowance) {
                Ok(kept) => return Ok(DecodeStep::Kept(kept)),
                Err(refused) => result = refused,
            }
        } else if let Some(recent) = &mut self.recent {
            match recent.keep(chains.pack(node), node.data, result) {
                Ok(kept) => return Ok(DecodeStep::Kept(kept)),
                Err(refused) => result = refused,
            }
        }
        self.scratch[free] = result;
        Ok(DecodeStep::Scratch(free))
    }

    /// Decode `node`, which is a delta against `base` if there is one, and append the result to `out`.
    fn produce(
        &mut self,
        chains: &Chains,
        node: &Node,
        base: Option<&DecodeStep>,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let size = node.size as usize;
        let Some(base) = base else {
            return Ok(self.inflater.whole(chains.stream(node), size, out)?);
        };
        self.delta.clear();
        self.inflater
            .whole(chains.stream(node), size, &mut self.delta)?;
        let delta = PackDelta::parse(&self.delta)?;
        if delta.size > limit {
            return Err(Failure::TooLarge);
        }
        let base = match base {
            DecodeStep::Scratch(at) => &self.scratch[*at],
            DecodeStep::Kept(kept) => &kept.bytes,
        };
        Ok(delta.apply(base, out.space(delta.size as usize))?)
    }

    /// Count one use of the base of `node`, which lies in `step`.
    fn leave(&mut self, chains: &Chains, node: &Node, step: Option<DecodeStep>) {
        if let (Some(base), Some(step)) = (node.base(), step) {
            chains.release(chains.node(base));
            self.reclaim(step);
        }
    }

    /// Take a spare buffer for about `size` bytes, or an empty buffer if no spare suits.
    fn spare(&mut self, size: usize) -> Buffer {
        let Some(at) = self.spare.iter().rposition(|spare| suits(spare, size)) else {
            return Buffer::default();
        };
        let buffer = self.spare.swap_remove(at);
        self.spare_bytes -= buffer.capacity();
        buffer
    }

    /// Reuse the memory of a result that has no other holder.
    fn reclaim(&mut self, step: DecodeStep) {
        let DecodeStep::Kept(kept) = step else { return };
        if let Some(mut kept) = Arc::into_inner(kept)
            && self.spare.len() < SPARE_BUFFERS
            && self.spare_bytes + kept.bytes.capacity() <= SPARE_BYTES
        {
            self.spare_bytes += kept.bytes.capacity();
            self.spare.push(std::mem::take(&mut kept.bytes));
        }
    }
}
