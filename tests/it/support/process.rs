//! Running a command to its end, under a time limit, with everything that it said kept together.
//!
//! Nothing here may wait without a limit: a command that hangs is killed with all that it started,
//! and its test fails. Nothing here reads or changes the environment of the test process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Far above what any of our commands needs, even on a slow and busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// How many lines of stderr a failure shows.
const SHOWN_LINES: usize = 30;

/// What a command left behind. `Display` shows all of it, with stdout as a listing if it is an
/// archive.
#[must_use]
pub(crate) struct Output {
    pub(crate) command: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) status: ExitStatus,
}

impl Output {
    /// The exit status, or what a shell shows for a death by signal.
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().expect("exited or was killed"))
    }

    pub(crate) fn messages(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The stdout of a command that has to succeed.
    #[track_caller]
    pub(crate) fn success(self) -> Vec<u8> {
        assert!(self.status.success(), "{self}");
        self.stdout
    }

    /// Exactly this status and these messages, whatever is on stdout.
    #[track_caller]
    pub(crate) fn assert_ends(&self, code: i32, messages: &str) {
        let ends = (self.code(), &*self.messages());
        assert_eq!(ends, (code, messages), "\n{self}");
    }

    /// Nothing on stdout, and exactly this status and these messages.
    #[track_caller]
    pub(crate) fn assert_failure(&self, code: i32, messages: &str) {
        self.assert_ends(code, messages);
        assert!(
            self.stdout.is_empty(),
            "a failure before the first byte wrote some\n{self}"
        );
    }

    /// Nothing on stdout, exactly this status, and these words among the messages.
    #[track_caller]
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code(), code, "{self}");
        assert!(self.stdout.is_empty(), "{self}");
        let messages = self.messages();
        for word in words {
            assert!(messages.contains(word), "no {word}\n{self}");
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.command)?;
        writeln!(f, "stdout: {} bytes", self.stdout.len())?;
        writeln!(f, "stderr:")?;
        for line in self.messages().lines().take(SHOWN_LINES) {
            writeln!(f, "  {line}")?;
        }
        write!(f, "status: {}", self.status)
    }
}

/// A command that runs, and does not outlive this value.
pub(crate) struct Running {
    command: String,
    child: Child,
    /// None if it is not ours, or once we have hung up.
    stdout: Option<ChildStdout>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    watch: Watch,
}

impl Running {
    /// Start `command` in a process group of its own; its stdin is empty.
    pub(crate) fn start(command: &mut Command) -> Running {
        Running::start_between(Vec::new(), command, Stdio::piped())
    }

    /// The same with `input` on its stdin, and its stdout where the caller wants it.
    pub(crate) fn start_between(input: Vec<u8>, command: &mut Command, output: Stdio) -> Running {
        let stdin = if input.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        };
        let mut child = command
            .stdin(stdin)
            .stdout(output)
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input is free to go.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let stdout = child.stdout.take();
        let mut stderr = child.stderr.take().expect("piped above");
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).expect("stderr can be read");
            bytes
        });
        let watch = Watch::over(&child);
        Running {
            command: shown(command),
            child,
            stdout,
            stderr: Some(stderr),
            watch,
        }
    }

    /// Where its output is to be read, as fast or as slow as wanted.
    pub(crate) fn stdout(&mut self) -> &mut ChildStdout {
        self.stdout.as_mut().expect("only we take it")
    }

    /// Send `signal` to it and to nobody else.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = self.child.id().cast_signed();
        let id = rustix::process::Pid::from_raw(id).expect("no child has the id 0");
        rustix::process::kill_process(id, signal).expect("it was not waited for");
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait();
        ended.expect("a child can be waited for").is_some()
    }

    /// Read what is left and wait for the end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Output {
        let mut rest = Vec::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_end(&mut rest).expect("stdout can be read");
        }
        self.wait(rest)
    }

    /// Close the reading side of its stdout and wait for the end.
    #[track_caller]
    pub(crate) fn hang_up(mut self) -> Output {
        self.stdout = None;
        self.wait(Vec::new())
    }

    #[track_caller]
    fn wait(&mut self, stdout: Vec<u8>) -> Output {
        let stderr = self
            .stderr
            .take()
            .expect("joined only here")
            .join()
            .expect("reads only");
        let status = self.child.wait().expect("a child can be waited for");
        assert!(
            !self.watch.fired(),
            "did not end within {LIMIT:?}: {}",
            self.command
        );
        Output {
            command: std::mem::take(&mut self.command),
            stdout,
            stderr,
            status,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            kill_group(self.child.id());
            self.child.wait().expect("killed just now");
        }
    }
}

/// Kills a process group when its time is up, unless it is asked before whether it did.
struct Watch {
    end: mpsc::Sender<()>,
    thread: Option<JoinHandle<bool>>,
}

impl Watch {
    fn over(child: &Child) -> Watch {
        let group = child.id();
        let (end, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let late = ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                kill_group(group);
            }
            late
        });
        Watch {
            end,
            thread: Some(thread),
        }
    }

    fn fired(&mut self) -> bool {
        // It is gone already when it fired.
        let _ = self.end.send(());
        self.thread
            .take()
            .expect("asked only once")
            .join()
            .expect("kills only")
    }
}

fn kill_group(id: u32) {
    let group = rustix::process::Pid::from_raw(id.cast_signed()).expect("no child has the id 0");
    // The group may have ended by itself in this moment.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

/// Run `command` to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Output {
    Running::start(command).finish()
}

/// Run `command` to its end with `input` on its stdin.
#[track_caller]
pub(crate) fn run_with_input(command: &mut Command, input: impl Into<Vec<u8>>) -> Output {
    Running::start_between(input.into(), command, Stdio::piped()).finish()
}

/// The command line, for people.
fn shown(command: &Command) -> String {
    let words: Vec<OsString> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_owned)
        .collect();
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}
