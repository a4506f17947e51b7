//! `git sluice`: parse, resolve, run, say what went wrong, exit.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, IsTerminal, Write},
    os::{fd::AsFd, unix::ffi::OsStringExt},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};

use gix::bstr::BString;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGXFSZ},
    iterator::Signals,
};

use git_sluice::{
    cli::{Ours, Stop, Typed, pathspecs_from},
    error::{Error, Kind, Result, strerror},
    output::Destination,
    progress::Meter,
    repository::{Repository, environment::Environment, extra_file},
    request::{Request, check_format, check_supported},
};

/// git's status for arguments that make no sense.
const USAGE: u8 = 129;
/// Pipes hold this much if the system allows: fewer turns between us and the reader.
const PIPE_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Usage(error)) => {
            let _ = error.print();
            if error.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            }
        }
        Err(Stop::Fatal(error)) if error.kind() == Kind::BrokenPipe => die_of_broken_pipe(),
        Err(Stop::Fatal(error)) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(error.exit_status())
        }
    }
}

/// What is wrong is noticed in git's order: that of these lines.
fn run() -> Result<(), Stop> {
    let words = std::env::args_os().skip(1);
    let typed = Typed::first_pass(words, |file| Path::new(file).exists())?;
    let cwd = std::env::current_dir()
        .map_err(|error| Error::fatal("cannot tell the current directory").caused_by(error))?;
    let environment = Environment::read(cwd, |name| std::env::var_os(name))?;
    let repository = Repository::open(&environment)?;
    let mut destination = match &typed.output {
        Some(path) => Destination::create(path)?,
        None => Destination::Direct(standard_output()?),
    };
    if let Some(temporary) = destination.temporary() {
        remove_on_signals(temporary.to_owned())?;
    }
    if typed.remote.is_some() {
        return Err(Error::fatal("--remote is not supported yet").into());
    }
    let below = repository
        .as_ref()
        .map_or_else(|_| "".into(), |found| found.prefix.clone());
    let mut args = typed.second_pass(|file| extra_file::examine(file, below.as_ref()))?;
    if args.list {
        // As for git, the list has no reader who must not miss anything.
        let _ = destination.write_all(b"tar\ntgz\ntar.gz\nzip\n");
        return Ok(destination.complete()?);
    }
    check_format(&args)?;
    check_supported(&args)?;
    if let Some(file) = &args.ours.pathspec_from_file {
        args.paths = read_pathspecs(file, args.ours.pathspec_file_nul)?;
    }
    let request = Request::resolve(&args, &environment, repository?, &mut io::stderr())?;
    let Ours {
        progress,
        no_progress,
        ..
    } = args.ours;
    let shown = progress || (!no_progress && io::stderr().is_terminal());
    let meter = shown.then(Meter::start);
    git_sluice::run(request, &mut destination, &mut io::stderr(), meter)?;
    Ok(destination.complete()?)
}

fn read_pathspecs(file: &OsStr, nul: bool) -> Result<Vec<OsString>> {
    let pathspecs = if file == "-" {
        pathspecs_from(io::stdin().lock(), nul)?
    } else {
        let opened = File::open(file).map_err(|error| {
            let (file, why) = (file.to_string_lossy(), strerror(&error));
            Error::fatal(format!("could not open '{file}' for reading: {why}"))
        })?;
        pathspecs_from(opened, nul)?
    };
    let word = |pathspec: BString| OsString::from_vec(pathspec.into());
    Ok(pathspecs.into_iter().map(word).collect())
}

/// A signal that ends us takes the half-written file along.
fn remove_on_signals(temporary: PathBuf) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ])
        .map_err(|error| Error::fatal("cannot watch for signals").caused_by(error))?;
    thread::spawn(move || {
        for signal in &mut signals {
            let _ = std::fs::remove_file(&temporary);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    Ok(())
}

/// Standard output without the line buffer of `std`, which would copy everything once more.
fn standard_output() -> Result<File> {
    let stdout = io::stdout();
    let owned = stdout
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Error::write(&error))?;
    // Refused for what is no pipe, and beyond the user's limit: then it stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(&owned, PIPE_BYTES);
    Ok(File::from(owned))
}

/// What a shell shows for a death by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// Like git, end by the signal, whatever was inherited for it, so that the caller sees why.
fn die_of_broken_pipe() -> ExitCode {
    let _ = signal_hook::low_level::emulate_default_handler(SIGPIPE);
    ExitCode::from(BROKEN_PIPE)
}
