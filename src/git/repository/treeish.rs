//! Resolves a revision as typed to a tree, with its commit and time.
//!
//! Plain names of refs and full ids need only the ref store; their ancestors (`main~1`) also need the own
//! reader. The installed git resolves all other names.

use std::{
    ffi::OsStr,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    time::SystemTime,
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    hash::{Kind, Prefix},
    objs::{CommitRefIter, Kind as ObjectKind},
};

use super::{
    Repository,
    refs::followed,
    rev_parse::{ask_git, ask_git_for_ref, lazily, no_reference, rev_parse},
};
use crate::{
    base::{
        buffer::Buffer,
        error::{Error, Result, format_bytes, push_line},
    },
    git::{
        convert::Reference,
        objects::{Failure, reader::Reader, wanted::Role},
        odb::pack::Damage,
        tree::look_up,
    },
};

/// The most tags of tags that are followed.
const MAX_TAGS: usize = 1024;
const TOO_MANY_TAGS: Damage = Damage("too many tags of tags");
/// git takes no tag with fewer bytes in addition to the id of its object.
const SHORTEST_TAG: usize = 24;
/// The shortest abbreviation of an id that git accepts.
const MIN_ABBREVIATION: usize = 4;

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

    /// The time of the commit, if there is one, in seconds since 1970. Unlike `time`, no option changes it.
    pub fn commit_time(&self) -> Option<u64> {
        self.commit.map(|_| commit_time(&self.content))
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
    repository.check_reads()?;
    treeish.map_err(|error| reader.odb.refusal().unwrap_or(error))
}

