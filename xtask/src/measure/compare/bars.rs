//! Speeds as bars of text, as the README shows them. A longer bar is better.

use std::fmt::Write as _;

use super::contender::Sink;

/// The length of git's bar.
const UNIT: f64 = 6.0;

/// One archive next to git's.
pub(super) struct Bar {
    pub(super) repository: String,
    pub(super) revision: String,
    pub(super) format: String,
    /// The wall time as a part of git's.
    pub(super) ratio: f64,
}

impl Bar {
    fn label(&self) -> String {
        let Self {
            repository,
            revision,
            format,
            ..
        } = self;
        match format.as_str() {
            "tar" => format!("{repository} {revision}"),
            _ => format!("{repository} {revision}, {format}"),
        }
    }
}

/// A block of Markdown with git's bar on top.
pub(super) fn draw(bars: &[Bar], sink: Sink) -> String {
    let git = ("git archive".to_owned(), 1.0);
    let ours = bars.iter().map(|bar| (bar.label(), 1.0 / bar.ratio));
    let rows: Vec<_> = [git].into_iter().chain(ours).collect();
    let width = rows.iter().map(|(label, _)| label.chars().count()).max();
    let width = width.unwrap_or(0);
    let sink = match sink {
        Sink::Null => "/dev/null",
        Sink::Pipe => "a pipe",
        Sink::File => "a file",
    };
    let mut text = format!("```text\ntimes as fast as git archive, into {sink}\n\n");
    for (label, speed) in rows {
        let bar = "█".repeat((speed * UNIT).round() as usize);
        writeln!(text, "{label:width$} {bar} {speed:.1}").expect("a string takes every write");
    }
    text + "```\n"
}

#[cfg(test)]
mod tests {
    use super::{Bar, Sink, draw};

    #[test]
    fn bars_have_the_length_of_their_speed() {
        let bar = |format: &str, ratio| Bar {
            repository: "a.git".into(),
            revision: "HEAD".into(),
            format: format.into(),
            ratio,
        };
        let expected = "```text\ntimes as fast as git archive, into /dev/null\n\n\
             git archive        ██████ 1.0\n\
             a.git HEAD         ██████████████████████████████ 5.0\n\
             a.git HEAD, tar.gz ████████████ 2.0\n```\n";
        assert_eq!(
            draw(&[bar("tar", 0.2), bar("tar.gz", 0.5)], Sink::Null),
            expected
        );
    }
}
