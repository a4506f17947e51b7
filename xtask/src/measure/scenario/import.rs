//! Commits by way of `git fast-import`, and the source files they are made of.
//!
//! The same numbers always make the same bytes.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What a source file has.
const LINES: u32 = 60;

/// A program in `directory`, out of reach of the user's configuration and environment.
pub(super) fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("TZ", "UTC")
        .current_dir(directory);
    command
}

/// What `git fast-import` is given, as it is written.
pub(super) struct Stream<'a>(&'a mut dyn Write);

/// Runs `git fast-import` in the repository `directory` on what `write` writes. Up to `unpack_limit`
/// objects become loose ones, more stay a pack.
pub(super) fn run(
    directory: &Path,
    unpack_limit: u32,
    write: impl FnOnce(&mut Stream<'_>) -> Result<()>,
) -> Result<()> {
    let mut import = command(Path::new("git"), directory);
    import
        .arg("-c")
        .arg(format!("fastimport.unpackLimit={unpack_limit}"))
        // Nobody keeps these repositories, and nobody is to wait for the disk.
        .args(["-c", "core.fsync=none"])
        .args(["fast-import", "--quiet", "--done", "--depth=0"])
        .stdin(Stdio::piped());
    let mut child = import
        .spawn()
        .with_context(|| format!("could not start {import:?}"))?;
    let pipe = child.stdin.take().context("stdin was asked to be a pipe")?;
    let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
    let written = write(&mut Stream(&mut pipe)).and_then(|()| {
        pipe.write_all(b"done\n")?;
        Ok(pipe.flush()?)
    });
    drop(pipe);
    let status = child.wait()?;
    ensure!(status.success(), "{import:?} failed: {status}");
    written.with_context(|| format!("could not write to {import:?}"))
}

impl Stream<'_> {
    /// Begins a commit on `branch`, whose parent is `from`; by default, what this stream made last there.
    pub(super) fn commit(&mut self, branch: &str, from: Option<&str>) -> Result<()> {
        write!(
            self.0,
            "commit refs/heads/{branch}\n\
             committer A U Thor <author@example.com> 1800000000 +0000\n\
             data 0\n"
        )?;
        if let Some(from) = from {
            writeln!(self.0, "from {from}")?;
        }
        Ok(())
    }

    /// Source file `number` in its version so-and-so.
    pub(super) fn source(&mut self, number: u32, version: u32) -> Result<()> {
        let name = format!("file-{number:06}.rs");
        self.file(&(directory(number) + &name), number, version)
    }

    /// A file at `path`, with source code that is only in files of this number.
    pub(super) fn file(&mut self, path: &str, number: u32, version: u32) -> Result<()> {
        let mut content = format!("version {version}\n");
        let mut word = number.wrapping_mul(2_654_435_761);
        for line in 0..LINES {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            content += &format!("    let value_{word:08x} = table[{line}];\n");
        }
        write!(
            self.0,
            "M 100644 inline {path}\ndata {}\n{content}\n",
            content.len()
        )?;
        Ok(())
    }
}

/// Where source file `number` is: fifty files to a directory, twenty directories to another.
pub(super) fn directory(number: u32) -> String {
    let (outer, inner) = (number / 1000, number / 50 % 20);
    format!("part-{outer:03}/module-{inner:02}/")
}
