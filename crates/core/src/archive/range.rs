//! Some bytes of an archive, as HTTP asks for them (RFC 9110, section 14).
//!
//! The lengths of entries are added up until the range is found. Then the entries of the range are created as for the
//! full archive, and the bytes around the range are dropped. No file outside of the range is read, unless the lengths
//! of the archive are not known: such an archive is made from its first byte on. The whole of a compressed archive is made for
//! the cache, where its length is known and later ranges are found.

use std::{
    io::{self, Write},
    ops::Range,
    sync::Arc,
};

use super::{
    fetch,
    measure::{Chunk, Lengths, Measurer, measure},
    run::{ArchiveOutputs, RunStats, Slice, run_slice},
    share,
};
use crate::{
    cache::{Account, Role, Settings, StoredArchive},
    output::report::SentRange,
    plan::{Window, part::Entries},
    request::{Limits, Request},
};
use sluice_base::{
    error::{Error, Result},
    pipeline::{self, Sink},
};
use sluice_cli::ByteRange;

/// Writes the bytes `range` of the archive that `request` asks for: from the cache, if all of the archive is there or a
/// compressed one can be. Counts in `stats`.
pub fn send_range(
    mut request: Request,
    range: ByteRange,
    outputs: ArchiveOutputs<'_>,
    stats: &mut RunStats,
) -> Result<()> {
    if request.content.format.command().is_some() {
        return Err(refused("a command of the configuration makes the archive"));
    }
    let limits = request.run.limits;
    let cache = request.run.cache.take();
    let key = request.key.clone().ok();
    let mut account = Account {
        role: Role::Hit,
        key: key.map(|key| key.hex()),
        ..Account::default()
    };
    let found = cache.as_ref().zip(key.as_ref());
    let found = found.and_then(|(settings, key)| StoredArchive::open(settings, key));
    let stored = found
        .map(|stored| send_stored(stored, range, limits, outputs.destination, stats))
        .transpose()?;
    let sent = stats.summary.bytes_out;
    let rest = match &stored {
        None => Some(range),
        Some(wanted) if wanted.start + sent == wanted.end => None,
        // The rest is damaged.
        Some(wanted) => Some(ByteRange::Between(wanted.start + sent, wanted.end - 1)),
    };
    let mut first = stored.map_or(0, |wanted| wanted.start);
    if let Some(rest) = rest {
        let begun = match &cache {
            Some(settings) if !request.content.format.is_plain_tar() => {
                let completed = complete(settings, request, rest, outputs, stats, &mut account);
                stats.summary.cache = Some(account.clone());
                completed?
            }
            _ => {
                account.role = Role::Bypass;
                account.reason = Some("a part of the archive is asked for".to_owned());
                let begun = make(request, rest, outputs, stats)?;
                account.produced = stats.summary.bytes_out - sent;
                begun
            }
        };
        first = begun - sent;
    }
    account.served = stats.summary.bytes_out;
    stats.summary.range = Some(SentRange {
        first,
        last: first + account.served - 1,
    });
    stats.summary.cache = cache.map(|_| account);
    Ok(())
}

/// Sends the bytes `range` of the archive `stored`, up to a damaged part, and adds them to the counts in `stats`. Returns the
/// numbers of all bytes of the range.
fn send_stored(
    mut stored: StoredArchive,
    range: ByteRange,
    limits: Limits,
    destination: &mut dyn Write,
    stats: &mut RunStats,
) -> Result<Range<u64>> {
    let bytes = within(range, stored.bytes())?;
    stats.summary.bytes_out += stored.copy(bytes.clone(), &mut |chunk| {
        // The caller has checked everything except the time.
        limits.refuse(0, 0)?;
        let sent = destination.write_all(chunk);
        sent.map_err(|error| Error::write(&error))
    })?;
    Ok(bytes)
}

