//! `apply`: updates a directory from an archive or a channel.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::Read,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use super::channel_word::{is_bucket, no_channel, refuse_nested};
use sluice_base::{
    error::{Error, ExitKind, Result, format_bytes},
    progress::Console,
    working_directory::{NamedFile, WorkingDirectory},
};
use sluice_cli as cli;
use sluice_cli::{CliError, RawArgs};
use sluice_core::context::Context;
use sluice_core::output::Destination;
use sluice_fleet::{
    apply::{self, ApplyOptions, Archive, Check, Id, Reports, TargetDirectory},
    bucket::{self, BucketUrl},
    channels::{self, ChannelAddress, Update},
};

pub(in crate::commands) fn run(
    words: RawArgs<'_>,
    mut context: Context<'_>,
) -> Result<(), CliError> {
    let options: cli::Apply = words.options()?;
    let destination = context.runtime.output()?;
    refuse_file(&options, context.directory())?;
    let source = Source::of(&options, context.directory())?;
    let applied = apply(&options, source, &mut context, destination);
    Ok(applied.map_err(|error| explained(&options, error, &context))?)
}

/// Refuses a file as the directory.
fn refuse_file(options: &cli::Apply, directory: &WorkingDirectory) -> Result<()> {
    if !directory.file(&options.directory).path.is_file() {
        return Ok(());
    }
    let file = options.directory.as_os_str().as_bytes();
    let refused = format_bytes("'{}' is a file, and the directory comes first", &[file]);
    let refused = Error::fatal(refused);
    Err(match options.archive.as_deref() {
        Some(other) => refused.hinted_command("git sluice apply {} {}", &[other.as_bytes(), file]),
        None => refused.hinted_command("git sluice apply <directory> {}", &[file]),
    })
}

/// The `error` of an application whose word may name a bucket and no channel.
fn explained(options: &cli::Apply, error: Error, context: &Context<'_>) -> Error {
    let word = options.archive.as_deref().and_then(OsStr::to_str);
    let word = options.channel.as_deref().or(word);
    let named: fn(String) -> Error = match error.kind() {
        ExitKind::Fatal => Error::fatal,
        ExitKind::NotThere | ExitKind::Unreachable => Error::not_there,
        _ => return error,
    };
    let directory = options.directory.as_os_str().as_bytes();
    match word {
        Some(word) if is_bucket(word, context.directory(), options.bucket.timeout) => {
            let values = [word.trim_end_matches('/').as_bytes(), directory];
            let command = "git sluice apply --channel={}/<channel> {}";
            named(no_channel(word)).hinted_command(command, &values)
        }
        Some(word) if options.channel.is_some() && !word.contains('/') => {
            let values = [word.as_bytes(), directory];
            error.hinted_command("git sluice apply --channel=<bucket>/{} {}", &values)
        }
        _ => error,
    }
}

/// The place that archives come from.
enum Source {
    Input,
    File(NamedFile),
    Channel(ChannelAddress),
}

impl Source {
    /// The source that the options name. An existing file is an archive, whatever else its name could mean.
    fn of(options: &cli::Apply, directory: &WorkingDirectory) -> Result<Self> {
        if let Some(channel) = &options.channel {
            return Ok(Self::Channel(ChannelAddress::parse(channel)?));
        }
        let source = match options.archive.as_deref() {
            None => Self::Input,
            Some(word) if word == "-" => Self::Input,
            Some(word) => {
                let file = archive_file(word, directory);
                let url = word.to_str().filter(|word| BucketUrl::is_url(word));
                match url.filter(|_| !is_file(&file.path)) {
                    Some(url) => Self::Channel(ChannelAddress::parse(url)?),
                    None => Self::File(file),
                }
            }
        };
        match &source {
            Self::Input | Self::File(_) if options.at.is_some() => Err(Error::usage(
                "the option '--at' requires a channel",
            )
            .hinted("git sluice apply --at=<commit> --channel=<bucket>/<channel> <directory>")),
            _ => Ok(source),
        }
    }
}

