//! The runs that are measured: each case has a command of git and one of git-sluice for the same request.

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

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// The whole tree in this format.
    Format(String),
    /// This path of the tree, as tar.
    Path(String),
    /// The changes since this revision, against `git diff-tree -r`.
    Base(String),
}

impl Case {
    /// As the tables and the bars name the case.
    pub(super) fn name(&self) -> String {
        match self {
            Case::Format(format) => format.clone(),
            Case::Path(path) => format!("-- {path}"),
            Case::Base(_) => "--base".to_owned(),
        }
    }

    /// Whether both programs write the same bytes.
    pub(super) fn has_equal_bytes(&self) -> bool {
        !matches!(self, Case::Base(_))
    }

    pub(super) fn arguments(&self, program: Program, revision: &str) -> Vec<String> {
        let archive = match program {
            Program::Git => vec!["archive"],
            Program::Sluice => vec![],
        };
        let with = |words: &[&str]| {
            let words = archive.iter().chain(words);
            words.map(|&word| word.to_owned()).collect()
        };
        match (self, program) {
            (Case::Format(format), _) => with(&[&format!("--format={format}"), revision]),
            (Case::Path(path), _) => with(&[revision, "--", path]),
            (Case::Base(base), Program::Git) => ["diff-tree", "-r", base, revision]
                .map(str::to_owned)
                .into(),
            (Case::Base(base), Program::Sluice) => with(&[&format!("--base={base}"), revision]),
        }
    }
}

/// The programs and the revision that all cases share.
pub(super) struct Commands<'a> {
    pub(super) git_sluice: &'a Path,
    pub(super) revision: &'a str,
}

impl Commands<'_> {
    pub(super) fn command(&self, case: &Case, program: Program, directory: &Path) -> Command {
        let mut command = match program {
            Program::Git => Command::new("git"),
            Program::Sluice => Command::new(self.git_sluice),
        };
        command.args(case.arguments(program, self.revision));
        command.current_dir(directory);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Program};

    fn words(case: &Case, program: Program) -> String {
        case.arguments(program, "HEAD").join(" ")
    }

    #[test]
    fn both_programs_get_the_same_request() {
        let case = Case::Format("tar.gz".to_owned());
        assert_eq!(words(&case, Program::Git), "archive --format=tar.gz HEAD");
        assert_eq!(words(&case, Program::Sluice), "--format=tar.gz HEAD");
        let case = Case::Path("docs".to_owned());
        assert_eq!(words(&case, Program::Git), "archive HEAD -- docs");
        assert_eq!(words(&case, Program::Sluice), "HEAD -- docs");
        let case = Case::Base("HEAD~1".to_owned());
        assert_eq!(words(&case, Program::Git), "diff-tree -r HEAD~1 HEAD");
        assert_eq!(words(&case, Program::Sluice), "--base=HEAD~1 HEAD");
    }
}
