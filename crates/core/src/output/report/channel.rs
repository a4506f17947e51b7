//! A file or an inherited file descriptor: the destination of a report or the origin of rules.
//!
//! An inherited descriptor is used as it is: the same open file, at the same position. A descriptor that
//! the caller did not leave open is an error, even if its number now belongs to a file of this process. One of eight modules with
//! `unsafe` code.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read, Write},
    ops::RangeInclusive,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
        unix::ffi::OsStrExt,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

use bstr::{BString, ByteSlice};
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, FdFlags, fcntl_getfd},
};
use serde::Serialize;

use crate::output::Destination;
use sluice_base::{
    error::{Error, Result, format_bytes, strerror},
    working_directory::{NamedFile, WorkingDirectory},
};

/// The bands in addition to those of side-band-64k (gitprotocol-pack(5), "Packfile Data").
pub const BANDS: RangeInclusive<u8> = 4..=9;

/// Opens a band by its number.
pub type Bands<'a> = &'a dyn Fn(u8) -> Result<Destination>;

/// A file, a descriptor or a band named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// `fd:<n>`
    Descriptor(RawFd),
    /// `band:<n>`: a stream in addition to that of the archive.
    Band(u8),
    /// A file.
    File(NamedFile),
}

impl Channel {
    /// Parse an argument, given in `directory`.
    pub fn parse(text: &OsStr, directory: &WorkingDirectory) -> Result<Self, String> {
        let bytes = text.as_encoded_bytes();
        if let Some(number) = bytes.strip_prefix(b"band:") {
            let number = number.to_str().ok().and_then(|number| number.parse().ok());
            return match number.filter(|number| BANDS.contains(number)) {
                Some(number) => Ok(Self::Band(number)),
                None => Err("use a number from 4 to 9 after 'band:'".into()),
            };
        }
        if bytes == b"-" {
            return Err("use fd:<n> for an open descriptor, or './-' for a file named '-'".into());
        }
        let Some(number) = bytes.strip_prefix(b"fd:") else {
            return Ok(Self::File(directory.file(text)));
        };
        let digits = std::str::from_utf8(number)
            .ok()
            .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(number) => Ok(Self::Descriptor(number)),
            None => Err("use a number after 'fd:', or './fd:' for a file of that name".into()),
        }
    }

    /// Whether the archive goes to the same file: to `output`, or to standard output. A character device
    /// such as the null device never conflicts.
    pub(super) fn is_of_archive(&self, output: Option<&Path>) -> bool {
        if let (Self::File(NamedFile { path, .. }), Some(output)) = (self, output)
            && !path.exists()
            && !output.exists()
        {
            let parent = |path: &Path| path.parent().map(|parent| Path::new(".").join(parent));
            let [ours, theirs] = [&**path, output].map(|path| parent(path)?.canonicalize().ok());
            return path.file_name() == output.file_name() && ours == theirs;
        }
        let archive = match output {
            Some(path) => fs::metadata(path),
            None => io::stdout()
                .as_fd()
                .try_clone_to_owned()
                .and_then(|file| File::from(file).metadata()),
        };
        let channel = match self {
            Self::Band(_) => return false,
            Self::Descriptor(1) if output.is_none() => return true,
            Self::Descriptor(number) => {
                inherited(*number, OFlags::WRONLY).and_then(|file| file.metadata())
            }
            Self::File(file) => fs::metadata(&file.path),
        };
        let (Ok(archive), Ok(channel)) = (archive, channel) else {
            return false;
        };
        !archive.file_type().is_char_device()
            && (archive.dev(), archive.ino()) == (channel.dev(), channel.ino())
    }

    /// Open the channel for writing. A file is truncated, and the writes of other processes are kept.
    /// `bands` opens a band.
    pub fn open(&self, bands: Bands<'_>) -> Result<ReportWriter> {
        let file = match self {
            Self::Band(number) => {
                let destination = bands(*number)?;
                let channel = self.clone();
                return Ok(ReportWriter {
                    channel,
                    destination,
                });
            }
            Self::Descriptor(number) => inherited(*number, OFlags::WRONLY),
            Self::File(file) => match standard_stream(&file.path) {
                Some(stream) => Ok(stream),
                None => File::create(&file.path).and_then(|file| {
                    fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::APPEND)?;
                    Ok(file)
                }),
            },
        };
        let file = file.map_err(|error| self.failed("write to", "for writing", &error))?;
        Ok(ReportWriter {
            channel: self.clone(),
            destination: Destination::Direct(file),
        })
    }

    /// Read the channel to its end.
    pub fn read_to_end(&self) -> Result<Vec<u8>> {
        let file = match self {
            Self::Band(_) => Err(Errno::BADF.into()),
            Self::Descriptor(number) => inherited(*number, OFlags::RDONLY),
            Self::File(file) => File::open(&file.path),
        };
        let mut file = file.map_err(|error| self.failed("read from", "for reading", &error))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| {
            let error = strerror(&error);
            Error::fatal(format_bytes(
                "cannot read from {}: {}",
                &[&self.words(), error.as_bytes()],
            ))
        })?;
        Ok(bytes)
    }

    /// The error of opening the channel.
    fn failed(&self, use_of_descriptor: &str, use_of_file: &str, error: &io::Error) -> Error {
        let (name, error) = (self.words(), strerror(error));
        let error = error.as_bytes();
        Error::fatal(match self {
            Self::Descriptor(_) | Self::Band(_) => {
                let values = [use_of_descriptor.as_bytes(), &name, error];
                format_bytes("cannot {} {}: {}", &values)
            }
            Self::File(_) => {
                let values = [&name[..], use_of_file.as_bytes(), error];
                format_bytes("could not open {} {}: {}", &values)
            }
        })
    }

    /// The name of the channel in a message.
    fn words(&self) -> BString {
        match self {
            Self::Descriptor(number) => format!("fd:{number}").into(),
            Self::Band(number) => format!("band:{number}").into(),
            Self::File(file) => format_bytes("'{}'", &[file.name.as_os_str().as_bytes()]),
        }
    }
}

