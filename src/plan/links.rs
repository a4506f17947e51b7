//! Symbolic links in a tree that other entries would be extracted through.

use std::{
    collections::HashSet,
    hash::BuildHasher,
    sync::atomic::{AtomicBool, Ordering},
};

use gix::bstr::ByteSlice;
use rustc_hash::FxBuildHasher;

use super::entry::Mode;

/// Names in one tree, so far.
#[derive(Clone, Default)]
pub(super) struct Seen {
    links: HashSet<Vec<u8>>,
    /// By their hashes: there may be many, and should two be equal, it is no harm if one tree is refused.
    directories: HashSet<u64, FxBuildHasher>,
}

impl Seen {
    /// Note an entry; whether it is a directory of a name that was seen.
    pub(super) fn see(&mut self, name: &[u8], mode: Mode) -> bool {
        match mode {
            Mode::Symlink => {
                self.links.insert(name.to_owned());
                false
            }
            Mode::Directory => !self.directories.insert(FxBuildHasher.hash_one(name)),
            _ => false,
        }
    }
}

/// Refuses trees that would be extracted through a symbolic link of their own.
///
/// A tree that git wrote cannot be: no name comes twice in it, and none holds a slash. A forged one
/// may bring a link `a` to somewhere else and then a file `a/b`, and many readers of archives would
/// follow the link. git does not look. Whatever else is odd about a tree passes, as it does there. Those who
/// walk different parts of a tree share what they have seen; whoever is second to see something refuses.
#[derive(Default)]
pub(super) struct Links {
    /// There is a symbolic link somewhere.
    any: AtomicBool,
    /// A name holds a slash or a directory comes twice: a path may be met by two ways.
    two_ways: AtomicBool,
}

impl Links {
    /// Whether what is called `name`, met after what was `seen` in its tree, may lead out of it.
    pub(super) fn lead_away(&self, seen: &mut Seen, name: &[u8], mode: Mode) -> bool {
        if mode == Mode::Symlink {
            self.any.store(true, Ordering::SeqCst);
        } else if seen.links.contains(name) {
            return true;
        }
        let comes_twice = seen.see(name, mode);
        if comes_twice || name.find_byte(b'/').is_some() {
            self.two_ways.store(true, Ordering::SeqCst);
        }
        self.any.load(Ordering::SeqCst) && self.two_ways.load(Ordering::SeqCst)
    }
}
