//! The programs that are measured, and where they write to.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::process;

/// A program with its arguments, as it is measured.
#[derive(Clone)]
pub(super) struct Contender {
    /// What the table calls it.
    pub(super) label: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
}

impl Contender {
    pub(super) fn new(name: &str, program: &Path, arguments: Vec<String>) -> Self {
        let words = [name]
            .into_iter()
            .chain(arguments.iter().map(String::as_str));
        Contender {
            label: process::quote(words),
            program: program.to_owned(),
            arguments,
        }
    }

    /// The contender of this `number` with its output in `sink`. Files are created in `files`.
    pub(super) fn writing_to(&self, sink: Sink, number: usize, files: &Path) -> Contender {
        let mut contender = self.clone();
        if sink == Sink::File {
            let file = files.join(number.to_string());
            contender
                .arguments
                .push(format!("--output={}", file.display()));
        }
        contender
    }

    pub(super) fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(directory);
        command
    }
}

/// Where the output of a run goes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sink {
    /// `/dev/null`
    Null,
    /// A pipe to a program that reads all
    Pipe,
    /// With `-o`, over the file of the run before, below TMPDIR
    File,
}

impl Sink {
    pub(super) fn name(self) -> &'static str {
        match self {
            Sink::Null => "null",
            Sink::Pipe => "pipe",
            Sink::File => "file",
        }
    }

    /// As hyperfine's `--output` takes it. A command that writes to a file has no output.
    pub(super) fn of_output(self) -> &'static str {
        match self {
            Sink::Null | Sink::File => "null",
            Sink::Pipe => "pipe",
        }
    }
}

/// Everything measured of one contender with one sink.
pub(super) type Measured<T> = Vec<(Sink, Vec<T>)>;
