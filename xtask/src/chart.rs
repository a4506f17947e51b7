//! `cargo xtask chart`: the bars of the pages, from the tables of the page about performance.
//!
//! The figures are in the page only. The pictures are checked in, because GitHub and the book show them as they are.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Draw the bars in docs from the tables of docs/performance.md
#[derive(clap::Args)]
pub(crate) struct Args {}

const PAGE: &str = "docs/performance.md";

/// What one picture shows: a column of the first table below a heading.
struct Chart {
    /// The beginning of the names of its files.
    name: &'static str,
    heading: &'static str,
    title: &'static str,
    subtitle: &'static str,
    /// The first columns of the table, which name a bar.
    labels: usize,
    column: usize,
    /// Whether a bar is compared with `git archive`, whose bar would have the length 1.
    is_ratio: bool,
}

const CHARTS: [Chart; 4] = [
    Chart {
        name: "speed",
        heading: "## How fast is an archive?",
        title: "Times as fast as git archive",
        subtitle: "tar, two threads on two cores; longer is better",
        labels: 1,
        column: 4,
        is_ratio: true,
    },
    Chart {
        name: "compressed",
        heading: "## How fast is a compressed archive?",
        title: "Times as fast as git archive",
        subtitle: "zip and tar.gz to /dev/null, two threads on two cores; longer is better",
        labels: 2,
        column: 4,
        is_ratio: true,
    },
    Chart {
        name: "apply",
        heading: "## How fast is `apply`?",
        title: "Milliseconds for 38,570 files",
        subtitle: "two cores; shorter is better",
        labels: 1,
        column: 1,
        is_ratio: false,
    },
    Chart {
        name: "cache",
        heading: "## What does a cache save?",
        title: "Milliseconds until twenty clients have a tar.gz",
        subtitle: "git.git HEAD, two cores; shorter is better",
        labels: 1,
        column: 2,
        is_ratio: false,
    },
];

/// Lengths, in pixels.
const WIDTH: f64 = 630.0;
const TOP: f64 = 64.0;
const ROW: f64 = 28.0;
const BAR: f64 = 18.0;
const LABELS: f64 = 275.0;
/// To the right of the longest bar is its number.
const NUMBERS: f64 = 60.0;

/// The colors of one picture.
struct Theme {
    /// The end of the name of its file.
    name: &'static str,
    background: &'static str,
    text: &'static str,
    faint: &'static str,
    bar: &'static str,
}

const THEMES: [Theme; 2] = [
    Theme {
        name: "light",
        background: "#ffffff",
        text: "#1f2328",
        faint: "#59636e",
        bar: "#0969da",
    },
    Theme {
        name: "dark",
        background: "#0d1117",
        text: "#f0f6fc",
        faint: "#9198a1",
        bar: "#4493f8",
    },
];

pub(crate) fn run(_: &Args) -> Result<()> {
    let root = root();
    for (file, svg) in charts(root)? {
        fs::write(root.join(&file), svg)?;
        println!("{file}");
    }
    Ok(())
}

/// The directory of the repository.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The files below `root`, each with its picture.
fn charts(root: &Path) -> Result<Vec<(String, String)>> {
    let page = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let mut drawn = Vec::new();
    for chart in &CHARTS {
        let section = page.split_once(chart.heading).context(chart.heading)?.1;
        let bars = bars(section, chart.labels, chart.column);
        anyhow::ensure!(!bars.is_empty(), "no table below '{}'", chart.heading);
        for theme in &THEMES {
            let file = format!("docs/{}-{}.svg", chart.name, theme.name);
            drawn.push((file, svg(chart, &bars, theme)));
        }
    }
    Ok(drawn)
}

/// A bar: its label, the number as the table has it, and the same as a number.
type Bar = (String, String, f64);

/// The bars of the first table of `section`: the first `labels` columns, and the number in `column`.
fn bars(section: &str, labels: usize, column: usize) -> Vec<Bar> {
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("|--") && !line.starts_with("|:--"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        // In a cell, a pipe of the shell has a backslash.
        let row = row.trim_matches('|').replace("\\|", "\0");
        let cells: Vec<_> = row.split('|').map(|cell| cell.replace('\0', "|")).collect();
        let label = cells.get(..labels)?.iter().map(|cell| cell.trim());
        let label = label.collect::<Vec<_>>().join(", ").replace('`', "");
        let shown = cells.get(column)?.trim().trim_matches('*').to_owned();
        let number = shown.replace(',', "").parse().ok()?;
        Some((label, shown, number))
    })
    .collect()
}

fn svg(chart: &Chart, bars: &[Bar], theme: &Theme) -> String {
    let (title, subtitle) = (chart.title, chart.subtitle);
    let longest = bars.iter().map(|bar| bar.2).fold(1.0, f64::max);
    let scale = (WIDTH - LABELS - NUMBERS) / longest;
    let height = TOP + ROW * bars.len() as f64 + 16.0;
    let Theme {
        background,
        text,
        faint,
        bar,
        ..
    } = theme;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{background}\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\" fill=\"{text}\">{title}</text>\n\
         <text x=\"16\" y=\"46\" font-size=\"12\" fill=\"{faint}\">{subtitle}</text>\n"
    );
    for (number, (label, shown, value)) in bars.iter().enumerate() {
        let top = TOP + ROW * number as f64;
        let (base, length) = (top + BAR - 4.0, value * scale);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\" fill=\"{text}\">{label}</text>\n\
             <rect x=\"{LABELS:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"3\" fill=\"{bar}\"/>\n\
             <text x=\"{:.1}\" y=\"{base:.1}\" fill=\"{text}\">{shown}</text>",
            LABELS - 10.0,
            LABELS + length + 8.0,
        );
    }
    if !chart.is_ratio {
        return svg + "</svg>\n";
    }
    // git archive itself.
    let (at, end) = (LABELS + scale, TOP + ROW * bars.len() as f64);
    let _ = writeln!(
        svg,
        "<path d=\"M{at:.1} {:.1}V{end:.1}\" stroke=\"{faint}\" stroke-dasharray=\"3 3\"/>\n\
         <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{faint}\">git archive</text>",
        TOP - 4.0,
        end + 10.0,
    );
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::{bars, charts, root};

    #[test]
    fn a_table_has_labels_and_times() {
        let page = "text\n\n| tree | format | ms | times |\n|---|---|--:|--:|\n| a `HEAD` | zip | 1,000 | **2.5** |\n\
                    | b \\| c | tar | 2 | 0.9 |\n\n| x | 1 |\n";
        let bar = |label: &str, shown: &str, number| (label.to_owned(), shown.to_owned(), number);
        let times = [
            bar("a HEAD, zip", "2.5", 2.5),
            bar("b | c, tar", "0.9", 0.9),
        ];
        assert_eq!(bars(page, 2, 3), times);
        let millis = [bar("a HEAD", "1,000", 1000.0), bar("b | c", "2", 2.0)];
        assert_eq!(bars(page, 1, 2), millis);
    }

    /// The figures of the page and those of the pictures are the same.
    #[test]
    fn the_pictures_are_current() {
        for (file, svg) in charts(root()).expect("there is a table") {
            let found = std::fs::read_to_string(root().join(&file)).expect("it is checked in");
            assert!(found == svg, "run 'cargo xtask chart' to draw {file} again");
        }
    }
}
