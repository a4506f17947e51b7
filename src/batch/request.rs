//! The requests of a batch. Must not act on them.

use std::{
    ffi::{OsStr, OsString},
    io::BufRead,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use crate::{
    cli::Typed,
    error::{Error, Result},
    process::pkt_line::{ReadError, read_line},
};

/// What each packet of a request begins with.
const TOKEN: &[u8] = b"argument ";
/// The most bytes of the words of a request.
const MAX_BYTES: usize = 64 << 20;

/// A request.
pub(super) struct Request {
    /// The directory, from the one in which the process began.
    pub(super) directory: PathBuf,
    /// The git directory from there, if it is named.
    pub(super) git_dir: Option<PathBuf>,
    /// The words behind both.
    pub(super) words: Vec<OsString>,
}

/// What was read.
pub(super) enum Asked {
    /// A request.
    Words(Request),
    /// No request, and why.
    Nothing(String),
}

/// Reads the next request; `None` at the end of `input`. A stream that breaks off, or in which no packet can be found
/// any more, is an error.
pub(super) fn read(input: &mut dyn BufRead) -> Result<Option<Asked>> {
    let unread = |error| Error::fatal("cannot read a request").caused_by(error);
    if input.fill_buf().map_err(unread)?.is_empty() {
        return Ok(None);
    }
    let (mut words, mut bytes, mut wrong) = (Vec::new(), 0, None);
    while let Some(line) = read_line(input).map_err(unreadable)? {
        bytes += line.len();
        match line.strip_prefix(TOKEN) {
            Some(word) if bytes <= MAX_BYTES && !word.contains(&0) => {
                words.push(OsString::from_vec(word.to_vec()));
            }
            Some(word) if word.contains(&0) => wrong = Some("an argument has a NUL"),
            Some(_) => wrong = Some("the arguments have more than 64 MiB"),
            None => wrong = Some("'argument' token or flush expected"),
        }
    }
    Ok(Some(match wrong {
        Some(reason) => Asked::Nothing(reason.to_owned()),
        None => Asked::Words(Request::new(words)),
    }))
}

fn unreadable(error: ReadError) -> Error {
    error.explain("a request broke off", "cannot read a request")
}

impl Request {
    /// As for git, each `-C <dir>` in front counts from the one before, and the last `--git-dir=<dir>` from all of them.
    fn new(words: Vec<OsString>) -> Self {
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

/// Refuses words that would replace the process.
pub(super) fn fit(typed: &Typed<'_>) -> Result<()> {
    match typed.remote {
        Some(_) => Err(Error::fatal(
            "options '--remote' and '--batch' cannot be used together",
        )),
        None => Ok(()),
    }
}
