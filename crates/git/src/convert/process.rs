//! Runs a filter that is started once and serves file after file (gitattributes(5), "Long Running Filter
//! Process").
//!
//! The filter receives the same data as from git, in the same order.

use std::{
    collections::HashMap,
    io::{self, BufReader},
    process::{Child, ChildStdin, ChildStdout},
};

use bstr::{BStr, BString, ByteSlice};
use gix_packetline::blocking_io::encode;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    command::{self, start},
    log::say,
};
use crate::{
    command::CommandContext,
    pkt_line::{MAX_CONTENT, ReadError, read_content, read_line},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes, strerror},
};

/// Bytes that a pipe holds without a reader.
const PIPE_BYTES: usize = 1 << 16;

/// The running filters, by command.
#[derive(Default)]
pub(super) struct Processes(HashMap<BString, Process>);

impl Processes {
    /// Let the filter `command` convert `content`, which `headers` describe. `None` if it fails or
    /// declines.
    pub(super) fn smudge(
        &mut self,
        context: &CommandContext,
        command: &BStr,
        headers: &[BString],
        content: &[u8],
        log: &mut Buffer,
    ) -> Result<Option<Vec<u8>>> {
        let process = match self.0.get_mut(command) {
            Some(process) => process,
            None => match Process::start(context, command, log)? {
                Some(process) => self.0.entry(command.to_owned()).or_insert(process),
                None => return Ok(None),
            },
        };
        if !process.smudges {
            return Ok(None);
        }
        match process.ask(headers, content, log)? {
            Answer::Content(filtered) => return Ok(Some(filtered)),
            Answer::Error => {}
            Answer::Abort => process.smudges = false,
            Answer::Failure => {
                say(
                    log,
                    format_bytes("error: external filter '{}' failed", &[command]),
                );
                if let Some(process) = self.0.remove(command) {
                    process.stop(command, log);
                }
            }
        }
        Ok(None)
    }
}

/// A filter's answer about a file.
enum Answer {
    Content(Vec<u8>),
    /// The filter declines this file.
    Error,
    /// The filter declines this and all later files.
    Abort,
    /// The filter violates the protocol.
    Failure,
}

/// Why a started filter is not used.
enum Refusal {
    /// The filter failed.
    Failed(BString),
    /// The run cannot continue.
    Fatal(Error),
}

struct Process {
    child: Child,
    /// Both pipes. `None` once they are closed.
    pipes: Option<(ChildStdin, BufReader<ChildStdout>)>,
    /// Whether the filter accepts files.
    smudges: bool,
}

impl Process {
    /// Start `command` and shake hands. `None`, with lines in `log`, if that fails.
    fn start(context: &CommandContext, command: &BStr, log: &mut Buffer) -> Result<Option<Self>> {
        let Some(mut child) = start(context, command, log) else {
            say(
                log,
                format_bytes("error: cannot fork to run subprocess '{}'", &[command]),
            );
            return Ok(None);
        };
        let pipes = child.stdin.take().zip(child.stdout.take());
        let mut process = Self {
            child,
            pipes: pipes.map(|(stdin, stdout)| (stdin, BufReader::new(stdout))),
            smudges: false,
        };
        match process.shake_hands(command) {
            Ok(()) => Ok(Some(process)),
            Err(Refusal::Fatal(error)) => Err(error),
            Err(Refusal::Failed(why)) => {
                say(log, format_bytes("error: {}", &[&why]));
                say(
                    log,
                    format_bytes(
                        "error: initialization for subprocess '{}' failed",
                        &[command],
                    ),
                );
                process.stop(command, log);
                Ok(None)
            }
        }
    }

