//! Clients that run at once, each with a pipe and a reader of its own.
//!
//! The readers must cost little, since they share the machine with the clients: bytes go from the pipe to
//! `/dev/null` inside the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read as _};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice};

use crate::measure::usage;
use crate::median::median;

const PIPE_BYTES: usize = 1 << 20;

/// What some clients took that ran at once. The processes are all that the clients started and waited for.
pub(super) struct Turn {
    /// For each client, in the order of the clients' ends.
    pub(super) clients: Vec<Client>,
    /// Until the last client ended.
    pub(super) wall_ms: f64,
    /// User and system time of all processes.
    pub(super) cpu_ms: f64,
    /// What all processes wrote to file systems.
    pub(super) written_bytes: u64,
}

impl Turn {
    pub(super) fn median_first_byte_ms(&self) -> f64 {
        median(self.first_bytes_ms())
    }

    pub(super) fn slowest_first_byte_ms(&self) -> f64 {
        self.first_bytes_ms().fold(f64::NAN, f64::max)
    }

    fn first_bytes_ms(&self) -> impl Iterator<Item = f64> {
        self.clients.iter().map(|client| client.first_byte_ms)
    }
}

pub(super) struct Client {
    /// Since the client's own start.
    pub(super) first_byte_ms: f64,
    /// The last byte, since the start of the turn.
    pub(super) end_ms: f64,
    pub(super) bytes: u64,
}

/// Runs the clients, discards and counts their bytes.
pub(super) fn measure(commands: Vec<Command>) -> Result<Turn> {
    let before = usage::of_children()?;
    let started = Instant::now();
    let mut clients = at_once(commands, |pipe, client_started| {
        let (first_byte, bytes) = discard(pipe, client_started)?;
        Ok(Client {
            first_byte_ms: milliseconds(first_byte),
            end_ms: milliseconds(started.elapsed()),
            bytes,
        })
    })?;
    let wall_ms = milliseconds(started.elapsed());
    clients.sort_by(|one, two| one.end_ms.total_cmp(&two.end_ms));
    let after = usage::of_children()?;
    Ok(Turn {
        clients,
        wall_ms,
        cpu_ms: cpu_ms(&after) - cpu_ms(&before),
        written_bytes: written_bytes(&after) - written_bytes(&before),
    })
}

fn cpu_ms(usage: &libc::rusage) -> f64 {
    (usage::user_seconds(usage) + usage::system_seconds(usage)) * 1e3
}

fn written_bytes(usage: &libc::rusage) -> u64 {
    const BLOCK: u64 = 512;
    usage.ru_oublock.unsigned_abs() * BLOCK
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Starts all commands, has `read` read each pipe to its end, and waits for all. `read` also gets the time at
/// which its client was started. Fails if any client fails.
pub(super) fn at_once<T: Send>(
    commands: Vec<Command>,
    read: impl Fn(PipeReader, Instant) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let read = &read;
    thread::scope(|scope| {
        let start = |command| scope.spawn(move || run_client(command, read));
        let threads: Vec<_> = commands.into_iter().map(start).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        joined.collect()
    })
}

fn run_client<T>(command: Command, read: impl Fn(PipeReader, Instant) -> Result<T>) -> Result<T> {
    let (running, output) = Running::start(command)?;
    let result = read(output, running.started);
    running.end(result)
}

/// How long a client waits for its first byte that starts when another one, which is not read any further, has
/// its first byte; in milliseconds.
pub(super) fn second_first_byte_ms(first: Command, second: Command) -> Result<f64> {
    let (running, mut output) = Running::start(first)?;
    output.read_exact(&mut [0])?;
    let waited = run_client(second, |pipe, started| Ok(discard(pipe, started)?.0))?;
    let rest = discard(output, running.started);
    running.end(rest)?;
    Ok(milliseconds(waited))
}

/// A client that was started.
struct Running {
    name: String,
    child: Child,
    started: Instant,
}

impl Running {
    fn start(mut command: Command) -> Result<(Self, PipeReader)> {
        let name = format!("{command:?}");
        let (output, input) = io::pipe()?;
        fcntl_setpipe_size(&output, PIPE_BYTES).context("could not make a pipe of 1 MiB")?;
        let started = Instant::now();
        // The command holds the pipe open until it is dropped.
        let child = command.stdout(input).spawn();
        let child = child.with_context(|| format!("could not start {name}"))?;
        let running = Self {
            name,
            child,
            started,
        };
        Ok((running, output))
    }

    /// Waits for the end of the client; `result` came from its pipe.
    fn end<T>(mut self, result: Result<T>) -> Result<T> {
        let (name, status) = (self.name, self.child.wait()?);
        let result = result.with_context(|| format!("{name} ended with {status}"))?;
        ensure!(status.success(), "{name} failed: {status}");
        Ok(result)
    }
}

/// How long after `started` the first byte came, and how many bytes there were.
fn discard(mut pipe: PipeReader, started: Instant) -> Result<(Duration, u64)> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    let mut bytes = discard_some(&mut pipe, &null)?;
    let first_byte = started.elapsed();
    ensure!(bytes > 0, "no byte was written");
    loop {
        match discard_some(&mut pipe, &null)? {
            0 => return Ok((first_byte, bytes)),
            count => bytes += count,
        }
    }
}

/// Waits for bytes, and returns how many there were; 0 at the end.
fn discard_some(pipe: &mut PipeReader, null: &File) -> io::Result<u64> {
    let spliced = splice(&*pipe, None, null, None, PIPE_BYTES, SpliceFlags::empty());
    let count = match spliced {
        // Some kernels cannot splice to this device.
        Err(Errno::INVAL) => pipe.read(&mut [0; 1 << 16])?,
        spliced => spliced?,
    };
    Ok(count as u64)
}
