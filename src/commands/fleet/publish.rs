//! `publish`: publishes a commit in a channel, as a delta or in full.

use std::{
    ffi::OsStr,
    io::{self, Write},
};

use gix_hash::ObjectId;

use super::channel_word::{is_bucket, no_channel, refuse_nested};
use crate::commands::archive::total;
use sluice_base::{
    buffer::spool::Spool,
    error::{Error, Result},
    progress::{Console, Meter},
};
use sluice_cli as cli;
use sluice_cli::{Args, CliError, RawArgs};
use sluice_core::context::{Context, Opened, Question};
use sluice_core::{
    archive::{self, ArchiveOutputs, RunStats},
    output::report::json_line,
    request::{Inputs, Purpose, Request, format::Format},
};
use sluice_fleet::{
    bucket::{self, BucketUrl, Hashing, shown},
    channels::{
        self, ArchiveMaker, ChannelAddress, Conditions, History, Limits, Made, PublishedCommit,
    },
};
use sluice_git::{
    program,
    repository::{Repository, promisor::FetchAccount},
};

/// The bytes of an archive that are held in memory. A larger archive is in an unnamed file until its name, which is its
/// hash, is known.
const IN_MEMORY: usize = 16 << 20;

pub(in crate::commands) fn run(
    words: RawArgs<'_>,
    mut context: Context<'_>,
) -> Result<(), CliError> {
    let (options, question) = context.question(words, |it: &cli::Publish, extras| {
        let mut args = it.args(extras);
        args.fail_if_varies = it.fail_if_varies;
        args.encoding.format = Some(Format::PUBLISHED.row().name.into());
        args
    })?;
    Ok(publish(&options, question, &mut context)?)
}

/// Publishes the archives of a commit, and prints a line about them.
fn publish(options: &cli::Publish, question: Question, context: &mut Context<'_>) -> Result<()> {
    refuse_swapped(options, context)?;
    let place = ChannelAddress::parse(&options.channel)?;
    if !options.create {
        let nested = refuse_nested(&options.channel, context.directory());
        nested.map_err(|(error, place)| {
            error.hinted_command("git sluice publish {} <commit>", &[place.as_bytes()])
        })?;
    }
    refuse_alone(&options.channel).map_err(|error| explained(options, error, context))?;
    let timeout = options.bucket.timeout;
    let bucket = bucket::open(&place.bucket, context.directory(), timeout)?;
    let screen = context.screen(&options.progress);
    let fetches = FetchAccount::new(screen.is_some());
    let Opened {
        repository,
        formats,
        environment,
    } = question.opened;
    let described = (&question.args, &formats, &*environment);
    let inputs = context.inputs(described, Purpose::Publish, &fetches);
    let mut console = Console::new(&mut *context.messages, screen);
    let mut archives = Archives::new(inputs, repository?, &mut console)?;
    let conditions = Conditions {
        limits: Limits {
            steps: options.full_every,
            part: options.full_ratio,
        },
        force: options.force,
        republish: options.republish,
        create: options.create,
    };
    let published = channels::publish(&*bucket, &place, &mut archives, conditions, console);
    let published = published.map_err(|error| explained(options, error, context))?;
    let mut destination = question.destination;
    json_line(&published, &mut destination)?;
    destination.complete()
}

/// The `error` of a publication whose word may name a bucket and no channel.
fn explained(options: &cli::Publish, error: Error, context: &Context<'_>) -> Error {
    let url = BucketUrl::new(&options.channel);
    if is_bucket(
        &options.channel,
        context.directory(),
        options.bucket.timeout,
    ) {
        let url = url.to_string();
        Error::fatal(no_channel(&url)).hinted_command(
            "git sluice publish {}/<channel> <commit>",
            &[url.as_bytes()],
        )
    } else {
        error
    }
}

/// Refuses a channel in the place of the commit. Only a directory that is a bucket tells that from the name of a branch, unless no
/// branch can have the name.
fn refuse_swapped(options: &cli::Publish, context: &Context<'_>) -> Result<()> {
    let word = options.content.treeish.as_deref().and_then(OsStr::to_str);
    let Some(word) = word.filter(|word| word.contains('/')) else {
        return Ok(());
    };
    let has_bucket = |word: &str| {
        let place = ChannelAddress::parse(word).ok();
        let is_here = |place: &ChannelAddress| place.bucket.path().is_some();
        let bucket = place.filter(is_here).map(|place| place.bucket.to_string());
        bucket.is_some_and(|bucket| is_bucket(&bucket, context.directory(), options.bucket.timeout))
    };
    let is_place = word.starts_with(['.', '/']) || BucketUrl::is_url(word);
    if is_place || (!options.create && has_bucket(word) && !has_bucket(&options.channel)) {
        let (place, commit) = (shown(word), &options.channel);
        let refused = format!("'{place}' is a channel, and comes before the commit");
        let values = [place.as_bytes(), commit.as_bytes()];
        Err(Error::fatal(refused).hinted_command("git sluice publish {} {}", &values))
    } else {
        Ok(())
    }
}

