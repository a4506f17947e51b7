//! The delta chains of a window of blobs, with the number of uses of each link.
//!
//! The planner adds blobs. Each pack entry that a blob needs becomes one [`Node`], whose header is parsed
//! once. Workers follow node numbers and never look anything up. A node with several uses has an [`ObjectSlot`]:
//! the first worker that decodes the node leaves the result there, and the last use empties the slot. Slots
//! are locked one by one, for as long as it takes to copy a pointer.

use std::{collections::HashMap, hash::BuildHasherDefault, sync::Arc};

use gix_object::Kind as ObjectKind;
use rustc_hash::FxHasher;

use super::{
    repeated::{LARGE, Repeated},
    slot::{Allowance, DecodedObject, ObjectSlot},
};
use crate::odb::{
    ObjectLocation, Odb, PackId,
    pack::{Damage, EntryKind, Pack},
};
use sluice_base::{buffer::Buffer, error::Error};

/// The longest chain that is followed. git makes chains of at most 4095 links.
pub const MAX_LINKS: usize = 1 << 16;

/// The number of a node in its [`Chains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(u32);

/// One pack entry.
pub struct Node {
    /// The index into the packs of the [`Chains`].
    pack: u32,
    /// The base, if the entry is a delta.
    base: Option<NodeId>,
    slot: Option<u32>,
    /// The offset of the zlib stream in the pack.
    pub(super) data: u64,
    /// The inflated size of the entry in bytes.
    pub size: u64,
    /// The type of the object.
    pub kind: ObjectKind,
    /// The largest entry size in the chain from here on, in bytes: an estimate of the object's size that
    /// needs no inflating. Exact if the entry is no delta.
    pub estimate: u64,
}

impl Node {
    /// The base, if the entry is a delta.
    pub fn base(&self) -> Option<NodeId> {
        self.base
    }
}

/// The nodes of one window, complete and ready to be shared.
#[derive(Default)]
pub struct Chains {
    packs: Vec<Arc<Pack>>,
    nodes: Vec<Node>,
    slots: Vec<ObjectSlot>,
    /// Slots shared with other windows. Their numbers follow those of `slots`.
    lasting: Vec<Arc<ObjectSlot>>,
}

/// Builds [`Chains`].
#[derive(Default)]
pub struct ChainBuilder {
    chains: Chains,
    uses: Vec<u32>,
    known: HashMap<(PackId, u64), NodeId, BuildHasherDefault<FxHasher>>,
    pack_numbers: HashMap<PackId, u32, BuildHasherDefault<FxHasher>>,
    /// Large objects repeated across windows.
    repeated: Option<Arc<Repeated>>,
    /// The large objects that were added, one element for each use.
    large: Vec<NodeId>,
}

impl ChainBuilder {
    /// Decodes the objects in `repeated` once for all windows.
    pub fn with_repeated(mut self, repeated: Arc<Repeated>) -> Self {
        self.repeated = Some(repeated);
        self
    }

    /// Add one use of the object at `offset` of `pack`, with all its bases.
    pub fn add(&mut self, odb: &mut Odb, pack: PackId, offset: u64) -> Result<NodeId, Damage> {
        let start = self.chains.nodes.len();
        let outcome = self.descend(odb, (pack, offset), start);
        if outcome.is_err() {
            // The next chain must not find the entries of a broken chain.
            self.chains.nodes.truncate(start);
            self.uses.truncate(start);
            self.known.retain(|_, node| (node.0 as usize) < start);
        } else {
            self.settle(start);
        }
        if let Ok(id) = outcome
            && self.repeated.is_some()
            && self.node(id).estimate >= LARGE
        {
            self.large.push(id);
        }
        outcome
    }

    /// Follow the chain to its end or to a known node. New nodes are numbered from `start` on, each before
    /// its base.
    fn descend(
        &mut self,
        odb: &mut Odb,
        wanted: (PackId, u64),
        start: usize,
    ) -> Result<NodeId, Damage> {
        let mut at = wanted;
        let mut above: Option<NodeId> = None;
        loop {
            if let Some(&node) = self.known.get(&at) {
                if node.0 as usize >= start {
                    return Err(Damage("delta chain is a cycle"));
                }
                self.uses[node.0 as usize] += 1;
                return Ok(self.link(above, node, start));
            }
            let (pack, offset) = at;
            let header = odb
                .pack(pack)
                .ok_or(Damage("pack has disappeared"))?
                .header(offset)?;
            let node = NodeId(self.chains.nodes.len() as u32);
            if self.chains.nodes.len() - start >= MAX_LINKS {
                return Err(Damage("delta chain is too long"));
            }
            let number = self.pack_number(odb, pack)?;
            self.chains.nodes.push(Node {
                pack: number,
                base: None,
                slot: None,
                data: header.data,
                size: header.size,
                kind: ObjectKind::Blob,
                estimate: header.size,
            });
            self.uses.push(1);
            self.known.insert(at, node);
            self.link(above, node, start);
            above = Some(node);
            at = match header.kind {
                EntryKind::Object(kind) => {
                    self.chains.nodes[node.0 as usize].kind = kind;
                    return Ok(NodeId(start as u32));
                }
                EntryKind::OfsDelta(base) => (pack, base),
                EntryKind::RefDelta(base) => match odb.find(&base) {
                    Some(ObjectLocation::Packed(pack, offset)) => (pack, offset),
                    _ => return Err(Damage("delta base is in no pack")),
                },
            };
        }
    }

