//! `--apply`: brings a directory to a commit, with an archive or from a view.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use super::streams::Streams;
use crate::{
    base::{
        error::{Error, Result, filled},
        working_directory::{Directory, NamedFile},
    },
    cli::{Args, Ours},
    directory::{
        apply::{self, Archive, Check, Id, Reports},
        bucket::{self, BucketUrl},
        channels::{self, Place, Update},
    },
    output::{Destination, report::Console},
};

/// Brings `target` to what the first word names, which is no tree-ish here. Differences go to `destination`.
pub(super) fn apply(
    target: &NamedFile,
    directory: &Directory,
    args: &Args,
    streams: &mut Streams<'_>,
    mut destination: Destination,
) -> Result<()> {
    let check = match args.ours {
        Ours { repair: true, .. } => Check::Repair,
        Ours { verify: true, .. } if args.treeish.is_none() => {
            refuse_unread(streams)?;
            let screen = streams.screen(&args.ours);
            let mut console = Console::new(&mut *streams.messages, screen);
            return apply::check(target, &mut destination, &mut console);
        }
        Ours { verify: true, .. } => Check::Verify,
        _ => Check::Nothing,
    };
    let word = args.treeish.as_deref().filter(|word| *word != "-");
    let commit = args.fleet.commit.as_deref();
    // An existing file is the archive. A commit is that of a view, even if the bucket is gone.
    let is_file = word.is_some_and(|word| is_file(&archive_file(word, directory).path));
    let is_meant = |word: &&str| {
        !is_file
            && (commit.is_some() || Place::is_meant(word, |path| names(&directory.file(path).path)))
    };
    let place = word.and_then(OsStr::to_str).filter(is_meant);
    let (content, len): (Box<dyn Read>, _) = match (place, word) {
        (Some(place), _) => {
            let place = Place::parse(place)?;
            let bucket = bucket::open(&place.bucket, directory, args.fleet.bucket_timeout)?;
            let update = Update {
                place: &place,
                directory: target,
                commit: commit.map(id).transpose()?,
                check,
            };
            let reports = reports(args, streams, &mut destination);
            return channels::update(&*bucket, &update, reports);
        }
        _ if commit.is_some() => {
            return Err(Error::fatal("the option '--commit' requires a view")
                .hinted("--apply=<dir> <url>/<view>"));
        }
        (None, Some(file)) => {
            let file = open_archive(file, directory, &args.ours)?;
            let metadata = file.metadata().ok().filter(Metadata::is_file);
            (Box::new(file), metadata.map(|metadata| metadata.len()))
        }
        (None, None) if (streams.input_is_terminal)() => {
            let target = target.name.as_os_str().as_bytes();
            return Err(Error::fatal("cannot read an archive from a terminal")
                .hinted(filled("git sluice HEAD | git sluice --apply={}", &[target])));
        }
        (None, None) => ((streams.input)()?, (streams.input_len)()),
    };
    let archive = Archive {
        content,
        len,
        origin: None,
    };
    let reports = reports(args, streams, &mut destination);
    apply::apply(target, archive, check, reports)
}

/// The file that `word`, a path or `file://` and a path, names.
fn archive_file(word: &OsStr, directory: &Directory) -> NamedFile {
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

/// The names in the directory at `path`; none if it is missing or cannot be read.
fn names(path: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(path).into_iter().flatten();
    entries.flatten().map(|entry| entry.file_name()).collect()
}

fn open_archive(word: &OsStr, directory: &Directory, options: &Ours) -> Result<File> {
    let file = archive_file(word, directory);
    let is_missing = !file.path.exists();
    file.open().map_err(|error| match &options.apply {
        // Perhaps a commit.
        Some(target) if is_missing && !word.as_bytes().contains(&b'/') => {
            let values = [word.as_bytes(), target.as_os_str().as_bytes()];
            error.hinted(filled(
                "to apply a commit: git sluice {} | git sluice --apply={}",
                &values,
            ))
        }
        _ => error,
    })
}

fn reports<'a>(
    args: &Args,
    streams: &'a mut Streams<'_>,
    destination: &'a mut Destination,
) -> Reports<'a> {
    let screen = streams.screen(&args.ours);
    Reports {
        differences: destination,
        console: Console::new(&mut *streams.messages, screen),
        verbose: args.verbose > 0,
    }
}

fn id(text: &str) -> Result<Id> {
    Id::new(text.as_bytes()).ok_or_else(|| {
        let refused = filled("'{}' is not the id of a commit", &[text.as_bytes()]);
        Error::fatal(refused).hinted("in full, in lower case: git rev-parse shows it")
    })
}

/// Refuses an archive on the standard input: the caller would think that it was applied.
fn refuse_unread(streams: &Streams<'_>) -> Result<()> {
    if !(streams.has_input)() {
        return Ok(());
    }
    let read = io::copy(&mut (streams.input)()?.take(1), &mut io::sink());
    match read.map_err(|error| Error::fatal("cannot read standard input").caused_by(error))? {
        0 => Ok(()),
        _ => Err(Error::fatal(
            "cannot verify: there is something on standard input, which would not be applied",
        )
        .hinted("as an argument, - applies the archive on standard input")),
    }
}
