//! Shows the progress of the run: entries, bytes, rate, and how far the archive has come.
//!
//! One line that overwrites itself, drawn by the writer, first after half a second and then at most ten
//! times a second. The length of the archive is worked out beside the run, and only for a line that is drawn. Progress
//! never affects the archive.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

const SILENT: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);

/// Works out the number of bytes that the run will count, if the number can be known.
type Measure = Box<dyn FnOnce() -> Option<u64> + Send>;

/// A line of progress.
pub struct Meter {
    begun: Instant,
    drawn: Option<Instant>,
    /// The length of the last line.
    width: usize,
    measure: Option<Measure>,
    /// The number of bytes at the end, once it is known.
    total: Arc<OnceLock<u64>>,
}

impl Meter {
    /// Start the clock. `measure` takes a thread of its own.
    pub fn start(measure: impl FnOnce() -> Option<u64> + Send + 'static) -> Self {
        Self {
            begun: Instant::now(),
            drawn: None,
            width: 0,
            measure: Some(Box::new(measure)),
            total: Arc::default(),
        }
    }

    /// Show the `entries` and `bytes` written so far, if an update is due.
    pub fn update(&mut self, terminal: &mut dyn Write, entries: u64, bytes: u64) {
        let due = match self.drawn {
            Some(drawn) => drawn.elapsed() >= INTERVAL,
            None => self.begun.elapsed() >= SILENT,
        };
        if due {
            self.drawn = Some(Instant::now());
            self.look_ahead();
            let share = self.total.get().map(|&total| bytes as f64 / total as f64);
            let state = share.map_or_else(String::new, |share| {
                ahead(share, self.begun.elapsed().as_secs_f64())
            });
            self.draw(terminal, entries, bytes, &state, "");
        }
    }

    /// Leave the final state on the terminal, if any state was shown.
    pub fn finish(&mut self, terminal: &mut dyn Write, entries: u64, bytes: u64) {
        if self.drawn.is_some() {
            self.draw(terminal, entries, bytes, ", done.", "\n");
        }
    }

    fn look_ahead(&mut self) {
        let Some(measure) = self.measure.take() else {
            return;
        };
        let total = Arc::clone(&self.total);
        let work = move || {
            if let Some(bytes) = measure() {
                // Set once, by this thread.
                let _ = total.set(bytes);
            }
        };
        // Without a thread, nobody knows the end.
        let _ = thread::Builder::new().name("progress".into()).spawn(work);
    }

    fn draw(&mut self, terminal: &mut dyn Write, entries: u64, bytes: u64, state: &str, end: &str) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let mib = bytes as f64 / f64::from(1 << 20);
        let rate = mib / seconds;
        let line = format!("Archiving: {entries} entries, {mib:.1} MiB | {rate:.1} MiB/s{state}");
        // A longer line before is overwritten.
        let padded = format!("\r{line:<width$}{end}", width = self.width);
        self.width = line.len();
        // A failed write to the terminal is ignored.
        let _ = terminal
            .write_all(padded.as_bytes())
            .and_then(|()| terminal.flush());
    }
}

/// The `share` of the bytes that are written after so many `seconds`, and the time that is left.
fn ahead(share: f64, seconds: f64) -> String {
    let share = share.clamp(0.001, 1.0);
    let left = (seconds * (1.0 - share) / share).ceil() as u64;
    let (minutes, rest) = (left / 60, left % 60);
    format!(", {:.0} %, {minutes}:{rest:02} left", share * 100.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Meter, ahead};

    #[test]
    fn a_short_run_shows_nothing() {
        let mut terminal = Vec::new();
        let mut meter = Meter::start(|| panic!("no line, no length"));
        meter.update(&mut terminal, 1, 1);
        meter.finish(&mut terminal, 2, 2);
        assert!(terminal.is_empty());
    }

    #[test]
    fn a_long_run_shows_how_far_it_is() {
        let mut terminal = Vec::new();
        let mut meter = Meter::start(|| Some(1 << 21));
        while meter.total.get().is_none() {
            meter.update(&mut terminal, 1, 1 << 20);
            std::thread::sleep(Duration::from_millis(20));
        }
        terminal.clear();
        while terminal.is_empty() {
            meter.update(&mut terminal, 1, 1 << 20);
        }
        let line = String::from_utf8(terminal).expect("text");
        assert!(
            line.contains("1.0 MiB | ") && line.contains(", 50 %, 0:01 left"),
            "{line}"
        );
    }

    #[test]
    fn times_that_are_left() {
        assert_eq!(ahead(0.25, 30.0), ", 25 %, 1:30 left");
        assert_eq!(ahead(1.0, 30.0), ", 100 %, 0:00 left");
        assert_eq!(ahead(0.0, 1.0), ", 0 %, 16:39 left");
    }
}