/// A channel that is open for writing. Its errors name the channel.
pub struct ReportWriter {
    channel: Channel,
    destination: Destination,
}

impl ReportWriter {
    /// Write all of `bytes`. A closed pipe is an error like others: the reader of the archive still exists
    /// and must learn of the failure.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.destination.write_all(bytes).map_err(|error| {
            let error = strerror(&error);
            let name = self.channel.words();
            Error::fatal(format_bytes(
                "cannot write to {}: {}",
                &[&name, error.as_bytes()],
            ))
        })
    }

    /// Write `value` as a line of JSON.
    pub(super) fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(|error| {
            let name = self.channel.words();
            Error::fatal(format_bytes("cannot write to {}", &[&name])).caused_by(error)
        })?;
        line.push(b'\n');
        self.write(&line)
    }
}

/// The open file of the caller that `path` names. To open the path would truncate the file, such as a log on standard error.
fn standard_stream(path: &Path) -> Option<File> {
    let number = match path.to_str()? {
        "/dev/stdout" => 1,
        "/dev/stderr" => 2,
        path => {
            let directories = ["/dev/fd/", "/proc/self/fd/"];
            let mut numbers = directories.iter().filter_map(|it| path.strip_prefix(it));
            numbers.next()?.parse().ok()?
        }
    };
    inherited(number, OFlags::WRONLY).ok()
}

/// The file of descriptor `number`, if the caller left it open for `access`.
///
/// This process opens its own files with close-on-exec. An inherited descriptor has survived an exec, so it lacks the
/// flag.
#[allow(unsafe_code)]
fn inherited(number: RawFd, access: OFlags) -> io::Result<File> {
    // SAFETY: only system calls use the number before it is known that the caller left it open, and they fail if no
    // file has it. Nothing closes an inherited descriptor, and the borrow ends with this function.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    if fcntl_getfd(file)?.contains(FdFlags::CLOEXEC) || replaces_closed_stream(file)? {
        return Err(Errno::BADF.into());
    }
    // Checked now instead of in the middle of the archive.
    let allowed = fcntl_getfl(file)? & OFlags::RWMODE;
    if allowed == access || allowed == OFlags::RDWR {
        file.try_clone_to_owned().map(File::from)
    } else {
        Err(Errno::BADF.into())
    }
}

