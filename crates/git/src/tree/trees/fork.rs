//! Divides a walk, so that another thread continues with its later part.

use std::{
    collections::HashSet,
    mem,
    sync::{Arc, atomic::Ordering},
};

use gix_hash::Kind as HashKind;

use super::{Trees, frame::Frame};
use crate::tree::entry::{Mode, TreeEntry};

/// The number of entries near the middle of a tree that are searched in the other tree.
const MIDDLES: usize = 4;
/// The size in bytes above which a tree is not divided: both walks would hold the whole tree. Smaller trees
/// below are divided.
const MAX_DIVIDED: usize = 1 << 20;

impl Trees {
    /// The offset near the middle of the remaining entries of the directory `number`, for a division. `None` if
    /// one of the two parts would be empty.
    pub fn middle(&self, number: usize) -> Option<usize> {
        let frame = &self.stack[number];
        if !frame.is_divisible() {
            return None;
        }
        let middle = frame.at.midpoint(frame.end);
        let rest = frame.rest(self.rules.hash);
        let (cut, _) = rest.take_while(|(at, _)| *at <= middle).last()?;
        let keeps_some = cut > frame.at || number + 1 < self.stack.len();
        keeps_some.then_some(cut)
    }

    /// The offsets that divide two compared trees, `one` and `other`, in front of entries of the same name. `None`
    /// if the entries near the middle have no common name.
    pub fn common_middle(one: &Self, other: &Self, number: usize) -> Option<(usize, usize)> {
        let hash = one.rules.hash;
        let is_dir = |entry: &TreeEntry<'_>| entry.mode == Mode::Directory;
        let (frame, other) = (one.stack.get(number)?, other.stack.get(number)?);
        if !other.is_divisible() {
            return None;
        }
        let middle = one.middle(number)?;
        let near = frame.rest(hash).skip_while(|(at, _)| *at < middle);
        near.take(MIDDLES).find_map(|(at, entry)| {
            let is_same =
                |it: &TreeEntry<'_>| it.name == entry.name && is_dir(it) == is_dir(&entry);
            let (other_at, _) = other.rest(hash).find(|(_, other)| is_same(other))?;
            Some((at, other_at))
        })
    }

    /// The walk's offset in the directory of this `number`.
    pub fn at(&self, number: usize) -> usize {
        self.stack[number].at
    }

    /// Split off another walk: the entries from `cut` on in the directory of this `number`, and the remaining
    /// entries of the directories above. Also returns the length of the directory's path.
    pub fn fork(&mut self, number: usize, cut: usize) -> (Self, usize) {
        let hash = self.rules.hash;
        let (above, below) = self.stack.split_at_mut(number);
        let rest = above.iter_mut().map(|frame| frame.divide(frame.at, hash));
        let stack: Vec<_> = rest.chain([below[0].divide(cut, hash)]).collect();
        if !below[0].content.is_empty() {
            let copied = stack[number].content.capacity();
            self.held.fetch_add(copied, Ordering::Relaxed);
        }
        let path_len = stack[number].path_len;
        let rest = Self {
            root: self.root,
            rules: self.rules,
            stack,
            spare: Vec::new(),
            linkless: HashSet::new(),
            held: Arc::clone(&self.held),
            read: self.read,
        };
        (rest, path_len)
    }
}

impl Frame {
    /// Whether the tree is held and small enough for two walks to hold it.
    fn is_divisible(&self) -> bool {
        self.content.len() <= MAX_DIVIDED && !self.is_forgotten()
    }

    /// Split off the entries from `cut` on as a frame for another walk.
    fn divide(&mut self, cut: usize, hash: HashKind) -> Self {
        if cut == self.at {
            return self.give_up();
        }
        let mut seen = self.seen.clone();
        for (_, entry) in self.rest(hash).take_while(|(at, _)| *at < cut) {
            seen.see(entry.name, entry.mode);
        }
        let end = mem::replace(&mut self.end, cut);
        Self {
            content: self.content.clone(),
            at: cut,
            end,
            seen,
            attribute_file: self.attribute_file.clone(),
            ..*self
        }
    }

    /// Split off all remaining entries.
    fn give_up(&mut self) -> Self {
        Self {
            content: mem::take(&mut self.content),
            at: mem::take(&mut self.at),
            end: mem::take(&mut self.end),
            seen: mem::take(&mut self.seen),
            attribute_file: self.attribute_file.clone(),
            ..*self
        }
    }
}