fn found(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
    diagnostics: &mut dyn Write,
) -> Result<Treeish> {
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
            refuse_bad_shallow(&repository.gix)?;
            let hash = repository.gix.object_hash();
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

/// Follow tags from `id` to another object, whose content goes to `content`. `None` if there is no such
/// object. As in git, each tag must state the right type of its object.
fn peeled(
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
    Err(TOO_MANY_TAGS.into())
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

/// Fail if `shallow` holds a line without an id, as git does once it reads a commit.
fn refuse_bad_shallow(repository: &gix::Repository) -> Result<()> {
    if repository.shallow_commits().is_ok() {
        return Ok(());
    }
    // git ignores a file that it cannot read.
    let text = repository.shallow_file().ok().map(std::fs::read);
    let Some(Ok(text)) = text else {
        return Ok(());
    };
    let digits = repository.object_hash().len_in_hex();
    let is_id = |line: &[u8]| {
        let id = line.get(..digits).map(ObjectId::from_hex);
        id.is_some_and(|id| id.is_ok())
    };
    match text.lines().find(|line| !is_id(line)) {
        Some(line) => Err(Error::fatal(format_bytes("bad shallow line: {}", &[line]))),
        None => Ok(()),
    }
}

/// The reference to the ref `full_name`.
pub fn known_reference(full_name: BString) -> Reference {
    lazily(|| Some(full_name))
}

/// The full name of the ref that `name` begins with, up to its first colon. Fails if there is no such ref.
pub fn required_ref(repository: &Repository, name: &BStr) -> Result<BString> {
    let end = name.find_byte(b':').unwrap_or(name.len());
    let name = name[..end].as_bstr();
    match reference(&repository.gix, name) {
        Some((_, full_name)) => Ok(full_name),
        None => ask_git_for_ref(&repository.location, name),
    }
}

/// The time of the committer, found as git finds it (`parse_commit_date` of its commit.c): in the second line behind the
/// parents. The author and the end of the line may be anything. Zero where there is none.
fn commit_time(commit: &[u8]) -> u64 {
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
    if let Some(found) = object_id_without_git(repository, reader, name) {
        warn_if_ambiguous(repository, name, diagnostics);
        return Ok(found);
    }
    refuse_endless_tags(repository, reader, name)?;
    let asked = ask_git(&repository.location, name, reader.may_fetch(), diagnostics);
    if asked.is_err() && reader.missing_list().is_some() {
        note_way(repository, reader, name);
    }
    asked
}

/// Notes the objects that are missing on the way to `name`, as in `HEAD:directory`.
fn note_way(repository: &Repository, reader: &mut Reader, name: &BStr) {
    if let Some((treeish, path)) = name.split_once_str(":")
        && let Ok(Treeish { tree, .. }) = found(repository, reader, treeish.into(), &mut io::sink())
    {
        let _ = look_up(reader, tree, tree.kind(), path, b"");
    }
}

/// As [`object_id`], for a full id, the name of a ref, and an ancestor of either.
fn object_id_without_git(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
) -> Option<(ObjectId, Reference)> {
    let gix = &repository.gix;
    if let Some(id) = full_id(gix, name) {
        return Some((id, no_reference()));
    }
    if let Some((id, reference)) = reference(gix, name) {
        return Some((id, known_reference(reference)));
    }
    Some((ancestor(gix, reader, name)?, no_reference()))
}

/// Fails if `name` starts with a cycle of tags, on which git would never end. Only replacements make one.
fn refuse_endless_tags(repository: &Repository, reader: &mut Reader, name: &BStr) -> Result<()> {
    let end = name.find_byteset(b"~^:").filter(|end| *end > 0);
    let Some(end) = end.filter(|_| !reader.odb.config().replacements.is_empty()) else {
        return Ok(());
    };
    let told = || {
        let output = rev_parse(&repository.location, &["--verify"], name[..end].as_bstr())?;
        ObjectId::from_hex(output.stdout.trim()).ok()
    };
    let Some(id) = start(&repository.gix, name).or_else(told) else {
        return Ok(());
    };
    match peeled(reader, id, &mut Buffer::default()) {
        Err(Failure::Damaged(TOO_MANY_TAGS)) => {
            Err(Error::unknown_name(name).caused_by(TOO_MANY_TAGS))
        }
        _ => Ok(()),
    }
}

/// The full id or the ref that `name` starts with, if a suffix follows.
fn start(repository: &gix::Repository, name: &BStr) -> Option<ObjectId> {
    let start = name[..name.find_byteset(b"~^:")?].as_bstr();
    full_id(repository, start).or_else(|| Some(reference(repository, start)?.0))
}

fn full_id(repository: &gix::Repository, name: &BStr) -> Option<ObjectId> {
    let is_full = name.len() == repository.object_hash().len_in_hex();
    ObjectId::from_hex(name).ok().filter(|_| is_full)
}

/// The ancestor that `name` reaches by steps (`~2`, `^`, `^2`) from a ref or a full id. `None` in a shallow
/// repository, where parents may be missing.
fn ancestor(repository: &gix::Repository, reader: &mut Reader, name: &BStr) -> Option<ObjectId> {
    let id = start(repository, name)?;
    if repository.is_shallow().unwrap_or(true) {
        return None;
    }
    let mut id = commit(reader, id)?.0;
    // A cycle of parents returns to a marked commit, at the latest after as many steps as the walk has
    // taken.
    let (mut marked, mut taken) = (id, 0_u64);
    let mut steps: &[u8] = &name[name.find_byteset(b"~^")?..];
    while let Some((&step, rest)) = steps.split_first() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = rest.split_at(digits);
        steps = rest;
        let number: u32 = match number {
            b"" => 1,
            number => number.to_str().ok()?.parse().ok()?,
        };
        let (generations, parent) = match step {
            b'~' => (number, 0),
            b'^' if number > 0 => (1, usize::try_from(number).ok()? - 1),
            b'^' => (0, 0),
            _ => return None,
        };
        for _ in 0..generations {
            let (_, parents) = commit(reader, id)?;
            id = *parents.get(parent)?;
            if id == marked {
                return None;
            }
            taken += 1;
            if taken.is_power_of_two() {
                marked = id;
            }
        }
    }
    Some(id)
}

/// The commit at the end of tags from `id`, and its parents.
fn commit(reader: &mut Reader, id: ObjectId) -> Option<(ObjectId, Vec<ObjectId>)> {
    let mut content = Buffer::default();
    match peeled(reader, id, &mut content).ok()?? {
        (id, ObjectKind::Commit) => {
            let fields = CommitRefIter::from_bytes(&content, id.kind());
            Some((id, fields.parent_ids().collect()))
        }
        _ => None,
    }
}

/// The id and the full name of a plain ref name. No object is read, so gix need not open its object
/// database.
fn reference(repository: &gix::Repository, name: &BStr) -> Option<(ObjectId, BString)> {
    if name.contains_str("@{") || name.find_byteset(b"^~:").is_some() {
        return None;
    }
    let name = if name == "@" { b"HEAD".as_bstr() } else { name };
    let reference = followed(repository, repository.try_find_reference(name).ok()??)?;
    let id = reference.try_id()?.detach();
    Some((id, reference.name().as_bstr().to_owned()))
}

/// Write git's warning if the ref at the start of `name` is ambiguous, or shares its name with an object.
fn warn_if_ambiguous(repository: &Repository, name: &BStr, diagnostics: &mut dyn Write) {
    let gix = &repository.gix;
    let config = gix.config_snapshot();
    let start = name[..name.find_byteset(b"~^").unwrap_or(name.len())].as_bstr();
    if start.is_empty() || config.boolean("core.warnAmbiguousRefs") == Some(false) {
        return;
    }
    let mut words = Vec::new();
    if full_id(gix, start).is_some() {
        // git's message about this is long and differs between versions.
        if reference(gix, start).is_some()
            && let Some(output) = rev_parse(&repository.location, &["--verify"], start)
        {
            words = output.stderr;
        }
    } else if is_ambiguous(gix, start) || is_abbreviation(gix, start) {
        let warning = format_bytes("refname '{}' is ambiguous.", &[start]);
        push_line(&mut words, "warning: ", &warning);
    }
    // A failed write of diagnostics is ignored.
    let _ = diagnostics.write_all(&words);
}

/// Whether the name of the ref `name` is also the abbreviation of an object id.
fn is_abbreviation(repository: &gix::Repository, name: &BStr) -> bool {
    if name.len() < MIN_ABBREVIATION {
        return false;
    }
    let prefix = name.to_str().ok().map(Prefix::from_hex);
    let Some(Ok(prefix)) = prefix else {
        return false;
    };
    if reference(repository, name).is_none() {
        return false;
    }
    let found = repository.objects.lookup_prefix(prefix, None);
    matches!(found, Ok(Some(Ok(_))))
}

/// Whether several of the directories in which git looks for refs have a ref of this name.
fn is_ambiguous(repository: &gix::Repository, name: &BStr) -> bool {
    // Files and lines of `packed-refs` are checked directly: gix would try each full name in every
    // directory.
    let packed = repository.refs.cached_packed_buffer().ok().flatten();
    let mut directories = vec![repository.git_dir(), repository.common_dir()];
    directories.dedup();
    let exists = |place: &&&str| {
        let full = [place.as_bytes(), name].concat();
        let path = OsStr::from_bytes(&full);
        let packed = || packed.as_ref()?.try_find(full.as_bstr()).ok()?;
        let is_it = |found: gix::refs::packed::Reference<'_>| found.name.as_bstr() == full;
        directories.iter().any(|it| it.join(path).is_file()) || packed().is_some_and(is_it)
    };
    let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
    places.iter().filter(exists).count() > 1
}