    /// Make `base` the base of `above` and return the first node of the whole chain.
    fn link(&mut self, above: Option<NodeId>, base: NodeId, start: usize) -> NodeId {
        match above {
            Some(above) => {
                self.chains.nodes[above.0 as usize].base = Some(base);
                NodeId(start as u32)
            }
            None => base,
        }
    }

    /// Pass type and estimate from the end of a new chain to its beginning.
    fn settle(&mut self, start: usize) {
        for at in (start..self.chains.nodes.len()).rev() {
            let Some(base) = self.chains.nodes[at].base else {
                continue;
            };
            let Node { kind, estimate, .. } = self.chains.nodes[base.0 as usize];
            let node = &mut self.chains.nodes[at];
            node.kind = kind;
            node.estimate = node.estimate.max(estimate);
        }
    }

    fn pack_number(&mut self, odb: &Odb, pack: PackId) -> Result<u32, Damage> {
        if let Some(&number) = self.pack_numbers.get(&pack) {
            return Ok(number);
        }
        let number = self.chains.packs.len() as u32;
        self.chains.packs.push(Arc::clone(
            odb.pack(pack).ok_or(Damage("pack has disappeared"))?,
        ));
        self.pack_numbers.insert(pack, number);
        Ok(number)
    }

    /// The node `id`, which may still be incomplete.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.chains.nodes[id.0 as usize]
    }

    /// Take the built chains, with slots for all nodes that have several uses, and start again.
    pub fn finish(&mut self) -> Chains {
        let mut chains = std::mem::take(&mut self.chains);
        for (node, uses) in chains.nodes.iter_mut().zip(self.uses.drain(..)) {
            if uses > 1 {
                node.slot = Some(chains.slots.len() as u32);
                chains.slots.push(ObjectSlot::new(uses));
            }
        }
        self.share(&mut chains);
        self.known.clear();
        self.pack_numbers.clear();
        chains
    }

    /// Give large repeated objects a slot that other windows share.
    fn share(&mut self, chains: &mut Chains) {
        let Some(repeated) = &self.repeated else {
            return;
        };
        self.large.sort_unstable_by_key(|id| id.0);
        for times in self.large.chunk_by(|one, other| one.0 == other.0) {
            let node = &mut chains.nodes[times[0].0 as usize];
            let pack = &chains.packs[node.pack as usize];
            let slot = repeated.slot(pack, node.data, node.estimate, times.len() > 1);
            if let Some(slot) = slot {
                node.slot = Some((chains.slots.len() + chains.lasting.len()) as u32);
                chains.lasting.push(slot);
            }
        }
        self.large.clear();
    }
}

impl Chains {
    /// The node `id`.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The zlib stream of `node`, followed by the rest of the pack.
    pub fn stream(&self, node: &Node) -> &[u8] {
        self.pack(node).stream(node.data)
    }

    /// The pack that contains `node`.
    pub(super) fn pack(&self, node: &Node) -> &Arc<Pack> {
        &self.packs[node.pack as usize]
    }

    /// The error of a read of one of the packs that has failed.
    pub(super) fn failed_read(&self) -> Option<Error> {
        self.packs.iter().find_map(|pack| pack.failure())
    }

    fn slot(&self, node: &Node) -> Option<&ObjectSlot> {
        let number = node.slot? as usize;
        match number.checked_sub(self.slots.len()) {
            None => Some(&self.slots[number]),
            Some(number) => Some(&self.lasting[number]),
        }
    }

    /// The result in the slot of `node`, if there is one.
    pub fn kept(&self, node: &Node) -> Option<Arc<DecodedObject>> {
        self.slot(node)?.kept()
    }

    /// Whether `node` has further uses after the current one.
    pub fn wanted_again(&self, node: &Node) -> bool {
        self.slot(node).is_some_and(ObjectSlot::is_wanted_again)
    }

    /// Put `bytes` into the slot of `node`, or return them if the allowance is used up.
    pub fn keep(
        &self,
        node: &Node,
        bytes: Buffer,
        allowance: &Arc<Allowance>,
    ) -> Result<Arc<DecodedObject>, Buffer> {
        let Some(slot) = self.slot(node) else {
            return Err(bytes);
        };
        let kept = allowance.keep(bytes)?;
        slot.put(Arc::clone(&kept));
        Ok(kept)
    }

    /// Count one use of `node` as done. The last use empties the slot.
    pub fn release(&self, node: &Node) {
        if let Some(slot) = self.slot(node) {
            slot.release();
        }
    }
}
