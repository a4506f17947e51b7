//! `--publish`: the archives of a commit for a view.

use std::io::{self, Write};

use gix::ObjectId;

use super::archive::{Invocation, total};
use crate::{
    archive::{self, Outputs, RunStats},
    base::{
        buffer::spool::Spool,
        error::{Error, Result},
    },
    cli::Args,
    directory::{
        bucket::{self, BucketUrl, Hashing},
        channels::{self, Conditions, Limits, Made, Place, Producer, Target},
    },
    format::zstd::Level,
    git::repository::Repository,
    output::{
        Destination,
        report::{Console, Meter, json_line},
    },
    request::{Inputs, Request, format::Format},
};

/// The format of what is published.
const FORMAT: &str = "tar.zst";
/// The bytes of an archive that are held in memory. A larger archive is in an unnamed file until its name, which is its
/// hash, is known.
const IN_MEMORY: usize = 16 << 20;

impl Invocation<'_> {
    /// Publishes at `place` what `inputs` ask for, and says so on `destination`.
    pub(super) fn publish(
        &mut self,
        place: &str,
        inputs: Inputs<'_>,
        repository: Result<Repository>,
        mut destination: Destination,
    ) -> Result<()> {
        let word = place;
        let place = Place::parse(word)?;
        refuse_alone(word)?;
        let options = &self.args.fleet;
        let directory = self.environment.directory();
        let bucket = bucket::open(&place.bucket, directory, options.bucket_timeout)?;
        let limits = Limits {
            steps: options.publish_steps,
            part: options.publish_ratio,
        };
        let conditions = Conditions {
            limits,
            force: options.force,
            create: options.create,
        };
        let screen = self.screen();
        let mut console = Console::new(&mut *self.streams.messages, screen);
        let mut archives = Archives::new(inputs, repository?, &mut console)?;
        let published = channels::publish(&*bucket, &place, &mut archives, conditions, console);
        let published = published.map_err(|error| self.explained(word, error))?;
        json_line(&published, &mut destination)?;
        destination.complete()
    }

    /// The error of a publication at `word`, which may name a bucket and no view.
    fn explained(&self, word: &str, error: Error) -> Error {
        let (url, deadline) = (BucketUrl::new(word), self.args.fleet.bucket_timeout);
        let bucket = bucket::open(&url, self.environment.directory(), deadline);
        match bucket.and_then(|bucket| channels::is_bucket(&*bucket)) {
            Ok(true) => Error::fatal(format!("'{url}' is a bucket and names no view"))
                .hinted(format!("--publish={url}/<view>")),
            _ => error,
        }
    }
}

/// Refuses the name of a view without a bucket: the current directory is hardly meant.
fn refuse_alone(word: &str) -> Result<()> {
    match word.contains('/') {
        true => Ok(()),
        false => Err(Error::fatal(format!("'{word}' names a view and no bucket"))
            .hinted(format!("--publish=<bucket>/{word}"))),
    }
}

/// Makes the archives of one commit of one repository.
struct Archives<'a> {
    inputs: Inputs<'a>,
    /// The arguments, with the format of what is published.
    args: Args,
    repository: Repository,
    target: Target,
    filters: String,
    /// Whether the user was warned of ignore files that do not exist.
    has_warned: bool,
}

impl<'a> Archives<'a> {
    fn new(inputs: Inputs<'a>, repository: Repository, console: &mut Console<'_>) -> Result<Self> {
        let mut args = Args::clone(inputs.args);
        args.format = Some(FORMAT.into());
        let with_format = Inputs {
            args: &args,
            ..inputs
        };
        let request = Request::resolve(with_format, Ok(repository.clone()), console)?;
        let key = request.key_of_files.as_ref();
        let key = key.map_err(|reason| Error::fatal(format!("cannot publish: {reason}")))?;
        let subject = request.subject();
        Ok(Self {
            filters: key.hex(),
            target: Target {
                commit: subject.commit.unwrap_or_default(),
                tree: subject.tree,
                time: request.treeish.time,
            },
            has_warned: false,
            inputs,
            args,
            repository,
        })
    }

    /// The request for an archive, over `base` if there is one.
    fn request(&self, base: Option<&str>, console: &mut Console<'_>) -> Result<Request> {
        let mut args = self.args.clone();
        args.delta.base = base.map(Into::into);
        // Another process may move the branch.
        args.treeish = Some(self.target.commit.clone().into());
        let inputs = Inputs {
            args: &args,
            ..self.inputs
        };
        let request = Request::resolve(inputs, Ok(self.repository.clone()), console)?;
        Ok(Request {
            format: match request.format {
                // The configuration has a command for the format, which may make other bytes than readers know.
                Format::Filtered(_) => Format::TarZst(Level::DEFAULT),
                format => format,
            },
            cache: None,
            ..request
        })
    }
}

impl Producer for Archives<'_> {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn filters(&self) -> String {
        self.filters.clone()
    }

    fn make(&mut self, base: Option<&str>, mut console: Console<'_>) -> Result<Made> {
        let request = self.request(base, &mut console)?;
        if !std::mem::replace(&mut self.has_warned, true) {
            request.warn(&mut console);
        }
        let mut kept = Kept {
            spool: Spool::new(IN_MEMORY),
            hashing: Hashing::default(),
        };
        let mut stats = RunStats::default();
        let shareable = request.shareable.clone();
        let outputs = Outputs {
            destination: &mut kept,
            console,
            meter: Meter::new("Archiving", total(&request)),
        };
        archive::run(request, outputs, &mut stats)?;
        let content = kept.spool.finish();
        let figures = stats.figures;
        Ok(Made {
            content: content.map_err(|error| Error::write(&error))?,
            sha256: kept.hashing.finish()?,
            entries: figures.counts.entries,
            deletions: figures.changes.map_or(0, |changes| changes.deleted),
            varies: shareable.varies(),
        })
    }

    fn is_behind(&self, other: &Target) -> Result<bool> {
        let id = |target: &Target| ObjectId::from_hex(target.commit.as_bytes());
        let (Ok(target), Ok(commit)) = (id(&self.target), id(other)) else {
            return Ok(false);
        };
        let repository = &self.repository.gix;
        // A shallow clone of an older commit does not have the newer one.
        if !repository.has_object(commit) {
            return Ok(other.time > self.target.time);
        }
        // A commit that is not related is not newer.
        let base = repository.merge_base(target, commit).ok().flatten();
        Ok(base.is_some_and(|base| base == target))
    }
}

/// Keeps an archive, and hashes it.
struct Kept {
    spool: Spool,
    hashing: Hashing,
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.spool.write(bytes)?;
        self.hashing.update(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
