//! Publishes a commit: a delta over what the channel has, and a full archive where the way from the last one gets long.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use super::{
    address::{CHANNELS, ChannelAddress, ChannelName, TOP, is_bucket, object},
    age::{YOUNG, is_past},
    chain::cheapest_chain,
    channel::{Channel, PublishedCommit, Retired},
    published_archive::PublishedArchive,
};
use crate::{
    apply,
    bucket::{Bucket, Digest, UNFINISHED, no_bucket},
};
use sluice_base::{
    buffer::spool::Spooled,
    error::{Error, ExitKind, Result},
    io::print_line,
    progress::{Console, Done, Meter, Total},
};

/// How often the channel is read again because another publisher came first.
const ATTEMPTS: u32 = 50;
/// The longest wait before that.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// How often an archive that somebody removes is written again.
const RESCUES: u32 = 3;
/// How long a channel names an archive that it has given up.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Makes the archives of one commit.
pub trait ArchiveMaker {
    /// The commit.
    fn target(&self) -> PublishedCommit;

    /// Hash of all options that select files, without the commit. Only deltas with equal hashes can follow each other.
    fn filters(&self) -> String;

    /// Makes a full archive, or a delta over the commit `base`. A base that cannot be read is an error of the kind
    /// [`NoBase`](ExitKind::NoBase).
    fn make(&mut self, base: Option<&str>, console: Console<'_>) -> Result<Made>;

    /// How the commit stands to the `newest` commit of a channel and to the `others`, which the channel also has.
    fn standing(&self, newest: &PublishedCommit, others: &[&str]) -> Result<History>;
}

/// A commit, seen from the newest one of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// It is older: an ancestor, or earlier than a newest commit that the repository lacks.
    Older,
    /// A commit of the channel leads to it, or that is unknown.
    Ahead,
    /// Nothing of the channel leads to it.
    Foreign,
}

/// An archive.
pub struct Made {
    /// The bytes.
    pub content: Spooled,
    /// The SHA-256 of the bytes.
    pub sha256: Digest,
    /// The number of entries.
    pub entries: u64,
    /// The number of deleted paths.
    pub deletions: u64,
    /// Whether it has files that may have another content when the commit is archived again.
    pub varies: bool,
}

/// When a full archive is published in addition to a delta.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After this many deltas.
    pub steps: u32,
    /// When the deltas have more than this part of the bytes of the full archive.
    pub part: f64,
}

/// What was done, as JSON: see `schema/published.schema.json`.
#[derive(Debug, Serialize)]
pub struct Published {
    published: u32,
    channel: String,
    commit: String,
    /// Whether the channel had the commit already.
    was_there: bool,
    /// Whether the commit is the target of the channel. If not, the channel has a newer one.
    is_target: bool,
    /// The new archives.
    steps: Vec<PublishedArchive>,
    /// Bytes that were written, without the channel.
    bytes: u64,
    /// Why one of the new archives is a full one.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_reason: Option<FullReason>,
}

/// Why a full archive is published.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FullReason {
    /// The channel did not exist.
    NewChannel,
    /// The file of the channel was damaged.
    DamagedChannel,
    /// The archives of the channel were made with other filters.
    OtherFilters,
    /// The user asked for it.
    Republish,
    /// The bucket lacks archives that lead to the commit.
    MissingArchive,
    /// The repository lacks the newest commit of the channel.
    MissingBase,
    /// The delta has as many bytes.
    LargeDelta,
    /// The channel has enough deltas.
    FullEvery,
    /// The deltas of the channel have enough bytes.
    FullRatio,
}

/// How a commit is published.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// When a full archive is published.
    pub limits: Limits,
    /// Whether a commit becomes the target of the channel although it is older, has another history, or has other filters.
    pub force: bool,
    /// Whether the commit is published in full, even if the channel leads to it. A damaged channel is replaced.
    pub republish: bool,
    /// Whether the bucket is created if there is none.
    pub create: bool,
}

