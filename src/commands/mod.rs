//! One invocation of the command: from its words to its end.
//!
//! The caller owns the process: an invocation gets its streams, and neither ends the process nor looks at the
//! process's own streams.

pub mod batch;
pub mod session;
pub mod upload_archive;
pub mod preview;

mod apply;
mod archive;
mod publish;
mod streams;

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::ffi::OsStringExt,
};

use gix::bstr::BString;

use crate::{
    base::{
        error::{Error, ExitKind, Result},
        working_directory::Directory,
    },
    cli::{self, Args, Stop, Typed, pathspecs_from},
    directory::{
        bucket::{self, BucketUrl, no_bucket},
        channels::{self, Place},
    },
    git::repository::{Repository, environment::Environment, extra_file},
    output::{Destination, report::json_line},
    request::{Access, format::Formats, printed_profile},
};
use archive::Invocation;
pub use streams::Streams;

/// Carries out what `typed` asks for in the repository of `environment`, which `open` opens. Problems are noticed in
/// git's order: that of these lines.
pub fn carry_out(
    typed: Typed<'_>,
    access: Access,
    environment: &Environment,
    open: impl FnOnce() -> Result<Result<Repository>>,
    streams: Streams<'_>,
) -> Result<(), Stop> {
    if typed.is_without_repository() {
        return without_repository(typed, environment.directory(), streams);
    }
    let repository = open()?;
    let formats = formats(environment, &repository, access)?;
    let destination = match &typed.output {
        Some(path) => Destination::create(&environment.directory().file(path), streams.watch)?,
        None => (streams.output)()?,
    };
    let directory = environment.directory();
    let mut args = arguments(typed, &repository, access, directory)?;
    if let Some(answer) = answer(&args, &formats) {
        return Ok(tell(&answer, &args, destination)?);
    }
    read_pathspecs(&mut args, directory, &streams)?;
    args.ours.memory = args.ours.memory.min(streams.max_memory);
    let invocation = Invocation {
        args: &args,
        formats: &formats,
        environment,
        access,
        streams,
    };
    Ok(invocation.carry_out(repository, destination)?)
}

/// Carries out what needs neither a repository nor git.
fn without_repository(
    typed: Typed<'_>,
    directory: &Directory,
    mut streams: Streams<'_>,
) -> Result<(), Stop> {
    let args = typed.second_pass(|_| Ok(false))?;
    let destination = (streams.output)()?;
    if let Some(guide) = args.ours.generate {
        return Ok(tell(&cli::guide(guide), &args, destination)?);
    }
    if let Some(bucket) = &args.fleet.prune {
        return Ok(prune(bucket, directory, &args, destination)?);
    }
    let target = args.ours.apply.as_ref().expect("one of three modes");
    let target = directory.file(target);
    let applied = apply::apply(&target, directory, &args, &mut streams, destination);
    Ok(applied?)
}

fn formats(
    environment: &Environment,
    repository: &Result<Repository>,
    access: Access,
) -> Result<Formats> {
    let bare_keys = environment.bare_keys();
    let formats = match repository {
        Ok(repository) => Formats::read(repository.gix.config_snapshot().plumbing(), bare_keys)?,
        Err(_) => Formats::read(&environment.config()?, bare_keys)?,
    };
    Ok(match access {
        Access::Local => formats,
        Access::Remote => formats.served(),
    })
}

fn arguments(
    typed: Typed<'_>,
    repository: &Result<Repository>,
    access: Access,
    directory: &Directory,
) -> Result<Args, Stop> {
    let below = match repository {
        Ok(repository) => repository.prefix.clone(),
        Err(_) => BString::default(),
    };
    let args =
        typed.second_pass(|file| extra_file::examine(&directory.file(file), below.as_ref()))?;
    if access == Access::Remote && !args.extras.is_empty() {
        let refused = "options '--add-file' and '--remote' cannot be used together";
        return Err(Error::fatal(refused).into());
    }
    Ok(args)
}

/// Removes archives that nothing lists.
fn prune(
    bucket: &str,
    directory: &Directory,
    args: &Args,
    mut destination: Destination,
) -> Result<()> {
    let open = |url: &BucketUrl| bucket::open(url, directory, args.fleet.bucket_timeout);
    let (word, url) = (bucket, BucketUrl::new(bucket));
    let bucket = open(&url)?;
    if !channels::is_bucket(&*bucket)? {
        let place = Place::parse(word).ok();
        let is_place = place.filter(|place| {
            let above = open(&place.bucket).and_then(|bucket| channels::is_bucket(&*bucket));
            above.unwrap_or(false)
        });
        let missing = no_bucket(url.to_string());
        return Err(match is_place {
            Some(place) => missing.hinted(format!("--prune={}", place.bucket)),
            None => missing,
        });
    }
    let pruned = channels::prune(&*bucket, args.fleet.prune_age)?;
    json_line(&pruned, &mut destination)?;
    destination.complete()
}

/// What the program is asked about itself.
fn answer(args: &Args, formats: &Formats) -> Option<String> {
    if args.list {
        return Some(formats.names().map(|name| format!("{name}\n")).collect());
    }
    args.filters
        .print_profile
        .then(|| printed_profile(&args.filters))
}

fn tell(answer: &str, args: &Args, mut destination: Destination) -> Result<()> {
    let written = destination.write_all(answer.as_bytes());
    match written.map_err(|error| Error::write(&error)) {
        // git has a list written with its program's last breath, where nobody looks whether it fits.
        Err(error) if args.list && error.kind() != ExitKind::BrokenPipe => Ok(()),
        Err(error) => Err(error),
        Ok(()) => destination.complete(),
    }
}

/// Pathspecs that come from a file are as good as typed.
fn read_pathspecs(args: &mut Args, directory: &Directory, streams: &Streams<'_>) -> Result<()> {
    let Some(file) = &args.ours.pathspec_from_file else {
        return Ok(());
    };
    let nul = args.ours.pathspec_file_nul;
    let pathspecs = if file == "-" {
        pathspecs_from(io::BufReader::new((streams.input)()?), nul)?
    } else {
        pathspecs_from(directory.file(file).open()?, nul)?
    };
    let word = |pathspec: BString| OsString::from_vec(pathspec.into());
    args.paths = pathspecs.into_iter().map(word).collect();
    Ok(())
}
