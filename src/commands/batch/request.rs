//! The requests of a batch. Must not act on them.

use std::{
    ffi::OsString,
    io::{BufRead, Read},
    os::unix::ffi::OsStringExt,
};

use sluice_base::error::{Error, Result};
use sluice_git::pkt_line::{ReadError, read_line};

/// What each packet of a request begins with.
const TOKEN: &[u8] = b"argument ";
/// The most bytes of the words of a request.
const MAX_BYTES: usize = 64 << 20;
/// The bytes that each word counts in addition to its own: short words take about as many once they are parsed.
const WORD_COST: usize = 256;

/// What was read.
pub(super) enum Asked {
    /// The words of a request.
    Words(Vec<OsString>),
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
    while let Some(line) = read_packet(input).map_err(unreadable)? {
        bytes += line.len() + WORD_COST;
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
        None => Asked::Words(words),
    }))
}

/// Reads the line of the next packet; `None` for a flush. Any other packet without content also ends a request of
/// `git upload-archive`. In a batch, it would make two requests of one and shift all later answers, so it is an empty line,
/// which is refused.
fn read_packet(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, ReadError> {
    let mut prefix = [0; 4];
    input.read_exact(&mut prefix)?;
    if prefix == *b"0000" {
        return Ok(None);
    }
    read_line(&mut prefix.chain(input)).map(|line| Some(line.unwrap_or_default()))
}

fn unreadable(error: ReadError) -> Error {
    error.explain("a request broke off", "cannot read a request")
}
