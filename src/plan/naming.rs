//! Maps names in the archive to paths in the tree.

use gix::bstr::BString;

/// The prefixes of paths in the tree and of names in the archive.
pub struct Naming {
    /// The prefix of every path in the tree that the archive lacks.
    pub below: BString,
    /// The length of the prefix of every name in the archive.
    pub prefix_len: usize,
}

impl Naming {
    /// The path in the tree of the file that is called `name` in the archive.
    pub fn path_in_tree(&self, name: &[u8]) -> Vec<u8> {
        let path = name.get(self.prefix_len..).unwrap_or(name);
        [&self.below[..], path].concat()
    }
}
