//! The options about what changed since a base.

use std::ffi::OsString;

use clap::ValueEnum;

/// What changed, and how it is told.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Only what changed")]
pub struct Delta {
    /// Send only what changed since this tree or commit
    #[arg(long, value_name = "tree-ish")]
    pub base: Option<OsString>,

    /// How the archive tells what is gone [default: pax]
    #[arg(long, value_name = "how", value_enum, requires = "base")]
    pub deletions: Option<Deletions>,

    /// A file whose permission alone changed did not change
    #[arg(long, requires = "base")]
    pub ignore_mode: bool,

    /// Exit with status 5 if more paths changed
    #[arg(long, value_name = "n", requires = "base")]
    pub max_changed_paths: Option<u64>,

    /// Exit with status 5 if more than this part of all paths changed: 0.25, or 25%
    #[arg(long, value_name = "part", value_parser = part, requires = "base")]
    pub max_changed_ratio: Option<f64>,

    /// Before anything is sent, check that base and delta make the target
    #[arg(long, requires = "base")]
    pub verify_delta: bool,
}

/// `--deletions`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deletions {
    /// In no way: only the manifest does
    None,
    /// In global pax headers, which --apply understands and others skip
    Pax,
    /// As whiteout entries of an OCI image layer
    Whiteout,
}

/// A part of a whole.
fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let part = number
        .trim()
        .parse::<f64>()
        .map_err(|error| error.to_string())?
        / whole;
    match (0.0..=1.0).contains(&part) {
        true => Ok(part),
        false => Err("not between 0 and 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts() {
        assert_eq!(part("0.25"), Ok(0.25));
        assert_eq!(part("25%"), Ok(0.25));
        assert_eq!(part("1"), Ok(1.0));
        assert!(part("2").is_err() && part("-1%").is_err() && part("x").is_err());
    }
}
