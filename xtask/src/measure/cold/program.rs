//! The programs that are compared. Each gets the same request, for the same bytes.

use std::path::Path;
use std::process::Command;

/// A program of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Git,
    Sluice,
}

impl Program {
    pub(super) const ALL: [Program; 2] = [Program::Git, Program::Sluice];

    pub(super) fn name(self) -> &'static str {
        match self {
            Program::Git => "git",
            Program::Sluice => "git-sluice",
        }
    }
}

/// The programs and the revision that all runs share.
pub(super) struct Commands<'a> {
    pub(super) git_sluice: &'a Path,
    pub(super) revision: &'a str,
}

impl Commands<'_> {
    /// The command that writes the archive of the `repository` in this `format`.
    pub(super) fn command(&self, program: Program, format: &str, repository: &Path) -> Command {
        let mut command = match program {
            Program::Git => Command::new("git"),
            Program::Sluice => Command::new(self.git_sluice),
        };
        if program == Program::Git {
            command.arg("archive");
        }
        command.arg(format!("--format={format}")).arg(self.revision);
        command.current_dir(repository);
        command
    }
}
