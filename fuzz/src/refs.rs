//! The file `packed-refs`: each name that a search below a directory lists is sound, and looked for alone has the same id.
//!
//! The input is the file.

use std::{cell::RefCell, fs};

use super::HASH;
use bstr::ByteSlice;
use sluice_git::refs::{RefStorage, RefTarget, Refs, is_sound};
use tempfile::TempDir;

thread_local! {
    static DIRECTORY: RefCell<Option<TempDir>> = RefCell::default();
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    list(input);
}

/// The refs in the file `content`. `None` if only git can say.
pub fn list(content: &[u8]) -> Option<Vec<RefTarget>> {
    let refs = DIRECTORY.with_borrow_mut(|directory| {
        let directory = directory
            .get_or_insert_with(|| TempDir::new().expect("temporary directories can be made"))
            .path();
        fs::write(directory.join("packed-refs"), content).expect("our own");
        Refs::new(RefStorage::Files(directory.into(), directory.into()), HASH)
    });
    let list = refs.below(b"refs/".as_bstr()).ok()?;
    for it in &list {
        assert!(is_sound(it.name.as_bstr()));
        if let Ok(Some(found)) = refs.find(it.name.as_bstr()) {
            assert_eq!((found.name, Some(found.id)), (it.name.clone(), it.id));
        }
    }
    Some(list)
}
