//! From a located object to its bytes.
//!
//! A [`Decoder`] belongs to one thread and reuses all it needs: inflate state, delta and scratch
//! buffers. It writes straight to the buffer it is given, and asks nobody where anything lies: that
//! was settled in the plan. Objects above a limit are refused here and streamed by
//! [`stream`] instead. It never sees a path and knows no archive format.

pub mod chain;
pub mod delta;
mod inflate;
pub mod stream;
pub mod reader;
mod recent;
pub mod repeated;
pub mod recovery;
pub mod size;
pub mod slot;

use std::{io, path::Path, sync::Arc};

use gix::objs::Kind as ObjectKind;

use crate::{
    buffer::Buffer,
    error::{Error, strerror},
    odb::{loose, pack::Damage},
};
use chain::{Chains, Node, NodeId};
use delta::Delta;
use recent::{Recent, suits};
use slot::{Allowance, Kept};

/// Buffers set aside for results that will be waited for.
const SPARE_BUFFERS: usize = 32;
/// What they hold together, in bytes.
const SPARE_BYTES: usize = 2 << 20;

/// Why an object was not decoded.
#[derive(Debug)]
pub enum Failure {
    /// It, or something it is made from, has more bytes than the limit allows.
    TooLarge,
    /// It cannot be read from where it lies; another copy may be fine.
    Damaged(Damage),
    /// The operating system refused.
    Io(io::Error),
    /// Whoever took the bytes could not take more.
    Taker(Error),
    /// It is there, but the run cannot go on with it.
    Refused(Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge => f.write_str("object is too large"),
            Self::Damaged(damage) => damage.fmt(f),
            Self::Io(error) => f.write_str(&strerror(error)),
            Self::Taker(error) | Self::Refused(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// This failure as the cause of `error`; one that speaks for itself stands alone.
    pub fn explain(self, error: Error) -> Error {
        match self {
            Self::Refused(refused) => refused,
            failure => error.caused_by(failure),
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
pub struct Inflater(Box<inflate::Inflater>);

impl Inflater {
    /// Inflate the stream at the start of `input`, of `size` bytes, and append them to `out`; the
    /// Adler-32 at its end is verified.
    pub fn whole(&mut self, input: &[u8], size: usize, out: &mut Buffer) -> Result<(), Damage> {
        let space = out.space_with_slack(size, inflate::SLACK);
        match self.0.whole(input, space) {
            Ok(()) => Ok(()),
            Err(inflate::Refused) => second_opinion(input, &mut space[..size]),
        }
    }
}

/// Before an entry counts as damaged, an older and slower inflater has a look at it.
fn second_opinion(input: &[u8], out: &mut [u8]) -> Result<(), Damage> {
    use gix::zlib::{Inflate, Status};
    match Inflate::default().once(input, out) {
        Ok((Status::StreamEnd, _, len)) if len == out.len() => Ok(()),
        _ => Err(Damage("pack entry does not inflate to its size")),
    }
}

/// What one thread needs to decode objects.
pub struct Decoder {
    inflater: Inflater,
    loose: loose::Reader,
    allowance: Arc<Allowance>,
    /// What may be a base again, of objects that are wanted one by one.
    recent: Option<Recent>,
    /// Nodes from the wanted one down to where its chain begins.
    path: Vec<NodeId>,
    delta: Buffer,
    /// The result of one delta is the base of the next: two buffers take turns.
    scratch: [Buffer; 2],
    spare: Vec<Buffer>,
    spare_bytes: usize,
}

/// Where the result of the last step lies.
enum Step {
    Scratch(usize),
    Kept(Arc<Kept>),
}

impl Decoder {
    /// A decoder whose results for later use count against `allowance`.
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

    /// The same, for one object after the other, each in chains of its own: up to `bytes` bytes of what they
    /// were made from are held.
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
            Some(Step::Kept(kept)) => out.extend(&kept.bytes),
            Some(Step::Scratch(at)) => out.extend(&self.scratch[*at]),
            None => {}
        }
        chains.release(chains.node(wanted));
        if let Some(step) = step {
            self.reclaim(step);
        }
        Ok(())
    }

    /// Append the loose object in the file at `path` to `out` and say what it is.
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

    /// Whether what `node` is decoded to may be held as a base for others.
    fn would_hold(&self, node: &Node) -> bool {
        let recent = self.recent.as_ref();
        recent.is_some_and(|recent| recent.would_hold(node.estimate))
    }

    /// Give back every scratch buffer of more than `max` bytes.
    pub fn trim(&mut self, max: usize) {
        self.loose.trim(max);
        for buffer in self.scratch.iter_mut().chain([&mut self.delta]) {
            if buffer.capacity() > max {
                *buffer = Buffer::default();
            }
        }
    }

    /// Note the way from `wanted` down to a result that is there already, or to the chain's end.
    fn descend(
        &mut self,
        chains: &Chains,
        wanted: NodeId,
        limit: u64,
    ) -> Result<Option<Step>, Failure> {
        self.path.clear();
        let mut at = Some(wanted);
        while let Some(id) = at {
            let node = chains.node(id);
            let recent = || {
                let kept = self.recent.as_ref()?.find(chains.pack(node), node.data);
                kept.filter(|kept| kept.bytes.len() as u64 <= limit)
            };
            if let Some(kept) = chains.kept(node).or_else(recent) {
                return Ok(Some(Step::Kept(kept)));
            }
            if node.size > limit {
                return Err(Failure::TooLarge);
            }
            self.path.push(id);
            at = node.base();
        }
        Ok(None)
    }

    /// Decode one node to where the next step finds it.
    fn intermediate(
        &mut self,
        chains: &Chains,
        node: &Node,
        base: Option<&Step>,
        limit: u64,
        keep: bool,
    ) -> Result<Step, Failure> {
        let free = match base {
            Some(Step::Scratch(0)) => 1,
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
                Ok(kept) => return Ok(Step::Kept(kept)),
                Err(refused) => result = refused,
            }
        } else if let Some(recent) = &mut self.recent {
            match recent.keep(chains.pack(node), node.data, result) {
                Ok(kept) => return Ok(Step::Kept(kept)),
                Err(refused) => result = refused,
            }
        }
        self.scratch[free] = result;
        Ok(Step::Scratch(free))
    }

    /// Append what `node` makes of `base` to `out`.
    fn produce(
        &mut self,
        chains: &Chains,
        node: &Node,
        base: Option<&Step>,
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
        let delta = Delta::parse(&self.delta)?;
        if delta.size > limit {
            return Err(Failure::TooLarge);
        }
        let base = match base {
            Step::Scratch(at) => &self.scratch[*at],
            Step::Kept(kept) => &kept.bytes,
        };
        Ok(delta.apply(base, out.space(delta.size as usize))?)
    }

    /// Count the base of `node`, which lies in `step`, as used.
    fn leave(&mut self, chains: &Chains, node: &Node, step: Option<Step>) {
        if let (Some(base), Some(step)) = (node.base(), step) {
            chains.release(chains.node(base));
            self.reclaim(step);
        }
    }

    /// A buffer for about `size` bytes, if there is one, else an empty one.
    fn spare(&mut self, size: usize) -> Buffer {
        let Some(at) = self.spare.iter().rposition(|spare| suits(spare, size)) else {
            return Buffer::default();
        };
        let buffer = self.spare.swap_remove(at);
        self.spare_bytes -= buffer.capacity();
        buffer
    }

    /// Take the memory of a result back if nobody else holds it.
    fn reclaim(&mut self, step: Step) {
        let Step::Kept(kept) = step else { return };
        if let Some(mut kept) = Arc::into_inner(kept)
            && self.spare.len() < SPARE_BUFFERS
            && self.spare_bytes + kept.bytes.capacity() <= SPARE_BYTES
        {
            self.spare_bytes += kept.bytes.capacity();
            self.spare.push(std::mem::take(&mut kept.bytes));
        }
    }
}
