//! Resolves the names of objects (gitrevisions(7)) as far as that takes neither a log of refs nor a search of history: ids and
//! their beginnings, refs, ancestors of either, their trees, and directories in them.
//!
//! Must not guess: the installed git is asked about every other name, and where an object is missing.

use std::io::Write;

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, Prefix};

use super::{
    Repository,
    peel::{commit, tree},
    rev_parse::{known_reference, no_reference, rev_parse},
};
use crate::{
    convert::Reference,
    objects::reader::Reader,
    refs::{AskGit, FoundRef},
    tree::directory_at,
};
use sluice_base::error::{format_bytes, push_line};

/// The shortest abbreviation of an id that git accepts.
const MIN_ABBREVIATION: usize = 4;
/// The suffix that means the tree of a commit.
const TREE: &[u8] = b"^{tree}";

/// The parts of a name.
struct NameParts<'n> {
    /// A ref, or an id.
    start: &'n BStr,
    /// Steps to an ancestor, such as `~2^`.
    steps: &'n [u8],
    /// Whether the tree is meant.
    is_tree: bool,
    /// A path in the tree. It may be empty.
    path: Option<&'n [u8]>,
}

impl<'n> NameParts<'n> {
    /// The parts of `name`; `None` if it has others.
    fn of(name: &'n BStr) -> Option<Self> {
        let (revision, path) = match name.split_once_str(":") {
            Some((revision, path)) => (revision, Some(path)),
            None => (name.as_bytes(), None),
        };
        let end = revision.find_byteset(b"~^").unwrap_or(revision.len());
        let (start, steps) = revision.split_at(end);
        let (steps, is_tree) = match steps.strip_suffix(TREE) {
            Some(steps) => (steps, true),
            None => (steps, false),
        };
        let is_plain = |path: &[u8]| {
            let mut parts = path.split_str("/");
            path.is_empty() || parts.all(|part| !matches!(part, b"" | b"." | b".."))
        };
        let is_known = !start.is_empty() && path.is_none_or(is_plain);
        is_known.then_some(Self {
            start: start.as_bstr(),
            steps,
            is_tree,
            path,
        })
    }
}

/// The object of `name`, and its ref if `name` is the name of a ref. `None` for a name that only git can resolve. git's warnings
/// go to `diagnostics`.
pub(super) fn resolve(
    repository: &Repository,
    reader: &mut Reader,
    name: &BStr,
    diagnostics: &mut dyn Write,
) -> Option<(ObjectId, Reference)> {
    let parts = NameParts::of(name)?;
    // git looks for a ref of any name, even if it is that of an object.
    let found = reference(repository, parts.start).ok()?;
    let object = object(repository, reader, &parts, found.as_ref())?;
    warn_if_ambiguous(repository, reader, parts.start, found.as_ref(), diagnostics);
    Some(object)
}

fn object(
    repository: &Repository,
    reader: &mut Reader,
    parts: &NameParts<'_>,
    found: Option<&FoundRef>,
) -> Option<(ObjectId, Reference)> {
    let id = match (full_id(repository, parts.start), found) {
        (Some(id), _) => id,
        (None, Some(found)) => found.id,
        (None, None) => abbreviated(repository, reader, parts.start)?,
    };
    let is_start = parts.steps.is_empty() && !parts.is_tree && parts.path.is_none();
    if is_start {
        let is_ref = full_id(repository, parts.start).is_none();
        let name = found.filter(|_| is_ref).map(|found| found.name.clone());
        return Some((id, name.map_or_else(no_reference, known_reference)));
    }
    let mut id = if parts.steps.is_empty() {
        id
    } else {
        ancestor(repository, reader, id, parts.steps)?
    };
    if parts.is_tree || parts.path.is_some() {
        // git looks at this file when it reads a commit.
        repository.shallow.check(repository.hash()).ok()?;
        id = tree(reader, id)?;
    }
    // Who notes missing objects asks git, so that each is noted once.
    if let Some(path) = parts.path.filter(|path| !path.is_empty()) {
        let may_look = !reader.notes_missing();
        id = may_look.then(|| directory_at(reader, id, id.kind(), path).ok()?)??;
    }
    Some((id, no_reference()))
}