    /// Negotiate the version and the capabilities.
    fn shake_hands(&mut self, command: &BStr) -> Result<(), Refusal> {
        let failed = |why: &str| Err(Refusal::Failed(why.into()));
        let Some((stdin, stdout)) = &mut self.pipes else {
            return failed("Could not write client identification");
        };
        if send(stdin, [&b"git-filter-client\n"[..], b"version=2\n"]).is_err() {
            return failed("Could not write client identification");
        }
        let unexpected = |line: Option<Vec<u8>>, expected: &str| {
            let line = line.unwrap_or_else(|| b"<flush packet>".to_vec());
            let values = [&line[..], expected.as_bytes()];
            Err(Refusal::Failed(format_bytes(
                "Unexpected line '{}', expected {}",
                &values,
            )))
        };
        let welcome = hear("greeting", stdout, command)?;
        if welcome.as_deref() != Some(b"git-filter-server") {
            return unexpected(welcome, "git-filter-server");
        }
        let named = hear("version", stdout, command)?;
        let version = named.as_deref().and_then(|line| {
            let number = line.strip_prefix(b"version=")?;
            number.to_str().ok()?.parse::<i32>().ok()
        });
        let Some(version) = version else {
            return unexpected(named, "version");
        };
        if let more @ Some(_) = hear("version flush", stdout, command)? {
            return unexpected(more, "flush");
        }
        if version != 2 {
            return failed(&format!("Version {version} not supported"));
        }
        let offered = [
            &b"capability=clean\n"[..],
            b"capability=smudge\n",
            b"capability=delay\n",
        ];
        if send(stdin, offered).is_err() {
            return failed("Could not write requested capability");
        }
        while let Some(line) = hear("capabilities", stdout, command)? {
            match line.strip_prefix(b"capability=") {
                Some(b"smudge") => self.smudges = true,
                Some(b"clean" | b"delay") | None => {}
                Some(other) => {
                    return Err(Refusal::Fatal(Error::fatal(format_bytes(
                        "subprocess '{}' requested unsupported capability '{}'",
                        &[command, other],
                    ))));
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, headers: &[BString], content: &[u8], log: &mut Buffer) -> Result<Answer> {
        let Some((stdin, stdout)) = &mut self.pipes else {
            return Ok(Answer::Failure);
        };
        if send(stdin, headers.iter().map(|line| line.as_bytes())).is_err() {
            say(log, "error: packet write with format failed");
            return Ok(Answer::Failure);
        }
        let sent = if content.len() > PIPE_BYTES {
            write_packets(stdin, content.chunks(MAX_CONTENT))
        } else {
            send(stdin, content.chunks(MAX_CONTENT))
        };
        if let Err(error) = sent {
            let why = strerror(&error);
            say(log, format!("error: packet write failed: {why}"));
            return Ok(Answer::Failure);
        }
        match answer(stdout) {
            Ok(answer) => Ok(answer),
            Err(ReadError::HungUp(_)) => Ok(Answer::Failure),
            Err(ReadError::Malformed(error)) => Err(error),
        }
    }

    /// Terminate the filter, whatever its state.
    fn stop(mut self, command: &BStr, log: &mut Buffer) {
        if let Some(id) = Pid::from_raw(self.child.id().cast_signed()) {
            // The filter may have ended already.
            let _ = kill_process(id, Signal::TERM);
        }
        if let Ok(status) = self.child.wait() {
            command::status(command, status, log);
        }
    }
}

impl Drop for Process {
    /// A filter may do much work at the end of its input, so its end is awaited.
    fn drop(&mut self) {
        self.pipes = None;
        // As in git, the status is ignored.
        let _ = self.child.wait();
    }
}

/// Write a list of packets for which a pipe has room. A filter that hangs up may do so before or after the
/// write. In both cases the failure is detected when its answer is read.
fn send<'a>(
    stdin: &mut ChildStdin,
    contents: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<()> {
    match write_packets(stdin, contents) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent,
    }
}

/// Write a list of packets, one for each of `contents`, and its end. Each packet is one write.
fn write_packets<'a>(
    to: &mut impl io::Write,
    contents: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut packet = Vec::new();
    for content in contents {
        packet.clear();
        encode::data_to_write(content, &mut packet)?;
        to.write_all(&packet)?;
    }
    encode::flush_to_write(to).map(drop)
}

/// Read a line of the handshake from the filter `command`. `what` names the line in messages. `None` at the
/// end of a list.
fn hear(
    what: &str,
    stdout: &mut BufReader<ChildStdout>,
    command: &BStr,
) -> Result<Option<Vec<u8>>, Refusal> {
    read_line(stdout).map_err(|broken| match broken {
        ReadError::HungUp(_) => {
            let template = "could not read {} from subprocess '{}'";
            Refusal::Failed(format_bytes(template, &[what.as_bytes(), command]))
        }
        ReadError::Malformed(error) => Refusal::Fatal(error),
    })
}

fn answer(stdout: &mut BufReader<ChildStdout>) -> Result<Answer, ReadError> {
    let mut status = Vec::new();
    read_status(stdout, &mut status)?;
    match &status[..] {
        b"success" => {}
        other => return Ok(refusal(other)),
    }
    let mut filtered = Vec::new();
    while let Some(content) = read_content(stdout)? {
        filtered.extend(content);
    }
    // An empty list keeps the status.
    read_status(stdout, &mut status)?;
    Ok(match &status[..] {
        b"success" => Answer::Content(filtered),
        other => refusal(other),
    })
}

fn refusal(status: &[u8]) -> Answer {
    match status {
        b"error" => Answer::Error,
        b"abort" => Answer::Abort,
        _ => Answer::Failure,
    }
}

/// Read a list of lines. The last `status=` counts.
fn read_status(stdout: &mut impl io::Read, status: &mut Vec<u8>) -> Result<(), ReadError> {
    while let Some(line) = read_line(stdout)? {
        if let Some(value) = line.strip_prefix(b"status=") {
            *status = value.to_vec();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Answer, PIPE_BYTES, Process, Refusal};
    use crate::{command::CommandContext, convert::command::start};
    use sluice_base::buffer::Buffer;

    /// A filter that ends before the first write.
    fn ended() -> Process {
        let context = CommandContext::default();
        let mut log = Buffer::default();
        let mut child = start(&context, "true".into(), &mut log).expect("it is everywhere");
        let pipes = child.stdin.take().zip(child.stdout.take());
        let status = child.wait().expect("it is our child");
        assert!(status.success());
        Process {
            child,
            pipes: pipes.map(|(stdin, stdout)| (stdin, BufReader::new(stdout))),
            smudges: true,
        }
    }

    /// Otherwise the message would depend on timing.
    #[test]
    fn a_filter_that_hangs_up_is_found_out_where_it_is_to_answer() {
        let Err(Refusal::Failed(why)) = ended().shake_hands("true".into()) else {
            panic!("nobody shakes hands");
        };
        assert_eq!(why, "could not read greeting from subprocess 'true'");
        let headers = ["command=smudge\n".into()];
        let full = vec![b'x'; 2 * PIPE_BYTES];
        for (content, said) in [
            (&b"small"[..], ""),
            (&full, "error: packet write failed: Broken pipe\n"),
        ] {
            let mut log = Buffer::default();
            let answer = ended().ask(&headers, content, &mut log);
            assert!(matches!(answer, Ok(Answer::Failure)));
            assert_eq!(String::from_utf8_lossy(&log), said);
        }
    }
}
