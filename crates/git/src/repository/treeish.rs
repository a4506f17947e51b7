//! Resolves a revision as typed to a tree, with its commit and time.
//!
//! The installed git resolves the names that `object_name` does not know.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind as ObjectKind};

pub use super::rev_parse::known_reference;
use super::{
    Repository, describe_name,
    object_name::{self, full_id, reference},
    peel::peeled,
    rev_parse::{ask_git, ask_git_for_ref, rev_parse},
};
use crate::{
    convert::Reference,
    objects::{Failure, reader::Reader, wanted::Role},
    refs::AskGit,
    tree::look_up,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes},
};

/// A tree and its origin.
#[derive(Clone)]
pub struct Treeish {
    /// The tree.
    pub tree: ObjectId,
    /// The commit of the tree, if a commit was named.
    pub commit: Option<ObjectId>,
    /// The content of that commit, else empty.
    pub content: BString,
    /// The named ref.
    pub reference: Reference,
    /// The commit's time, else the present, in seconds since 1970.
    pub time: u64,
}

impl Treeish {
    /// The commit, or the tree if no commit was named.
    pub fn id(&self) -> ObjectId {
        self.commit.unwrap_or(self.tree)
    }

    /// The time of the commit, if there is one, in seconds since 1970.
    pub fn commit_time(&self) -> Option<u64> {
        self.commit.map(|_| self.time)
    }
}

/// Resolve `name`, typed by the user, to a tree.
pub fn resolve(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
    diagnostics: &mut dyn Write,
) -> Result<Treeish> {
    let treeish = found(repository, reader, name, diagnostics);
    treeish.map_err(|error| reader.odb.refusal().unwrap_or(error))
}

fn found(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
    diagnostics: &mut dyn Write,
) -> Result<Treeish> {
    refuse_bad_paranoia(repository, name)?;
    let (named, reference) = object_id(repository, reader, name, diagnostics)?;
    let not_a_tree = || Error::fatal(format!("not a tree object: {named}"));
    let mut content = Buffer::default();
    let peeled = peeled(reader, named, &mut content);
    match peeled.map_err(|failure| failure.explain(not_a_tree()))? {
        Some((tree, ObjectKind::Tree)) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            Ok(Treeish {
                tree,
                commit: None,
                content: BString::default(),
                reference,
                time: now.map_or(0, |now| now.as_secs()),
            })
        }
        Some((commit, ObjectKind::Commit)) => {
            let hash = repository.hash();
            repository.shallow.check(hash)?;
            let tree = CommitRefIter::from_bytes(&content, hash).tree_id();
            let tree = tree.map_err(|_| not_a_tree())?;
            let time = commit_time(&content);
            let kind = reader.kind(&tree);
            match kind.map_err(|failure| failure.explain(not_a_tree()))? {
                Some(ObjectKind::Tree) => {}
                Some(_) => return Err(not_a_tree()),
                None => {
                    reader.note_missing(&tree, || Role::Tree(BString::default()));
                    return Err(reader.odb.config().missing(not_a_tree()));
                }
            }
            Ok(Treeish {
                tree,
                commit: Some(commit),
                content: content.to_vec().into(),
                reference,
                time,
            })
        }
        Some((_, ObjectKind::Tag | ObjectKind::Blob)) => Err(not_a_tree()),
        None => Err(reader.odb.config().missing(not_a_tree())),
    }
}

/// Fails if git refuses `name` because of a bad `GIT_COMMIT_GRAPH_PARANOIA`. git reads the variable when it finds a commit in
/// the commit-graph. git-sluice reads no commit-graph, and so it asks git.
fn refuse_bad_paranoia(repository: &Repository, name: &BStr) -> Result<()> {
    let Err(error) = repository.commit_graph_paranoia.is_set(false) else {
        return Ok(());
    };
    let commit = format_bytes("{}^0", &[name]);
    match rev_parse(&repository.location, &["--verify"], commit.as_bstr()) {
        Some(output) if output.stderr.contains_str(error.to_string()) => Err(error),
        _ => Ok(()),
    }
}