/// Updates the directory from `source`. Differences go to `destination`.
fn apply(
    options: &cli::Apply,
    source: Source,
    context: &mut Context<'_>,
    mut destination: Destination,
) -> Result<()> {
    let target = TargetDirectory {
        directory: context.directory().file(&options.directory),
        threads: options.threads.count,
    };
    let check = match (options.repair, options.verify) {
        (true, _) => Check::Repair,
        (false, true) => Check::Verify,
        (false, false) => Check::Nothing,
    };
    let apply_options = ApplyOptions {
        check,
        overwrite: options.overwrite,
    };
    let (content, len): (Box<dyn Read>, _) = match source {
        Source::Channel(place) => {
            let nested = refuse_nested(&place.to_string(), context.directory());
            nested.map_err(|(error, place)| {
                let values = [place.as_bytes(), options.directory.as_os_str().as_bytes()];
                error.hinted_command("git sluice apply --channel={} {}", &values)
            })?;
            let timeout = options.bucket.timeout;
            let bucket = bucket::open(&place.bucket, context.directory(), timeout)?;
            let update = Update {
                place: &place,
                directory: &target,
                commit: options.at.as_deref().map(id).transpose()?,
                options: apply_options,
            };
            let reports = reports(options, context, &mut destination);
            return channels::update(&*bucket, &update, reports);
        }
        Source::File(file) => {
            let file = open_archive(&file, options)?;
            let metadata = file.metadata().ok().filter(Metadata::is_file);
            (Box::new(file), metadata.map(|metadata| metadata.len()))
        }
        Source::Input if context.runtime.input_is_terminal() => {
            let target = options.directory.as_os_str().as_bytes();
            let refused = Error::fatal("cannot read an archive from a terminal");
            let command = "git sluice HEAD | git sluice apply {}";
            return Err(refused.hinted_command(command, &[target]));
        }
        Source::Input => (context.runtime.input()?, context.runtime.input_len()),
    };
    let archive = Archive {
        content,
        len,
        origin: None,
    };
    let reports = reports(options, context, &mut destination);
    apply::apply(&target, archive, apply_options, reports)
}

/// The file that `word`, a path or `file://` and a path, names.
fn archive_file(word: &OsStr, directory: &WorkingDirectory) -> NamedFile {
    let url = word.to_str().map(BucketUrl::new);
    match url.as_ref().and_then(BucketUrl::path) {
        Some(path) => directory.file(path),
        None => directory.file(word),
    }
}

/// Whether something at `path` can be read as a file.
fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_dir())
}

/// Whether `word` cannot mean a commit, because it ends like the name of an archive.
fn is_named_like_archive(word: &[u8]) -> bool {
    let mut ends = [".tar", ".gz", ".tgz", ".zst"].iter();
    ends.any(|end| word.ends_with(end.as_bytes()))
}

/// Opens an archive. If there is none, the word may mean a commit or a channel.
fn open_archive(file: &NamedFile, options: &cli::Apply) -> Result<File> {
    let is_missing = !file.path.exists();
    file.open().map_err(|error| {
        let word = file.name.as_os_str().as_bytes();
        if !is_missing {
            error
        } else if !word.contains(&b'/') && !is_named_like_archive(word) {
            let values = [word, options.directory.as_os_str().as_bytes()];
            let command = "to apply a commit: git sluice {} | git sluice apply {}";
            error.hinted_command(command, &values)
        } else if file
            .path
            .parent()
            .is_some_and(|above| above.join("v1").is_dir())
        {
            error.hinted_command("for a channel: --channel={}", &[word])
        } else {
            error
        }
    })
}

fn reports<'a>(
    options: &cli::Apply,
    context: &'a mut Context<'_>,
    destination: &'a mut Destination,
) -> Reports<'a> {
    let screen = context.screen(&options.progress);
    Reports {
        differences: destination,
        console: Console::new(&mut *context.messages, screen),
    }
}

fn id(text: &str) -> Result<Id> {
    Id::new(text.as_bytes()).ok_or_else(|| {
        let refused = format_bytes("'{}' is not the id of a commit", &[text.as_bytes()]);
        let hint = "to get it in the repository: git rev-parse {}^{commit}";
        Error::fatal(refused).hinted_command(hint, &[text.as_bytes()])
    })
}
