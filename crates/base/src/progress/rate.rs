//! The rate of a task: an average in which the last seconds count most.

/// A moment counts half after about two thirds of so many seconds.
const MEMORY: f64 = 5.0;

/// The rate so far.
#[derive(Default)]
pub(super) struct Rate {
    seconds: f64,
    bytes: u64,
    /// The average, with the time before the task as a time without a byte.
    average: f64,
    /// The part of the average that is not of the time before the task.
    weight: f64,
}

impl Rate {
    /// Takes note that `bytes` are done after so many `seconds`. Returns bytes a second; zero if nothing is known.
    pub(super) fn add(&mut self, seconds: f64, bytes: u64) -> f64 {
        let elapsed = seconds - self.seconds;
        if elapsed > 0.0 {
            // Near enough to an exponential function, which would have the library of mathematics loaded at each start.
            let kept = (1.0 + elapsed / (4.0 * MEMORY)).powi(-4);
            let now = bytes.saturating_sub(self.bytes) as f64 / elapsed;
            self.average = self.average * kept + now * (1.0 - kept);
            self.weight = self.weight * kept + (1.0 - kept);
            (self.seconds, self.bytes) = (seconds, bytes);
        }
        if self.weight > 0.0 {
            self.average / self.weight
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn the_last_seconds_count_most() {
        let mut rate = Rate::default();
        assert_eq!(rate.add(0.0, 0), 0.0);
        for tenth in 1..=100_u32 {
            let now = rate.add(f64::from(tenth) / 10.0, u64::from(tenth) * 100);
            assert!((now - 1000.0).abs() < 1e-6, "{now}");
        }
        // A stop.
        let later = rate.add(15.0, 10_000);
        assert!((300.0..500.0).contains(&later), "{later}");
        let faster = rate.add(40.0, 60_000);
        assert!((1900.0..2000.0).contains(&faster), "{faster}");
    }
}
