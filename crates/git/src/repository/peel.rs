//! Follows tags to the objects that they name.

use bstr::ByteSlice;
use gix_hash::{Kind, ObjectId};
use gix_object::{CommitRefIter, Kind as ObjectKind};

use super::treeish::commit_time;
use crate::{
    objects::{Failure, reader::Reader},
    odb::pack::Damage,
};
use sluice_base::buffer::Buffer;

/// The most tags of tags that are followed.
const MAX_TAGS: usize = 1024;
/// git takes no tag with fewer bytes in addition to the id of its object.
const SHORTEST_TAG: usize = 24;

/// Follow tags from `id` to another object, whose content goes to `content`. `None` if there is no such
/// object. As in git, each tag must state the right type of its object.
pub(super) fn peeled(
    reader: &mut Reader,
    id: ObjectId,
    content: &mut Buffer,
) -> std::result::Result<Option<(ObjectId, ObjectKind)>, Failure> {
    let mut id = id;
    let mut promised = None;
    for _ in 0..MAX_TAGS {
        let Some(kind) = reader.read(&id, content)? else {
            return Ok(None);
        };
        if promised.is_some_and(|promised| promised != kind) {
            return Err(Damage("a tag says that its object is of another type").into());
        }
        if kind != ObjectKind::Tag {
            return Ok(Some((id, kind)));
        }
        let Some((target, kind)) = tagged(content, id.kind()) else {
            return Ok(None);
        };
        (id, promised) = (target, Some(kind));
    }
    Err(Failure::TooManyTags)
}

/// The object of a tag, and the type that the tag states. As in git (`parse_tag_buffer` of its tag.c), a line with the name
/// must follow.
fn tagged(tag: &[u8], hash: Kind) -> Option<(ObjectId, ObjectKind)> {
    let mut lines = tag.lines_with_terminator();
    let mut field = |name: &str| {
        let line = lines.next()?.strip_suffix(b"\n")?;
        line.strip_prefix(name.as_bytes())
    };
    let (target, kind) = (field("object ")?, field("type ")?);
    field("tag ")?;
    let is_full = target.len() == hash.len_in_hex() && tag.len() >= target.len() + SHORTEST_TAG;
    let target = ObjectId::from_hex(target).ok().filter(|_| is_full)?;
    Some((target, ObjectKind::from_bytes(kind).ok()?))
}

/// The commit at the end of tags from `id`, and its parents.
pub(super) fn commit(reader: &mut Reader, id: ObjectId) -> Option<(ObjectId, Vec<ObjectId>)> {
    commit_with_time(reader, id).map(|(id, parents, _)| (id, parents))
}

/// The commit at the end of tags from `id`, its parents, and its time in seconds since 1970.
pub(super) fn commit_with_time(
    reader: &mut Reader,
    id: ObjectId,
) -> Option<(ObjectId, Vec<ObjectId>, u64)> {
    let mut content = Buffer::default();
    match peeled(reader, id, &mut content).ok()?? {
        (id, ObjectKind::Commit) => {
            let fields = CommitRefIter::from_bytes(&content, id.kind());
            Some((id, fields.parent_ids().collect(), commit_time(&content)))
        }
        _ => None,
    }
}

/// The tree at the end of tags from `id`, or that of the commit there.
pub(super) fn tree(reader: &mut Reader, id: ObjectId) -> Option<ObjectId> {
    let mut content = Buffer::default();
    match peeled(reader, id, &mut content).ok()?? {
        (id, ObjectKind::Tree) => Some(id),
        (id, ObjectKind::Commit) => CommitRefIter::from_bytes(&content, id.kind())
            .tree_id()
            .ok(),
        _ => None,
    }
}
