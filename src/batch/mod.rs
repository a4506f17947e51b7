//! `--batch`: many invocations in one process.
//!
//! The conversation is that of git-upload-archive(1), repeated: packets `argument <word>` and a flush; the answer
//! `ACK` and a flush, then packets of side-band-64k (gitprotocol-pack(5), "Packfile Data") and a flush. Answers come in
//! the order of the requests. What one invocation does wrong never reaches another.
//!
//! A few threads take turns at the input: the one that has read a request answers it, and the next one reads on. So
//! no request is handed from thread to thread, and requests overlap.

mod line;
mod options;
mod request;

use std::{
    ffi::OsStr,
    io::{self, BufRead, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crossbeam_channel::bounded;

use crate::{
    cli::{Stop, Typed, Vocabulary},
    error::{Error, ExitKind, Result},
    invocation::{self, Streams},
    output::{self, Destination, Unfinished},
    remote::side_band::{Band, LARGE_PACKET, SideBand},
    repository::{environment::Environment, kept::KeptRepositories},
    request::Access,
};
use line::{Line, Place};
pub use options::Options;
use request::{Asked, Request};

/// The first argument that begins a batch.
pub const BATCH: &str = "--batch";
/// The stack of a thread that answers, in bytes: that of a process's first thread.
const STACK: usize = 8 << 20;

/// Tells the environment of a request in a directory, which is named from the one in which the process began, and with
/// a git directory, if the request names one.
pub type Enter = Box<dyn Fn(&Path, Option<&Path>) -> Result<Environment> + Send + Sync>;

/// What the process has for all invocations.
pub struct Process {
    /// Enters the directory of a request.
    pub enter: Enter,
    /// Has a file removed if a signal ends the process.
    pub watch: fn(Unfinished) -> Result<()>,
}

/// Answers on `output` what is asked on `input`, until `input` ends.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    options: Options,
    process: Process,
) -> Result<()> {
    // The first look changes the mask for a moment, in which no other thread must create a file.
    output::umask();
    let server = Arc::new(Server {
        input: Mutex::new(Input {
            stream: Box::new(input),
            requests: 0,
            has_ended: false,
        }),
        line: Line::new(output, options.waiting()),
        repositories: KeptRepositories::new(options.repositories, options.memory_of_repositories()),
        options,
        process,
    });
    let (ended, ends) = bounded(options.jobs);
    for _ in 0..options.jobs {
        let (server, ended) = (Arc::clone(&server), ended.clone());
        let job = thread::Builder::new().stack_size(STACK);
        let job = job.spawn(move || drop(ended.send(server.answer_all())));
        job.map_err(|error| Error::fatal("cannot start a thread").caused_by(error))?;
    }
    drop(ended);
    // The first failure ends the process, even while other threads wait for requests.
    ends.into_iter().collect()
}

/// The requests.
struct Input {
    stream: Box<dyn BufRead + Send>,
    /// The number of requests so far.
    requests: u64,
    has_ended: bool,
}

/// Answers requests.
struct Server<W> {
    input: Mutex<Input>,
    line: Arc<Line<W>>,
    repositories: KeptRepositories,
    options: Options,
    process: Process,
}

impl<W: Write + Send + 'static> Server<W> {
    /// Answers requests until there are no more.
    fn answer_all(&self) -> Result<()> {
        let mut vocabulary = Vocabulary::default();
        while let Some((asked, mut place)) = self.next() {
            match asked {
                Ok(asked) => self.answer(asked, place, &mut vocabulary).map_err(lost)?,
                Err(error) => {
                    place.wait_for_turn().map_err(lost)?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The next request, with the place of its answer. Nothing follows what cannot be read.
    fn next(&self) -> Option<(Result<Asked>, Place<W>)> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        if input.has_ended {
            return None;
        }
        let asked = request::read(&mut *input.stream).transpose();
        input.has_ended = !matches!(asked, Some(Ok(_)));
        let place = self.line.place(input.requests);
        input.requests += 1;
        Some((asked?, place))
    }

    fn answer(&self, asked: Asked, place: Place<W>, vocabulary: &mut Vocabulary) -> io::Result<()> {
        let bands = SideBand::new(place, LARGE_PACKET);
        match asked {
            Asked::Nothing(reason) => bands.reply(&[b"NACK ", reason.as_bytes()].concat())?,
            Asked::Words(request) => {
                bands.reply(b"ACK")?;
                let status = self.status(request, &bands, vocabulary);
                if status != 0 {
                    bands.fail(&format!("status {status}\n"))?;
                }
                bands.finish()?;
            }
        }
        bands.direct(Place::leave)
    }

    /// Carries out one request. Returns the exit status that a process of its own would have.
    fn status(
        &self,
        request: Request,
        bands: &SideBand<Place<W>>,
        vocabulary: &mut Vocabulary,
    ) -> u8 {
        let carry_out = AssertUnwindSafe(|| self.carry_out(request, bands, vocabulary));
        let failure = || Err(Error::fatal("internal error: the request failed").into());
        // Where nobody listens, the caller notices.
        let tell = |mut band: Band<Place<W>>, text: &[u8]| drop(band.write_all(text));
        let Err(stop) = catch_unwind(carry_out).unwrap_or_else(|_| failure()) else {
            return 0;
        };
        match &stop {
            Stop::Usage(error) => {
                let text = error.render().to_string();
                match error.use_stderr() {
                    true => tell(bands.messages(), text.as_bytes()),
                    false => tell(bands.data(), text.as_bytes()),
                }
            }
            Stop::Fatal(error) => {
                let is_heard = error.kind() != ExitKind::BrokenPipe && !error.is_silent();
                if is_heard {
                    tell(bands.messages(), &error.lines());
                }
            }
        }
        stop.exit_status()
    }

    fn carry_out(
        &self,
        request: Request,
        bands: &SideBand<Place<W>>,
        vocabulary: &mut Vocabulary,
    ) -> Result<(), Stop> {
        let environment = (self.process.enter)(&request.directory, request.git_dir.as_deref())?;
        let exists = |file: &OsStr| environment.directory().file(file).path.exists();
        let words = request.words.into_iter();
        let typed = Typed::first_pass(vocabulary, words, exists)?;
        request::fit(&typed)?;
        let repository = self.repositories.open(&environment)?;
        let streams = Streams {
            output: &|| Ok(Destination::Stream(Box::new(bands.data()))),
            bands: &|number| Ok(Destination::Stream(Box::new(bands.band(number)))),
            messages: &mut bands.messages(),
            input: &no_input,
            has_input: &|| false,
            shows_progress: false,
            max_memory: self.options.memory_of_one(),
            watch: &self.process.watch,
        };
        invocation::carry_out(typed, Access::Local, &environment, repository, streams)
    }
}

fn lost(error: io::Error) -> Error {
    Error::write(&error)
}

fn no_input() -> Result<Box<dyn Read>> {
    Err(Error::fatal(
        "standard input holds the requests of '--batch'",
    ))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Cursor, Write},
        path::Path,
        sync::{Arc, Mutex, PoisonError},
    };

    use super::{Options, Process, serve};
    use crate::error::Error;

    /// An output that the test keeps.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_the_failure_of_one_request() {
        let process = Process {
            enter: Box::new(|directory, _| match directory == Path::new("panic") {
                true => panic!("on purpose"),
                false => Err(Error::fatal("no panic")),
            }),
            watch: |_| Ok(()),
        };
        let requests = b"000fargument -C0012argument panic00000011argument HEAD0000";
        let output = Kept::default();
        let options = Options::parse(&["--batch-jobs=2".into()]).expect("sound");
        serve(Cursor::new(requests), output.clone(), options, process).expect("both answers");
        let answers = output.0.lock().expect("no panic here").clone();
        let expected = "0008ACK\n0000\
            002f\x02fatal: internal error: the request failed\n0010\x03status 128\n0000\
            0008ACK\n0000\
            0015\x02fatal: no panic\n0010\x03status 128\n0000";
        assert_eq!(String::from_utf8(answers).expect("text"), expected);
    }
}
