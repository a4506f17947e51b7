//! Reads the first global headers of an archive: its target commit, its base, the form of its deletions, and its filters.
//!
//! The module knows the keys and their order, and nothing of directories. Any deviation from the output of
//! `--base` is refused: a misunderstood archive must not delete anything.

use std::{fmt, io::Read};

use sluice_base::error::{Error, Result};

use super::{
    input::unfit,
    pax::records,
    reader::{ArchiveReader, Item},
};

/// The prefix of git-sluice's keys.
const OURS: &[u8] = b"GITSLUICE.";
const VERSION: &[u8] = b"1";
const FILTERS: &[u8] = b"GITSLUICE.filters";

/// The id of a commit or of a tree, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(String);

impl Id {
    /// Parse an id as git writes it, SHA-1 or SHA-256.
    pub fn new(hex: &[u8]) -> Option<Self> {
        hexadecimal(hex, &[40, 64]).map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hash of all options that select files, without the commit: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterHash(String);

impl FilterHash {
    /// Parse a hash.
    pub fn new(hex: &[u8]) -> Option<Self> {
        hexadecimal(hex, &[64]).map(Self)
    }
}

impl fmt::Display for FilterHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an archive of a channel belongs to, beyond what the archive itself says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelOrigin {
    /// The key of the channel, or of its edition.
    pub key: Origin,
    /// The filters of the channel.
    pub filters: Option<FilterHash>,
}

/// The key of a channel, which its filters or its edition have: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Parse a key.
    pub fn new(hex: &[u8]) -> Option<Self> {
        hexadecimal(hex, &[64]).map(Self)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text of lower-case hexadecimal digits, of one of `lengths`.
fn hexadecimal(text: &[u8], lengths: &[usize]) -> Option<String> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_sound = lengths.contains(&text.len()) && text.iter().all(is_digit);
    is_sound.then(|| String::from_utf8(text.to_vec()).ok())?
}

/// The base and the target that an archive states, and where the archive came from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArchiveHeader {
    /// The required content of the directory. `None` for a full archive.
    pub(super) base: Option<Id>,
    /// The content of the directory after the application.
    pub(super) target: Id,
    /// The channel that the archive belongs to. The archive itself does not say so.
    pub(super) origin: Option<Origin>,
    /// The filters that the archive was made with, if they are known.
    pub(super) filters: Option<FilterHash>,
    /// Whether a delta lists the paths that its base lacks. The first versions did not.
    pub(super) names_additions: bool,
}

/// A path in the global headers of a delta.
pub(super) enum ListedPath<'a> {
    Deleted(&'a [u8]),
    Added(&'a [u8]),
}

impl ArchiveHeader {
    /// Read the claim, and the first item after it.
    pub(super) fn read<R: Read>(reader: &mut ArchiveReader<R>) -> Result<(Self, Option<Item>)> {
        let mut commit = None;
        let mut item = reader.next()?;
        if let Some(Item::Global(header)) = &item
            && !begins_delta(header)
        {
            commit = comment(header)?;
            item = reader.next()?;
        }
        let mut filters = None;
        if let Some(Item::Global(header)) = &item {
            if !begins_with_filters(header) {
                let claim = Self::of_delta(header, commit.as_ref())?;
                return Ok((claim, reader.next()?));
            }
            filters = Some(filters_alone(header)?);
            item = reader.next()?;
        }
        let target = commit.ok_or_else(|| {
            let what = "the archive does not say which commit it holds";
            Error::fatal(what).hinted("it has to be the archive of a commit, not of a tree")
        })?;
        let claim = Self {
            base: None,
            target,
            origin: None,
            filters,
            names_additions: false,
        };
        Ok((claim, item))
    }

    /// This archive, as one of a channel.
    pub(super) fn of_channel(self, channel: ChannelOrigin) -> Self {
        Self {
            origin: Some(channel.key),
            filters: self.filters.or(channel.filters),
            ..self
        }
    }

    fn of_delta(header: &[u8], commit: Option<&Id>) -> Result<Self> {
        let mut records = records(header);
        let mut value = |name: &str| match records.next().transpose()? {
            Some((key, value)) if key.strip_prefix(OURS) == Some(name.as_bytes()) => Ok(value),
            _ => Err(unfit(format!("it does not say its GITSLUICE.{name}"))),
        };
        let version = value("delta")?;
        if version != VERSION {
            let version = version.escape_ascii();
            return Err(unfit(format!("version '{version}' of deltas is not known")));
        }
        let [base, target] = [value("base")?, value("target")?].map(Id::new);
        let (Some(base), Some(target)) = (base, target) else {
            return Err(unfit("its base or its target is no object id"));
        };
        match value("deletions")? {
            b"pax" => {}
            b"none" => {
                return Err(Error::fatal("the archive does not list deleted files")
                    .hinted("create it with --deletions=pax"));
            }
            other => {
                let other = other.escape_ascii();
                return Err(unfit(format!("deletions as '{other}' are not known")));
            }
        }
        let filters = match records.next().transpose()? {
            None => None,
            Some((FILTERS, b"none")) => Some(None),
            Some((FILTERS, hash)) => Some(Some(parse_filters(hash)?)),
            Some(_) => return Err(unfit("something follows its GITSLUICE.deletions")),
        };
        if records.next().is_some() {
            return Err(unfit("something follows its GITSLUICE.filters"));
        }
        if commit.is_some_and(|commit| *commit != target) {
            return Err(unfit("its comment is another commit than its target"));
        }
        Ok(Self {
            base: Some(base),
            target,
            origin: None,
            names_additions: filters.is_some(),
            filters: filters.flatten(),
        })
    }
}

fn begins_with_filters(header: &[u8]) -> bool {
    matches!(records(header).next(), Some(Ok((FILTERS, _))))
}

/// The filters in a header that has nothing else.
fn filters_alone(header: &[u8]) -> Result<FilterHash> {
    let mut records = records(header);
    match (records.next().transpose()?, records.next()) {
        (Some((FILTERS, hash)), None) => parse_filters(hash),
        _ => Err(unfit("something follows its GITSLUICE.filters")),
    }
}

fn parse_filters(hash: &[u8]) -> Result<FilterHash> {
    FilterHash::new(hash).ok_or_else(|| unfit("its GITSLUICE.filters is no hash"))
}

fn begins_delta(header: &[u8]) -> bool {
    let first = records(header).next();
    matches!(first, Some(Ok((key, _))) if key.starts_with(OURS))
}

/// The commit in git's global header, which may also hold a time that fits no field.
fn comment(header: &[u8]) -> Result<Option<Id>> {
    let mut commit = None;
    for record in records(header) {
        match record? {
            (b"comment", id) => {
                let id = Id::new(id).ok_or_else(|| unfit("its comment is no commit id"))?;
                commit = Some(id);
            }
            (b"mtime", _) => {}
            (key, _) => {
                let key = key.escape_ascii();
                return Err(unfit(format!("its first header has a key '{key}'")));
            }
        }
    }
    Ok(commit)
}

/// The paths that a global header lists.
pub(super) fn listed_paths(header: &[u8]) -> impl Iterator<Item = Result<ListedPath<'_>>> {
    records(header).map(|record| match record? {
        (key, path) if is_deletion(key) => Ok(ListedPath::Deleted(path)),
        (key, path) if is_addition(key) => Ok(ListedPath::Added(path)),
        (key, _) => {
            let key = key.escape_ascii();
            Err(unfit(format!("a global header has a key '{key}'")))
        }
    })
}

/// Whether `key` is that of a deletion: `GITSLUICE.delete.<number>`. The first versions wrote no number.
fn is_deletion(key: &[u8]) -> bool {
    let number = key.strip_prefix(b"GITSLUICE.delete");
    number.is_some_and(|number| number.is_empty() || is_dot_number(number))
}

/// Whether `key` is that of a path which the base lacks: `GITSLUICE.add.<number>`.
fn is_addition(key: &[u8]) -> bool {
    key.strip_prefix(b"GITSLUICE.add")
        .is_some_and(is_dot_number)
}

fn is_dot_number(text: &[u8]) -> bool {
    let digits = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    text.strip_prefix(b".").is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn ids_are_as_git_writes_them() {
        for len in [40, 64] {
            let hex = "0a".repeat(len / 2);
            assert_eq!(Id::new(hex.as_bytes()).map(|id| id.to_string()), Some(hex));
        }
        for hex in [
            "",
            "HEAD",
            &"A".repeat(40),
            &"a".repeat(41),
            &"/".repeat(40),
        ] {
            assert_eq!(Id::new(hex.as_bytes()), None, "{hex}");
        }
    }
}