/// Publishes what `producer` makes at `place`, which is in `bucket`. Succeeds only if the bucket then has the archives that
/// lead to the commit.
pub fn publish(
    bucket: &dyn Bucket,
    place: &ChannelAddress,
    producer: &mut dyn ArchiveMaker,
    conditions: Conditions,
    console: Console<'_>,
) -> Result<Published> {
    let mut publication = Publication {
        bucket,
        name: &place.channel,
        producer,
        console,
        conditions,
        full: None,
        delta: None,
        seen: HashSet::new(),
        bytes: 0,
        full_reason: None,
    };
    if conditions.create && !is_bucket(bucket)? {
        let probe = format!("{CHANNELS}/{UNFINISHED}{}", std::process::id());
        bucket.create(TOP, &probe)?;
    }
    for attempt in 0..ATTEMPTS {
        let (channel, version) = Channel::read_any(bucket, &place.channel)?.unzip();
        let mut channel = match channel {
            // A damaged channel lists nothing, and is replaced.
            Some(Err(error)) if error.kind() == ExitKind::Damaged && conditions.republish => {
                publication.full_reason = Some(FullReason::DamagedChannel);
                None
            }
            channel => channel.transpose()?,
        };
        if let Some(channel) = &mut channel {
            publication.drop_missing(channel)?;
        } else if version.is_none() && !conditions.create && !is_bucket(bucket)? {
            return Err(no_bucket(place.bucket.to_string()));
        }
        let standing = publication.standing(channel.as_ref())?;
        if standing == Standing::Listed {
            publication.warn_of_old_files(channel.as_ref());
            return Ok(publication.published(standing, Vec::new(), channel.as_ref()));
        }
        let steps = publication.steps(channel.as_ref(), standing)?;
        let next = publication.next(channel, &steps, standing);
        if next.write(bucket, &place.channel, version.as_ref())? {
            publication.keep(&steps)?;
            return Ok(publication.published(standing, steps, Some(&next)));
        }
        pause(attempt);
    }
    Err(Error::fatal(format!(
        "cannot publish: {ATTEMPTS} times another publisher changed the channel '{}' first",
        place.channel
    )))
}

/// A publication under way.
struct Publication<'a> {
    bucket: &'a dyn Bucket,
    /// The channel.
    name: &'a ChannelName,
    producer: &'a mut dyn ArchiveMaker,
    console: Console<'a>,
    conditions: Conditions,
    /// The full archive, once it is in the bucket.
    full: Option<Upload>,
    /// The last delta.
    delta: Option<Upload>,
    /// Archives of the channel that are in the bucket.
    seen: HashSet<Digest>,
    /// Bytes that were written.
    bytes: u64,
    full_reason: Option<FullReason>,
}

/// An archive of this publication, with its bytes.
struct Upload {
    step: PublishedArchive,
    content: Spooled,
    /// When it was written, or found young.
    young: SystemTime,
}

