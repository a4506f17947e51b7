//! Archives written by hand, right or wrong, and the tree that a directory should hold after them.
//!
//! [`Archive`] writes what it is told to; [`delta`] is the smallest writing side of the format, by which
//! the reading side is measured.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::tar_listing::pax_record;

const BLOCK: usize = 512;

/// An id that no object has by right.
pub(crate) fn id(digit: char) -> String {
    digit.to_string().repeat(40)
}

/// What stands at a path; directories above it go without saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(bool, Vec<u8>),
    Symlink(Vec<u8>),
}

pub(crate) type Tree = BTreeMap<Vec<u8>, Node>;

pub(crate) fn file(content: &str) -> Node {
    Node::File(false, content.into())
}

pub(crate) fn executable(content: &str) -> Node {
    Node::File(true, content.into())
}

pub(crate) fn link(target: &str) -> Node {
    Node::Symlink(target.into())
}

/// A tree of these.
pub(crate) fn tree<'a>(nodes: impl IntoIterator<Item = (&'a str, Node)>) -> Tree {
    let owned = |(path, node): (&str, Node)| (path.as_bytes().to_vec(), node);
    nodes.into_iter().map(owned).collect()
}

/// The directories above a path, the topmost first.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

/// The same with all directories in it, of which an empty one is a submodule.
pub(crate) fn with_directories(tree: &Tree) -> Tree {
    let mut whole = tree.clone();
    for path in tree.keys() {
        whole.extend(above(path).map(|path| (path.to_vec(), Node::Directory)));
    }
    whole
}

/// Make the tree in a directory.
pub(crate) fn build(tree: &Tree, directory: &Path) {
    for (path, node) in with_directories(tree) {
        let path = directory.join(std::ffi::OsStr::from_bytes(&path));
        match node {
            Node::Directory => fs::create_dir(path),
            Node::File(executable, content) => fs::write(&path, content).and_then(|()| {
                let mode = if executable { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode))
            }),
            Node::Symlink(target) => symlink(std::ffi::OsStr::from_bytes(&target), path),
        }
        .expect("our own");
    }
}

/// All that is in a directory but the state and the lists.
pub(crate) fn found(directory: &Path) -> Tree {
    let mut found = Tree::new();
    let mut pending = vec![Vec::new()];
    while let Some(below) = pending.pop() {
        let path = directory.join(std::ffi::OsStr::from_bytes(&below));
        for entry in fs::read_dir(path).expect("our own") {
            let entry = entry.expect("our own");
            let mut name = below.clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(entry.file_name().as_bytes());
            let metadata = entry.metadata().expect("our own");
            let node = if metadata.is_dir() {
                pending.push(name.clone());
                Node::Directory
            } else if metadata.is_symlink() {
                let target = fs::read_link(entry.path()).expect("our own");
                Node::Symlink(target.into_os_string().into_vec())
            } else {
                let content = fs::read(entry.path()).expect("our own");
                let mode = metadata.permissions().mode();
                assert_eq!(mode & 0o7000, 0, "{:?}", entry.path());
                Node::File(mode & 0o100 != 0, content)
            };
            found.insert(name, node);
        }
    }
    for own in ["", ".files", ".files.new", ".files.next"] {
        found.remove(format!(".git-sluice{own}").as_bytes());
    }
    found
}

/// What makes of one tree the other, as the first versions wrote it: nothing says what is new.
pub(crate) fn delta(ids: [&str; 2], trees: [&Tree; 2]) -> Vec<u8> {
    entries(deletions(Archive::delta(ids, "pax"), trees), trees)
}

/// What makes of one tree the other, with the hash of the filters.
pub(crate) fn delta_with(filters: &str, ids: [&str; 2], trees: [&Tree; 2]) -> Vec<u8> {
    let [base, target] = trees;
    let is_new =
        |(path, node): &(&Vec<u8>, &Node)| **node != Node::Directory && !base.contains_key(*path);
    let added = target.iter().filter(is_new).map(|(path, _)| path);
    let archive = deletions(Archive::delta_with(filters, ids), trees);
    entries(archive.list("add", added), trees)
}

/// `archive` with the deletions.
fn deletions(archive: Archive, trees: [&Tree; 2]) -> Archive {
    let [base, target] = trees.map(with_directories);
    let kind = |node: &Node| std::mem::discriminant(node);
    let gone = base
        .iter()
        .rev()
        .filter(|(path, node)| target.get(*path).map(kind) != Some(kind(node)));
    let paths = gone.map(|(path, node)| match node {
        Node::Directory => [path, &b"/"[..]].concat(),
        _ => path.clone(),
    });
    archive.delete(paths)
}

/// `archive` with the new entries.
fn entries(mut archive: Archive, trees: [&Tree; 2]) -> Vec<u8> {
    let [base, target] = trees.map(with_directories);
    for (path, node) in &target {
        let new_below = |(below, node): (&Vec<u8>, &Node)| {
            below.starts_with(path) && base.get(below) != Some(node)
        };
        let is_new = match node {
            // A directory that has something new in it.
            Node::Directory => target.range(path.clone()..).any(new_below),
            node => base.get(path) != Some(node),
        };
        if is_new {
            archive = archive.node(path, node);
        }
    }
    archive.end()
}

/// An archive under construction.
#[derive(Clone)]
pub(crate) struct Archive(pub(crate) Vec<u8>);

impl Archive {
    /// git's.
    pub(crate) fn full(commit: &str) -> Archive {
        Archive(Vec::new()).global(&[("comment", commit.as_bytes())])
    }