/// Whether `file` is the replacement of a standard stream that the caller closed. Rust's runtime opens the null device
/// for reading and writing before `main`. If the caller passes exactly that, it is refused too, without loss.
fn replaces_closed_stream(file: BorrowedFd<'_>) -> io::Result<bool> {
    let is_standard = (0..=2).contains(&file.as_raw_fd());
    let is_open_for_both = fcntl_getfl(file)? & OFlags::RWMODE == OFlags::RDWR;
    let device = File::from(file.try_clone_to_owned()?).metadata()?.rdev();
    Ok(is_standard && is_open_for_both && device == fs::metadata("/dev/null")?.rdev())
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        io::{Read, Seek, Write},
        os::{
            fd::{AsFd, AsRawFd},
            unix::net::UnixStream,
        },
        path::Path,
    };

    use rustix::io::{FdFlags, fcntl_setfd};
    use tempfile::{NamedTempFile, tempfile};

    use super::{Bands, Channel};
    use sluice_base::working_directory::{NamedFile, WorkingDirectory};

    const NO_BANDS: Bands<'static> = &|_| unreachable!("no channel here is a band");

    fn parse(text: &str) -> Result<Channel, String> {
        Channel::parse(OsStr::new(text), &WorkingDirectory::Current)
    }

    fn named(path: impl AsRef<Path>) -> NamedFile {
        WorkingDirectory::Current.file(path)
    }

    /// The channel of `file`, as if the file was inherited.
    fn left_open(file: &(impl AsFd + AsRawFd)) -> Channel {
        fcntl_setfd(file, FdFlags::empty()).expect("it is open");
        Channel::Descriptor(file.as_raw_fd())
    }

    #[test]
    fn names() {
        assert_eq!(parse("fd:9"), Ok(Channel::Descriptor(9)));
        assert_eq!(parse("a/b"), Ok(Channel::File(named("a/b"))));
        assert_eq!(parse("./fd:9"), Ok(Channel::File(named("./fd:9"))));
        for odd in ["fd:", "fd:x", "fd:-1", "fd:+1", "fd: 1", "fd:4294967296"] {
            assert!(parse(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_descriptor_is_the_same_open_file() {
        let mut file = tempfile().expect("a temporary file");
        file.write_all(b"before, ").expect("written");
        let mut outlet = left_open(&file).open(NO_BANDS).expect("open");
        outlet.write(b"here, ").expect("written");
        file.write_all(b"after").expect("written");
        file.rewind().expect("a file");
        let channel = left_open(&file);
        assert_eq!(channel.read_to_end().expect("read"), b"before, here, after");
    }

    #[test]
    fn what_we_opened_ourselves_was_not_left_open() {
        let file = tempfile().expect("a temporary file");
        let channel = Channel::Descriptor(file.as_raw_fd());
        assert!(channel.open(NO_BANDS).is_err() && channel.read_to_end().is_err());
    }

    #[test]
    fn pipes_and_sockets() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let channel = left_open(&writer);
        channel
            .open(NO_BANDS)
            .and_then(|mut outlet| outlet.write(b"pipe"))
            .expect("written");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "pipe");

        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let channel = left_open(&ours);
        channel
            .open(NO_BANDS)
            .and_then(|mut outlet| outlet.write(b"socket"))
            .expect("written");
        drop(ours);
        let read = left_open(&theirs).read_to_end();
        assert_eq!(read.expect("read"), b"socket");
    }

    #[test]
    fn a_file_is_replaced() {
        let file = NamedTempFile::new().expect("a temporary file");
        let channel = Channel::File(named(file.path()));
        let mut outlet = channel.open(NO_BANDS).expect("open");
        outlet.write(b"a longer report").expect("written");
        let mut outlet = channel.open(NO_BANDS).expect("open");
        outlet.write(b"short").expect("written");
        assert_eq!(channel.read_to_end().expect("read"), b"short");
    }

    #[test]
    fn nobody_reads() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut outlet = left_open(&writer).open(NO_BANDS).expect("open");
        drop(reader);
        let error = outlet.write(b"a").expect_err("nobody reads");
        assert_eq!(error.kind(), sluice_base::error::ExitKind::Fatal);
        assert!(error.to_string().ends_with("Broken pipe"));
    }
}
