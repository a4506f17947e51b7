//! What is in front of paths in the tree, and of names in the archive.

use gix::bstr::BString;

/// How names in the archive stand to paths in the tree.
pub struct Naming {
    /// What is in front of every path in the tree, and not in the archive.
    pub below: BString,
    /// The length of what is in front of every name in the archive.
    pub prefix_len: usize,
}

impl Naming {
    /// Where the file that is called `name` in the archive is in the tree.
    pub fn path_in_tree(&self, name: &[u8]) -> Vec<u8> {
        let path = name.get(self.prefix_len..).unwrap_or(name);
        [&self.below[..], path].concat()
    }
}
