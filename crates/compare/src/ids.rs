//! The ids that git would give the contents of an archive. Contents are not kept.

use std::{collections::HashMap, io::Read};

use bstr::ByteSlice;
use gix_hash::{Hasher, Kind as HashKind, ObjectId, hasher};

use sluice_base::{error::Result, io::each_piece, threads::Lock};
use sluice_format::unarchive::unreadable;

/// Contents of at most this many bytes are hashed in one piece.
pub(super) const SMALL: u64 = 1 << 20;

/// The id of a content, and the id that it has as a text each line of which ends in `\n`. With a collision attack in it, a content
/// has no id and is equal to nothing.
pub(super) type ContentIds = (Option<ObjectId>, Option<ObjectId>);

/// The ids of the entries of an archive, by number. Threads fill them in.
pub(super) struct Ids {
    pub(super) hash: HashKind,
    bytes: Lock<Vec<u8>>,
    /// The ids of texts with `\r\n`, as if each line ended in `\n`.
    texts: Lock<HashMap<usize, ObjectId>>,
}

impl Ids {
    pub(super) fn new(hash: HashKind) -> Self {
        Self {
            hash,
            bytes: Lock::new(Vec::new()),
            texts: Lock::new(HashMap::new()),
        }
    }

    /// Makes room for the ids of `count` entries. Returns the number of texts so far.
    pub(super) fn resize(&self, count: usize) -> usize {
        let len = self.hash.len_in_bytes();
        self.bytes.lock().resize(count * len, 0);
        self.texts.lock().len()
    }

    pub(super) fn set(&self, number: usize, (own, text): ContentIds) {
        if let Some(own) = own {
            let len = self.hash.len_in_bytes();
            self.bytes.lock()[number * len..][..len].copy_from_slice(own.as_bytes());
        }
        if let Some(text) = text.filter(|_| text != own) {
            self.texts.lock().insert(number, text);
        }
    }

    /// The id of a content.
    pub(super) fn get(&self, number: usize) -> ObjectId {
        let len = self.hash.len_in_bytes();
        ObjectId::from_bytes_or_panic(&self.bytes.lock()[number * len..][..len])
    }

    /// The id of a content whose lines end in `\n`.
    pub(super) fn text(&self, number: usize) -> ObjectId {
        let text = self.texts.lock().get(&number).copied();
        text.unwrap_or_else(|| self.get(number))
    }

    /// The ids of the blob `content`.
    pub(super) fn of(&self, content: &[u8]) -> ContentIds {
        let id = |content: &[u8]| {
            let mut hasher = self.blob(content.len() as u64);
            hasher.update(content);
            hasher.try_finalize().ok()
        };
        let own = id(content);
        let is_other = content.contains_str("\r\n") && !content.contains(&0);
        let text = is_other.then(|| id(&content.replace("\r\n", "\n")));
        (own, text.unwrap_or(own))
    }

    /// The ids of a `content` of `size` bytes that is too large to be held. Calls `show` after each piece.
    pub(super) fn of_stream(
        &self,
        size: u64,
        content: &mut dyn Read,
        mut show: impl FnMut(),
    ) -> Result<ContentIds> {
        let mut hasher = self.blob(size);
        each_piece(content, &mut vec![0; 128 << 10], unreadable, |piece| {
            hasher.update(piece);
            show();
            Ok(())
        })?;
        let own = hasher.try_finalize().ok();
        Ok((own, own))
    }

    /// A hasher of a blob of `size` bytes.
    fn blob(&self, size: u64) -> Hasher {
        let mut hasher = hasher(self.hash);
        hasher.update(format!("blob {size}\0").as_bytes());
        hasher
    }
}
