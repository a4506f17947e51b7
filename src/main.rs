//! `git sluice`: parse, resolve, run, say what went wrong, exit.

mod signals;

use std::{
    ffi::OsString,
    fs::File,
    hint,
    io::{self, IsTerminal, Read, Write},
    os::{
        fd::AsFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
    process::{Command, ExitCode},
};

use gix::bstr::BString;
use signal_hook::consts::SIGPIPE;

use git_sluice::{
    Outputs, RunStats,
    cli::{Args, Filters, Stop, Typed, pathspecs_from},
    error::{Error, ExitKind, Result, filled, strerror},
    output::{self, Destination},
    preview,
    process::git,
    remote::{self, server},
    report::{Meter, Reports},
    repository::{
        Repository,
        environment::{Environment, NO_LAZY_FETCH},
        extra_file,
        promisor::FetchAccount,
    },
    request::{
        Access, Inputs, Request,
        format::{Format, Formats},
        printed_profile,
    },
};

/// git's status for arguments that make no sense.
const USAGE: u8 = 129;
/// Pipes hold this much if the system allows: fewer turns between us and the reader.
const PIPE_BYTES: usize = 1 << 20;
/// The largest block, in bytes, whose release makes glibc keep blocks of that size in its heap.
const LARGEST_KEPT_BLOCK: usize = (32 << 20) - (64 << 10);

fn main() -> ExitCode {
    keep_released_memory();
    run().into()
}

/// Makes glibc keep released memory for later allocations.
///
/// glibc maps each large block from the kernel and unmaps a released one, up to the size of the largest block that
/// was released so far. A large block is released here, untouched. Without that, buffers that come and go cost up
/// to 4 % of the run on two threads, in pages that are mapped anew. No effect on other C libraries.
fn keep_released_memory() {
    let mut block: Vec<u8> = Vec::new();
    // Under a limit of memory there may be no room: then nothing is kept.
    let _ = block.try_reserve_exact(LARGEST_KEPT_BLOCK);
    // Or the compiler would leave out an allocation that nobody uses.
    hint::black_box(&block);
}

/// The whole program, up to its exit status.
fn run() -> u8 {
    match serve(std::env::args_os().skip(1).collect()) {
        Ok(()) => 0,
        Err(Stop::Usage(error)) => {
            if error
                .print()
                .is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            {
                return die_of_broken_pipe();
            }
            if error.use_stderr() { USAGE } else { 0 }
        }
        Err(Stop::Fatal(error)) => {
            signals::await_death();
            if error.kind() == ExitKind::BrokenPipe {
                return die_of_broken_pipe();
            }
            if !error.is_silent() {
                // In one piece: others may write to the same place, as a client of ours does.
                let _ = Stderr.write_all(&error.lines());
            }
            error.exit_status()
        }
    }
}

/// Modes are flags, since the first word is a tree-ish.
fn serve(mut words: Vec<OsString>) -> Result<(), Stop> {
    match words.first().and_then(|word| word.to_str()) {
        Some(remote::UPLOAD_ARCHIVE) => Ok(upload_archive(&words[1..])?),
        Some(remote::WRITER) => {
            let typed = Typed::of_client(words.drain(1..));
            archive(typed, Access::Remote)
        }
        _ => {
            let typed = Typed::first_pass(words.into_iter(), |file| Path::new(file).exists())?;
            match typed.remote {
                Some(_) => Err(git::become_archive(&typed.for_git()?).into()),
                None => archive(typed, Access::Local),
            }
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
    if std::env::var_os(NO_LAZY_FETCH).is_none() {
        // A client must not make the server run what the configuration of a remote names.
        writer.env(NO_LAZY_FETCH, "1");
    }
    let output = Destination::Direct(standard_output()?);
    server::upload_archive(&mut io::stdin().lock(), output, words, writer)
}

/// What is wrong is noticed in git's order: that of these lines.
fn archive(typed: Typed, access: Access) -> Result<(), Stop> {
    let cwd = std::env::current_dir()
        .map_err(|error| Error::fatal("cannot tell the current directory").caused_by(error))?;
    let environment = Environment::read(cwd, |name| std::env::var_os(name))?;
    let repository = Repository::open(&environment)?;
    let formats = formats(&environment, &repository, access)?;
    let mut destination = match &typed.output {
        Some(path) => Destination::create(path, signals::remove_on_death)?,
        None => Destination::Direct(standard_output()?),
    };
    let below = match &repository {
        Ok(repository) => repository.prefix.clone(),
        Err(_) => BString::default(),
    };
    let mut args = typed.second_pass(|file| extra_file::examine(file, below.as_ref()))?;
    if access == Access::Remote && !args.extras.is_empty() {
        let refused = "options '--add-file' and '--remote' cannot be used together";
        return Err(Error::fatal(refused).into());
    }
    if let Some(directory) = &args.ours.apply {
        return Ok(apply(directory, &args)?);
    }
    if let Some(answer) = answer(&args, &formats)? {
        let written = destination.write_all(answer.as_bytes());
        return match written.map_err(|error| Error::write(&error)) {
            // git has a list written with its program's last breath, where nobody looks whether it fits.
            Err(error) if args.list && error.kind() != ExitKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(destination.complete()?),
        };
    }
    read_pathspecs(&mut args)?;
    let wanted = &args.filters;
    let (manifest, summary) = (wanted.manifest.as_deref(), wanted.summary.as_deref());
    let mut reports = Reports::open(manifest, summary, args.output.as_deref())?;
    let told = &mut Stderr;
    let fetches = FetchAccount::new(shows_progress(&args));
    let inputs = Inputs {
        args: &args,
        formats: &formats,
        environment: &environment,
        access,
        fetches: &fetches,
    };
    if args.ours.list_missing {
        return Ok(list_missing(inputs, repository, destination)?);
    }
    let request = Request::resolve(inputs, repository, told);
    let mut subject = None;
    let mut stats = RunStats::default();
    let outcome = request.and_then(|request| {
        subject = Some(request.subject());
        if is_known(&request, &args) {
            return Err(Error::not_modified());
        }
        if wanted.explain.is_some() || wanted.dry_run || args.serving.head {
            return preview(request, wanted, destination);
        }
        let length = || git_sluice::archive_length(&request);
        stats.manifest = reports.manifest(&request.subject(), length)?;
        send(request, &args, destination, &mut stats)?;
        let is_empty = stats.figures.counts.files == 0;
        match wanted.fail_if_empty && is_empty {
            true => Err(Error::empty()),
            false => Ok(()),
        }
    });
    stats.figures.fetched = fetches.sums();
    let failure = outcome.as_ref().err();
    let reported = reports.finish(
        subject,
        stats.figures,
        failure.filter(|error| error.is_cut()),
    );
    outcome?;
    Ok(reported?)
}

/// What the program is asked about itself.
fn answer(args: &Args, formats: &Formats) -> Result<Option<String>> {
    if args.list {
        return Ok(Some(
            formats.names().map(|name| format!("{name}\n")).collect(),
        ));
    }
    Ok(args
        .filters
        .print_profile
        .then(|| printed_profile(&args.filters)))
}

/// Whether the caller has the archive already.
fn is_known(request: &Request, args: &Args) -> bool {
    let tags = args.serving.if_none_match.as_deref();
    let key = request.key.as_ref().ok();
    tags.zip(key).is_some_and(|(tags, key)| key.is_among(tags))
}

/// Tell what would be sent.
fn preview(request: Request, wanted: &Filters, mut destination: Destination) -> Result<()> {
    match &wanted.explain {
        Some(path) => preview::explain(request, path.as_encoded_bytes(), &mut destination)?,
        None if wanted.dry_run => preview::list(request, &mut destination)?,
        None => preview::head(request, &mut destination)?,
    }
    destination.complete()
}

/// List what the archive needs and the repository lacks.
fn list_missing(
    inputs: Inputs<'_>,
    repository: Result<Repository>,
    mut destination: Destination,
) -> Result<()> {
    let has_all = preview::list_missing(inputs, repository, &mut destination, &mut Stderr)?;
    destination.complete()?;
    match has_all {
        true => Ok(()),
        false => Err(Error::missing()),
    }
}

/// Make what `request` asks for, complete to the last byte.
fn send(
    request: Request,
    args: &Args,
    mut destination: Destination,
    stats: &mut RunStats,
) -> Result<()> {
    let meter = meter(args, &request);
    make(request, &mut destination, meter, stats)?;
    destination.complete()?;
    match stats.manifest.take() {
        Some(manifest) => manifest.end(),
        None => Ok(()),
    }
}

/// The first word is no tree-ish here.
fn apply(directory: &Path, args: &Args) -> Result<()> {
    let archive: Box<dyn Read> = match &args.treeish {
        Some(file) if file != "-" => Box::new(File::open(file).map_err(|error| {
            let why = strerror(&error);
            let values = [file.as_bytes(), why.as_bytes()];
            Error::fatal(filled("could not open '{}' for reading: {}", &values))
        })?),
        _ => Box::new(io::stdin().lock()),
    };
    let mut stderr = Stderr;
    let told = (args.verbose > 0).then_some(&mut stderr as &mut dyn Write);
    git_sluice::apply::apply(directory, archive, told)
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

fn meter(args: &Args, request: &Request) -> Option<Meter> {
    shows_progress(args).then(|| {
        let mut request = request.clone();
        // The archive needs the other threads.
        request.threads = Some(1);
        Meter::start(|| git_sluice::tar_length(request))
    })
}

fn shows_progress(args: &Args) -> bool {
    let ours = &args.ours;
    ours.progress || (!ours.no_progress && io::stderr().is_terminal())
}

fn make(
    mut request: Request,
    destination: &mut Destination,
    meter: Option<Meter>,
    stats: &mut RunStats,
) -> Result<()> {
    let diagnostics = &mut Stderr;
    if let Some(range) = request.range {
        let outputs = Outputs {
            destination,
            diagnostics,
            meter,
        };
        return git_sluice::send_range(request, range, outputs, stats);
    }
    let mut filter = match &request.format {
        Format::Filtered(command) => {
            Some(destination.filter(command.as_ref(), &request.command_context)?)
        }
        _ => None,
    };
    let file = match &filter {
        Some(filter) => filter.file(),
        None => destination.file(),
    };
    match (request.cache.take(), file) {
        (Some(cache), Some(file)) => {
            git_sluice::share(&cache, request, file, diagnostics, meter, stats)?;
        }
        _ => {
            let destination: &mut (dyn Write + Send) = match &mut filter {
                Some(filter) => filter,
                None => destination,
            };
            let outputs = Outputs {
                destination,
                diagnostics,
                meter,
            };
            git_sluice::run(request, outputs, stats)?;
        }
    }
    filter.map_or(Ok(()), output::CommandFilter::finish)
}

/// Pathspecs that come from a file are as good as typed.
fn read_pathspecs(args: &mut Args) -> Result<()> {
    let Some(file) = &args.ours.pathspec_from_file else {
        return Ok(());
    };
    let nul = args.ours.pathspec_file_nul;
    let pathspecs = if file == "-" {
        pathspecs_from(io::stdin().lock(), nul)?
    } else {
        let opened = File::open(file).map_err(|error| {
            let why = strerror(&error);
            let values = [file.as_bytes(), why.as_bytes()];
            Error::fatal(filled("could not open '{}' for reading: {}", &values))
        })?;
        pathspecs_from(opened, nul)?
    };
    let word = |pathspec: BString| OsString::from_vec(pathspec.into());
    args.paths = pathspecs.into_iter().map(word).collect();
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
fn die_of_broken_pipe() -> u8 {
    signals::die(SIGPIPE);
    BROKEN_PIPE
}

/// Standard error. Like git, the program does not outlive a reader of it.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes).inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                signals::die(SIGPIPE);
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
