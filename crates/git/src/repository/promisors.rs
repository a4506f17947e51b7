//! The promisor remotes of all repositories of an archive, and the fetches from them.
//!
//! Each repository fetches what it lacks itself. Must not decide which objects are wanted.

use std::{collections::BTreeMap, io::Write, sync::Arc};

use bstr::{BStr, BString};

use super::{
    Repository,
    promisor::{FetchAccount, Promisor},
};
use crate::{
    objects::wanted::{Missing, MissingObjects, Role},
    program::GitLocation,
};
use sluice_base::{
    error::{ByteMessage, Error, Result, format_bytes},
    threads::Lock,
};

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

/// The promisor remotes of the repositories of an archive. Clones share them.
#[derive(Clone)]
pub struct Promisors {
    lazy: Lazy,
    account: FetchAccount,
    known: Arc<Lock<Known>>,
}

/// By the path of the submodule in the archived tree, which is empty for the repository of that tree. Two commits may have
/// submodules of other repositories at one path: then the first one counts.
type Known = BTreeMap<BString, Promisor>;

/// What became of the objects that were wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All are there.
    All,
    /// An object is missing and no promisor remote knows it: the repository is damaged.
    Unpromised,
    /// These objects were promised and are not to be had.
    Lost(Vec<Missing>),
}

impl Promisors {
    /// None yet. Fetches are counted in `account`.
    pub fn new(lazy: Lazy, account: FetchAccount) -> Self {
        Self {
            lazy,
            account,
            known: Arc::default(),
        }
    }

    /// Adds those of `repository`, which is that of the submodule at `path`.
    pub fn add(&self, path: &BStr, repository: &Repository) {
        let (location, objects) = (&repository.location, &repository.objects);
        if let Some(promisor) = Promisor::read(&repository.config, location, objects) {
            self.known.lock().entry(path.to_owned()).or_insert(promisor);
        }
    }

    /// Whether no repository has any.
    pub fn is_empty(&self) -> bool {
        self.known.lock().is_empty()
    }

    /// Where objects are noted that the repository at `location`, of the submodule at `path`, lacks: in `wanted`, if they
    /// can be fetched.
    pub fn noted(
        &self,
        path: &BStr,
        location: &GitLocation,
        wanted: &MissingObjects,
    ) -> Option<MissingObjects> {
        let known = self.known.lock();
        let is_known = known.get(path).is_some_and(|it| it.is_at(location));
        is_known.then(|| wanted.of_submodule(path))
    }

    /// Fetches the objects `wanted`, repository by repository. git's messages go to `diagnostics`.
    pub fn fetch(&self, wanted: Vec<Missing>, diagnostics: &mut dyn Write) -> Result<Fetched> {
        if self.lazy == Lazy::Forbidden {
            let warning = b"warning: lazy fetching disabled; some objects may not be available\n";
            let _ = diagnostics.write_all(warning);
            return Ok(Fetched::Lost(wanted));
        }
        let mut by_path: BTreeMap<BString, Vec<Missing>> = BTreeMap::new();
        for missing in wanted {
            let same = by_path.entry(missing.submodule.clone()).or_default();
            same.push(missing);
        }
        let (mut lost, mut is_unpromised) = (Vec::new(), false);
        for (path, missing) in by_path {
            let promisor = self.known.lock().get(&path).cloned();
            let mut missing = match &promisor {
                Some(promisor) => promisor.fetch(missing, &self.account, diagnostics)?,
                None => missing,
            };
            if let Some(first) = missing.first() {
                is_unpromised |= !promisor.is_some_and(|it| it.has_promised(first));
            }
            lost.append(&mut missing);
        }
        Ok(if lost.is_empty() {
            Fetched::All
        } else if is_unpromised {
            Fetched::Unpromised
        } else {
            Fetched::Lost(lost)
        })
    }

    /// The failure of a run that needs the `lost` objects.
    pub fn could_not_fetch(&self, lost: &[Missing]) -> Error {
        let (first, others) = match lost.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, lost),
        };
        let error = Error::fatal(first.map(failure).unwrap_or_default());
        let named = others.iter().take(MAX_NAMED - 1);
        let error = named.fold(error, |error, it| error.after(line(it)));
        let error = match others.len().saturating_sub(MAX_NAMED - 1) {
            0 => error,
            unnamed => error.after(format!("error: {unnamed} more objects are missing")),
        };
        let error = match first.and_then(Missing::path) {
            Some(path) => error.caused_by(ByteMessage(format_bytes(
                "'{}' is not in the repository",
                &[&path],
            ))),
            None => error,
        };
        error.hinted(match self.lazy {
            Lazy::Allowed => "--missing=placeholder or --missing=omit skips missing files",
            Lazy::Forbidden => "set GIT_NO_LAZY_FETCH=0 to allow fetching",
        })
    }
}

/// The `failure` of a run whose base lacks the `lost` objects.
pub fn without_base(failure: Error, lost: &[Missing]) -> Error {
    let named = lost.iter().take(MAX_NAMED);
    named.fold(failure, |failure, it| failure.after(line(it)))
}

/// git's words about a lost object.
fn failure(lost: &Missing) -> String {
    match lost.role {
        Role::Secret => "could not fetch an object from promisor remote".to_owned(),
        _ => format!("could not fetch {} from promisor remote", lost.id),
    }
}

/// A line about a lost object.
fn line(lost: &Missing) -> BString {
    match lost.path() {
        Some(path) => format_bytes("error: {} for '{}'", &[failure(lost).as_bytes(), &path]),
        None => format!("error: {}", failure(lost)).into(),
    }
}