    /// All of a tree.
    pub(crate) fn of_tree(commit: &str, tree: &Tree) -> Vec<u8> {
        let nodes = with_directories(tree);
        let archive = nodes
            .iter()
            .fold(Archive::full(commit), |archive, (path, node)| {
                archive.node(path, node)
            });
        archive.end()
    }

    pub(crate) fn delta([base, target]: [&str; 2], deletions: &str) -> Archive {
        Archive::full(target).global(&[
            ("GITSLUICE.delta", b"1"),
            ("GITSLUICE.base", base.as_bytes()),
            ("GITSLUICE.target", target.as_bytes()),
            ("GITSLUICE.deletions", deletions.as_bytes()),
        ])
    }

    pub(crate) fn delta_with(filters: &str, [base, target]: [&str; 2]) -> Archive {
        Archive::full(target).global(&[
            ("GITSLUICE.delta", b"1"),
            ("GITSLUICE.base", base.as_bytes()),
            ("GITSLUICE.target", target.as_bytes()),
            ("GITSLUICE.deletions", b"pax"),
            ("GITSLUICE.filters", filters.as_bytes()),
        ])
    }

    /// Delete these.
    pub(crate) fn delete(self, paths: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Archive {
        self.list("delete", paths)
    }

    /// List these, in headers below 1 MiB.
    pub(crate) fn list(
        mut self,
        kind: &str,
        paths: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Archive {
        let mut records = Vec::new();
        for (number, path) in (1..).zip(paths) {
            let next = pax_record(&format!("GITSLUICE.{kind}.{number}"), path.as_ref());
            if records.len() + next.len() >= 1 << 20 {
                self = self.raw(b'g', b"pax_global_header", b"", 0o666, &records);
                records.clear();
            }
            records.extend(next);
        }
        match records[..] {
            [] => self,
            _ => self.raw(b'g', b"pax_global_header", b"", 0o666, &records),
        }
    }

    pub(crate) fn global(self, records: &[(&str, &[u8])]) -> Archive {
        let records: Vec<_> = records
            .iter()
            .map(|(key, value)| pax_record(key, value))
            .collect();
        self.raw(b'g', b"pax_global_header", b"", 0o666, &records.concat())
    }

    pub(crate) fn extended(self, records: &[(&str, &[u8])]) -> Archive {
        let records: Vec<_> = records
            .iter()
            .map(|(key, value)| pax_record(key, value))
            .collect();
        self.raw(b'x', b"x.paxheader", b"", 0o666, &records.concat())
    }

    /// An entry as git writes it.
    pub(crate) fn node(self, path: &[u8], node: &Node) -> Archive {
        let (kind, mode, link, content) = match node {
            Node::Directory => (b'5', 0o775, &b""[..], &b""[..]),
            Node::File(true, content) => (b'0', 0o775, &b""[..], &content[..]),
            Node::File(false, content) => (b'0', 0o664, &b""[..], &content[..]),
            Node::Symlink(target) => (b'2', 0o777, &target[..], &b""[..]),
        };
        let slash: &[u8] = if kind == b'5' { b"/" } else { b"" };
        let path = [path, slash].concat();
        let mut long = Vec::new();
        if path.len() > 100 {
            long.push(("path", &path[..]));
        }
        if link.len() > 100 {
            long.push(("linkpath", link));
        }
        let archive = if long.is_empty() {
            self
        } else {
            self.extended(&long)
        };
        archive.raw(kind, &path, link, mode, content)
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Archive {
        self.node(path.as_bytes(), &file(content))
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Archive {
        self.node(path.as_bytes(), &link(target))
    }

    /// A placeholder of 1,048,577 zeros, with more `records`.
    pub(crate) fn hole(self, directory: &str, name: &str, records: &[(&str, &[u8])]) -> Archive {
        let path = format!("{directory}{name}");
        let sparse: [(&str, &[u8]); 4] = [
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", path.as_bytes()),
            ("GNU.sparse.realsize", b"1048577"),
        ];
        let mut map = b"1\n1048577\n0\n".to_vec();
        map.resize(BLOCK, 0);
        let stored = format!("{directory}GNUSparseFile.0/{name}");
        let archive = self.extended(&[&sparse, records].concat());
        archive.raw(b'0', stored.as_bytes(), b"", 0o664, &map)
    }

    /// Any header with any content.
    pub(crate) fn raw(
        mut self,
        kind: u8,
        path: &[u8],
        link: &[u8],
        mode: u32,
        content: &[u8],
    ) -> Archive {
        let start = self.0.len();
        self.0.resize(start + BLOCK, 0);
        let mut field = |at: usize, len: usize, value: &[u8]| {
            let value = &value[..value.len().min(len)];
            self.0[start + at..][..value.len()].copy_from_slice(value);
        };
        field(0, 100, path);
        field(100, 8, format!("{mode:07o}").as_bytes());
        field(124, 12, format!("{:011o}", content.len()).as_bytes());
        field(136, 12, b"10000000000");
        field(156, 1, &[kind]);
        field(157, 100, link);
        field(257, 8, b"ustar\x0000");
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
        self.amend(start, |_| {})
    }

    /// Change the header at this offset, and make its checksum right again.
    pub(crate) fn amend(mut self, offset: usize, change: impl FnOnce(&mut [u8])) -> Archive {
        let header = &mut self.0[offset..offset + BLOCK];
        change(header);
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:07o}\0").as_bytes());
        self
    }

    /// With the end marker and not a byte more.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }
}
