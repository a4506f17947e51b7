//! The memory of a walk: reads trees, drops outer ones above the budget, and reads them again on the way back.

use std::{
    mem,
    sync::atomic::{AtomicUsize, Ordering},
};

use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind as ObjectKind;

use super::{Trees, frame::Frame};
use crate::{
    objects::{reader::Reader, wanted::Role},
    tree::{entry::entries, links::Seen},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};

/// The largest buffer in bytes that is reused for the next tree.
const MAX_SPARE: usize = 64 << 10;
/// The number of buffers that are kept for reuse.
const MAX_SPARES: usize = 32;

impl Frame {
    /// Whether the tree was dropped from memory.
    pub(super) fn is_forgotten(&self) -> bool {
        self.content.len() < self.end
    }

    /// Drop the tree's bytes. Returns the number of bytes freed.
    fn forget(&mut self, hash: HashKind) -> usize {
        self.attribute_file(hash);
        self.seen = Seen::default();
        mem::take(&mut self.content).capacity()
    }

    /// Take the tree's bytes `content`, which were read again.
    fn recall(&mut self, content: Buffer, hash: HashKind) {
        self.content = content;
        for (_, entry) in entries(&self.content, 0, hash).take_while(|(at, _)| *at < self.at) {
            self.seen.see(entry.name, entry.mode);
        }
    }
}

impl Trees {
    /// Read the tree `id`, which is at `path`, and count its bytes as held.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        id: ObjectId,
        path: &[u8],
    ) -> Result<Buffer> {
        let mut content = self.spare.pop().unwrap_or_default();
        let failed = || Error::fatal(format!("unable to read tree ({id})"));
        match reader.read(&id, &mut content) {
            Ok(Some(ObjectKind::Tree)) => {}
            Ok(None) if reader.notes_missing() => {
                reader.note_missing(&id, || Role::Tree(path.into()));
            }
            // Without the check of the whole tree, git notices a missing tree while it writes.
            Ok(None) if self.rules.protect.is_none() => {
                let error = Error::entry(format!("Could not read {id}"));
                return Err(reader.odb.config().missing(error));
            }
            Ok(Some(_)) if self.rules.protect.is_none() => {
                return Err(Error::entry(format!("Object {id} not a tree")));
            }
            Ok(None) => return Err(reader.odb.config().missing(failed())),
            Ok(Some(_)) => return Err(failed()),
            Err(failure) => return Err(failure.explain(failed())),
        }
        self.held.fetch_add(content.capacity(), Ordering::Relaxed);
        self.read += content.len();
        Ok(content)
    }

    /// Drop trees, the outermost first, until the held trees fit the budget. The innermost tree stays, and trees that
    /// would be read again too soon.
    pub(super) fn make_room(&mut self) {
        let Some((_, above)) = self.stack.split_last_mut() else {
            return;
        };
        let is_full = |held: &AtomicUsize| held.load(Ordering::Relaxed) > self.rules.max_held;
        for frame in above {
            if !is_full(&self.held) {
                return;
            }
            if self.read - frame.read_at < frame.content.len() {
                continue;
            }
            let freed = frame.forget(self.rules.hash);
            self.held.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// Read the innermost tree, on the way to `path`, again if it was dropped and has entries left.
    pub(super) fn recall(&mut self, reader: &mut Reader, path: &[u8]) -> Result<()> {
        let is_wanted = |frame: &&Frame| frame.is_forgotten() && frame.at < frame.end;
        let Some(frame) = self.stack.last().filter(is_wanted) else {
            return Ok(());
        };
        let (id, end) = (frame.id, frame.end);
        let content = self.read(reader, id, &path[..frame.path_len])?;
        if content.len() < end {
            return Err(Error::fatal(format!("unable to read tree ({id})")));
        }
        if let Some(frame) = self.stack.last_mut() {
            frame.recall(content, self.rules.hash);
            frame.read_at = self.read;
        }
        self.make_room();
        Ok(())
    }

    /// Keep the buffer of a finished tree for reuse.
    pub(super) fn give_back(&mut self, content: Buffer) {
        self.held.fetch_sub(content.capacity(), Ordering::Relaxed);
        if content.capacity() <= MAX_SPARE && self.spare.len() < MAX_SPARES {
            self.spare.push(content);
        }
    }
}
