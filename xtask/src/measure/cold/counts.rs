//! The requests of one run, as the mirror counted them.

use anyhow::{Context, Result};
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Names that were looked up; the answer has the attributes.
    pub(super) lookup: u64,
    pub(super) getattr: u64,
    pub(super) open: u64,
    pub(super) readdir: u64,
    pub(super) readlink: u64,
    pub(super) read: u64,
    pub(super) read_bytes: u64,
    /// The largest number of requests at once.
    pub(super) max_in_flight: u64,
}

impl Counts {
    /// Reads the line that `cold-mirror` prints.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let counts: Value = serde_json::from_str(line)?;
        let figure = |name: &str| {
            let figure = counts[name].as_u64();
            figure.with_context(|| format!("the mirror does not count '{name}'"))
        };
        Ok(Self {
            lookup: figure("lookup")?,
            getattr: figure("getattr")?,
            open: figure("open")?,
            readdir: figure("readdir")?,
            readlink: figure("readlink")?,
            read: figure("read")?,
            read_bytes: figure("read_bytes")?,
            max_in_flight: figure("max_in_flight")?,
        })
    }

    /// The middle one of each figure, since threads make the counts differ from run to run.
    pub(super) fn median(runs: &[Counts]) -> Self {
        let middle = |figure: fn(&Counts) -> u64| {
            let mut figures: Vec<_> = runs.iter().map(figure).collect();
            figures.sort_unstable();
            figures.get(figures.len() / 2).copied().unwrap_or(0)
        };
        Self {
            lookup: middle(|counts| counts.lookup),
            getattr: middle(|counts| counts.getattr),
            open: middle(|counts| counts.open),
            readdir: middle(|counts| counts.readdir),
            readlink: middle(|counts| counts.readlink),
            read: middle(|counts| counts.read),
            read_bytes: middle(|counts| counts.read_bytes),
            max_in_flight: middle(|counts| counts.max_in_flight),
        }
    }

    /// The requests for names, attributes, open files and directories.
    pub(super) fn metadata(&self) -> [u64; 5] {
        [
            self.lookup,
            self.getattr,
            self.open,
            self.readdir,
            self.readlink,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn a_line_of_the_mirror_is_read() {
        let line = r#"{"lookup":1,"getattr":2,"open":3,"readdir":4,"readlink":5,"read":6,"read_bytes":7,"max_in_flight":8}"#;
        let counts = Counts::parse(line).unwrap();
        assert_eq!(counts.metadata(), [1, 2, 3, 4, 5]);
        let others = (counts.read, counts.read_bytes, counts.max_in_flight);
        assert_eq!(others, (6, 7, 8));
        assert!(Counts::parse(r#"{"lookup":1}"#).is_err());
    }

    #[test]
    fn each_figure_has_its_own_median() {
        let run = |read_bytes, max_in_flight| Counts {
            read_bytes,
            max_in_flight,
            ..Counts::default()
        };
        let median = Counts::median(&[run(1, 9), run(2, 7), run(3, 8)]);
        assert_eq!(median, run(2, 8));
    }
}
