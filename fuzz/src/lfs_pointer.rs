//! Pointers of Git LFS: what a pointer says is in its text, and its canonical text says the same.

use sluice_git::lfs::Pointer;

/// Tries `text`.
pub fn run(text: &[u8]) {
    let Some(pointer) = Pointer::parse(text) else {
        return;
    };
    let hash = pointer.hash.to_string();
    let contains = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    assert!(contains(hash.as_bytes()));
    let size = pointer.size;
    let canonical =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n");
    let again = Pointer::parse(canonical.as_bytes()).expect("canonical");
    assert!(again.hash == pointer.hash && again.size == size && again.extension.is_none());
}