impl Publication<'_> {
    /// Drops from `channel` the archives that are not in the bucket, as far as the ways to its target and to the commit, and
    /// from the commit to the target, need them. Others take their place.
    fn drop_missing(&mut self, channel: &mut Channel) -> Result<()> {
        let (own, newest) = (self.producer.target().commit, channel.target.commit.clone());
        for (held, commit) in [(None, &newest), (None, &own), (Some(&*own), &newest)] {
            while let Some(missing) = self.missing(cheapest_chain(&channel.steps, held, commit))? {
                channel.steps.retain(|step| step.sha256 != missing);
            }
        }
        Ok(())
    }

    /// The first archive of `chain` that is not in the bucket.
    fn missing(&mut self, chain: Option<Vec<&PublishedArchive>>) -> Result<Option<Digest>> {
        for step in chain.unwrap_or_default() {
            let digest = &step.sha256;
            if self.seen.contains(digest) {
                continue;
            }
            if self.bucket.written(&object(digest))?.is_none() {
                return Ok(Some(digest.clone()));
            }
            self.seen.insert(digest.clone());
        }
        Ok(None)
    }

    fn standing(&self, channel: Option<&Channel>) -> Result<Standing> {
        let Some(channel) = channel else {
            return Ok(Standing::Newest);
        };
        if channel.filters != self.producer.filters() {
            return if self.conditions.force {
                Ok(Standing::Newest)
            } else {
                Err(other_filters(self.name, channel, &self.producer.filters()))
            };
        }
        let commit = self.producer.target().commit;
        let is_target = commit == channel.target.commit;
        if !is_target && (self.conditions.force || self.is_ahead(channel)?) {
            return Ok(Standing::Newest);
        }
        match cheapest_chain(&channel.steps, None, &commit) {
            Some(_) if !self.conditions.republish => Ok(Standing::Listed),
            _ if is_target => Ok(Standing::Newest),
            // The archives that led to the newest commit may be missing.
            _ => match cheapest_chain(&channel.steps, Some(&commit), &channel.target.commit) {
                Some(_) => Ok(Standing::Older),
                None => Err(newest_is_missing(self.name, channel)),
            },
        }
    }

    /// Whether the commit is newer than the target of `channel`. A commit that nothing leads to is refused.
    fn is_ahead(&self, channel: &Channel) -> Result<bool> {
        let others: Vec<_> = channel.steps.iter().map(|step| &*step.target).collect();
        match self.producer.standing(&channel.target, &others)? {
            History::Older => Ok(false),
            History::Ahead => Ok(true),
            History::Foreign => Err(other_history(self.name, channel, &self.producer.target())),
        }
    }

    /// Warns if the channel has not moved to the commit.
    fn warn_of_newer_target(&mut self, channel: Option<&Channel>) {
        let commit = self.producer.target().commit;
        let target = channel.map(|channel| &channel.target.commit);
        if let Some(target) = target.filter(|target| **target != commit) {
            let text = format!(
                "the channel '{}' stays at {target}, which is newer; --force moves it to {commit}",
                self.name
            );
            print_line(&mut self.console, "warning: ", text.as_bytes());
        }
    }

    /// Makes the archives that `channel` lacks, and writes them.
    fn steps(
        &mut self,
        channel: Option<&Channel>,
        standing: Standing,
    ) -> Result<Vec<PublishedArchive>> {
        let Some(channel) = channel else {
            let damaged = self.full_reason;
            return self.full_because(damaged.unwrap_or(FullReason::NewChannel));
        };
        if channel.filters != self.producer.filters() {
            return self.full_because(FullReason::OtherFilters);
        }
        // The archives that lead to the commit may be damaged.
        if self.conditions.republish {
            return self.full_because(FullReason::Republish);
        }
        let is_target = self.producer.target().commit == channel.target.commit;
        let Some(last) = LastFull::of(channel).filter(|_| !is_target) else {
            return self.full_because(FullReason::MissingArchive);
        };
        let Some(delta) = self.delta(&channel.target.commit)? else {
            return self.full_because(FullReason::MissingBase);
        };
        // A delta as large as a full archive is useless.
        if delta.content.size() >= last.size {
            return self.full_because(FullReason::LargeDelta);
        }
        let reason = self.is_long(&last, delta.content.size());
        let delta = self.write(delta, Some(&channel.target.commit))?;
        let mut steps = vec![self.delta.insert(delta).step.clone()];
        if let Some(reason) = reason.filter(|_| standing == Standing::Newest) {
            steps.extend(self.full_because(reason)?);
        }
        Ok(steps)
    }

    /// Why a full archive should follow a delta of `size` bytes, if one should.
    fn is_long(&self, last: &LastFull, size: u64) -> Option<FullReason> {
        let Limits { steps, part } = self.conditions.limits;
        let bytes = last.later_bytes.saturating_add(size);
        if last.later_steps >= steps as usize {
            Some(FullReason::FullEvery)
        } else if bytes as f64 > last.size as f64 * part {
            Some(FullReason::FullRatio)
        } else {
            None
        }
    }

    fn full_because(&mut self, reason: FullReason) -> Result<Vec<PublishedArchive>> {
        self.full_reason = Some(reason);
        Ok(vec![self.full()?])
    }

    /// The delta over `base`; `None` if the base cannot be read.
    fn delta(&mut self, base: &str) -> Result<Option<Made>> {
        match self.producer.make(Some(base), self.console.reborrow()) {
            Err(error) if error.kind() == ExitKind::NoBase => Ok(None),
            made => made.map(Some),
        }
    }

    fn full(&mut self) -> Result<PublishedArchive> {
        if let Some(full) = &self.full {
            return Ok(full.step.clone());
        }
        let made = self.producer.make(None, self.console.reborrow())?;
        let full = self.write(made, None)?;
        Ok(self.full.insert(full).step.clone())
    }

    fn write(&mut self, made: Made, base: Option<&str>) -> Result<Upload> {
        apply::check_archive(made.content.reader())
            .map_err(|error| Error::fatal("cannot publish").caused_by(error.without_label()))?;
        let name = object(&made.sha256);
        let written = self.bucket.written(&name)?;
        let is_young = written.is_some_and(|written| !is_past(written, YOUNG));
        if !is_young || self.conditions.republish {
            self.send(&name, &made.content)?;
        }
        let step = PublishedArchive {
            base: base.map(ToOwned::to_owned),
            target: self.producer.target().commit,
            sha256: made.sha256,
            size: made.content.size(),
            entries: made.entries,
            deletions: made.deletions,
            time: now(),
            varies: made.varies,
        };
        Ok(Upload {
            step,
            content: made.content,
            young: SystemTime::now(),
        })
    }

    /// Sees to it that the archives of `steps`, which the channel lists by now, are in the bucket and stay there.
    fn keep(&mut self, steps: &[PublishedArchive]) -> Result<()> {
        let uploads = [self.full.take(), self.delta.take()];
        let is_listed = |upload: &Upload| steps.contains(&upload.step);
        for upload in uploads.into_iter().flatten().filter(is_listed) {
            self.keep_one(upload)?;
        }
        Ok(())
    }

    fn keep_one(&mut self, mut upload: Upload) -> Result<()> {
        let name = object(&upload.step.sha256);
        for rescue in 0.. {
            let is_there = self.bucket.written(&name)?.is_some();
            if is_there && !is_past(upload.young, YOUNG) {
                break;
            }
            if rescue == RESCUES {
                return Err(Error::fatal("cannot publish").caused_by(format!(
                    "the channel lists '{name}', which disappears each time it is written"
                )));
            }
            self.send(&name, &upload.content)?;
            upload.young = SystemTime::now();
        }
        Ok(())
    }

    fn send(&mut self, name: &str, content: &Spooled) -> Result<()> {
        let (console, size) = (&mut self.console, content.size());
        let mut meter = Meter::new("Uploading", Total::Bytes(size));
        let done = |bytes| Done {
            bytes,
            entries: None,
        };
        console.update(&mut meter, done(0));
        self.bucket.put(name, content, &mut |bytes| {
            console.update(&mut meter, done(bytes));
        })?;
        console.finish(&mut meter, done(size));
        self.bytes += size;
        Ok(())
    }

    /// Tells that the files of the commit in `channel` may be out of date.
    fn warn_of_old_files(&mut self, channel: Option<&Channel>) {
        let commit = self.producer.target().commit;
        let mut steps = channel.into_iter().flat_map(|channel| &channel.steps);
        if steps.any(|step| step.varies && step.target == commit) {
            let text = format!(
                "the published files of {commit} may be out of date, because some contain data that can change, \
                 such as tag names; --republish publishes them again"
            );
            print_line(&mut self.console, "warning: ", text.as_bytes());
        }
    }

    /// The edition after `steps` are added to `channel`.
    fn edition(&self, channel: &Channel, steps: &[PublishedArchive]) -> Option<Digest> {
        let is_again = channel.target.commit == self.producer.target().commit;
        let is_listed =
            |new: &PublishedArchive| channel.steps.iter().any(|old| old.sha256 == new.sha256);
        let differs = |new: &&PublishedArchive| is_again && new.varies && !is_listed(new);
        let other = steps.iter().find(differs).map(|step| &step.sha256);
        other.or(channel.edition.as_ref()).cloned()
    }

    /// The channel with `steps` after those of `channel`.
    fn next(
        &self,
        channel: Option<Channel>,
        steps: &[PublishedArchive],
        standing: Standing,
    ) -> Channel {
        let filters = self.producer.filters();
        let mut target = self.producer.target();
        let Some(channel) = channel else {
            return Channel::new(filters, target, steps.to_vec());
        };
        let same = Some(&channel).filter(|channel| channel.filters == filters);
        let edition = same.and_then(|channel| self.edition(channel, steps));
        let first = match same {
            Some(same) if same.edition == edition => first_kept(same, steps, standing),
            _ => channel.steps.len(),
        };
        if standing == Standing::Older {
            target = channel.target;
        }
        let time = now();
        let mut retired = channel.retired;
        retired.extend(channel.steps.iter().map(|step| Retired {
            sha256: step.sha256.clone(),
            time,
        }));
        let is_replaced = |old: &PublishedArchive| {
            // Such an archive of the same commit has files that may be out of date.
            let is_old = self.conditions.republish && old.varies && old.target == steps[0].target;
            is_old || steps.iter().any(|step| step.sha256 == old.sha256)
        };
        let kept = channel.steps.into_iter().skip(first);
        let kept = kept.filter(|step| !is_replaced(step));
        let all: Vec<_> = kept.chain(steps.iter().cloned()).collect();
        retired.retain(|old| {
            let is_listed = all.iter().any(|step| step.sha256 == old.sha256);
            !is_listed && old.time + REMEMBERED.as_secs() > time
        });
        let mut next = Channel::new(filters, target, all);
        next.edition = edition;
        next.retired = retired;
        next
    }

    /// What was done, after a warning if the channel has not moved to the commit.
    fn published(
        &mut self,
        standing: Standing,
        steps: Vec<PublishedArchive>,
        channel: Option<&Channel>,
    ) -> Published {
        self.warn_of_newer_target(channel);
        let commit = self.producer.target().commit;
        Published {
            published: 1,
            channel: self.name.to_string(),
            was_there: standing == Standing::Listed,
            is_target: channel.is_some_and(|channel| channel.target.commit == commit),
            commit,
            full_reason: self
                .full_reason
                .filter(|_| steps.iter().any(|step| step.base.is_none())),
            steps,
            bytes: self.bytes,
        }
    }
}

