//! What was typed. Touches no file, no repository, no terminal.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{ArgAction, Parser};

const END_OF_OPTIONS: &str = "--end-of-options";

/// Stream a git tree as an archive: the bytes of 'git archive', several times faster
#[derive(Parser, Debug)]
#[command(
    name = "git sluice",
    bin_name = "git sluice",
    version,
    infer_long_args = true,
    args_override_self = true
)]
pub struct Args {
    /// Archive format
    #[arg(long, value_name = "fmt")]
    pub format: Option<String>,

    /// Prepend this to each path in the archive
    #[arg(long, value_name = "prefix", allow_hyphen_values = true)]
    pub prefix: Option<OsString>,

    /// The compression level: the last of `-<n>`
    #[arg(skip)]
    pub level: Option<i32>,

    /// Write the archive to this file
    ///
    /// A regular file appears under its name only when it is complete.
    #[arg(short, long, value_name = "file", allow_hyphen_values = true)]
    pub output: Option<PathBuf>,

    /// Report archived files on stderr
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Worker threads; by default as many as there are cores to run on
    #[arg(short = 'j', long, value_name = "n", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Ceiling for buffers and caches, in bytes or with k, m or g
    #[arg(long, value_name = "n", default_value = "128m", value_parser = size)]
    pub memory: u64,

    /// Show progress on stderr from the start of a longer run, terminal or not
    #[arg(long, overrides_with = "no_progress")]
    pub progress: bool,

    /// Show no progress
    #[arg(long, overrides_with = "progress")]
    pub no_progress: bool,

    /// Forget --format
    #[arg(long, hide = true, overrides_with = "format")]
    no_format: bool,

    /// Forget --prefix
    #[arg(long, hide = true, overrides_with = "prefix")]
    no_prefix: bool,

    /// Forget --verbose
    #[arg(long, hide = true, overrides_with = "verbose")]
    no_verbose: bool,

    /// The tree or commit to archive
    #[arg(value_name = "tree-ish", required = true)]
    pub treeish: OsString,

    /// Only these paths
    #[arg(value_name = "path")]
    pub paths: Vec<OsString>,
}

impl Args {
    /// Parse what was typed, the program's name first. As everywhere in git, `--end-of-options` ends
    /// them like `--`; as in `git archive`, a dash and digits are a compression level.
    pub fn parse_typed(typed: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut typed: Vec<OsString> = typed.collect();
        let end = typed
            .iter()
            .position(|word| word == "--" || word == END_OF_OPTIONS);
        if let Some(end) = end {
            typed[end] = "--".into();
        }
        let mut level = None;
        let mut options = typed
            .drain(..end.unwrap_or(typed.len()))
            .collect::<Vec<_>>();
        options.retain(|word| {
            let found = compression_level(word);
            level = found.or(level);
            found.is_none()
        });
        let args = Self::try_parse_from(options.into_iter().chain(typed))?;
        Ok(Self { level, ..args })
    }
}

fn compression_level(word: &OsStr) -> Option<i32> {
    let digits = word.to_str()?.strip_prefix('-')?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().unwrap_or(i32::MAX))
}

/// Bytes, with git's suffixes.
fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, unit) = match lower.char_indices().next_back() {
        Some((at, 'k')) => (&lower[..at], 1 << 10),
        Some((at, 'm')) => (&lower[..at], 1 << 20),
        Some((at, 'g')) => (&lower[..at], 1 << 30),
        _ => (&lower[..], 1),
    };
    let number = digits.parse::<u64>().map_err(|error| error.to_string())?;
    number
        .checked_mul(unit)
        .ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_options_fit_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn sizes_have_suffixes() {
        let memory = |text: &str| {
            let args = ["git sluice", "--memory", text, "HEAD"];
            Args::try_parse_from(args).map(|args| args.memory).ok()
        };
        assert_eq!(memory("4096"), Some(4096));
        assert_eq!(memory("2K"), Some(2048));
        assert_eq!(memory("1g"), Some(1 << 30));
        assert_eq!(memory("x"), None);
        assert_eq!(memory("99999999999g"), None);
    }
}
