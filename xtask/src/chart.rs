//! `cargo xtask chart`: the bars of the README, from the table of the page about performance.
//!
//! The figures are in the page only. The pictures are checked in, because GitHub and the book show them as they are.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Draw docs/speed-light.svg and docs/speed-dark.svg from the first table of docs/performance.md
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The page with the figures: a table whose last column is how many times faster than git.
const PAGE: &str = "docs/performance.md";
const TITLE: &str = "Times as fast as git archive";
const SUBTITLE: &str = "tar to /dev/null, two threads on two cores; longer is better";

/// Lengths, in pixels.
const WIDTH: f64 = 620.0;
const TOP: f64 = 64.0;
const ROW: f64 = 28.0;
const BAR: f64 = 18.0;
const LABELS: f64 = 275.0;
/// To the right of the longest bar is its number.
const NUMBERS: f64 = 50.0;

/// The colors of one picture.
struct Theme {
    file: &'static str,
    background: &'static str,
    text: &'static str,
    faint: &'static str,
    bar: &'static str,
}

const THEMES: [Theme; 2] = [
    Theme {
        file: "docs/speed-light.svg",
        background: "#ffffff",
        text: "#1f2328",
        faint: "#59636e",
        bar: "#0969da",
    },
    Theme {
        file: "docs/speed-dark.svg",
        background: "#0d1117",
        text: "#f0f6fc",
        faint: "#9198a1",
        bar: "#4493f8",
    },
];

pub(crate) fn run(_: &Args) -> Result<()> {
    let root = root();
    for (file, svg) in charts(root)? {
        fs::write(root.join(file), svg)?;
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
fn charts(root: &Path) -> Result<Vec<(&'static str, String)>> {
    let page = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let bars = bars(&page);
    anyhow::ensure!(!bars.is_empty(), "{PAGE} has no table of times");
    let drawn = THEMES.iter().map(|theme| (theme.file, svg(&bars, theme)));
    Ok(drawn.collect())
}

/// The first and the last column of the first table of `page`.
fn bars(page: &str) -> Vec<(String, f64)> {
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("|--") && !line.starts_with("|:--"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let label = cells.next()?.replace('`', "");
        let times = cells.next_back()?.trim_matches('*').parse().ok()?;
        Some((label, times))
    })
    .collect()
}

fn svg(bars: &[(String, f64)], theme: &Theme) -> String {
    let longest = bars.iter().map(|bar| bar.1).fold(1.0, f64::max);
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
         <title>{TITLE}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{background}\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\" fill=\"{text}\">{TITLE}</text>\n\
         <text x=\"16\" y=\"46\" font-size=\"12\" fill=\"{faint}\">{SUBTITLE}</text>\n"
    );
    for (number, (label, times)) in bars.iter().enumerate() {
        let top = TOP + ROW * number as f64;
        let (base, length) = (top + BAR - 4.0, times * scale);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\" fill=\"{text}\">{label}</text>\n\
             <rect x=\"{LABELS:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"3\" fill=\"{bar}\"/>\n\
             <text x=\"{:.1}\" y=\"{base:.1}\" fill=\"{text}\">{times}</text>",
            LABELS - 10.0,
            LABELS + length + 8.0,
        );
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
        let page = "text\n\n| tree | ms | times |\n|---|--:|--:|\n| a `HEAD` | 1 | **2.5** |\n| b | 2 | 0.9 |\n\n| x | 1 |\n";
        let expected = [("a HEAD".to_owned(), 2.5), ("b".to_owned(), 0.9)];
        assert_eq!(bars(page), expected);
    }

    /// The figures of the page and those of the pictures are the same.
    #[test]
    fn the_pictures_are_current() {
        for (file, svg) in charts(root()).expect("there is a table") {
            let found = std::fs::read_to_string(root().join(file)).expect("it is checked in");
            assert!(found == svg, "run 'cargo xtask chart' to draw {file} again");
        }
    }
}
