//! How far a task is. Must not draw.

use std::{
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use super::{
    line::{part, size, time},
    rate::Rate,
};

/// The time of a task before its first line.
const SILENT: Duration = Duration::from_millis(500);
/// The silence at the start of a task of unknown length, such as the reader of a pipe. It is longer, because the writer of the
/// pipe may know more and should draw first if both use one terminal.
const LONG_SILENT: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);
/// The longest remaining time that is shown, in seconds.
const MAX_LEFT: f64 = 100.0 * 3600.0;

/// The number of bytes that a task takes.
pub enum Total {
    /// The number is not known.
    Unknown,
    /// The number is known.
    Bytes(u64),
    /// The number can be worked out, which takes a thread of its own. Not done before the first line.
    Measured(Box<dyn FnOnce() -> Option<u64> + Send>),
}

/// What of a task is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Bytes.
    pub bytes: u64,
    /// Entries, if the task has any.
    pub entries: Option<u64>,
}

/// Measures one task. The clock starts with the first update.
pub struct Meter {
    verb: &'static str,
    silent: Duration,
    /// Works out the total.
    measure: Option<Box<dyn FnOnce() -> Option<u64> + Send>>,
    total: Arc<OnceLock<u64>>,
    begun: Option<Begun>,
    /// Whether a line was drawn.
    pub(super) is_shown: bool,
}

/// A task that has begun.
struct Begun {
    at: Instant,
    /// The bytes before, which say nothing about the rate.
    bytes: u64,
    rate: Rate,
    /// The time of the next line.
    next: Instant,
}

impl Meter {
    /// A meter for the task `verb` of `total` bytes.
    pub fn new(verb: &'static str, total: Total) -> Self {
        let (known, measure, silent) = match total {
            Total::Unknown => (None, None, LONG_SILENT),
            Total::Bytes(bytes) => (Some(bytes), None, SILENT),
            Total::Measured(measure) => (None, Some(measure), SILENT),
        };
        Self {
            verb,
            silent,
            measure,
            total: Arc::new(known.map_or_else(OnceLock::new, OnceLock::from)),
            begun: None,
            is_shown: false,
        }
    }

    /// The fields of a line, the most important ones first, if a line is due.
    pub(super) fn update(&mut self, done: Done) -> Option<Vec<String>> {
        let now = Instant::now();
        let begun = self.begun.get_or_insert_with(|| Begun {
            at: now,
            bytes: done.bytes,
            rate: Rate::default(),
            next: now + self.silent,
        });
        if now < begun.next {
            return None;
        }
        begun.next = now + INTERVAL;
        let seconds = (now - begun.at).as_secs_f64();
        let rate = begun
            .rate
            .add(seconds, done.bytes.saturating_sub(begun.bytes));
        self.look_ahead();
        Some(self.fields(done, rate))
    }

    /// The fields of the last line.
    pub(super) fn finish(&self, done: Done) -> Vec<String> {
        let rate = self.begun.as_ref().map_or(0.0, |begun| {
            let bytes = done.bytes.saturating_sub(begun.bytes);
            bytes as f64 / begun.at.elapsed().as_secs_f64()
        });
        let mut fields = vec![
            format!("{}: {}", self.verb, size(done.bytes)),
            per_second(rate),
        ];
        fields.extend(done.entries.map(entries));
        fields.push("done.".to_owned());
        fields
    }

    fn fields(&self, done: Done, rate: f64) -> Vec<String> {
        let (verb, bytes) = (self.verb, done.bytes);
        // A total that is too small was wrong.
        let total = self.total.get().filter(|&&total| total >= bytes.max(1));
        let mut fields = match total {
            Some(&total) => vec![
                format!("{verb}: {} %", percent(bytes, total)),
                part(bytes, total),
                per_second(rate),
            ],
            None => vec![format!("{verb}: {}", size(bytes)), per_second(rate)],
        };
        let left = total.map(|total| (total - bytes) as f64 / rate);
        // Without a rate, the time is endless or no number.
        let left = left.filter(|&left| left < MAX_LEFT);
        fields.extend(left.map(|left| format!("{} left", time(left.ceil() as u64))));
        fields.extend(done.entries.map(entries));
        fields
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
        // Without a thread, the end is unknown.
        let _ = thread::Builder::new().name("progress".into()).spawn(work);
    }
}

fn percent(bytes: u64, total: u64) -> u64 {
    (u128::from(bytes) * 100 / u128::from(total)) as u64
}

fn per_second(rate: f64) -> String {
    format!("{}/s", size(rate as u64))
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::{Done, Meter, Total};

    fn done(mib: u64) -> Done {
        Done {
            bytes: mib << 20,
            entries: Some(mib),
        }
    }

    fn meter(total: Total) -> Meter {
        Meter::new("Trying", total)
    }

    #[test]
    fn lines_are_due_after_half_a_second_and_ten_times_a_second() {
        let mut meter = meter(Total::Measured(Box::new(|| Some(8 << 20))));
        let begin = Instant::now();
        let mut lines = 0;
        while begin.elapsed() < Duration::from_millis(1050) {
            lines += u32::from(meter.update(done(1)).is_some());
            thread::sleep(Duration::from_millis(1));
        }
        assert!((2..=6).contains(&lines), "{lines}");
        // By now the total is known.
        let line = meter.fields(done(2), f64::from(1 << 20)).join(", ");
        let expected = "Trying: 25 %, 2.0 of 8.0 MiB, 1.0 MiB/s, 0:06 left, 2 entries";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_total_is_not_worked_out_for_a_short_run() {
        let mut meter = meter(Total::Measured(Box::new(|| panic!("no line, no total"))));
        assert!(meter.update(done(1)).is_none());
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let line = |total, rate| meter(total).fields(done(1), rate).join(", ");
        let unknown = "Trying: 1.0 MiB, 1.0 KiB/s, 1 entry";
        assert_eq!(line(Total::Unknown, 1024.0), unknown);
        assert_eq!(line(Total::Bytes(5), 1024.0), unknown);
        let stopped = "Trying: 50 %, 1.0 of 2.0 MiB, 0.0 KiB/s, 1 entry";
        assert_eq!(line(Total::Bytes(2 << 20), 0.0), stopped);
        let empty = meter(Total::Bytes(0)).fields(Done::default(), 0.0);
        assert_eq!(empty.join(", "), "Trying: 0.0 KiB, 0.0 KiB/s");
    }
}
