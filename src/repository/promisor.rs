//! The remotes from which a partial clone has what it lacks.
//!
//! The installed git fetches, with the command that git itself runs for a missing object: the configuration, the
//! protocols and the credentials are git's business. Must not decide which objects are wanted.

use std::{collections::HashSet, ffi::OsStr, io::Write, os::unix::ffi::OsStrExt};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    config::File,
};

use crate::{
    error::{Error, Result},
    odb::{self, Odb},
    process::git,
};

/// The most fetches from one remote that lacks objects: each lacking object fails a fetch.
const MAX_FETCHES: usize = 64;
/// The most missing objects that a failure names.
const MAX_NAMED: usize = 8;

/// Whether missing objects may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lazy {
    /// They may.
    Allowed,
    /// `GIT_NO_LAZY_FETCH` forbids to.
    Forbidden,
}

/// The promisor remotes of a repository.
#[derive(Clone, Debug)]
pub struct Promisor {
    /// In the order in which they are asked.
    remotes: Vec<BString>,
    lazy: Lazy,
}

/// What became of the objects that were wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All are there.
    All,
    /// An object is nowhere, and nobody has promised it: as missing as in a repository without such remotes.
    Unpromised,
}

impl Promisor {
    /// The promisor remotes of the configuration; `None` where there are none.
    pub fn read(config: &File, lazy: Lazy) -> Option<Self> {
        let remotes = remotes(config);
        (!remotes.is_empty()).then_some(Self { remotes, lazy })
    }

    /// Fetches the objects `wanted` into `objects`: all at once from each remote in turn, as long as some are missing.
    /// git's messages go to `diagnostics`.
    pub fn fetch(
        &self,
        wanted: Vec<ObjectId>,
        objects: &odb::Config,
        diagnostics: &mut dyn Write,
    ) -> Result<Fetched> {
        let mut missing = wanted;
        if self.lazy == Lazy::Forbidden {
            let warning = b"warning: lazy fetching disabled; some objects may not be available\n";
            let _ = diagnostics.write_all(warning);
            return Err(self.could_not_fetch(&missing));
        }
        for remote in &self.remotes {
            fetch_from(remote.as_bstr(), &missing, diagnostics)?;
            let mut odb = Odb::open(objects.clone());
            missing.retain(|id| odb.find(id).is_none());
            if missing.is_empty() {
                return Ok(Fetched::All);
            }
        }
        match missing.first() {
            Some(first) if !git::is_promised(first) => Ok(Fetched::Unpromised),
            _ => Err(self.could_not_fetch(&missing)),
        }
    }

    fn could_not_fetch(&self, missing: &[ObjectId]) -> Error {
        let words = |id: &ObjectId| format!("could not fetch {id} from promisor remote");
        let first = missing.first().map(words).unwrap_or_default();
        let others = missing.iter().skip(1);
        let error = others
            .take(MAX_NAMED - 1)
            .map(|id| format!("error: {}", words(id)))
            .fold(Error::fatal(first), Error::after);
        let unnamed = missing.len().saturating_sub(MAX_NAMED);
        let error = match unnamed {
            0 => error,
            _ => error.after(format!("error: {unnamed} more objects are missing")),
        };
        error.hinted(match self.lazy {
            Lazy::Allowed => "--missing=placeholder and --missing=omit do without missing files",
            Lazy::Forbidden => {
                "GIT_NO_LAZY_FETCH=0 allows to fetch; a server does not unless told so"
            }
        })
    }
}

/// Whether the configuration has a promisor remote.
pub(super) fn exists(config: &File) -> bool {
    !remotes(config).is_empty()
}

/// The names of the promisor remotes, in git's order: that of the configuration, with the remote of
/// `extensions.partialClone` last.
fn remotes(config: &File) -> Vec<BString> {
    let mut names: Vec<BString> = Vec::new();
    for section in config.sections_by_name("remote").into_iter().flatten() {
        let Some(name) = section.header().subsection_name() else {
            continue;
        };
        let key = |key: &str| format!("remote.{name}.{key}");
        let promises = config.boolean(key("promisor").as_str());
        let is_promisor = matches!(promises, Ok(Some(true)))
            || config.string(key("partialCloneFilter").as_str()).is_some();
        if is_promisor && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if let Some(last) = config.string("extensions.partialClone") {
        names.retain(|name| *name != *last);
        names.push(last);
    }
    // For git fetch such a name is an option or a path.
    names.retain(|name| !matches!(name.first(), None | Some(b'-' | b'/')));
    names
}

/// Fetches `wanted` from `remote`. An object that the remote does not have fails the whole fetch: without the object
/// that git names, the others are asked for again.
fn fetch_from(remote: &BStr, wanted: &[ObjectId], diagnostics: &mut dyn Write) -> Result<()> {
    let mut rest = wanted.to_vec();
    for _ in 0..MAX_FETCHES {
        let said = git::fetch(OsStr::from_bytes(remote), &rest, diagnostics)?;
        let Some(said) = said else {
            return Ok(());
        };
        let named = ids_in(&said);
        let before = rest.len();
        rest.retain(|id| !named.contains(id));
        if rest.is_empty() || rest.len() == before {
            return Ok(());
        }
    }
    Ok(())
}

/// The full ids of objects in `text`.
fn ids_in(text: &[u8]) -> HashSet<ObjectId> {
    let words = text.split(|byte| !byte.is_ascii_hexdigit());
    words
        .filter_map(|word| ObjectId::from_hex(word).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use gix::config::File;

    use super::{ids_in, remotes};

    #[test]
    fn remotes_are_asked_in_gits_order() {
        let config = "[remote \"b\"]\nurl = x\n[remote \"last\"]\npromisor\n\
            [remote \"a\"]\npromisor = true\n[remote \"no\"]\npromisor = false\n\
            [remote \"-x\"]\npromisor\n[remote \"/x\"]\npromisor\n\
            [remote \"b\"]\npartialclonefilter = blob:none\n[extensions]\npartialclone = last\n";
        let config = File::try_from(config).unwrap();
        assert_eq!(remotes(&config), ["b", "a", "last"]);
        assert!(remotes(&File::try_from("[remote \"b\"]\nurl = x\n").unwrap()).is_empty());
    }

    #[test]
    fn ids_are_found_in_messages() {
        let id = "257309626646290ec24153feb59ec327acca8a6c";
        let text = format!("fatal: remote error: upload-pack: not our ref {id}\nfatal: deadbeef");
        let found: Vec<_> = ids_in(text.as_bytes()).into_iter().collect();
        assert_eq!(found, [id.parse::<gix::ObjectId>().unwrap()]);
    }
}
