//! Chooses how an archive is read: by its first bytes, never by its name.

use std::{fs::File, io::Read, path::PathBuf};

use super::{
    compression::{self, Compression, Opened, Raw},
    damage::unreadable,
    directory, grammar,
    item::Visitor,
    tar, zip,
};
use sluice_base::error::Result;

/// The length of the header of a tar.
const BLOCK: u64 = 512;

/// Where an archive is.
pub enum Source {
    /// A file that can be read from any position.
    File(File),
    /// A stream.
    Stream(Box<dyn Read + Send>),
    /// A directory in place of an archive.
    Directory(PathBuf),
}

/// The form of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A tar, perhaps compressed.
    Tar(Option<Compression>),
    /// A zip.
    Zip,
    /// A directory.
    Directory,
}

/// Reads the archive in `source`. A zip in a stream is held in at most `memory` bytes. `raw` takes what is known of the bytes
/// of the file. Returns the form as far as it is known, also of an archive that is damaged.
pub fn read(
    source: Source,
    memory: u64,
    raw: &Raw,
    visitor: &mut dyn Visitor,
) -> (Form, Result<()>) {
    let (mut stream, file): (Box<dyn Read + Send>, _) = match source {
        Source::Directory(path) => return (Form::Directory, directory::read(&path, visitor)),
        Source::Stream(stream) => (stream, None),
        // A pipe has no positions, and is read as a stream.
        Source::File(file) => {
            let is_file = file.metadata().is_ok_and(|it| it.is_file());
            let again = is_file.then(|| file.try_clone()).and_then(Result::ok);
            (Box::new(file), again)
        }
    };
    let mut begin = Vec::new();
    if let Err(error) = stream.by_ref().take(BLOCK).read_to_end(&mut begin) {
        return (Form::Tar(None), Err(unreadable(error)));
    }
    let is_tar = <&[u8; BLOCK as usize]>::try_from(&begin[..]).is_ok_and(grammar::is_header);
    let opened = compression::open(begin, stream, raw.clone());
    // Programs that look for a tar first find another one.
    if is_tar
        && !matches!(opened, Ok(Opened::Tar(_, None)))
        && let Err(error) = visitor.doubt(b"", grammar::OTHER)
    {
        return (Form::Tar(None), Err(error));
    }
    match (opened, file) {
        (Ok(Opened::Zip(_)), Some(file)) => (Form::Zip, zip::read_file(file, raw, visitor)),
        (Ok(Opened::Zip(stream)), None) => {
            (Form::Zip, zip::read_stream(stream, memory, raw, visitor))
        }
        (Ok(Opened::Tar(mut plain, compression)), _) => {
            let outcome = tar::read(&mut plain, visitor);
            let ended = plain.finish();
            (Form::Tar(compression), ended.and(outcome))
        }
        (Err(error), _) => (Form::Tar(None), Err(error)),
    }
}