/// The one object whose id begins with `start`. A setting may make git choose among several.
fn abbreviated(repository: &Repository, reader: &mut Reader, start: &BStr) -> Option<ObjectId> {
    let has_rule = repository.config.value("core.disambiguate").is_some();
    let prefix = prefix(repository, start).filter(|_| !has_rule)?;
    let mut found = reader.odb.abbreviated(prefix);
    let id = found.pop_first()?;
    found.is_empty().then_some(id)
}

/// The beginning of an id that `name` is.
fn prefix(repository: &Repository, name: &BStr) -> Option<Prefix> {
    let lengths = MIN_ABBREVIATION..=repository.hash().len_in_hex();
    let is_short = |name: &&str| lengths.contains(&name.len());
    let name = name.to_str().ok().filter(is_short)?;
    Prefix::from_hex(name).ok()
}

/// The id that `name` is, if it is a full one.
pub(super) fn full_id(repository: &Repository, name: &BStr) -> Option<ObjectId> {
    let is_full = name.len() == repository.hash().len_in_hex();
    ObjectId::from_hex(name).ok().filter(|_| is_full)
}

/// The ancestor that `steps` (`~2`, `^`, `^2`) lead to from the object `id`. `None` in a repository where parents may be missing
/// or replaced.
fn ancestor(
    repository: &Repository,
    reader: &mut Reader,
    id: ObjectId,
    mut steps: &[u8],
) -> Option<ObjectId> {
    if !repository.has_plain_parents() {
        return None;
    }
    let mut id = commit(reader, id)?.0;
    // A cycle of parents returns to a marked commit, at the latest after as many steps as the walk has
    // taken.
    let (mut marked, mut taken) = (id, 0_u64);
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

/// The ref of a plain name. No object is read.
pub(super) fn reference(repository: &Repository, name: &BStr) -> Result<Option<FoundRef>, AskGit> {
    if name.contains_str("@{") || name.find_byteset(b"^~:").is_some() {
        return Ok(None);
    }
    let name = if name == "@" { b"HEAD".as_bstr() } else { name };
    repository.refs.find(name)
}

/// Write git's warning if the ref of the name `start` is ambiguous, or shares its name with an object.
fn warn_if_ambiguous(
    repository: &Repository,
    reader: &mut Reader,
    start: &BStr,
    found: Option<&FoundRef>,
    diagnostics: &mut dyn Write,
) {
    let Some(found) = found else {
        return;
    };
    if repository.config.is_false("core.warnAmbiguousRefs") {
        return;
    }
    let mut words = Vec::new();
    if full_id(repository, start).is_some() {
        // git's message about this is long and differs between versions.
        if let Some(output) = rev_parse(&repository.location, &["--verify"], start) {
            words = output.stderr;
        }
    } else if found.is_ambiguous || is_abbreviation(repository, reader, start) {
        let warning = format_bytes("refname '{}' is ambiguous.", &[start]);
        push_line(&mut words, "warning: ", &warning);
    }
    // A failed write of diagnostics is ignored.
    let _ = diagnostics.write_all(&words);
}

/// Whether `name` is also the abbreviation of the id of one object.
fn is_abbreviation(repository: &Repository, reader: &mut Reader, name: &BStr) -> bool {
    prefix(repository, name).is_some_and(|prefix| reader.odb.abbreviated(prefix).len() == 1)
}

#[cfg(test)]
mod tests {
    use super::NameParts;

    #[test]
    fn names_have_parts() {
        let parts = |name: &str| {
            let parts = NameParts::of(name.into())?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("ASCII");
            Some((
                text(parts.start),
                text(parts.steps),
                parts.is_tree,
                parts.path.map(text),
            ))
        };
        let expected = |start: &str, steps: &str, is_tree, path: Option<&str>| {
            Some((start.into(), steps.into(), is_tree, path.map(Into::into)))
        };
        assert_eq!(parts("a"), expected("a", "", false, None));
        assert_eq!(parts("a~2^"), expected("a", "~2^", false, None));
        assert_eq!(
            parts("a^^{tree}:b/c"),
            expected("a", "^", true, Some("b/c"))
        );
        assert_eq!(parts("a:"), expected("a", "", false, Some("")));
        for other in [
            "", ":a", "^a", "a:/b", "a:b/", "a:./b", "a:b//c", "a:b/../c",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
