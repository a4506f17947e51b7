//! `batch`: many requests in one process.
//!
//! The protocol repeats that of git-upload-archive(1): packets `argument <word>` and a flush; the answer
//! `ACK` and a flush, then packets of side-band-64k (gitprotocol-pack(5), "Packfile Data") and a flush. Answers come in
//! the order of the requests. What one invocation does wrong never reaches another.
//!
//! A few threads take turns at the input: the one that has read a request answers it, and the next one reads on. So
//! no request is handed from thread to thread, and requests overlap.

pub mod heap;
mod responses;
mod options;
mod request;

use std::{
    io::{self, BufRead, Write},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crossbeam_channel::bounded;

use crate::commands::{
    session::{CommandLine, Outputs, Session},
    upload_archive::side_band::{LARGE_PACKET, SideBand},
};
pub use options::Options;
use request::Asked;
use responses::{ResponseQueue, ResponseSlot};
use sluice_base::error::{Error, Result};
use sluice_core::output::report::BANDS;

/// The stack of a thread that answers, in bytes: that of a process's first thread.
const STACK: usize = 8 << 20;

/// Answers on `output` what is asked on `input`, until `input` ends.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    options: Options,
    session: Session,
) -> Result<()> {
    let server = Arc::new(Server {
        input: Mutex::new(Input {
            stream: Box::new(input),
            requests: 0,
            has_ended: false,
        }),
        line: ResponseQueue::new(output, options.waiting(), options.waiting_answers()),
        session: session
            .with_repositories(options.repositories, options.memory_of_repositories())
            .with_max_memory(options.memory_of_one()),
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
    line: Arc<ResponseQueue<W>>,
    session: Session,
}

impl<W: Write + Send + 'static> Server<W> {
    /// Answers requests until there are no more.
    fn answer_all(&self) -> Result<()> {
        while let Some((asked, mut place)) = self.next() {
            if (place.number() + 1).is_multiple_of(heap::INTERVAL) {
                heap::trim();
            }
            match asked {
                Ok(asked) => self.answer(asked, place).map_err(lost)?,
                Err(error) => {
                    place.wait_for_turn().map_err(lost)?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The next request, with the place of its answer. Nothing follows what cannot be read.
    fn next(&self) -> Option<(Result<Asked>, ResponseSlot<W>)> {
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

    fn answer(&self, asked: Asked, place: ResponseSlot<W>) -> io::Result<()> {
        let bands = SideBand::new(place, LARGE_PACKET);
        match asked {
            Asked::Nothing(reason) => bands.reply(&[b"NACK ", reason.as_bytes()].concat())?,
            Asked::Words(words) => {
                bands.reply(b"ACK")?;
                let line = CommandLine::of_words(words);
                if let Err(failure) = self.session.answer(line, outputs(&bands)) {
                    // If the client has left, the next write fails as well.
                    let _ = bands.messages().write_all(failure.message());
                    bands.fail(&format!("status {}\n", failure.status()))?;
                }
                bands.finish()?;
            }
        }
        bands.direct(ResponseSlot::leave)
    }
}

/// The streams of an answer, each a band.
fn outputs<W: Write + Send + 'static>(bands: &SideBand<ResponseSlot<W>>) -> Outputs {
    let outputs = Outputs::new(bands.data()).with_messages(bands.messages());
    BANDS.fold(outputs, |outputs, number| {
        outputs.band(number, bands.band(number))
    })
}

fn lost(error: io::Error) -> Error {
    Error::write(&error)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Cursor, Write},
        sync::{Arc, Mutex, PoisonError},
    };

    use super::{Options, serve};
    use crate::commands::session::Session;

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
        let session = Session::new("/", |_| panic!("on purpose"));
        let requests = b"0012argument HEAD\x000000";
        let requests = [b"0011argument HEAD0000", &requests[..]].concat();
        let output = Kept::default();
        let options = Options {
            jobs: 2,
            repositories: 1,
            memory: 256 << 20,
        };
        serve(Cursor::new(requests), output.clone(), options, session).expect("both answers");
        let answers = output.0.lock().expect("no panic here").clone();
        let expected = "0008ACK\n0000\
            002f\x02fatal: internal error: the request failed\n0010\x03status 128\n0000\
            001fNACK an argument has a NUL\n0000";
        assert_eq!(String::from_utf8(answers).expect("text"), expected);
    }
}
