//! Brings a directory to a commit of a channel.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::{
    address::{ChannelAddress, object},
    chain::cheapest_chain,
    channel::{Channel, not_there},
    published_archive::PublishedArchive,
};
use crate::{
    apply::{
        self, ApplyOptions, Archive, ChannelOrigin, Check, Content, Id, LockedDirectory, Reports,
        TargetDirectory,
    },
    bucket::{Bucket, Digest, Hashing},
};
use sluice_base::{
    buffer::spool::{Spool, Spooled},
    error::{Error, ExitKind, Result},
    io::print_line,
    progress::{Console, Done, Meter, Total},
};

/// The bytes of archives that are held in memory. A larger archive is in an unnamed file while it is checked.
const IN_MEMORY: usize = 16 << 20;
/// The archives that wait while another one is applied.
const AHEAD: usize = 1;
/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// What is asked for.
pub struct Update<'a> {
    /// The channel.
    pub place: &'a ChannelAddress,
    /// The directory that is brought to a commit.
    pub directory: &'a TargetDirectory,
    /// The commit; by default the newest one.
    pub commit: Option<Id>,
    /// Whether the directory is compared, first, with what archives have brought there, and what becomes of files of the user.
    pub options: ApplyOptions,
}

/// Does what `update` asks for, with the archives in `bucket`. Succeeds only if the directory then holds the commit.
///
/// A damaged archive is skipped if another chain leads to the commit, with a warning.
pub fn update(bucket: &dyn Bucket, update: &Update<'_>, mut reports: Reports<'_>) -> Result<()> {
    // The directory changes for nobody else from the first look at it to the last archive.
    let root = &LockedDirectory::create(update.directory)?;
    let mut start = update.start(root, &mut reports)?;
    let mut broken: Vec<(Digest, Error)> = Vec::new();
    loop {
        // Read again after a failure: an archive may be missing because the channel has a better one.
        let Some((mut channel, _)) = Channel::read(bucket, &update.place.channel)? else {
            return Err(not_there(bucket, update.place));
        };
        channel.steps.retain(|step| {
            let is_broken = |(digest, _): &(Digest, Error)| *digest == step.sha256;
            !broken.iter().any(is_broken)
        });
        let Some(route) = update.route(root, &channel, start)? else {
            let missing = || update.not_there(&channel);
            return Err(broken.pop().map_or_else(missing, |(_, error)| error));
        };
        let journey = Journey {
            bucket,
            update,
            root,
            origin: channel.origin(),
        };
        match journey.follow(&route, &mut start, &mut reports)? {
            None => return Ok(()),
            Some((digest, error)) => {
                let text = format!("{}; using another chain of archives", error.message());
                print_line(&mut reports.console, "warning: ", text.as_bytes());
                broken.push((digest, error));
            }
        }
    }
}

/// Where a way begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// At what the directory holds.
    Held,
    /// At nothing: what the directory holds differs from what archives have brought, or cannot be compared.
    FromScratch,
}

