//! Tree objects: a walk ends, and every path it finds is one that a checkout may write.
//!
//! The input is a tree, loose in an object directory. An entry with its id leads to it again.

use std::cell::RefCell;

use super::{HASH, Objects, id_of};
use sluice_base::name::Protect;
use sluice_git::{
    objects::reader::Reader,
    tree::{TreeRules, TreeStep, Trees, look_up},
};

const MAX_STEPS: usize = 2000;

thread_local! {
    static OBJECTS: RefCell<Objects> = RefCell::default();
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((&choices, tree)) = input.split_first() else {
        return;
    };
    let root = id_of(1);
    OBJECTS.with_borrow(|objects| {
        objects.write_loose(root, "tree", tree);
        let mut reader = Reader::new(objects.open());
        let protect = Protect {
            hfs: choices & 2 != 0,
            ntfs: choices & 4 != 0,
        };
        let is_verified = choices & 1 != 0;
        let mut trees = Trees::new(
            root,
            TreeRules {
                hash: HASH,
                protect: is_verified.then_some(protect),
                max_depth: 3,
                max_held: usize::from(choices) << 4,
                redacted: choices & 8 != 0,
            },
        );
        let mut path = Vec::new();
        if trees.enter(&mut reader, root, b"").is_err() {
            return;
        }
        for _ in 0..MAX_STEPS {
            match trees.next(&mut reader, &mut path) {
                Ok(Some(TreeStep::Directory(id))) => {
                    assert_safe(&path, is_verified);
                    trees.attribute_file();
                    if trees.enter(&mut reader, id, &path).is_err() {
                        break;
                    }
                }
                Ok(Some(TreeStep::Leaf { .. })) => {
                    assert_safe(&path, is_verified);
                    let _ = look_up(&mut reader, root, HASH, b"", &path);
                }
                Ok(Some(TreeStep::End)) => {}
                Ok(None) | Err(_) => break,
            }
        }
    });
}

/// No name leads out of the directory that the path is extracted to. A tree that is verified as for a checkout
/// has no `.git` either.
fn assert_safe(path: &[u8], is_verified: bool) {
    let mut names = path.split(|&byte| byte == b'/');
    let is_unsafe = |name: &[u8]| {
        let is_git = is_verified && name.eq_ignore_ascii_case(b".git");
        matches!(name, b"" | b"." | b"..") || is_git
    };
    assert!(!names.any(is_unsafe), "{}", path.escape_ascii());
}
