//! Running other programs: each failure names the command, so that it can be repeated by hand.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Runs `command` with its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// Runs `command` and returns its standard output without the final newline.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", output.status);
    }
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("{command:?} printed something that is not UTF-8"))?;
    Ok(text.trim_end().to_owned())
}

/// Runs `command` in silence and returns its standard output; what it said is part of its failure.
pub(crate) fn quiet(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?} failed: {}\n{said}",
        output.status
    );
    Ok(output.stdout)
}

/// One line that a POSIX shell, or hyperfine without a shell, splits into `words` again.
pub(crate) fn quote<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(quote_word).collect();
    quoted.join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+,./:@^{}".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The path of `program` on the search path, if it is there.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote(["git", "archive", "HEAD~3"]), "git archive 'HEAD~3'");
        assert_eq!(quote(["a b", "", "it's"]), r"'a b' '' 'it'\''s'");
    }
}