impl Update<'_> {
    /// Compares the directory, if that is asked for.
    fn start(&self, root: &LockedDirectory, reports: &mut Reports<'_>) -> Result<Start> {
        let content = apply::state(root)?.map(|state| state.content);
        let is_repair = self.options.check == Check::Repair;
        let from_scratch = || apply::open_directories(root).map(|()| Start::FromScratch);
        match (self.options.check, content) {
            (Check::Nothing, _) | (_, None) => return Ok(Start::Held),
            // No list says what an interrupted application has left.
            (Check::Repair, Some(Content::Applying { .. })) => return from_scratch(),
            _ => {}
        }
        let (differences, console) = (&mut *reports.differences, &mut reports.console);
        match apply::check_locked(root, differences, apply::text_line, console) {
            Err(error) if is_repair && error.kind() == ExitKind::DirectoryDiffers => from_scratch(),
            checked => checked.map(|()| Start::Held),
        }
    }

    /// The archives that lead to the commit, in order. `None` if there is no way.
    fn route<'v>(
        &self,
        root: &LockedDirectory,
        channel: &'v Channel,
        start: Start,
    ) -> Result<Option<Vec<&'v PublishedArchive>>> {
        let commit = self.commit.as_ref().map(Id::to_string);
        let target = commit.as_ref().unwrap_or(&channel.target.commit);
        let steps = &channel.steps;
        let from_scratch = || cheapest_chain(steps, None, target);
        // The same commit of another channel has other files.
        let state = match start {
            Start::Held => apply::state(root)?,
            Start::FromScratch => None,
        };
        let key = channel.origin().map(|origin| origin.key);
        let state = state.filter(|state| state.origin == key);
        Ok(match state.map(|state| state.content) {
            Some(Content::Holds(held)) => cheapest_chain(steps, Some(&held.to_string()), target),
            // An interrupted application goes on with the same archive.
            Some(Content::Applying {
                base: Some(base),
                target: middle,
            }) => {
                let (base, middle) = (base.to_string(), middle.to_string());
                let again = |step: &&PublishedArchive| {
                    step.base.as_ref() == Some(&base) && step.target == middle
                };
                let again = steps.iter().find(again);
                let on = again.and_then(|step| {
                    let rest = cheapest_chain(steps, Some(&middle), target)?;
                    Some([&[step], &rest[..]].concat())
                });
                let len =
                    |way: &Vec<&PublishedArchive>| way.iter().map(|step| step.size).sum::<u64>();
                on.into_iter().chain(from_scratch()).min_by_key(len)
            }
            _ => from_scratch(),
        })
    }

    /// The error of a channel that does not lead to the commit.
    fn not_there(&self, channel: &Channel) -> Error {
        let commit = self.commit.as_ref().map(Id::to_string);
        let target = commit.as_ref().unwrap_or(&channel.target.commit);
        let name = &self.place.channel;
        Error::not_there(format!("the channel '{name}' does not lead to {target}"))
            .hinted(format!(
                "publish it, even if it was published before: git sluice publish <bucket>/{name} {target}"
            ))
    }
}

/// The application of some archives.
struct Journey<'a> {
    bucket: &'a dyn Bucket,
    update: &'a Update<'a>,
    root: &'a LockedDirectory,
    origin: Option<ChannelOrigin>,
}

impl Journey<'_> {
    /// Applies the archives of `route`, each fetched while the one before is applied. Returns an archive that is
    /// damaged; those before it are applied, if any is.
    ///
    /// If one of several archives may have a file of the user in its way, all are fetched and checked before the first one is
    /// applied.
    fn follow(
        &self,
        route: &[&PublishedArchive],
        start: &mut Start,
        reports: &mut Reports<'_>,
    ) -> Result<Option<(Digest, Error)>> {
        let checks_all = route.len() > 1
            && !self.update.options.overwrite
            && apply::has_files_of_user(self.root)?;
        let (ahead, in_memory) = if checks_all {
            (route.len(), IN_MEMORY / route.len())
        } else {
            (AHEAD, IN_MEMORY)
        };
        let mut fetching = Fetching::new(route);
        let bytes = Arc::clone(&fetching.bytes);
        thread::scope(|scope| {
            let (sender, fetched) = bounded(ahead);
            let fetch_all = move || {
                for step in route {
                    let archive = fetch(self.bucket, step, in_memory, &bytes);
                    let is_last = archive.is_err();
                    if sender.send(archive).is_err() || is_last {
                        return;
                    }
                }
            };
            thread::Builder::new()
                .spawn_scoped(scope, fetch_all)
                .map_err(|error| Error::fatal("cannot start a thread").caused_by(error))?;
            let mut waiting = Vec::new();
            for step in route {
                let Some(archive) = fetching.wait(&fetched, &mut reports.console) else {
                    break;
                };
                let archive = match archive {
                    Err(error) if error.kind() == ExitKind::Damaged => {
                        return Ok(Some((step.sha256.clone(), error)));
                    }
                    archive => archive?,
                };
                if checks_all {
                    waiting.push(archive)
                } else {
                    self.apply(step, &archive, start, reports)?
                }
            }
            apply::check_files_of_user(self.root, waiting.iter().map(Spooled::reader))?;
            for (step, archive) in route.iter().zip(&waiting) {
                self.apply(step, archive, start, reports)?;
            }
            Ok(None)
        })
    }

    /// Applies one archive. The next one begins at what the directory then holds.
    fn apply(
        &self,
        step: &PublishedArchive,
        archive: &Spooled,
        start: &mut Start,
        reports: &mut Reports<'_>,
    ) -> Result<()> {
        let check = match std::mem::replace(start, Start::Held) {
            Start::Held => Check::Nothing,
            Start::FromScratch => Check::Repair,
        };
        let reports = Reports {
            // They were reported before.
            differences: &mut io::sink(),
            console: reports.console.reborrow(),
        };
        let archive = Archive {
            content: archive.reader(),
            len: Some(step.size),
            origin: self.origin.clone(),
        };
        let options = ApplyOptions {
            check,
            ..self.update.options
        };
        apply::apply_locked(self.root, archive, options, reports)?;
        let state = apply::state(self.root)?;
        let content = state.map(|state| state.content);
        match content {
            Some(Content::Holds(held)) if held.to_string() == step.target => Ok(()),
            _ => Err(Error::damaged(format!(
                "the archive {} does not lead to {}, as the channel says",
                step.sha256, step.target
            ))),
        }
    }
}

