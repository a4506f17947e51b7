//! From a revision as it was typed to the tree it names, with commit and time.
//!
//! Plain names of refs and full ids need nothing but the ref store. Everything else goes to gix,
//! and what gix cannot resolve to the installed git.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, time::SystemTime};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    objs::{CommitRefIter, Kind as ObjectKind, TagRefIter},
    revision::plumbing::Spec,
};

use super::git;
use crate::{
    buffer::Buffer,
    decode::reader::Reader,
    error::{Error, Result},
};

/// As many tags of tags as anybody makes.
const MAX_TAGS: usize = 1024;

/// A tree and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treeish {
    /// The tree.
    pub tree: ObjectId,
    /// The commit it belongs to, if one was named.
    pub commit: Option<ObjectId>,
    /// The commit's time, else the present, in seconds since 1970.
    pub time: u64,
}

/// Resolve `name`, typed by the user, to a tree.
pub fn resolve(repository: &gix::Repository, reader: &mut Reader, name: &BStr) -> Result<Treeish> {
    let named = object_id(repository, name)
        .ok_or_else(|| Error::fatal(format!("not a valid object name: {name}")))?;
    let not_a_tree = || Error::fatal(format!("not a tree object: {named}"));
    let mut id = named;
    let mut content = Buffer::default();
    for _ in 0..MAX_TAGS {
        let kind = reader
            .read(&id, &mut content)
            .map_err(|cause| not_a_tree().caused_by(cause))?;
        match kind {
            Some(ObjectKind::Tree) => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                let time = now.map_or(0, |now| now.as_secs());
                return Ok(Treeish {
                    tree: id,
                    commit: None,
                    time,
                });
            }
            Some(ObjectKind::Commit) => {
                let mut fields = CommitRefIter::from_bytes(&content, repository.object_hash());
                let tree = fields.tree_id().map_err(|_| not_a_tree())?;
                let seconds = fields
                    .committer()
                    .map_or(0, |committer| committer.seconds());
                return Ok(Treeish {
                    tree,
                    commit: Some(id),
                    time: seconds.max(0) as u64,
                });
            }
            Some(ObjectKind::Tag) => {
                let fields = TagRefIter::from_bytes(&content, repository.object_hash());
                id = fields.target_id().map_err(|_| not_a_tree())?;
            }
            Some(ObjectKind::Blob) | None => return Err(not_a_tree()),
        }
    }
    Err(not_a_tree())
}

fn object_id(repository: &gix::Repository, name: &BStr) -> Option<ObjectId> {
    let hash = repository.object_hash();
    if name.len() == hash.len_in_hex()
        && let Ok(id) = ObjectId::from_hex(name)
    {
        return Some(id);
    }
    if let Some(id) = reference(repository, name) {
        return Some(id);
    }
    match repository.rev_parse(name).map(gix::revision::Spec::detach) {
        Ok(Spec::Include(id)) => Some(id),
        Ok(_) => None,
        Err(_) => ask_git(name),
    }
}

/// What a plain ref name points to; reading no object, it spares opening gix's object database.
fn reference(repository: &gix::Repository, name: &BStr) -> Option<ObjectId> {
    if name.contains_str("@{") || name.find_byteset(b"^~:").is_some() {
        return None;
    }
    let mut reference = repository.try_find_reference(name).ok()??;
    while let gix::refs::TargetRef::Symbolic(_) = reference.target() {
        reference = reference.follow()?.ok()?;
    }
    reference.try_id().map(gix::Id::detach)
}

fn ask_git(name: &BStr) -> Option<ObjectId> {
    let fixed = ["rev-parse", "--verify", "--quiet", "--end-of-options"].map(OsStr::new);
    let arguments = [&fixed[..], &[OsStr::from_bytes(name)]].concat();
    let output = git(&arguments).filter(|output| output.status.success())?;
    ObjectId::from_hex(output.stdout.trim()).ok()
}