/// The error of a publication whose filters have the hash `own`.
fn other_filters(name: &ChannelName, channel: &Channel, own: &str) -> Error {
    Error::fatal(format!(
        "cannot publish: the archives of the channel '{name}' were created with other options"
    ))
    .caused_by(format!(
        "their filters have the hash {}, these {own}",
        channel.filters
    ))
    .hinted("give the options of the channel, or add --force to replace the files of every machine")
}

/// The error of an older commit, if no archive leads to the newest one any more.
fn newest_is_missing(name: &ChannelName, channel: &Channel) -> Error {
    let newest = &channel.target.commit;
    Error::fatal("cannot publish an older commit")
        .caused_by(format!(
            "no archive in the bucket leads to {newest}, the newest commit of the channel '{name}'"
        ))
        .hinted(format!(
            "publish the newest commit first: git sluice publish --republish <bucket>/{name} {newest}"
        ))
}

/// The error of a `commit` that nothing in the channel leads to.
fn other_history(name: &ChannelName, channel: &Channel, commit: &PublishedCommit) -> Error {
    Error::fatal(format!(
        "cannot publish: no commit of the channel '{name}' leads to {}",
        commit.commit
    ))
    .caused_by(format!(
        "the newest one is {}, perhaps of another repository",
        channel.target.commit
    ))
    .hinted("name another channel, or add --force to replace the files of every machine")
}

