//! `git sluice`: parse, resolve, run, say what went wrong, exit.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    path::PathBuf,
    process::{Command, ExitCode},
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
    remote::{self, allowed, handover, server},
    repository::{Repository, environment::Environment},
    request::{Access, Request, check_format},
};

/// git's status for arguments that make no sense.
const USAGE: u8 = 129;
/// Pipes hold this much if the system allows: fewer turns between us and the reader.
const PIPE_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    let mut typed: Vec<OsString> = std::env::args_os().collect();
    match typed.get(1).and_then(|word| word.to_str()) {
        Some(remote::UPLOAD_ARCHIVE) => conclude(upload_archive(&typed[2..])),
        Some(remote::WRITER) => {
            typed.remove(1);
            archive(&typed, Access::Remote)
        }
        _ if handover::is_wanted(&typed[1..]) => conclude(Err(handover::git_archive(&typed[1..]))),
        _ => archive(&typed, Access::Local),
    }
}

fn archive(typed: &[OsString], access: Access) -> ExitCode {
    if access == Access::Remote
        && let Some(refusal) = allowed::refusal(&typed[1..])
    {
        let _ = writeln!(io::stderr(), "error: {refusal}");
        return ExitCode::from(USAGE);
    }
    let args = match Args::parse_typed(typed.iter().cloned()) {
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
    conclude(run(&args, access))
}

fn conclude(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == Kind::BrokenPipe => die_of_broken_pipe(),
        Err(error) => {
            // In one piece: others may write to the same place, as a client of ours does.
            let _ = io::stderr().write_all(format!("{error}\n").as_bytes());
            ExitCode::from(error.exit_status())
        }
    }
}

/// Serve a client, with ourselves as the writer.
fn upload_archive(words: &[OsString]) -> Result<()> {
    if words == ["-h"] {
        return writeln!(io::stdout(), "{}", server::USAGE).map_err(|error| Error::write(&error));
    }
    let program = std::env::current_exe()
        .map_err(|error| Error::fatal("cannot tell where this program is").caused_by(error))?;
    let mut writer = Command::new(program);
    writer.arg(remote::WRITER);
    let output = Destination::Direct(standard_output()?);
    server::upload_archive(&mut io::stdin().lock(), output, words, writer)
}

fn run(args: &Args, access: Access) -> Result<()> {
    if access == Access::Remote && args.output.is_some() {
        return Err(Error::fatal("Unexpected option --output"));
    }
    let cwd = std::env::current_dir()
        .map_err(|error| Error::fatal("cannot tell the current directory").caused_by(error))?;
    let environment = Environment::read(cwd, |name| std::env::var_os(name))?;
    check_format(args)?;
    let repository = Repository::open(&environment)?;
    let mut destination = match &args.output {
        Some(path) => Destination::create(path)?,
        None => Destination::Direct(standard_output()?),
    };
    if let Some(temporary) = destination.temporary() {
        remove_on_signals(temporary.to_owned())?;
    }
    let request = Request::resolve(args, &environment, repository, access, &mut io::stderr())?;
    let shown = args.progress || (!args.no_progress && io::stderr().is_terminal());
    let meter = shown.then(Meter::start);
    git_sluice::run(request, &mut destination, &mut io::stderr(), meter)?;
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