/// Refuses the name of a channel without a bucket: the current directory is hardly meant.
fn refuse_alone(word: &str) -> Result<()> {
    if word.contains('/') {
        Ok(())
    } else {
        let refused = Error::fatal(format!("'{word}' has no bucket part"));
        let command = "git sluice publish <bucket>/{} <commit>";
        Err(refused.hinted_command(command, &[word.as_bytes()]))
    }
}

/// Makes the archives of one commit of one repository.
struct Archives<'a> {
    inputs: Inputs<'a>,
    repository: Repository,
    target: PublishedCommit,
    filters: String,
    /// Whether the user was warned of exclude files that do not exist.
    has_warned: bool,
}

impl<'a> Archives<'a> {
    fn new(inputs: Inputs<'a>, repository: Repository, console: &mut Console<'_>) -> Result<Self> {
        let request = Request::resolve(inputs, Ok(repository.clone()), console)?;
        let cannot = |reason: &str| Error::fatal(format!("cannot publish: {reason}"));
        let filters = request
            .filters_hash
            .as_ref()
            .map_err(|reason| cannot(reason))?;
        let subject = request.content.subject();
        let commit = subject.commit;
        let commit = commit.ok_or_else(|| cannot("a channel has commits, and this is a tree"))?;
        Ok(Self {
            filters: filters.hex(),
            target: PublishedCommit {
                commit,
                tree: subject.tree,
                time: request.content.archived().treeish.time,
            },
            has_warned: false,
            inputs,
            repository,
        })
    }

    /// The request for an archive, over `base` if there is one.
    fn request(&self, base: Option<&str>, console: &mut Console<'_>) -> Result<Request> {
        let mut args = Args::clone(self.inputs.args);
        args.delta.base = base.map(Into::into);
        // Another process may move the branch.
        args.content.treeish = Some(self.target.commit.clone().into());
        let inputs = Inputs {
            args: &args,
            ..self.inputs
        };
        let mut request = Request::resolve(inputs, Ok(self.repository.clone()), console)?;
        if request.content.format.command().is_some() {
            // The configuration has a command for the format, which may make other bytes than readers know.
            request.content.format = Format::PUBLISHED;
        }
        request.run.cache = None;
        Ok(request)
    }
}

impl ArchiveMaker for Archives<'_> {
    fn target(&self) -> PublishedCommit {
        self.target.clone()
    }

    fn filters(&self) -> String {
        self.filters.clone()
    }

    fn make(&mut self, base: Option<&str>, mut console: Console<'_>) -> Result<Made> {
        let request = self.request(base, &mut console)?;
        if !std::mem::replace(&mut self.has_warned, true) {
            request.run.warn(&mut console);
        }
        let request = if self.inputs.args.fail_if_varies {
            archive::refuse_varying(request, &mut console)?
        } else {
            request
        };
        let mut kept = HashedSpool {
            spool: Spool::new(IN_MEMORY),
            hashing: Hashing::default(),
        };
        let mut stats = RunStats::default();
        let shareable = request.run.shareable.clone();
        let outputs = ArchiveOutputs {
            destination: &mut kept,
            console,
            meter: Meter::new("Archiving", total(&request)),
        };
        archive::run(request, outputs, &mut stats)?;
        let content = kept.spool.finish();
        let summary = stats.summary;
        Ok(Made {
            content: content.map_err(|error| Error::write(&error))?,
            sha256: kept.hashing.finish()?,
            entries: summary.counts.entries,
            deletions: summary.changes.map_or(0, |changes| changes.deleted),
            varies: shareable.varies(),
        })
    }

    fn standing(&self, newest: &PublishedCommit, others: &[&str]) -> Result<History> {
        let has_newest = self.has(&newest.commit);
        if has_newest && self.leads(&self.target.commit, &newest.commit)? {
            return Ok(History::Older);
        }
        // A shallow clone does not know all ancestors. One of an older commit does not have the newer one.
        let is_shallow = self.repository.is_shallow();
        if !is_shallow && !self.is_related([&*newest.commit].iter().chain(others))? {
            return Ok(History::Foreign);
        }
        Ok(if !has_newest && newest.time > self.target.time {
            History::Older
        } else {
            History::Ahead
        })
    }
}

impl Archives<'_> {
    fn has(&self, commit: &str) -> bool {
        let id = ObjectId::from_hex(commit.as_bytes());
        id.is_ok_and(|id| self.repository.odb().find(&id).is_some())
    }

    /// Whether the history of `commit` has `ancestor`.
    fn leads(&self, ancestor: &str, commit: &str) -> Result<bool> {
        program::is_ancestor(&self.repository.location, ancestor, commit)
    }

    /// Whether one of `commits` is in the history of the published commit, or the published commit in its history.
    fn is_related<'c>(&self, commits: impl IntoIterator<Item = &'c &'c str>) -> Result<bool> {
        let own = &self.target.commit;
        for commit in commits.into_iter().filter(|commit| self.has(commit)) {
            if self.leads(commit, own)? || self.leads(own, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Keeps an archive, and hashes it.
struct HashedSpool {
    spool: Spool,
    hashing: Hashing,
}

impl Write for HashedSpool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.spool.write(bytes)?;
        self.hashing.update(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
