//! Reads that fail: how git and git-sluice end when the storage fails after a number of reads.
//!
//! A run must end with a message and an exit status, and its archive must not look whole. A signal is no such end, because a
//! server that maps packs dies of it with all its clients.

use std::fmt;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use super::mount::{Behavior, Mirror};
use super::program::{Commands, Program};
use crate::{process, scratch};

/// Runs stop at this number of reads, whatever the repository.
const MAX_READS: u64 = 1 << 20;

/// How a run ended.
pub(super) struct End {
    format: String,
    program: Program,
    reads: u64,
    status: ExitStatus,
    has_message: bool,
    archive: Archive,
}

/// The archive that a run left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    Empty,
    /// `tar` reports an error.
    Cut,
    /// `tar` accepts it, but bytes are missing.
    LooksWhole,
    Whole,
}

impl fmt::Display for Archive {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Archive::Empty => "empty",
            Archive::Cut => "cut",
            Archive::LooksWhole => "looks whole",
            Archive::Whole => "whole",
        })
    }
}

impl End {
    /// Whether nobody can mistake the end for another one.
    pub(super) fn is_clear(&self) -> bool {
        match self.status.code() {
            Some(0) => self.archive == Archive::Whole,
            Some(128 | 255) => {
                self.has_message && matches!(self.archive, Archive::Empty | Archive::Cut)
            }
            _ => false,
        }
    }

    pub(super) fn is_of_git_sluice(&self) -> bool {
        self.program == Program::Sluice
    }
}

/// Runs both programs with reads that fail after each of `limits`; without limits, after 1, 2, 4, … reads until both programs
/// succeed.
pub(super) fn run(
    mirror: &Mirror,
    commands: &Commands,
    format: &str,
    repository: &Path,
    limits: &[u64],
) -> Result<Vec<End>> {
    let expected = process::quiet(&mut commands.command(Program::Git, format, repository))?;
    let doubled = (0..).map(|power| 1 << power);
    let doubled = doubled.take_while(|&reads| reads <= MAX_READS);
    let numbers: Vec<u64> = match limits {
        [] => doubled.collect(),
        limits => limits.to_vec(),
    };
    let mut ends = Vec::new();
    for reads in numbers {
        let mut all_succeeded = true;
        for program in Program::ALL {
            let end = run_once(
                mirror, commands, format, program, repository, reads, &expected,
            )?;
            all_succeeded &= end.status.success();
            ends.push(end);
        }
        if limits.is_empty() && all_succeeded {
            break;
        }
    }
    Ok(ends)
}

fn run_once(
    mirror: &Mirror,
    commands: &Commands,
    format: &str,
    program: Program,
    repository: &Path,
    reads: u64,
    expected: &[u8],
) -> Result<End> {
    let behavior = Behavior {
        fail_after: Some(reads),
        ..Behavior::default()
    };
    let mount = mirror.mount(repository, behavior)?;
    let scratch = scratch::directory()?;
    let archive = scratch.path().join("archive");
    let mut command = commands.command(program, format, mount.path());
    let output = command
        .stdin(Stdio::null())
        .stdout(File::create(&archive)?)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .with_context(|| format!("could not start {command:?}"))?;
    mount.finish()?;
    Ok(End {
        format: format.to_owned(),
        program,
        reads,
        status: output.status,
        has_message: !output.stderr.trim_ascii().is_empty(),
        archive: inspect(&archive, expected)?,
    })
}

/// Looks at an archive as its reader would.
fn inspect(archive: &Path, expected: &[u8]) -> Result<Archive> {
    let bytes = fs::read(archive)?;
    if bytes.is_empty() {
        return Ok(Archive::Empty);
    }
    if bytes == expected {
        return Ok(Archive::Whole);
    }
    let mut tar = Command::new("tar");
    tar.arg("-tf")
        .arg(archive)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = tar.status().context("could not start tar")?;
    Ok(if status.success() {
        Archive::LooksWhole
    } else {
        Archive::Cut
    })
}

pub(super) fn table(ends: &[End]) -> String {
    let mut table =
        String::from("| run | fails after | end | message | archive |\n|---|--:|---|---|---|\n");
    for end in ends {
        let message = if end.has_message { "yes" } else { "no" };
        writeln!(
            table,
            "| `{}`, {} | {} | {} | {message} | {} |",
            end.format,
            end.program.name(),
            end.reads,
            describe(end.status),
            end.archive,
        )
        .expect("a string takes every write");
    }
    table
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(libc::SIGBUS)) => "SIGBUS".to_owned(),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::super::program::Program;
    use super::{Archive, End, inspect, table};
    use crate::scratch;

    /// `status` as the system call `wait` returns it: the exit status times 256, or the signal.
    fn end(status: i32, has_message: bool, archive: Archive) -> End {
        End {
            format: "tar".to_owned(),
            program: Program::Sluice,
            reads: 4,
            status: ExitStatus::from_raw(status),
            has_message,
            archive,
        }
    }

    #[test]
    fn an_end_is_clear_if_nobody_can_mistake_it() {
        assert!(end(0, false, Archive::Whole).is_clear());
        assert!(end(128 << 8, true, Archive::Cut).is_clear());
        assert!(end(255 << 8, true, Archive::Empty).is_clear());
        assert!(!end(0, false, Archive::Cut).is_clear());
        assert!(!end(128 << 8, false, Archive::Cut).is_clear());
        assert!(!end(128 << 8, true, Archive::LooksWhole).is_clear());
        assert!(!end(1 << 8, true, Archive::Cut).is_clear());
        assert!(!end(libc::SIGBUS, true, Archive::Cut).is_clear());
    }

    #[test]
    fn an_end_is_a_row() {
        let ends = [
            end(libc::SIGBUS, false, Archive::Cut),
            end(128 << 8, true, Archive::Empty),
        ];
        assert_eq!(
            table(&ends),
            "| run | fails after | end | message | archive |\n\
             |---|--:|---|---|---|\n\
             | `tar`, git-sluice | 4 | SIGBUS | no | cut |\n\
             | `tar`, git-sluice | 4 | exit status 128 | yes | empty |\n"
        );
    }

    #[test]
    fn tar_decides_whether_an_archive_looks_whole() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        builder
            .append_data(&mut header, "file", &b"abc"[..])
            .unwrap();
        let whole = builder.into_inner().unwrap();
        let scratch = scratch::directory().unwrap();
        let file = scratch.path().join("archive");
        let look = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            inspect(&file, &whole).unwrap()
        };
        assert_eq!(look(&whole), Archive::Whole);
        assert_eq!(look(&whole[..1024]), Archive::LooksWhole);
        assert_eq!(look(&whole[..514]), Archive::Cut);
        assert_eq!(look(b""), Archive::Empty);
    }
}
