//! The place of one tree inside of the archived tree.

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice};

/// Where the root of a tree is in the archived tree: the tree of a submodule is at the path of the submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount(BString);

impl Mount {
    /// The place of a submodule at `path` of the tree that is here.
    pub fn submodule(&self, path: &[u8]) -> Self {
        Self([&self.path(path), &b"/"[..]].concat().into())
    }

    /// The path from the root of the archived tree: empty, or with a slash at its end.
    pub fn prefix(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// The path from the root of the archived tree to the entry at `path` of the tree that is here.
    pub fn path<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        if self.0.is_empty() {
            path.into()
        } else {
            [&self.0[..], path].concat().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mount;

    #[test]
    fn mounts_are_nested() {
        let root = Mount::default();
        assert_eq!(root.path(b"a"), &b"a"[..]);
        let inner = root.submodule(b"lib").submodule(b"deep/er");
        assert_eq!(inner.prefix(), "lib/deep/er/");
        assert_eq!(inner.path(b"a"), &b"lib/deep/er/a"[..]);
    }
}