/// The full name of the ref that `name` begins with, up to its first colon. Fails if there is no such ref.
pub fn required_ref(repository: &Repository, name: &BStr) -> Result<BString> {
    let end = name.find_byte(b':').unwrap_or(name.len());
    let name = name[..end].as_bstr();
    match reference(repository, name) {
        Ok(Some(found)) => Ok(found.name),
        Ok(None) | Err(AskGit) => ask_git_for_ref(&repository.location, name),
    }
}

/// The time of the committer, found as git finds it (`parse_commit_date` of its commit.c): in the second line after the
/// parents. The author and the end of the line may be anything. Zero where there is none.
pub(super) fn commit_time(commit: &[u8]) -> u64 {
    let lines = commit.lines_with_terminator().skip(1);
    let mut lines = lines.skip_while(|line| line.starts_with(b"parent "));
    let author = lines.next().filter(|author| author.starts_with(b"author"));
    let committer = author.and_then(|_| lines.next()?.strip_prefix(b"committer"));
    let time = committer.and_then(|line| line.strip_suffix(b"\n")?.rsplit_once_str(">"));
    time.map_or(0, |(_, time)| timestamp(time))
}

/// Parse seconds as git does: unsigned, so that a time before 1970 lies far in the future. A number that is
/// too large becomes the largest number.
fn timestamp(time: &[u8]) -> u64 {
    let time = time.trim_ascii_start();
    let (negative, digits) = match time.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, time),
    };
    let end = digits.find_not_byteset(b"0123456789");
    let digits = &digits[..end.unwrap_or(digits.len())];
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    match digits.parse::<u64>() {
        _ if digits.is_empty() => 0,
        Ok(seconds) if negative => seconds.wrapping_neg(),
        Ok(seconds) => seconds,
        Err(_) => u64::MAX,
    }
}

/// The object of `name`, and its ref if `name` is the name of a ref. git's warnings go to `diagnostics`.
fn object_id(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
    diagnostics: &mut dyn Write,
) -> Result<(ObjectId, Reference)> {
    if let Some(found) = object_name::resolve(repository, reader, name, diagnostics) {
        return Ok(found);
    }
    if is_loose_describe_name(repository, name) {
        return Err(Error::unknown_name(name));
    }
    refuse_endless_tags(repository, reader, name)?;
    let asked = ask_git(&repository.location, name, reader.may_fetch(), diagnostics);
    if asked.is_err() && reader.missing_list().is_some() {
        note_way(repository, reader, name);
    }
    asked
}

/// Whether `name` begins with something that an older git takes for a name of git-describe(1), and that is no ref.
fn is_loose_describe_name(repository: &Repository, name: &BStr) -> bool {
    let end = name.find_byteset(b"~^:").unwrap_or(name.len());
    let start = name[..end].as_bstr();
    describe_name::is_loose(start) && matches!(reference(repository, start), Ok(None))
}

/// Notes the objects that are missing on the way to `name`, as in `HEAD:directory`.
fn note_way(repository: &Repository, reader: &mut Reader, name: &BStr) {
    if let Some((treeish, path)) = name.split_once_str(":")
        && let Ok(Treeish { tree, .. }) = found(repository, reader, treeish.into(), &mut io::sink())
    {
        let _ = look_up(reader, tree, tree.kind(), path, b"");
    }
}

/// Fails if `name` starts with a cycle of tags, on which git would never end. Only replacements make one.
fn refuse_endless_tags(repository: &Repository, reader: &mut Reader, name: &BStr) -> Result<()> {
    let end = name.find_byteset(b"~^:").filter(|end| *end > 0);
    let Some(end) = end.filter(|_| !reader.odb.config().replacements.is_empty()) else {
        return Ok(());
    };
    let start = name[..end].as_bstr();
    let resolved = || {
        let output = rev_parse(&repository.location, &["--verify"], start)?;
        ObjectId::from_hex(output.stdout.trim()).ok()
    };
    let known = || {
        reference(repository, start)
            .ok()
            .flatten()
            .map(|found| found.id)
    };
    let id = full_id(repository, start).or_else(known);
    let Some(id) = id.or_else(resolved) else {
        return Ok(());
    };
    match peeled(reader, id, &mut Buffer::default()) {
        Err(failure @ Failure::TooManyTags) => Err(Error::unknown_name(name).caused_by(failure)),
        _ => Ok(()),
    }
}