/// Creates the entire archive for the cache, and sends the bytes `range` of it. Returns the number of the first byte.
fn complete(
    settings: &Settings,
    request: Request,
    range: ByteRange,
    outputs: ArchiveOutputs<'_>,
    stats: &mut RunStats,
    account: &mut Account,
) -> Result<u64> {
    let limits = request.run.limits;
    let stored = share::complete(settings, request, outputs.console, outputs.meter, account)?;
    let before = stats.summary.bytes_out;
    let bytes = send_stored(stored, range, limits, outputs.destination, stats)?;
    if stats.summary.bytes_out - before == bytes.end - bytes.start {
        Ok(bytes.start)
    } else {
        Err(refused("a file of the cache is damaged"))
    }
}

/// The bytes `range` of an archive of `len` bytes, at least one.
fn within(range: ByteRange, len: u64) -> Result<Range<u64>> {
    let bytes = match range {
        ByteRange::From(first) => first..len,
        ByteRange::Between(first, last) => first..len.min(last.saturating_add(1)),
        ByteRange::Last(count) => len.saturating_sub(count)..len,
    };
    if bytes.is_empty() {
        Err(Error::not_satisfiable(len))
    } else {
        Ok(bytes)
    }
}

/// Makes the bytes `range` of the archive, and adds them to the counts in `stats`. Returns the number of the first byte.
fn make(
    request: Request,
    range: ByteRange,
    mut outputs: ArchiveOutputs<'_>,
    stats: &mut RunStats,
) -> Result<u64> {
    if !request.content.format.is_plain_tar() {
        return Err(Error::fatal("cannot send a range of a compressed archive")
            .hinted("add --cache=<dir>, so that the range comes from the cache"));
    }
    let request = fetch::completed(request, &mut outputs.console)?;
    let bytes = match range {
        ByteRange::From(first) => first..u64::MAX,
        ByteRange::Between(first, last) => first..last.saturating_add(1),
        ByteRange::Last(_) => within(range, length(request.clone())?)?,
    };
    let slice = RangeSearch::run(request.clone(), bytes.clone())?;
    let mut cut = Cut {
        inner: outputs.destination,
        position: slice.position.unwrap_or(0),
        bytes: bytes.clone(),
        passed: 0,
    };
    let outputs = ArchiveOutputs {
        destination: &mut cut,
        console: outputs.console,
        meter: outputs.meter,
    };
    let outcome = run_slice(request, slice, outputs, stats);
    stats.summary.bytes_out += cut.passed;
    outcome?;
    match cut.passed {
        // An archive of unknown length has come to its end before the range.
        0 => Err(Error::not_satisfiable(cut.position)),
        _ => Ok(bytes.start),
    }
}

fn refused(reason: &'static str) -> Error {
    Error::fatal("cannot send a range of this archive").caused_by(reason)
}

/// The length of the archive, in bytes.
fn length(request: Request) -> Result<u64> {
    measure(request)?.bytes.map_err(|reason| {
        Error::fatal("the length of the archive is unknown").caused_by(reason.as_str())
    })
}

/// Looks for the entries of a range.
struct RangeSearch {
    bytes: Range<u64>,
    /// The position of the next entry in the archive, in bytes.
    position: u64,
    /// The number of the next entry in the plan.
    number: u64,
    /// The number and the position of the first entry of the range.
    start: Option<(u64, u64)>,
    kept: WindowCache,
    state: SearchState,
}

/// How far a search has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchState {
    /// The range continues after the last entry.
    Going,
    /// The range ends in the last entry, or need not be followed to the end of the archive.
    Complete,
    /// The length of an entry is not known, so nothing after the entry can be found.
    Lost,
}

/// The windows from the start of the range on, so that they need not be planned again.
struct WindowCache {
    /// `None` once they take too much memory or time.
    windows: Option<Vec<Arc<Window>>>,
    /// The number in the plan of the first entry of the first window.
    first: u64,
    bytes: usize,
    max_bytes: usize,
}

