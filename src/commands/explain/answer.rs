//! What is said about a path, for people and for programs.

use bstr::BString;

use super::rules::Verdict;
use crate::{
    base::{
        buffer::Buffer,
        error::{format_bytes, printable_path},
    },
    output::report::{PathAnswer, Status},
};

/// What an archive does with a path.
pub(super) struct Answer {
    /// What the target does with it, unless the target lacks it.
    pub(super) outcome: Option<Verdict>,
    /// The change since the base, if the archive has it.
    pub(super) change: Option<Status>,
    /// The rule that decides.
    pub(super) words: BString,
}

impl Answer {
    /// The line for people.
    pub(super) fn text(&self, path: &[u8]) -> Vec<u8> {
        format_bytes("{}: {}\n", &[&printable_path(path), &self.words]).into()
    }

    /// The line for programs.
    pub(super) fn json(&self, path: &[u8]) -> Vec<u8> {
        let mut line = Buffer::default();
        let answer = PathAnswer {
            path,
            outcome: self.outcome.map(Verdict::as_str),
            status: self.change,
            words: &self.words,
        };
        answer.write(&mut line);
        line.to_vec()
    }
}
