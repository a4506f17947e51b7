//! Finds out how a stream is compressed, and decompresses it on another thread or by the installed program.
//!
//! The first bytes tell the compression. Checksums are verified. A gzip may have any number of members, and zeros after the last one.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use flate2::bufread::GzDecoder;
use gix_hash::{Hasher, Kind, ObjectId, hasher};

use super::{
    damage::{damaged, unreadable},
    feed::feed,
};
use sluice_base::{
    error::{Error, Result, strerror},
    threads::Lock,
};

/// The first bytes of a file that are kept: enough to tell compressors apart.
const HEAD_LEN: usize = 64 << 10;
const BUFFER: usize = 128 << 10;
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The first bytes of a skippable frame of Zstandard, from the second on.
const ZSTD_SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// A compression, by the name of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip
    Gzip,
    /// Zstandard
    Zstd,
    /// xz
    Xz,
    /// bzip2
    Bzip2,
    /// lzip
    Lzip,
}

/// All compressions, each with the name of its program and the first bytes of a stream.
const COMPRESSIONS: [(Compression, &str, &[u8]); 5] = [
    (Compression::Gzip, "gzip", b"\x1f\x8b"),
    (Compression::Zstd, "zstd", b"\x28\xb5\x2f\xfd"),
    (Compression::Xz, "xz", b"\xfd7zXZ\0"),
    (Compression::Bzip2, "bzip2", b"BZh"),
    (Compression::Lzip, "lzip", b"LZIP"),
];

impl Compression {
    /// The compression of a stream that begins with `magic`.
    fn of(magic: &[u8]) -> Option<Self> {
        if let [0x50..=0x5f, rest @ ..] = magic
            && rest.starts_with(ZSTD_SKIPPABLE)
        {
            return Some(Self::Zstd);
        }
        let mut all = COMPRESSIONS.into_iter();
        let found = all.find(|(.., first)| magic.starts_with(first));
        found.map(|(compression, ..)| compression)
    }

    /// The program.
    pub fn program(self) -> &'static str {
        let mut all = COMPRESSIONS.into_iter();
        let found = all.find(|(compression, ..)| *compression == self);
        found.expect("all compressions are listed").1
    }
}

/// What is known of the bytes of a file, before decompression. Clones know the same.
#[derive(Clone)]
pub struct Raw(Arc<Lock<RawBytes>>);

struct RawBytes {
    len: u64,
    head: Vec<u8>,
    hasher: Hasher,
}

impl Default for Raw {
    fn default() -> Self {
        Self(Arc::new(Lock::new(RawBytes {
            len: 0,
            head: Vec::new(),
            hasher: hasher(Kind::Sha256),
        })))
    }
}

impl Raw {
    /// The number of bytes so far.
    pub fn size(&self) -> u64 {
        self.0.lock().len
    }

    /// The first bytes, at most 64 KiB.
    pub fn head(&self) -> Vec<u8> {
        self.0.lock().head.clone()
    }

    /// The SHA-256 of all bytes so far.
    pub fn digest(&self) -> Option<ObjectId> {
        self.0.lock().hasher.clone().try_finalize().ok()
    }

    /// Adds `bytes`.
    pub fn add(&self, bytes: &[u8]) {
        let mut raw = self.0.lock();
        let room = HEAD_LEN - raw.head.len();
        raw.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
        raw.len += bytes.len() as u64;
        raw.hasher.update(bytes);
    }

    /// Whether these bytes may go on after those of `begin`, as far as the length and the first bytes tell.
    pub fn may_follow(&self, begin: &Self) -> bool {
        let (raw, begin) = (self.0.lock(), begin.0.lock());
        begin.len <= raw.len && raw.head.starts_with(&begin.head)
    }

    /// Counts bytes that are added later, or never.
    fn count(&self, len: usize) {
        self.0.lock().len += len as u64;
    }
}

/// Notes the bytes that pass, and not only their number where `is_hashed`.
struct Tap<R> {
    inner: R,
    raw: Raw,
    is_hashed: bool,
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        if self.is_hashed {
            self.raw.add(&out[..read])
        } else {
            self.raw.count(read)
        }
        Ok(read)
    }
}

