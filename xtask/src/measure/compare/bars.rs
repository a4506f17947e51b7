//! Ratios as bars of text, as the README shows them.

use std::fmt::Write as _;

/// The length of git's bar.
const FULL: f64 = 40.0;

/// One archive beside git's.
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
pub(super) fn draw(bars: &[Bar]) -> String {
    let git = ("git archive".to_owned(), 1.0);
    let ours = bars.iter().map(|bar| (bar.label(), bar.ratio));
    let rows: Vec<_> = [git].into_iter().chain(ours).collect();
    let width = rows.iter().map(|(label, _)| label.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = "```text\nwall time as a part of git archive's, into /dev/null\n\n".to_owned();
    for (label, ratio) in rows {
        let bar = "█".repeat((ratio * FULL).round() as usize);
        writeln!(text, "{label:width$} {bar} {ratio:.2}").expect("a string takes every write");
    }
    text + "```\n"
}

#[cfg(test)]
mod tests {
    use super::{Bar, draw};

    #[test]
    fn bars_have_the_length_of_their_ratio() {
        let bar = |format: &str, ratio| Bar {
            repository: "a.git".into(),
            revision: "HEAD".into(),
            format: format.into(),
            ratio,
        };
        let full = "█".repeat(40);
        let expected = format!(
            "```text\nwall time as a part of git archive's, into /dev/null\n\n\
             git archive        {full} 1.00\n\
             a.git HEAD         ████████ 0.19\n\
             a.git HEAD, tar.gz ████████████ 0.30\n```\n"
        );
        assert_eq!(draw(&[bar("tar", 0.19), bar("tar.gz", 0.3)]), expected);
    }
}
