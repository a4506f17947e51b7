//! One request. Must not act on its words.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// A command line of `git sluice`, and the directory from which its paths count.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The directory, from that of the session.
    pub(super) directory: PathBuf,
    /// The git directory from there, if it is named.
    pub(super) git_dir: Option<PathBuf>,
    /// The words after both.
    pub(super) words: Vec<OsString>,
}

impl CommandLine {
    /// The `words` after `git sluice`, in `directory`: a work tree, a git directory, or a directory below one of them.
    pub fn new<W: Into<OsString>>(
        directory: impl Into<PathBuf>,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        Self {
            directory: directory.into(),
            git_dir: None,
            words: words.into_iter().map(Into::into).collect(),
        }
    }

    /// The words after `git`, without the name of the command. As for git, each `-C <dir>` in front counts from the one before, and the last
    /// `--git-dir=<dir>` from all of them.
    pub fn of_words(words: Vec<OsString>) -> Self {
        let mut directory = PathBuf::new();
        let mut git_dir = None;
        let mut words = words.into_iter().peekable();
        loop {
            if words.next_if(|word| word == "-C").is_some() {
                directory.extend(words.next().map(PathBuf::from));
            } else if let Some(named) = words.peek().and_then(|word| git_dir_in(word)) {
                git_dir = Some(named);
                words.next();
            } else {
                break;
            }
        }
        Self {
            directory,
            git_dir,
            words: words.collect(),
        }
    }
}

/// The directory of `--git-dir=<dir>`.
fn git_dir_in(word: &OsStr) -> Option<PathBuf> {
    let directory = word.as_bytes().strip_prefix(b"--git-dir=")?;
    Some(OsStr::from_bytes(directory).into())
}
