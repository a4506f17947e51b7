//! Which tag is this commit? The tags and branches that point at it, or the first tag that contains it.
//!
//! Each commit of the history is read at most once, however many tags there are, and none that is older than the commit.

use std::{collections::HashSet, ffi::OsStr};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{Repository, peel};
use crate::{
    objects::reader::Reader,
    program,
    refs::{AskGit, RefTarget},
};

/// What the full name of a tag begins with.
pub const TAGS: &str = "refs/tags/";
const BRANCHES: &str = "refs/heads/";
/// How much older than its parent a commit may be in seconds, because clocks differ. git-name-rev(1) has the same limit.
const CLOCK_SKEW: u64 = 24 * 60 * 60;
/// The most commits that are read. They take 50 MB.
const COMMITS_MAX: usize = 1 << 20;

/// The names of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitNames {
    /// The tags and then the branches that point at it.
    At(Vec<String>),
    /// The oldest tag that contains it.
    In(String),
    /// No tag contains it, as far as the history was read.
    Unnamed,
}

/// A ref that leads to a commit.
struct Tip {
    name: BString,
    commit: ObjectId,
    /// The time of the commit in seconds since 1970.
    time: u64,
}

/// The names of `commit` in `repository`.
pub fn names(repository: &Repository, commit: ObjectId) -> CommitNames {
    let mut reader = Reader::new(repository.odb());
    let tips_below = |reader: &mut Reader, prefix: &str| -> Vec<Tip> {
        let found = refs(repository, prefix).unwrap_or_default();
        let tips = found.into_iter().filter_map(|it| {
            let (commit, _, time) = peel::commit_with_time(reader, it.id?)?;
            let name = it.name[prefix.len()..].into();
            Some(Tip { name, commit, time })
        });
        tips.collect()
    };
    let tags = tips_below(&mut reader, TAGS);
    let branches = tips_below(&mut reader, BRANCHES);
    let at = tags.iter().chain(&branches);
    let at = at.filter(|tip| tip.commit == commit);
    let at: Vec<_> = at.map(|tip| tip.name.to_str_lossy().into_owned()).collect();
    if !at.is_empty() {
        return CommitNames::At(at);
    }
    match first_with(&mut reader, tags, commit) {
        Some(name) => CommitNames::In(name.to_str_lossy().into_owned()),
        None => CommitNames::Unnamed,
    }
}

/// The refs whose names begin with `prefix`. The installed git lists those that this program cannot read.
pub fn refs(repository: &Repository, prefix: &str) -> Result<Vec<RefTarget>, AskGit> {
    let unclear = match repository.refs.below(prefix.into()) {
        Err(unclear) => unclear,
        found => return found,
    };
    let words = ["for-each-ref", "--format=%(objectname) %(refname)", prefix].map(OsStr::new);
    let output = program::ask(&repository.location, &words).ok_or(unclear)?;
    let target = |line: &[u8]| {
        let (id, name) = line.split_once_str(" ")?;
        let (name, id) = (name.into(), ObjectId::from_hex(id).ok());
        Some(RefTarget { name, id })
    };
    let targets = output.stdout.lines().filter_map(target).collect();
    output.status.success().then_some(targets).ok_or(unclear)
}

/// The oldest of `tags` that contains `commit`. What an older tag leads to is not read again for a newer one.
fn first_with(reader: &mut Reader, mut tags: Vec<Tip>, commit: ObjectId) -> Option<BString> {
    let (_, _, time) = peel::commit_with_time(reader, commit)?;
    let since = time.saturating_sub(CLOCK_SKEW);
    tags.sort_by_key(|tag| tag.time);
    let mut seen = HashSet::new();
    for tag in tags {
        let mut open = vec![tag.commit];
        while let Some(id) = open.pop() {
            if id == commit {
                return Some(tag.name);
            }
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > COMMITS_MAX {
                return None;
            }
            if let Some((_, parents, time)) = peel::commit_with_time(reader, id)
                && time >= since
            {
                open.extend(parents);
            }
        }
    }
    None
}