/// Shows how much of some archives is fetched.
struct Fetching {
    bytes: Arc<AtomicU64>,
    total: u64,
    meter: Meter,
}

impl Fetching {
    fn new(route: &[&PublishedArchive]) -> Self {
        let total = route
            .iter()
            .fold(0, |sum: u64, step| sum.saturating_add(step.size));
        Self {
            bytes: Arc::default(),
            total,
            meter: Meter::new("Fetching", Total::Bytes(total)),
        }
    }

    /// Waits for the next archive; `None` after the last one.
    fn wait<T>(&mut self, fetched: &Receiver<T>, console: &mut Console<'_>) -> Option<T> {
        let archive = loop {
            let done = self.done();
            if done.bytes < self.total {
                console.update(&mut self.meter, done);
            }
            match fetched.recv_timeout(TICK) {
                Err(RecvTimeoutError::Timeout) => {}
                archive => break archive.ok(),
            }
        };
        let done = self.done();
        if done.bytes == self.total {
            console.finish(&mut self.meter, done);
        }
        archive
    }

    fn done(&self) -> Done {
        Done {
            bytes: self.bytes.load(Ordering::Relaxed),
            entries: None,
        }
    }
}

/// Fetches the archive of `step` whole, and checks it. Holds as many bytes as `in_memory` in memory, and adds to `bytes` what
/// comes.
fn fetch(
    bucket: &dyn Bucket,
    step: &PublishedArchive,
    in_memory: usize,
    bytes: &AtomicU64,
) -> Result<Spooled> {
    let (mut spool, mut hashing) = (Spool::new(in_memory), Hashing::default());
    let name = object(&step.sha256);
    let damaged = |how: &str| Error::damaged(format!("the archive '{name}' {how}"));
    let is_there = bucket.fetch(&name, step.size, &mut |piece| {
        if spool.size() + piece.len() as u64 > step.size {
            return Err(damaged("is longer than the channel says"));
        }
        hashing.update(piece);
        bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        let written = spool.write_all(piece);
        written.map_err(|error| Error::fatal("cannot keep an archive").caused_by(error))
    })?;
    let sum = hashing.finish()?;
    if !is_there {
        Err(damaged("is missing").hinted(
            "git sluice publish --republish <bucket>/<channel> <commit> writes a full archive",
        ))
    } else if spool.size() != step.size {
        Err(damaged("is shorter than the channel says"))
    } else if sum != step.sha256 {
        Err(damaged("has other bytes than were published"))
    } else {
        spool
            .finish()
            .map_err(|error| Error::fatal("cannot keep an archive").caused_by(error))
    }
}
