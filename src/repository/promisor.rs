//! The remotes from which a partial clone has what it lacks.
//!
//! The installed git fetches, with the command that git itself runs for a missing object: the configuration, the
//! protocols and the credentials are git's business. Must not decide which objects are wanted.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    config::File,
};

use crate::{
    decode::wanted::{Missing, Role},
    error::{Error, Result, Words, filled, push_line},
    odb::{self, Odb},
    process::git::{self, GitLocation},
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
    /// The repository that lacks objects.
    location: GitLocation,
    lazy: Lazy,
    account: FetchAccount,
}

/// The account of all fetches of a run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FetchAccount {
    shows_progress: bool,
    sums: Arc<Mutex<FetchSums>>,
}

/// The fetches of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchSums {
    /// How often a remote was asked.
    pub fetches: u64,
    /// Missing objects that came.
    pub objects: u64,
    /// The time that this took.
    pub time: Duration,
}

impl FetchAccount {
    /// An empty account. `shows_progress` says whether the user sees the progress of fetches.
    pub fn new(shows_progress: bool) -> Self {
        Self {
            shows_progress,
            ..Self::default()
        }
    }

    /// The fetches so far.
    pub fn sums(&self) -> FetchSums {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, sums: FetchSums) {
        let mut all = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        all.fetches += sums.fetches;
        all.objects += sums.objects;
        all.time += sums.time;
    }
}

/// What became of the objects that were wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All are there.
    All,
    /// An object is nowhere, and nobody has promised it: as missing as in a repository without such remotes.
    Unpromised,
    /// These objects were promised and are not to be had.
    Lost(Vec<Missing>),
}

impl Promisor {
    /// The promisor remotes of the configuration of the repository at `location`; `None` where there are none. Fetches
    /// are counted in `account`.
    pub fn read(
        config: &File,
        location: &GitLocation,
        lazy: Lazy,
        account: FetchAccount,
    ) -> Option<Self> {
        let remotes = remotes(config);
        (!remotes.is_empty()).then_some(Self {
            remotes,
            location: location.clone(),
            lazy,
            account,
        })
    }

    /// Fetches the objects `wanted` into `objects`: all at once from each remote in turn, as long as some are missing.
    /// git's messages go to `diagnostics`.
    pub fn fetch(
        &self,
        wanted: Vec<Missing>,
        objects: &odb::Config,
        diagnostics: &mut dyn Write,
    ) -> Result<Fetched> {
        let mut missing = wanted;
        if self.lazy == Lazy::Forbidden {
            let warning = b"warning: lazy fetching disabled; some objects may not be available\n";
            let _ = diagnostics.write_all(warning);
            return Ok(Fetched::Lost(missing));
        }
        for remote in &self.remotes {
            let (begun, before) = (Instant::now(), missing.len());
            let fetches = self.fetch_from(remote.as_bstr(), &missing, diagnostics)?;
            let mut odb = Odb::open(objects.clone());
            missing.retain(|it| odb.find(&it.id).is_none());
            self.account.add(FetchSums {
                fetches,
                objects: (before - missing.len()) as u64,
                time: begun.elapsed(),
            });
            if missing.is_empty() {
                return Ok(Fetched::All);
            }
        }
        Ok(match missing.first() {
            Some(first) if !git::is_promised(&self.location, &first.id) => Fetched::Unpromised,
            _ => Fetched::Lost(missing),
        })
    }

    /// Fetches `wanted` from `remote`, and returns the number of fetches. An object that the remote does not have fails
    /// the whole fetch: without the object that git names, the others are asked for again.
    fn fetch_from(
        &self,
        remote: &BStr,
        wanted: &[Missing],
        diagnostics: &mut dyn Write,
    ) -> Result<u64> {
        let shows_progress = self.account.shows_progress;
        let mut rest: Vec<ObjectId> = wanted.iter().map(|it| it.id).collect();
        let mut fetches = 0;
        while !rest.is_empty() && fetches < MAX_FETCHES {
            if shows_progress {
                let count = rest.len().to_string();
                let mut line = Vec::new();
                let values = [count.as_bytes(), remote];
                push_line(
                    &mut line,
                    "Fetching: ",
                    &filled("{} objects from {}", &values),
                );
                let _ = diagnostics.write_all(&line);
            }
            fetches += 1;
            let (name, ids) = (OsStr::from_bytes(remote), rest.iter().copied());
            let Some(said) = git::fetch(&self.location, name, ids, shows_progress, diagnostics)?
            else {
                break;
            };
            let named = ids_in(&said);
            let before = rest.len();
            rest.retain(|id| !named.contains(id));
            if rest.len() == before {
                break;
            }
        }
        Ok(fetches as u64)
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
        let error = match first.and_then(|first| first.role.shown()) {
            Some(path) => error.caused_by(Words(filled("'{}' is not in the repository", &[&path]))),
            None => error,
        };
        error.hinted(match self.lazy {
            Lazy::Allowed => "--missing=placeholder and --missing=omit do without missing files",
            Lazy::Forbidden => {
                "GIT_NO_LAZY_FETCH=0 allows to fetch; a server does not unless told so"
            }
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
    match lost.role.shown() {
        Some(path) => filled("error: {} for '{}'", &[failure(lost).as_bytes(), &path]),
        None => format!("error: {}", failure(lost)).into(),
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