/// The commit, seen from the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The channel leads to it.
    Listed,
    /// It becomes the target.
    Newest,
    /// The channel has a newer commit as its target, which stays.
    Older,
}

/// The newest full archive from which deltas lead to the target of a channel, and these deltas. An older commit may have a
/// full archive after it in the list, and a commit that was published again may have one after its deltas.
struct LastFull {
    /// The place of the first of these archives in the list.
    at: usize,
    /// The size of the full archive, in bytes.
    size: u64,
    later_steps: usize,
    later_bytes: u64,
}

impl LastFull {
    fn of(channel: &Channel) -> Option<Self> {
        let is_full = |step: &PublishedArchive| step.base.is_none();
        let deltas = channel.steps.iter().filter(|step| !is_full(step)).cloned();
        let deltas = Vec::from_iter(deltas);
        let mut fulls = channel.steps.iter().rev().filter(|step| is_full(step));
        fulls.find_map(|full| {
            let deltas = cheapest_chain(&deltas, Some(&full.target), &channel.target.commit)?;
            let is_in_chain = |step| step == full || deltas.contains(&step);
            Some(Self {
                at: channel.steps.iter().position(is_in_chain)?,
                size: full.size,
                later_steps: deltas.len(),
                later_bytes: deltas.iter().map(|step| step.size).sum(),
            })
        })
    }
}

/// The place of the first step of `channel` that stays when `new` ones come. A full archive of the newest commit leaves the
/// steps from the full archive before it, so that readers of older commits still find their delta.
fn first_kept(channel: &Channel, new: &[PublishedArchive], standing: Standing) -> usize {
    let is_full = new.iter().any(|step| step.base.is_none());
    if is_full && standing == Standing::Newest {
        LastFull::of(channel).map_or(0, |last| last.at)
    } else {
        0
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Waits longer from attempt to attempt, and not as long as another process.
fn pause(attempt: u32) {
    let most = Duration::from_millis(5 << attempt.min(8)).min(MAX_PAUSE);
    let part = f64::from(std::process::id() % 16 + 1) / 16.0;
    thread::sleep(most.mul_f64(part));
}
