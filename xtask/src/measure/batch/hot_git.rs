//! How others keep git hot: `git diff-tree --stdin` for the names that changed, and `git cat-file --batch` for the
//! changed files. Both run on for each repository, and get object ids at once, so that no name is looked up.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result};

use super::fixture::hermetic;
use crate::process;

/// The two processes of one repository.
pub(super) struct HotGit {
    trees: Talk,
    blobs: Talk,
    /// The trees of the last two commits.
    ids: [String; 2],
}

struct Talk {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl HotGit {
    pub(super) fn start(repository: &Path) -> Result<Self> {
        let git = || hermetic(Path::new("git"), repository);
        let id = |name| process::text(git().args(["rev-parse", name]));
        Ok(Self {
            trees: Talk::start(repository, &["diff-tree", "--stdin", "-r"])?,
            blobs: Talk::start(repository, &["cat-file", "--batch"])?,
            ids: [id("HEAD~1^{tree}")?, id("HEAD^{tree}")?],
        })
    }

    /// The content of the one file that has changed.
    pub(super) fn changed_file(&mut self) -> Result<Vec<u8>> {
        let [old, new] = &self.ids;
        // git repeats a line that names no object, and flushes nothing before.
        self.trees.ask(&format!("{old} {new}\nend"))?;
        self.trees.line()?;
        let change = self.trees.line()?;
        self.trees.line()?;
        let id = change.split(' ').nth(3).context("no id")?;
        self.blobs.ask(id)?;
        let header = self.blobs.line()?;
        let size = header.rsplit(' ').next().context("no size")?;
        let mut content = vec![0; size.trim_end().parse::<usize>()? + 1];
        self.blobs.answers.read_exact(&mut content)?;
        content.pop();
        Ok(content)
    }
}

impl Talk {
    fn start(repository: &Path, words: &[&str]) -> Result<Self> {
        let mut git = hermetic(Path::new("git"), repository);
        let pipes = git.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = pipes.spawn()?;
        let questions = process.stdin.take().context("no pipe")?;
        let answers = process.stdout.take().context("no pipe")?;
        Ok(Self {
            process,
            questions,
            answers: BufReader::new(answers),
        })
    }

    fn ask(&mut self, question: &str) -> Result<()> {
        Ok(self
            .questions
            .write_all(format!("{question}\n").as_bytes())?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
