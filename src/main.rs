//! `git sluice`: parse, resolve, run, say what went wrong, exit.

mod process;
mod signals;
mod terminal;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufReader, Write},
    os::fd::AsFd,
    panic::resume_unwind,
    path::PathBuf,
    process::{Command, ExitCode},
    thread,
};

use rustix::{
    process::{Resource, getrlimit},
    stdio::{dup2_stdin, dup2_stdout},
};
use signal_hook::consts::SIGPIPE;

use git_sluice::commands::{
    self, Context, batch,
    session::Session,
    stand_in,
    upload_archive::{self, server},
};
use process::{ProcessRuntime, Stderr, standard_output};
use sluice_base::error::{Error, ExitKind, Result, strerror};
use sluice_cli::{self as cli, CliError, CommandName, OptionTables, RawArgs};
use sluice_core::{output::Destination, request};
use sluice_git::{
    environment::{Environment, NO_LAZY_FETCH},
    program,
    repository::Repository,
};

/// The blocks of musl's allocator come from the kernel one by one if they are large, and go back at once.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// The largest block, in bytes, whose release makes glibc keep blocks of that size in its heap.
#[cfg(target_env = "gnu")]
const LARGEST_KEPT_BLOCK: usize = (32 << 20) - (64 << 10);

/// The stack of the program in bytes: as much as the standard library gives a thread.
const STACK: usize = 2 << 20;

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    keep_released_memory();
    with_stack(run).into()
}

/// Runs `program` on a thread of its own if the caller has limited the stack to less than [`STACK`], as some
/// servers do: git runs with 64 KiB.
fn with_stack(program: fn() -> u8) -> u8 {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|bytes| bytes >= STACK as u64) {
        return program();
    }
    match thread::Builder::new().stack_size(STACK).spawn(program) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        // The stack that is there may be enough.
        Err(_) => program(),
    }
}

/// Makes glibc keep released memory for later allocations.
///
/// glibc maps each large block from the kernel and unmaps a released one, up to the size of the largest block that
/// was released so far. A large block is released here, untouched. Without that, buffers that come and go cost up
/// to 4 % of the run on two threads, in pages that are mapped again.
#[cfg(target_env = "gnu")]
fn keep_released_memory() {
    let mut block: Vec<u8> = Vec::new();
    // Under a limit of memory there may be no room: then nothing is kept.
    let _ = block.try_reserve_exact(LARGEST_KEPT_BLOCK);
    // Or the compiler would leave out an unused allocation.
    std::hint::black_box(&block);
}

/// The whole program, up to its exit status.
fn run() -> u8 {
    let Err(error) = serve(std::env::args_os().skip(1).collect()) else {
        return 0;
    };
    let error = match error {
        CliError::Fatal(error) => error,
        CliError::Answer(answer) => match print(&answer) {
            Ok(()) => return 0,
            Err(error) => Error::write(&error),
        },
    };
    signals::await_death();
    if error.kind() == ExitKind::BrokenPipe {
        // Like git, end by the signal, whatever was inherited for it, so that the caller sees why.
        signals::die(SIGPIPE);
    } else if !error.is_silent() {
        // In one piece: others may write to the same place, as a client of ours does.
        let _ = Stderr.write_all(&error.lines());
    }
    CliError::Fatal(error).exit_status()
}

fn print(answer: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(answer.as_bytes())?;
    stdout.flush()
}

/// Runs the command that the words give.
fn serve(mut words: Vec<OsString>) -> Result<(), CliError> {
    program::refuse_loop(&words, std::env::var_os(program::ASKED))?;
    let mut tables = OptionTables::default();
    if words
        .first()
        .is_some_and(|word| word == upload_archive::WRITER)
    {
        let words = RawArgs::of_client(&mut tables, words.drain(1..));
        return run_command(words, request::Access::Remote);
    }
    let words = RawArgs::new(&mut tables, words);
    match words.command {
        CommandName::UploadArchive => upload_archive(words),
        CommandName::Batch => batch(words),
        CommandName::StandIn => stand_in(words),
        _ => run_command(words, request::Access::Local),
    }
}

