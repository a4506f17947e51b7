//! `cargo xtask record`: a session in a terminal, as a picture that plays it.
//!
//! The commands really run, on a pseudo-terminal, and their output appears after the time that they took. A viewer that does
//! not play pictures shows the end of the session.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::{binary, process, scratch};

/// Record a session in a repository as docs/session.svg
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository, such as a clone of git.git
    #[arg(long)]
    repo: PathBuf,
    /// The program, instead of the one of this work tree
    #[arg(long)]
    program: Option<PathBuf>,
}

/// What somebody types.
const COMMANDS: [&str; 6] = [
    "time git archive HEAD >/dev/null",
    "time git sluice HEAD >/dev/null",
    "git sluice HEAD | cmp - <(git archive HEAD) && echo identical",
    "git sluice explain --max-size=100k HEAD git.c po/de.po",
    "git sluice HEAD~10 | git sluice apply ../copy",
    "time git sluice --base=HEAD~10 HEAD | git sluice apply ../copy",
];

/// How fast somebody types and reads.
const KEY: Duration = Duration::from_millis(25);
const LOOK: Duration = Duration::from_millis(800);

/// Lengths, in pixels.
const WIDTH: usize = 620;
const LINE: usize = 20;
const MARGIN: usize = 16;
/// The bar at the top of the window.
const TITLE: usize = 36;

/// A text that appears at once.
struct Piece {
    line: usize,
    /// The number of characters before it in its line.
    column: usize,
    text: String,
    is_typed: bool,
    /// Since the beginning of the session.
    at: Duration,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = binary::at_or_built(args.program.as_deref())?;
    let repo = args.repo.canonicalize().context("no such repository")?;
    let session = session(&program, &repo)?;
    fs::write(binary::root().join("docs/session.svg"), svg(&session))?;
    println!("docs/session.svg");
    Ok(())
}

/// Runs the commands in a clone of `repo`.
fn session(program: &Path, repo: &Path) -> Result<Vec<Piece>> {
    let scratch = scratch::directory()?;
    let programs = scratch.path().join("programs");
    fs::create_dir(&programs)?;
    symlink(program, programs.join("git-sluice"))?;
    let place = scratch.path().join("project");
    let clone = ["clone", "-q", "--shared", "--no-checkout"];
    process::run(Command::new("git").args(clone).arg(repo).arg(&place))?;
    // The commands that are timed read from memory.
    process::quiet(
        Command::new("git")
            .args(["archive", "HEAD"])
            .current_dir(&place),
    )?;
    let path = process::search_path_from(&programs)?;
    let mut pieces = Vec::new();
    let (mut line, mut now) = (0, LOOK);
    for command in COMMANDS {
        for (column, key) in command.chars().enumerate() {
            pieces.push(Piece {
                line,
                column: column + 2,
                text: key.to_string(),
                is_typed: true,
                at: now,
            });
            now += KEY;
        }
        line += 1;
        let start = Instant::now();
        let output = Command::new("script")
            .args([
                "-qec",
                &format!("bash -c {}", process::quote([command])),
                "/dev/null",
            ])
            .current_dir(&place)
            .env("PATH", &path)
            .env("TIMEFORMAT", "%R seconds")
            .output()
            .context("could not start 'script'")?;
        ensure!(output.status.success(), "{command} failed: {output:?}");
        now += start.elapsed();
        for text in String::from_utf8_lossy(&output.stdout).lines() {
            pieces.push(Piece {
                line,
                column: 0,
                text: last_state(text).to_owned(),
                is_typed: false,
                at: now,
            });
            line += 1;
        }
        now += LOOK;
    }
    Ok(pieces)
}

/// The text of a line that was written again and again, as progress is.
fn last_state(line: &str) -> &str {
    let mut states = line.rsplit('\r').map(str::trim_end);
    states.find(|state| !state.is_empty()).unwrap_or_default()
}

fn svg(pieces: &[Piece]) -> String {
    let lines = pieces.last().map_or(0, |piece| piece.line + 1);
    let height = TITLE + lines * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <title>A session with git-sluice in a clone of git.git</title>\n\
         <style>\n\
         @keyframes hidden {{ from, to {{ visibility: hidden }} }}\n\
         @media (prefers-reduced-motion: no-preference) {{ text {{ animation-name: hidden }} }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f57\"/>\n\
         <circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#febc2e\"/>\n\
         <circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#28c840\"/>\n"
    );
    for word in words(pieces) {
        let (top, seconds) = (TITLE + word.line * LINE + 14, word.at.as_secs_f64());
        let color = if word.is_typed { "#f0f6fc" } else { "#9198a1" };
        let prompt = if word.is_typed && word.column == 2 {
            "<tspan fill=\"#3fb950\">$ </tspan>"
        } else {
            ""
        };
        let column = word.column - if prompt.is_empty() { 0 } else { 2 };
        let left = MARGIN as f64 + column as f64 * 8.4;
        let _ = writeln!(
            svg,
            "<text x=\"{left:.1}\" y=\"{top}\" xml:space=\"preserve\" fill=\"{color}\" \
             style=\"animation-duration: {seconds:.2}s\">{prompt}{}</text>",
            escaped(&word.text)
        );
    }
    svg + "</svg>\n"
}

/// The pieces, with the keys of each word together: a file of one element for each key would be large.
fn words(pieces: &[Piece]) -> Vec<Piece> {
    let mut words: Vec<Piece> = Vec::new();
    for piece in pieces {
        let last = words.last_mut().filter(|last| {
            last.is_typed && piece.is_typed && last.line == piece.line && !last.text.ends_with(' ')
        });
        match last {
            Some(word) => word.text += &piece.text,
            None => words.push(Piece {
                text: piece.text.clone(),
                ..*piece
            }),
        }
    }
    words
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Piece, escaped, last_state, words};
    use std::time::Duration;

    #[test]
    fn keys_become_words_and_progress_is_one_line() {
        let keys = "ab >c".chars().enumerate().map(|(column, key)| Piece {
            line: 0,
            column,
            text: key.to_string(),
            is_typed: true,
            at: Duration::from_secs(column as u64),
        });
        let found = words(&keys.collect::<Vec<_>>());
        let found = found
            .iter()
            .map(|word| (word.column, word.text.as_str(), word.at.as_secs()));
        assert_eq!(found.collect::<Vec<_>>(), [(0, "ab ", 0), (3, ">c", 3)]);
        assert_eq!(last_state("10 %\r20 %  \r"), "20 %");
        assert_eq!(escaped("<a&b>"), "&lt;a&amp;b&gt;");
    }
}
