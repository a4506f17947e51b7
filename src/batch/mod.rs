//! `--batch`: many invocations in one process, one after the other.
//!
//! The conversation is that of git-upload-archive(1), repeated: packets `argument <word>` and a flush; the answer
//! `ACK` and a flush, then packets of side-band-64k (gitprotocol-pack(5), "Packfile Data") and a flush. What one
//! invocation does wrong never reaches the next one.

mod request;

use std::{
    ffi::{OsStr, OsString},
    io::{self, BufRead, Read, Write},
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use crate::{
    cli::{Stop, Typed, Vocabulary},
    error::{Error, ExitKind, Result, filled},
    invocation::{self, Streams},
    output::{Destination, Unfinished},
    remote::side_band::{Band, LARGE_PACKET, SideBand},
    repository::{environment::Environment, kept::KeptRepositories},
    request::Access,
};
use request::{Asked, Request};

/// The first argument that begins a batch.
pub const BATCH: &str = "--batch";
/// The option behind that argument.
const REPOSITORIES: &str = "--batch-repositories=";
/// git's status for arguments that make no sense.
const USAGE: u8 = 129;
/// What a shell shows for a death by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// The number of repositories that stay open, where the arguments do not say.
const MAX_REPOSITORIES: usize = 100;

/// The most repositories that stay open, by the arguments of a batch: the only one is `--batch-repositories=<n>`.
pub fn max_repositories(words: &[OsString]) -> Result<usize> {
    words.iter().try_fold(MAX_REPOSITORIES, |_, word| {
        let number = word.to_str().and_then(|word| word.strip_prefix(REPOSITORIES));
        number.and_then(|number| number.parse().ok()).ok_or_else(|| {
            let template = "'{}' does not go with '--batch'; the words of a request follow on standard input";
            Error::fatal(filled(template, &[word.as_bytes()]))
        })
    })
}

/// What the process has for all invocations.
pub struct Process<'a> {
    /// Goes to a directory, named from the directory in which the process began, and reads the environment there.
    pub enter: &'a dyn Fn(&Path) -> Result<Environment>,
    /// The most repositories that stay open between requests.
    pub max_repositories: usize,
    /// Has a file removed if a signal ends the process.
    pub watch: &'a dyn Fn(Unfinished) -> Result<()>,
}

/// Answers on `output` what is asked on `input`, until `input` ends.
pub fn serve(
    input: &mut dyn BufRead,
    output: impl Write + Send + 'static,
    process: Process<'_>,
) -> Result<()> {
    let bands = SideBand::new(output, LARGE_PACKET);
    let mut server = Server {
        repositories: KeptRepositories::new(process.max_repositories),
        vocabulary: Vocabulary::default(),
        process,
    };
    let lost = |error| Error::write(&error);
    while let Some(asked) = request::read(input)? {
        match asked {
            Asked::Nothing(reason) => {
                let refusal = [b"NACK ", reason.as_bytes()].concat();
                bands.reply(&refusal).map_err(lost)?;
            }
            Asked::Words(request) => {
                bands.reply(b"ACK").map_err(lost)?;
                let status = server.answer(request, &bands);
                if bands.is_broken() {
                    return Err(lost(io::ErrorKind::BrokenPipe.into()));
                }
                if status != 0 {
                    bands.fail(&format!("status {status}\n")).map_err(lost)?;
                }
                bands.finish().map_err(lost)?;
            }
        }
    }
    Ok(())
}

/// Answers requests.
struct Server<'a> {
    process: Process<'a>,
    repositories: KeptRepositories,
    vocabulary: Vocabulary,
}

impl Server<'_> {
    /// Carries out one request. Returns the exit status that a process of its own would have.
    fn answer<W: Write + Send + 'static>(&mut self, request: Request, bands: &SideBand<W>) -> u8 {
        let carried = catch_unwind(AssertUnwindSafe(|| self.carry_out(request, bands)));
        let failure = || Err(Error::fatal("internal error: the request failed").into());
        // Where nobody listens, the caller notices.
        let tell = |mut band: Band<W>, text: &[u8]| drop(band.write_all(text));
        match carried.unwrap_or_else(|_| failure()) {
            Ok(()) => 0,
            Err(Stop::Usage(error)) => {
                let text = error.render().to_string();
                match error.use_stderr() {
                    true => tell(bands.messages(), text.as_bytes()),
                    false => tell(bands.data(), text.as_bytes()),
                }
                if error.use_stderr() { USAGE } else { 0 }
            }
            Err(Stop::Fatal(error)) if error.kind() == ExitKind::BrokenPipe => BROKEN_PIPE,
            Err(Stop::Fatal(error)) => {
                if !error.is_silent() {
                    tell(bands.messages(), &error.lines());
                }
                error.exit_status()
            }
        }
    }

    fn carry_out<W: Write + Send + 'static>(
        &mut self,
        request: Request,
        bands: &SideBand<W>,
    ) -> Result<(), Stop> {
        let environment = (self.process.enter)(&request.directory)?;
        let exists = |file: &OsStr| Path::new(file).exists();
        let words = request.words.into_iter();
        let typed = Typed::first_pass(&mut self.vocabulary, words, exists)?;
        request::fit(&typed)?;
        let repository = self.repositories.open(&environment)?;
        let streams = Streams {
            output: &|| Ok(Destination::Stream(Box::new(bands.data()))),
            messages: &mut bands.messages(),
            input: &no_input,
            shows_progress: false,
            watch: self.process.watch,
        };
        invocation::carry_out(typed, Access::Local, &environment, repository, streams)
    }
}

fn no_input() -> Result<Box<dyn Read>> {
    Err(Error::fatal(
        "standard input holds the requests of '--batch'",
    ))
}
