//! Maps paths in a tree to names in the archive, and names to paths.

use bstr::{BString, ByteSlice};

use sluice_git::tree::Mode;

/// The names that the entries of a tree have in the archive: a prefix, and the path from the archived directory on.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// The prefix of every name.
    pub prefix: BString,
    /// The directory that is archived, which no name has: empty, or with a slash at its end.
    pub below: BString,
}

impl Naming {
    /// The naming in the submodule at `path`.
    pub fn in_submodule(&self, path: &[u8]) -> Self {
        let prefix = [&self.prefix[..], &path[self.below.len()..], b"/"].concat();
        Self {
            prefix: prefix.into(),
            below: BString::default(),
        }
    }

    /// The name of the entry at `path` of the archived directory, in parts.
    pub fn name<'a>(&'a self, path: &'a [u8], mode: Mode) -> [&'a [u8]; 3] {
        let slash: &[u8] = if mode.is_directory() { b"/" } else { b"" };
        [&self.prefix, &path[self.below.len()..], slash]
    }

    /// The name of the entry for the prefix, in parts: a prefix that ends in a slash is an entry of its own.
    pub fn prefix_directory(&self) -> Option<[&[u8]; 2]> {
        let stem = self.prefix.trim_end_with(|byte| byte == '/');
        self.prefix.ends_with(b"/").then_some([stem, b"/"])
    }

    /// The path from the archived directory of the file that is called `name`. As in git, the name is cut at the length of the
    /// prefix, whatever it starts with. `None` for a name that is shorter.
    pub fn relative_path<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        name.get(self.prefix.len()..)
    }

    /// The path in the tree of the entry that is called `name`, with the slash at its end if it has one.
    pub fn path_in_tree(&self, name: &[u8]) -> Vec<u8> {
        let path = self.relative_path(name).unwrap_or(name);
        [&self.below[..], path].concat()
    }

    /// The path in the tree of the submodule whose entry is called `name`, with a slash at its end.
    pub fn submodule_path(&self, name: &[u8]) -> Vec<u8> {
        self.path_in_tree(name.trim_end_with(|c| c == '/'))
    }
}

#[cfg(test)]
mod tests {
    use super::Naming;
    use sluice_git::tree::Mode;

    fn naming(prefix: &str, below: &str) -> Naming {
        Naming {
            prefix: prefix.into(),
            below: below.into(),
        }
    }

    #[test]
    fn names_lead_back_to_their_paths() {
        for (naming, path, name) in [
            (naming("", ""), "d/f", "d/f"),
            (naming("p/", ""), "d/f", "p/d/f"),
            (naming("p-", "d/"), "d/f", "p-f"),
        ] {
            let parts = naming.name(path.as_bytes(), Mode::File);
            assert_eq!(parts.concat(), name.as_bytes());
            assert_eq!(naming.path_in_tree(name.as_bytes()), path.as_bytes());
        }
    }

    #[test]
    fn a_submodule_follows_its_entry() {
        let outer = naming("p/", "d/");
        let entry = outer.name(b"d/sub", Mode::Submodule).concat();
        assert_eq!(entry, b"p/sub/");
        assert_eq!(outer.submodule_path(&entry), b"d/sub");
        let inner = outer.in_submodule(b"d/sub");
        assert_eq!(inner.name(b"f", Mode::File).concat(), b"p/sub/f");
    }

    #[test]
    fn only_a_prefix_with_a_slash_is_an_entry() {
        let directory = |prefix| {
            let naming = naming(prefix, "");
            naming.prefix_directory().map(|parts| parts.concat())
        };
        assert_eq!(directory(""), None);
        assert_eq!(directory("p"), None);
        assert_eq!(directory("p//"), Some(b"p/".to_vec()));
    }

    #[test]
    fn a_short_name_has_no_path() {
        let naming = naming("prefix/", "");
        assert_eq!(naming.relative_path(b"short"), None);
        assert_eq!(naming.path_in_tree(b"short"), b"short");
    }
}
