//! An index of zoekt's: made by its programs, and asked what is in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;

/// All that have to be there.
pub(super) const PROGRAMS: [&str; 3] = ["zoekt-archive-index", "zoekt-git-index", "zoekt"];
/// The client tells of no more matches than this.
const MATCHES_MAX: usize = 100_000;

/// How both indexers are called.
pub(super) struct Options<'a> {
    pub(super) commit: &'a str,
    /// The largest size that is indexed.
    pub(super) limit: u64,
    /// Globs of files that may be larger.
    pub(super) exceptions: &'a [String],
}

impl Options<'_> {
    fn command(&self, program: &str, index: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("-index").arg(index);
        // Or a commit that is in the index is not read again; and ctags is not zoekt's.
        command.args(["-incremental=false", "-disable_ctags"]);
        command.arg(format!("-file_limit={}", self.limit));
        for glob in self.exceptions {
            command.arg(format!("-large_file={glob}"));
        }
        command
    }
}

/// Where an archive comes from.
pub(super) enum Archive<'a> {
    File(&'a Path),
    /// The standard output of a command.
    From(&'a mut Command),
}

pub(in crate::measure) struct Index {
    directory: PathBuf,
}

impl Index {
    /// An index that exists.
    // Only measurements on Linux need it.
    #[cfg(target_os = "linux")]
    pub(in crate::measure) fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(super) fn of_archive(
        directory: PathBuf,
        archive: Archive<'_>,
        options: &Options<'_>,
    ) -> Result<Self> {
        let mut indexer = options.command("zoekt-archive-index", &directory);
        indexer.args(["-name", "example.com/r", "-branch", "HEAD"]);
        indexer.args(["-commit", options.commit]);
        match archive {
            Archive::File(path) => process::quiet(indexer.arg(path)).map(drop)?,
            Archive::From(command) => {
                let mut producer = command
                    .stdout(Stdio::piped())
                    .spawn()
                    .with_context(|| format!("could not start {command:?}"))?;
                let pipe = producer
                    .stdout
                    .take()
                    .expect("stdout was asked to be a pipe");
                let indexed = process::quiet(indexer.arg("-").stdin(pipe));
                // Our end of the pipe goes with the indexer.
                drop(indexer);
                let status = producer.wait()?;
                indexed?;
                ensure!(status.success(), "{command:?} failed: {status}");
            }
        }
        Ok(Self { directory })
    }

    pub(super) fn of_repository(
        directory: PathBuf,
        repository: &Path,
        options: &Options<'_>,
    ) -> Result<Self> {
        let mut indexer = options.command("zoekt-git-index", &directory);
        indexer.args(["-submodules=false", "-branches", "HEAD"]);
        process::quiet(indexer.arg(repository))?;
        Ok(Self { directory })
    }

    /// A sorted line for each document: its name, the checksum of its content and its language.
    pub(in crate::measure) fn documents(&self) -> Result<Vec<String>> {
        let found = process::quiet(self.client().args(["-jsonl", "file:."]))?;
        let mut documents = Vec::new();
        for line in found.split(|&byte| byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            let document: Value = serde_json::from_slice(line)
                .with_context(|| format!("zoekt wrote {}", line.escape_ascii()))?;
            let text = |key: &str| document[key].as_str().unwrap_or_default();
            let fields = ["FileName", "Checksum", "Language"].map(text);
            documents.push(fields.join("\t"));
        }
        // Two indices without any would be the same, whatever went wrong.
        ensure!(!documents.is_empty(), "zoekt finds no documents");
        ensure!(
            documents.len() < MATCHES_MAX,
            "there are more documents than zoekt tells of"
        );
        documents.sort();
        Ok(documents)
    }

    /// A sorted line for each document that is there by name only, with the reason.
    pub(in crate::measure) fn reasons(&self) -> Result<Vec<String>> {
        let found = process::quiet(self.client().arg("content:NOT-INDEXED:"))?;
        let mut reasons: Vec<String> = String::from_utf8_lossy(&found)
            .lines()
            .map(String::from)
            .collect();
        reasons.sort();
        Ok(reasons)
    }

    fn client(&self) -> Command {
        let mut client = Command::new("zoekt");
        client.arg("-index_dir").arg(&self.directory);
        client
    }
}
