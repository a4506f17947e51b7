//! The remotes from which a partial clone has what it lacks.
//!
//! The installed git fetches, with the command that git itself runs for a missing object: the configuration, the
//! protocols and the credentials are git's business. Must not decide which objects are wanted.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    sync::Arc,
    time::{Duration, Instant},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use serde::Serialize;

use crate::{
    config::{Config, value::parse_truth},
    objects::wanted::Missing,
    odb::{self, Odb},
    program::{self, GitLocation},
};
use sluice_base::{
    error::{Result, counted, format_bytes},
    io::print_line,
    serialize_seconds,
    threads::Lock,
};

/// The most fetches from one remote that lacks objects: each lacking object fails a fetch.
const MAX_FETCHES: usize = 64;

/// The promisor remotes of a repository.
#[derive(Clone)]
pub(super) struct Promisor {
    /// In the order in which they are asked.
    remotes: Vec<BString>,
    /// The repository that lacks objects.
    location: GitLocation,
    /// The objects of this repository.
    objects: odb::Config,
}

/// The account of all fetches of a run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FetchAccount {
    shows_progress: bool,
    sums: Arc<Lock<FetchSums>>,
}

/// The fetches of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FetchSums {
    /// How often a remote was asked.
    pub fetches: u64,
    /// Missing objects that came.
    pub objects: u64,
    /// The time that this took.
    #[serde(rename = "seconds", serialize_with = "serialize_seconds")]
    pub time: Duration,
}

impl FetchSums {
    /// Whether nothing was fetched.
    pub fn is_empty(&self) -> bool {
        self.fetches == 0
    }
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
        *self.sums.lock()
    }

    fn add(&self, sums: FetchSums) {
        let mut all = self.sums.lock();
        all.fetches += sums.fetches;
        all.objects += sums.objects;
        all.time += sums.time;
    }
}

impl Promisor {
    /// Those in the configuration of the repository at `location` with these `objects`; `None` where there are none.
    pub(super) fn read(
        config: &Config,
        location: &GitLocation,
        objects: &odb::Config,
    ) -> Option<Self> {
        let remotes = remotes(config);
        (!remotes.is_empty()).then(|| Self {
            remotes,
            location: location.clone(),
            objects: objects.clone(),
        })
    }

    /// Whether they are those of the repository at `location`.
    pub(super) fn is_at(&self, location: &GitLocation) -> bool {
        self.location.git_dir == location.git_dir
    }

    /// Fetches the `missing` objects: all at once from each remote in turn, as long as some are missing. Returns those
    /// that still are. git's messages go to `diagnostics`.
    pub(super) fn fetch(
        &self,
        mut missing: Vec<Missing>,
        account: &FetchAccount,
        diagnostics: &mut dyn Write,
    ) -> Result<Vec<Missing>> {
        for remote in &self.remotes {
            if missing.is_empty() {
                break;
            }
            let (begun, before) = (Instant::now(), missing.len());
            let remote = remote.as_bstr();
            let fetches = self.fetch_from(remote, &missing, account.shows_progress, diagnostics)?;
            let mut odb = Odb::open(self.objects.clone());
            missing.retain(|it| odb.find(&it.id).is_none());
            account.add(FetchSums {
                fetches,
                objects: (before - missing.len()) as u64,
                time: begun.elapsed(),
            });
        }
        Ok(missing)
    }

    /// Whether a remote has promised the `missing` object.
    pub(super) fn has_promised(&self, missing: &Missing) -> bool {
        program::is_promised(&self.location, &missing.id)
    }

    /// Fetches `wanted` from `remote`, and returns the number of fetches. An object that the remote does not have fails
    /// the whole fetch: without the object that git names, the others are asked for again.
    fn fetch_from(
        &self,
        remote: &BStr,
        wanted: &[Missing],
        shows_progress: bool,
        diagnostics: &mut dyn Write,
    ) -> Result<u64> {
        let mut rest: Vec<ObjectId> = wanted.iter().map(|it| it.id).collect();
        let mut fetches = 0;
        while !rest.is_empty() && fetches < MAX_FETCHES {
            if shows_progress {
                let count = counted(rest.len() as u64, "object");
                let text = format_bytes("{} from {}", &[count.as_bytes(), remote]);
                print_line(diagnostics, "Fetching: ", &text);
            }
            fetches += 1;
            let (name, ids) = (OsStr::from_bytes(remote), rest.iter().copied());
            let Some(said) =
                program::fetch(&self.location, name, ids, shows_progress, diagnostics)?
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
}

/// Whether the configuration has a promisor remote.
pub(super) fn exists(config: &Config) -> bool {
    !remotes(config).is_empty()
}

/// The names of the promisor remotes, in git's order: that of the configuration, with the remote of
/// `extensions.partialClone` last.
fn remotes(config: &Config) -> Vec<BString> {
    let mut names: Vec<BString> = Vec::new();
    for (name, key, value) in config.section("remote") {
        let Some(name) = name else {
            continue;
        };
        let is_promisor = match key.as_bytes() {
            b"promisor" => value.is_none_or(|value| parse_truth(value) == Some(true)),
            b"partialclonefilter" => value.is_some(),
            _ => false,
        };
        if is_promisor && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if let Some(last) = config.string("extensions.partialClone") {
        names.retain(|name| name != last);
        names.push(last.to_owned());
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
    use super::{ids_in, remotes};
    use crate::config::Config;

    #[test]
    fn remotes_are_asked_in_gits_order() {
        let config = "[remote \"b\"]\nurl = x\n[remote \"last\"]\npromisor\n\
            [remote \"a\"]\npromisor = true\n[remote \"no\"]\npromisor = false\n\
            [remote \"-x\"]\npromisor\n[remote \"/x\"]\npromisor\n\
            [remote \"b\"]\npartialclonefilter = blob:none\n[extensions]\npartialclone = last\n";
        let config = Config::of_text(config);
        assert_eq!(remotes(&config), ["a", "b", "last"]);
        assert!(remotes(&Config::of_text("[remote \"b\"]\nurl = x\n")).is_empty());
    }

    #[test]
    fn ids_are_found_in_messages() {
        let id = "257309626646290ec24153feb59ec327acca8a6c";
        let text = format!("fatal: remote error: upload-pack: not our ref {id}\nfatal: deadbeef");
        let found: Vec<_> = ids_in(text.as_bytes()).into_iter().collect();
        assert_eq!(found, [id.parse::<gix_hash::ObjectId>().unwrap()]);
    }
}
