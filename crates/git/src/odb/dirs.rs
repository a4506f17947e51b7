//! The object directories of a repository, in git's lookup order.
//!
//! Not gix's code: gix resolves a relative path in a nested alternates file against the wrong directory,
//! treats a cycle as an error, and ignores git's variables for alternates.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::ByteSlice;

/// The most steps from alternate to alternate, as in git.
const MAX_DEPTH: usize = 5;

/// The object directories of a repository.
#[derive(Default)]
pub struct ObjectDirs {
    /// In the order in which they are searched.
    pub found: Vec<PathBuf>,
    /// Whether a directory is not among them, as it is missing or the same one as another.
    pub omits_any: bool,
}

/// List the object directories: `main`, then `extra` (the list in `GIT_ALTERNATE_OBJECT_DIRECTORIES`, whose relative paths count
/// from `base`), then the directories in `info/alternates` files, depth first. Missing directories are omitted, and each
/// directory is listed once.
pub fn object_dirs(main: PathBuf, extra: Option<&OsStr>, base: &Path) -> ObjectDirs {
    let mut search = Search::default();
    let alternates: Vec<PathBuf> = extra
        .map(|list| split(list.as_bytes(), b':'))
        .unwrap_or_default();
    search.add(main.clone(), None);
    for dir in alternates {
        search.add(base.join(dir), Some(0));
    }
    search.follow(&main, 0);
    search.dirs
}

#[derive(Default)]
struct Search {
    dirs: ObjectDirs,
    /// The paths found, without symbolic links, to detect duplicates.
    canonical: Vec<PathBuf>,
}

impl Search {
    /// Add `dir` if it is a new directory. With a depth, add its alternates too.
    fn add(&mut self, dir: PathBuf, depth: Option<usize>) {
        let canonical = dir.canonicalize().ok().filter(|it| it.is_dir());
        let Some(canonical) = canonical.filter(|it| !self.canonical.contains(it)) else {
            self.dirs.omits_any = true;
            return;
        };
        self.canonical.push(canonical);
        self.dirs.found.push(dir.clone());
        if let Some(depth) = depth {
            self.follow(&dir, depth);
        }
    }

    fn follow(&mut self, dir: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let Ok(list) = std::fs::read(dir.join("info/alternates")) else {
            return;
        };
        for path in split(&list, b'\n') {
            self.add(dir.join(path), Some(depth + 1));
        }
    }
}

/// Split a list at its separators. An item in double quotes is C-quoted; an item that begins with `#` is a
/// comment (git(1), `GIT_ALTERNATE_OBJECT_DIRECTORIES`; gitrepository-layout(5)).
fn split(mut list: &[u8], separator: u8) -> Vec<PathBuf> {
    let mut items = Vec::new();
    while !list.is_empty() {
        let quoted = list
            .starts_with(b"\"")
            .then(|| gix_quote::ansi_c::undo(list.as_bstr()));
        let (item, len) = match quoted {
            Some(Ok((item, len))) => (item.into_owned(), len),
            _ => {
                let len = list.find_byte(separator).unwrap_or(list.len());
                (list[..len].into(), len)
            }
        };
        if !item.is_empty() && !list.starts_with(b"#") {
            items.push(PathBuf::from(OsStr::from_bytes(&item)));
        }
        list = &list[len.min(list.len())..];
        list = list.strip_prefix(&[separator]).unwrap_or(list);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::split;
    use std::path::PathBuf;

    #[test]
    fn lists_may_be_quoted() {
        let expected = ["/a", "/b:c", "/d"].map(PathBuf::from);
        assert_eq!(split(b"/a:\"/b:c\"::/d", b':'), expected);
        assert_eq!(split(b"# no\n/a\n", b'\n'), [PathBuf::from("/a")]);
    }
}
