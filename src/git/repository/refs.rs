//! Follows refs that point to other refs, as far as git follows them.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use gix::ObjectId;

/// The most consecutive refs that git reads. The last of them must hold an id.
const MAX_REFS: usize = 5;
/// What the names of refs begin with that each work tree has for itself (git-worktree(1), "REFS").
const OF_WORK_TREE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// The ref with an id at the end of the chain from `reference`. `None` if the chain has no end, ends at a
/// missing or broken ref, or is longer than git follows.
pub(super) fn followed<'r>(
    repository: &gix::Repository,
    mut reference: gix::Reference<'r>,
) -> Option<gix::Reference<'r>> {
    for _ in 0..MAX_REFS {
        if reference.try_id().is_some() {
            return is_sound(repository, &reference).then_some(reference);
        }
        reference = reference.follow()?.ok()?;
    }
    None
}

/// Whether the file of `reference`, if it has one, holds an id and no word behind it (`parse_loose_ref_contents` of git's
/// refs/files-backend.c). gix reads no further than the id.
fn is_sound(repository: &gix::Repository, reference: &gix::Reference<'_>) -> bool {
    let name = reference.name().as_bstr();
    let is_shared = name.starts_with(b"refs/")
        && !OF_WORK_TREE
            .iter()
            .any(|start| name.starts_with(start.as_bytes()));
    let directory = match is_shared {
        true => repository.common_dir(),
        false => repository.git_dir(),
    };
    let Ok(content) = fs::read(directory.join(OsStr::from_bytes(name))) else {
        return true;
    };
    let (id, rest) = content.split_at(content.len().min(repository.object_hash().len_in_hex()));
    ObjectId::from_hex(id).is_ok() && rest.first().is_none_or(|byte| b" \t\n\r".contains(byte))
}