/// Decompresses the members of a gzip. Programs pad it with zeros, after which no member may follow.
pub struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Members<R> {
    /// Decompresses `input`.
    pub fn new(input: R) -> Self {
        Self(Some(GzDecoder::new(input)))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            let mut input = self.0.take().expect("as above").into_inner();
            if has_member(&mut input)? {
                self.0 = Some(GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

/// Whether another member follows in `input`.
fn has_member(input: &mut impl BufRead) -> io::Result<bool> {
    let mut is_padded = false;
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if bytes.is_empty() {
            return Ok(false);
        }
        is_padded |= zeros > 0;
        if zeros < bytes.len() {
            let garbage = || io::Error::other("something follows the zeros after its end");
            return if is_padded { Err(garbage()) } else { Ok(true) };
        }
        input.consume(zeros);
    }
}

/// A stream whose first bytes are known.
pub(super) enum Opened {
    /// A zip, from its first byte.
    Zip(Box<dyn Read + Send>),
    /// What may be a tar, decompressed.
    Tar(Plain, Option<Compression>),
}

/// Decompressed bytes.
pub(super) struct Plain {
    bytes: Box<dyn Read>,
    program: Option<(Child, Compression)>,
}

impl Read for Plain {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(out)
    }
}

impl Plain {
    /// Waits for the program that decompresses, if there is one. Fails if the program ended because the stream is damaged.
    pub(super) fn finish(mut self) -> Result<()> {
        let Some((mut child, compression)) = self.program else {
            return Ok(());
        };
        let is_whole = matches!(self.bytes.read(&mut [0]), Ok(0));
        drop(self.bytes);
        if !is_whole {
            let _ = child.kill();
        }
        let status = child.wait().map_err(unreadable)?;
        if status.success() || !is_whole {
            Ok(())
        } else {
            Err(damaged(format!(
                "{} cannot decompress it",
                compression.program()
            )))
        }
    }
}

/// Decides by `begin`, after which `stream` has the other bytes. `raw` takes them all.
pub(super) fn open(begin: Vec<u8>, stream: Box<dyn Read + Send>, raw: Raw) -> Result<Opened> {
    let is_zip = ZIP.iter().any(|zip| begin.starts_with(zip));
    let compression = Compression::of(&begin);
    let whole = Cursor::new(begin).chain(stream);
    if is_zip {
        return Ok(Opened::Zip(Box::new(whole)));
    }
    let tap = Tap {
        inner: whole,
        raw,
        is_hashed: compression == Some(Compression::Gzip),
    };
    let buffered = |tap| BufReader::with_capacity(BUFFER, tap);
    let plain = match compression {
        // The reader of tars has buffers.
        None => Plain {
            bytes: Box::new(tap),
            program: None,
        },
        Some(Compression::Gzip) => on_a_thread(Members::new(buffered(tap)))?,
        Some(Compression::Zstd) => {
            on_a_thread(zstd::Decoder::with_buffer(buffered(tap)).map_err(unreadable)?)?
        }
        Some(xz @ Compression::Xz) => {
            let inner = buffered(tap);
            by_program(xz, Unpadded { inner, run: 0 })?
        }
        Some(other) => by_program(other, buffered(tap))?,
    };
    Ok(Opened::Tar(plain, compression))
}

/// The bytes of a file of xz. Python ends at zeros between two streams, so these are an error.
struct Unpadded<R> {
    inner: R,
    /// How far the last bytes are the end of a stream and zeros: 2 for `YZ`, and 1 for each zero.
    run: u64,
}

impl<R: Read> Read for Unpadded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        for byte in &out[..read] {
            self.run = match (self.run, byte) {
                (6.., 0xfd) => return Err(io::Error::other("zeros between two streams")),
                (2.., 0) => self.run + 1,
                (1, b'Z') => 2,
                (_, b'Y') => 1,
                _ => 0,
            };
        }
        Ok(read)
    }
}

fn on_a_thread(decoder: impl Read + Send + 'static) -> Result<Plain> {
    let (feeder, feed) = feed();
    feeder.copy(decoder).map_err(unreadable)?;
    Ok(Plain {
        bytes: Box::new(feed),
        program: None,
    })
}

/// Passes `input` through the installed program.
fn by_program(compression: Compression, mut input: impl Read + Send + 'static) -> Result<Plain> {
    let program = compression.program();
    let started = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| {
        Error::fatal(format!("cannot run '{program}'"))
            .caused_by(strerror(&error))
            .hinted(format!("install {program}, which decompresses the archive"))
    })?;
    if let Some(mut to) = child.stdin.take() {
        // A failed read ends the input early, so the program reports the damage.
        let copy = move || io::copy(&mut input, &mut to).map(drop);
        std::thread::Builder::new()
            .spawn(copy)
            .map_err(unreadable)?;
    }
    let bytes = child.stdout.take().expect("it was asked for");
    Ok(Plain {
        bytes: Box::new(BufReader::with_capacity(BUFFER, bytes)),
        program: Some((child, compression)),
    })
}
