//! Compares the entries of a tree with gix-object.

use std::cell::RefCell;

use bstr::ByteSlice;
use git_sluice_fuzz::{HASH, Objects, id_of};
use gix_hash::ObjectId;
use gix_object::{TreeRefIter, tree::EntryKind};
use sluice_base::name::is_valid;
use sluice_git::{
    objects::reader::Reader,
    tree::{Mode, TreeRules, TreeStep, Trees},
};

thread_local! {
    static OBJECTS: RefCell<Objects> = RefCell::default();
}

/// Name, mode and id.
type Entry = (Vec<u8>, EntryKind, ObjectId);

/// Compares what both find in `input`, whose first byte our target reads.
pub fn compare(input: &[u8]) {
    let tree = input.get(1..).unwrap_or_default();
    if has_odd_mode(tree) {
        return;
    }
    let entries = TreeRefIter::from_bytes(tree, HASH).map_while(Result::ok);
    let mut theirs = entries.map(|it| (it.filename.to_vec(), it.mode.kind(), it.oid.to_owned()));
    let (ours, is_whole) = ours(tree);
    for entry in &ours {
        assert_eq!(Some(entry), theirs.next().as_ref());
    }
    // We refuse more: names that lead elsewhere, those that clash, and as in git the entries before a bad end.
    if let Some((name, kind, _)) = theirs.next() {
        let is_clash = name.contains(&b'/') || ours.iter().any(|(other, ..)| *other == name);
        let is_refused =
            is_clash || !has_entry_at_end(tree) || !is_valid(&name, kind == EntryKind::Link, None);
        assert!(!is_whole && is_refused, "{}", name.escape_ascii());
    }
}

fn has_entry_at_end(tree: &[u8]) -> bool {
    tree.iter().nth_back(HASH.len_in_bytes()) == Some(&0)
}

/// The entries up to the first that is refused, and whether none is.
fn ours(tree: &[u8]) -> (Vec<Entry>, bool) {
    let root = id_of(1);
    let mut reader = OBJECTS.with_borrow(|objects| {
        objects.write_loose(root, "tree", tree);
        Reader::new(objects.open())
    });
    let rules = TreeRules {
        hash: HASH,
        protect: None,
        max_depth: 1,
        max_held: 0,
        redacted: false,
    };
    let mut trees = Trees::new(root, rules);
    trees.enter(&mut reader, root, b"").expect("it is there");
    let (mut entries, mut path) = (Vec::new(), Vec::new());
    loop {
        match trees.next(&mut reader, &mut path) {
            Ok(Some(TreeStep::Directory(id))) => entries.push((path.clone(), EntryKind::Tree, id)),
            Ok(Some(TreeStep::Leaf { mode, id })) => entries.push((path.clone(), kind(mode), id)),
            Ok(Some(TreeStep::End)) => return (entries, true),
            Ok(None) | Err(_) => return (entries, false),
        }
    }
}

fn kind(mode: Mode) -> EntryKind {
    match mode {
        Mode::File => EntryKind::Blob,
        Mode::Executable => EntryKind::BlobExecutable,
        Mode::Symlink => EntryKind::Link,
        Mode::Submodule => EntryKind::Commit,
        Mode::Directory => EntryKind::Tree,
    }
}

/// git reads modes of any length but 0, and one of an unknown type is a submodule. gix reads up to six digits, refuses fewer if
/// the seventh byte is a space, too, and takes type 14 for a tree.
fn has_odd_mode(mut tree: &[u8]) -> bool {
    while let Some(space) = tree.find_byte(b' ') {
        let is_odd = match space {
            0 | 7.. => true,
            6 => tree[0] % 2 == 1 && tree[1] == b'4',
            _ => tree.get(6) == Some(&b' '),
        };
        if is_odd {
            return true;
        }
        let name = tree.find_byte(0).unwrap_or(tree.len());
        let next = name + 1 + HASH.len_in_bytes();
        tree = tree.get(next..).unwrap_or_default();
    }
    false
}
