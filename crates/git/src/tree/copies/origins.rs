//! Where copies come from, and which links stay links. Must not read an object.

use std::{collections::HashMap, sync::Arc};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use crate::odb::MadeTrees;

/// Why a link stays a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptLink {
    /// Nothing is at the target.
    Dangling,
    /// The target is outside of the tree.
    Outside,
    /// The link leads to itself, or to a directory that contains it.
    Circle,
    /// The target is a submodule, in one, or contains one whose files are archived.
    Submodule,
}

impl KeptLink {
    /// The word for programs and people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dangling => "dangling",
            Self::Outside => "outside",
            Self::Circle => "circle",
            Self::Submodule => "submodule",
        }
    }
}

/// What may be copied.
pub struct CopyRules<'a> {
    /// Whether the reader may know a file, or a directory (if the flag is set) with everything below.
    pub may_copy: &'a dyn Fn(&[u8], bool) -> bool,
    /// Whether the files of submodules are archived: those in a copied directory would be missing.
    pub enters_submodules: bool,
    /// How deep directories may be nested.
    pub max_depth: usize,
    /// Where made trees are kept.
    pub made: Arc<MadeTrees>,
}

/// Where copies come from.
#[derive(Debug, Default)]
pub struct Copies {
    /// The path that each link leads to. Neither has a link on its way.
    pub(super) targets: HashMap<BString, BString>,
    pub(super) kept: HashMap<BString, KeptLink>,
    /// The attribute files of the tree, by directory.
    pub(super) attributes: HashMap<BString, ObjectId>,
}

impl Copies {
    /// The path, in the tree without copies, of the entry at `path` in the tree with copies. `None` if the path is the same. Of a
    /// link that stays, only the directories above are copies.
    pub fn original(&self, path: &[u8], is_link: bool) -> Option<BString> {
        self.originals(path, is_link).pop()
    }

    /// All paths, in the tree without copies, that the entry at `path` in the tree with copies stands for, the last of which is
    /// its [`original`](Self::original): those before it are links in directories that were copied.
    pub fn originals(&self, path: &[u8], is_link: bool) -> Vec<BString> {
        let mut originals = Vec::new();
        if self.targets.is_empty() {
            return originals;
        }
        let mut found = BString::default();
        let mut is_copy = false;
        let mut parts = path.split_str("/").peekable();
        while let Some(part) = parts.next() {
            push(&mut found, part);
            let is_kept = is_link && parts.peek().is_none();
            if let Some(target) = self.targets.get(&found).filter(|_| !is_kept) {
                let link = std::mem::replace(&mut found, target.clone());
                if is_copy {
                    originals.push(link);
                }
                is_copy = true;
            }
        }
        if is_copy {
            originals.push(found);
        }
        originals
    }

    /// Why the link at `path` stays one.
    pub fn kept(&self, path: &[u8]) -> Option<KeptLink> {
        let original = self.original(path, true);
        let path = original.as_ref().map_or(path, |path| path);
        let kept = self.kept.get(path.as_bstr()).copied();
        // In a copy of a directory that leads back to it.
        kept.or_else(|| {
            self.targets
                .contains_key(path.as_bstr())
                .then_some(KeptLink::Circle)
        })
    }

    /// Whether a copy that is the same in the tree of `other` may be archived in another way.
    pub fn differ(&self, other: &Self) -> bool {
        let has_copies = !self.targets.is_empty() || !other.targets.is_empty();
        has_copies && (self.targets != other.targets || self.attributes != other.attributes)
    }
}

/// Adds `part` to `path`.
pub(super) fn push(path: &mut BString, part: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(part);
}