impl RangeSearch {
    /// The part of the archive with `bytes`.
    fn run(request: Request, bytes: Range<u64>) -> Result<Slice> {
        let max_bytes = request.run.budget.kept_windows();
        let (measurer, planner, limits) = Measurer::new(request)?;
        let head = measurer.head()?;
        let mut search = Self {
            position: head,
            number: 0,
            start: (bytes.start < head).then_some((0, 0)),
            bytes,
            kept: WindowCache {
                windows: Some(Vec::new()),
                first: 0,
                bytes: 0,
                max_bytes,
            },
            state: SearchState::Going,
        };
        let (_, outcome) = pipeline::run(planner, &measurer, &mut search, limits);
        outcome?;
        if search.state == SearchState::Lost {
            return Ok(Slice::default());
        }
        let end = measurer.end(search.position)?;
        search.slice(end)
    }

    /// The part that was found, in an archive that has `end` bytes after all entries.
    fn slice(self, end: u64) -> Result<Slice> {
        let is_after = self.bytes.start >= self.position + end;
        let (number, position) = match self.start {
            Some(start) => start,
            None if is_after => return Err(Error::not_satisfiable(self.position + end)),
            None => (self.number, self.position),
        };
        let is_bounded = self.state == SearchState::Complete && self.bytes.end != u64::MAX;
        // No thread is left that holds a window.
        let windows = self.kept.windows.and_then(|windows| {
            let whole = windows.into_iter().map(Arc::into_inner);
            whole.collect::<Option<Vec<_>>>()
        });
        Ok(Slice {
            entries: Entries {
                before: match windows {
                    Some(_) => number - self.kept.first,
                    None => number,
                },
                count: is_bounded.then_some(self.number - number),
            },
            windows,
            position: (position > 0).then_some(position),
        })
    }

    /// Takes in the next entry, of `len` bytes.
    fn add(&mut self, len: u64) {
        let end = self.position.saturating_add(len);
        if self.start.is_none() && self.bytes.start < end {
            self.start = Some((self.number, self.position));
        }
        self.position = end;
        self.number += 1;
        if self.position >= self.bytes.end {
            self.state = SearchState::Complete;
        }
    }

    /// Keeps the window of `chunk`, which begins at entry `number` and is in the range.
    fn keep(&mut self, chunk: Chunk, number: u64) {
        let kept = &mut self.kept;
        let Some(windows) = &mut kept.windows else {
            return;
        };
        let is_known = |last: &Arc<Window>| Arc::ptr_eq(last, &chunk.window);
        if windows.last().is_some_and(is_known) {
            return;
        }
        if windows.is_empty() {
            kept.first = number - chunk.range.start as u64;
        }
        kept.bytes += chunk.window.held();
        windows.push(chunk.window);
        // Up to the end of an archive the range may be long: to measure it may take longer than to plan it again.
        let is_long = self.bytes.end == u64::MAX && self.number - kept.first > kept.first / 4;
        if is_long || kept.bytes > kept.max_bytes {
            kept.windows = None;
            if self.bytes.end == u64::MAX {
                self.state = SearchState::Complete;
            }
        }
    }
}

impl Sink<Lengths> for RangeSearch {
    fn write(&mut self, lengths: &mut Lengths) -> Result<()> {
        let Lengths {
            each,
            chunk,
            unknown,
            ..
        } = std::mem::take(lengths);
        if unknown.is_some() {
            self.state = SearchState::Lost;
            return Ok(());
        }
        let number = self.number;
        for len in each {
            self.add(len);
            if self.is_done() {
                break;
            }
        }
        if let Some(chunk) = chunk
            && self.start.is_some()
        {
            self.keep(chunk, number);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.state != SearchState::Going
    }

    fn abandon(&mut self, _: &mut Lengths) {}
}

/// Passes some bytes of an archive on, and drops the others.
struct Cut<'a> {
    inner: &'a mut (dyn Write + Send),
    /// The position in the archive of the byte that is written next.
    position: u64,
    bytes: Range<u64>,
    /// The number of bytes that were passed on.
    passed: u64,
}

impl Write for Cut<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len() as u64;
        let within = |position: u64| position.saturating_sub(self.position).min(len) as usize;
        let wanted = &bytes[within(self.bytes.start)..within(self.bytes.end)];
        self.inner.write_all(wanted)?;
        self.passed += wanted.len() as u64;
        self.position += len;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
