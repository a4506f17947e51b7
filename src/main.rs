//! `git sluice`: parse, resolve, run, say what went wrong, exit.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, IsTerminal, Write},
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::PathBuf,
    process::ExitCode,
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGXFSZ},
    iterator::Signals,
};

use git_sluice::{
    cli::Args,
    error::{Error, Kind, Result},
    output::Destination,
    progress::Meter,
    repository::{Repository, environment::Environment},
    request::{
        Request,
        format::{Format, Formats},
    },
};

/// git's status for arguments that make no sense.
const USAGE: u8 = 129;
/// Pipes hold this much if the system allows: fewer turns between us and the reader.
const PIPE_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    let args = match Args::parse_typed(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == Kind::BrokenPipe => die_of_broken_pipe(),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let cwd = std::env::current_dir()
        .map_err(|error| Error::fatal("cannot tell the current directory").caused_by(error))?;
    let environment = Environment::read(cwd, |name| std::env::var_os(name))?;
    let repository = Repository::open(&environment);
    let formats = match &repository {
        Ok(repository) => Formats::read(repository.gix.config_snapshot().plumbing())?,
        Err(_) => Formats::read(&environment.config()?)?,
    };
    let output = args.output.as_ref().map(|path| path.as_os_str().as_bytes());
    let format = formats.choose(args.format.as_deref().map(OsStr::new), output)?;
    format.check_level(args.level)?;
    let repository = repository?;
    let mut destination = match &args.output {
        Some(path) => Destination::create(path)?,
        None => Destination::Direct(standard_output()?),
    };
    if let Some(temporary) = destination.temporary() {
        remove_on_signals(temporary.to_owned())?;
    }
    let request = Request::resolve(args, format, &environment, repository, &mut io::stderr())?;
    let shown = args.progress || (!args.no_progress && io::stderr().is_terminal());
    let meter = shown.then(Meter::start);
    if let Format::Filtered(command) = &request.format {
        let mut filter =
            destination.filter(command.as_ref(), &request.directory, request.below.as_ref())?;
        git_sluice::run(request, &mut filter, &mut io::stderr(), meter)?;
        filter.finish()?;
    } else {
        git_sluice::run(request, &mut destination, &mut io::stderr(), meter)?;
    }
    destination.complete()
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
