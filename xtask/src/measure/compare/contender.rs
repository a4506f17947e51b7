//! The programs that are measured, and where they write to.

use std::path::{Path, PathBuf};
use std::process::Command;

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

    pub(super) fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(directory);
        command
    }
}

/// Where the output of a run goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    Null,
    Pipe,
}

impl Sink {
    pub(super) const ALL: [Sink; 2] = [Sink::Null, Sink::Pipe];

    /// As hyperfine's `--output` takes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Sink::Null => "null",
            Sink::Pipe => "pipe",
        }
    }
}

/// Everything measured of one contender with one sink.
pub(super) type Measured<T> = Vec<(Sink, Vec<T>)>;
