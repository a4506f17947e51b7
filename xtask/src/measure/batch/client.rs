//! A client of `git sluice batch`.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// What a request gets. In its parts, what a process would have written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) data: Vec<u8>,
    pub(super) messages: Vec<u8>,
    pub(super) status: i32,
}

/// A process that answers requests.
pub(super) struct Client {
    process: Child,
    requests: ChildStdin,
    answers: Answers,
}

/// The answers of a process, in order.
pub(super) struct Answers(BufReader<ChildStdout>);

impl Client {
    /// Starts `command`, with `batch` already among its words.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = pipes
            .spawn()
            .with_context(|| format!("could not start {pipes:?}"))?;
        let requests = process.stdin.take().context("no pipe")?;
        let answers = process.stdout.take().context("no pipe")?;
        Ok(Self {
            process,
            requests,
            answers: Answers(BufReader::with_capacity(PIECE, answers)),
        })
    }

    /// The number of the process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Both directions, for two threads. The process ends with the requests.
    pub(super) fn split(self) -> (ChildStdin, Answers) {
        (self.requests, self.answers)
    }

    /// The answer to a request for what `words` ask in `repository`.
    pub(super) fn ask(&mut self, repository: &Path, words: &[&str]) -> Result<Answer> {
        self.requests.write_all(&request(repository, words))?;
        self.answers.next()
    }

    /// Ends the conversation.
    pub(super) fn end(self) -> Result<()> {
        let Self {
            mut process,
            requests,
            answers: _answers,
        } = self;
        drop(requests);
        let status = process.wait()?;
        ensure!(status.success(), "the batch ended with {status}");
        Ok(())
    }
}

impl Answers {
    pub(super) fn next(&mut self) -> Result<Answer> {
        let mut answer = Answer::default();
        ensure!(self.packet()?.as_deref() == Some(b"ACK\n"), "no ACK");
        ensure!(self.packet()?.is_none(), "no end of the ACK");
        while let Some(packet) = self.packet()? {
            match packet.split_first() {
                Some((1, data)) => answer.data.extend(data),
                Some((2, message)) => answer.messages.extend(message),
                Some((3, status)) => {
                    let status = str::from_utf8(status)?.strip_prefix("status ");
                    answer.status = status.context("no status")?.trim_end().parse()?;
                }
                _ => ensure!(false, "an unknown band"),
            }
        }
        Ok(answer)
    }

    /// The next packet; `None` for a flush.
    fn packet(&mut self) -> Result<Option<Vec<u8>>> {
        let mut digits = [0; 4];
        self.0.read_exact(&mut digits)?;
        let size = usize::from_str_radix(str::from_utf8(&digits)?, 16)?;
        let Some(len) = size.checked_sub(digits.len()) else {
            return Ok(None);
        };
        let mut packet = vec![0; len];
        self.0.read_exact(&mut packet)?;
        Ok(Some(packet))
    }
}

/// The packets of a request.
pub(super) fn request(repository: &Path, words: &[&str]) -> Vec<u8> {
    let repository = repository.to_string_lossy();
    let words = ["-C", &repository].into_iter().chain(words.iter().copied());
    let packet = |word: &str| format!("{:04x}argument {word}", word.len() + 13);
    let packets: String = words.map(packet).collect();
    (packets + "0000").into_bytes()
}