/// Serve a client, with ourselves as the writer.
fn upload_archive(words: RawArgs<'_>) -> Result<(), CliError> {
    refuse_ambiguous(&words)?;
    let words = words.unread()?;
    let output = Destination::Direct(standard_output()?);
    refuse_terminal(&output, CommandName::UploadArchive)?;
    let mut writer = Command::new(this_program()?);
    writer.arg(upload_archive::WRITER);
    if std::env::var_os(NO_LAZY_FETCH).is_none() {
        // A client must not make the server run what the configuration of a remote names.
        writer.env(NO_LAZY_FETCH, "1");
    }
    Ok(server::upload_archive(
        &mut io::stdin().lock(),
        output,
        &words,
        &environment()?,
        writer,
    )?)
}

/// Writes a stand-in for git and prints the line that puts it into `PATH`, or reports what a stand-in does.
fn stand_in(words: RawArgs<'_>) -> Result<(), CliError> {
    refuse_ambiguous(&words)?;
    let options: cli::StandIn = words.options()?;
    let variable = |name: &str| std::env::var_os(name);
    let folder = &options.directory;
    let (text, is_in_force) = if options.check {
        let environment = environment()?;
        let repository = Repository::open(&environment)?.ok();
        let paths = caller().map(|caller| caller.paths);
        let paths = paths.or_else(|| variable("PATH")).unwrap_or_default();
        stand_in::check(folder, &paths, &environment, repository.as_ref())?
    } else {
        let text = stand_in::write(folder, &this_program()?, &variable)?;
        (text, true)
    };
    let written = standard_output()?.write_all(&text);
    written.map_err(|error| Error::write(&error))?;
    if is_in_force {
        Ok(())
    } else {
        Err(Error::not_used().into())
    }
}

/// The caller of the stand-in that started this program, if one did.
fn caller() -> Option<stand_in::Caller> {
    stand_in::Caller::of(&std::env::var_os(stand_in::CALLER)?)
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Error::fatal("cannot find the path of this program").caused_by(error))
}

/// The packets of a server are for a program: a terminal shows them as noise, and waits for requests in silence.
fn refuse_terminal(output: &Destination, command: CommandName) -> Result<()> {
    if output.is_terminal() {
        let name = command.as_str();
        let refused = format!("'git sluice {name}' speaks to a program, not to a terminal");
        Err(Error::usage(refused).hinted(format!("git sluice {name} -h")))
    } else {
        Ok(())
    }
}

/// Answer requests until there are no more.
fn batch(words: RawArgs<'_>) -> Result<(), CliError> {
    refuse_ambiguous(&words)?;
    let options: cli::Batch = words.options()?;
    let output = Destination::Direct(standard_output()?);
    refuse_terminal(&output, CommandName::Batch)?;
    let session = Session::new(current_directory()?, |name| std::env::var_os(name));
    let session = session.with_watch(signals::remove_on_death);
    let unreadable = |error: io::Error| Error::fatal("cannot read requests").caused_by(error);
    let input = io::stdin().as_fd().try_clone_to_owned();
    let input = BufReader::new(File::from(input.map_err(unreadable)?));
    leave_standard_streams().map_err(unreadable)?;
    Ok(batch::serve(input, output, (&options).into(), session)?)
}

fn refuse_ambiguous(words: &RawArgs<'_>) -> Result<()> {
    commands::refuse_ambiguous(words, &|| Repository::open(&environment()?))
}

/// Puts the null device in place of standard input and output. A request that names these, as `fd:1` or `/dev/stdin`,
/// must neither read other requests nor write between the answers.
fn leave_standard_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(())
}

fn current_directory() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Error::fatal(format!(
            "Unable to read current working directory: {}",
            strerror(&error)
        ))
    })
}

fn environment() -> Result<Environment> {
    Environment::read(current_directory()?, |name| std::env::var_os(name))
}

/// Runs a command on the process's own streams.
fn run_command(words: RawArgs<'_>, access: request::Access) -> Result<(), CliError> {
    batch::heap::share_between_threads();
    let mut environment = environment()?;
    environment.discovery.is_served = access == request::Access::Remote;
    environment.sluice.stands_in = caller().is_some_and(|caller| caller.wants_git);
    let context = Context {
        environment: &environment,
        access,
        runtime: &ProcessRuntime(&environment),
        messages: &mut Stderr,
        screen: terminal::screen(),
        max_memory: u64::MAX,
    };
    commands::run(words, context)
}
