//! Shows the progress of the run: entries, bytes, rate.
//!
//! One line that overwrites itself, drawn by the writer, first after half a second and then at most ten
//! times a second. Progress never affects the run.

use std::{
    io::Write,
    time::{Duration, Instant},
};

const SILENT: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);

/// A line of progress.
pub struct Meter {
    begun: Instant,
    drawn: Option<Instant>,
}

impl Meter {
    /// Start the clock.
    pub fn start() -> Self {
        Self {
            begun: Instant::now(),
            drawn: None,
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
            self.draw(terminal, entries, bytes, "");
        }
    }

    /// Leave the final state on the terminal, if any state was shown.
    pub fn finish(&mut self, terminal: &mut dyn Write, entries: u64, bytes: u64) {
        if self.drawn.is_some() {
            self.draw(terminal, entries, bytes, ", done.\n");
        }
    }

    fn draw(&self, terminal: &mut dyn Write, entries: u64, bytes: u64, end: &str) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let mib = bytes as f64 / f64::from(1 << 20);
        let rate = mib / seconds;
        let line = format!("\rArchiving: {entries} entries, {mib:.1} MiB | {rate:.1} MiB/s{end}");
        // A failed write to the terminal is ignored.
        let _ = terminal
            .write_all(line.as_bytes())
            .and_then(|()| terminal.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn a_short_run_shows_nothing() {
        let mut terminal = Vec::new();
        let mut meter = Meter::start();
        meter.update(&mut terminal, 1, 1);
        meter.finish(&mut terminal, 2, 2);
        assert!(terminal.is_empty());
    }
}
