//! Turns entries into archive bytes, without knowing git: the input is names, types, ids and content. [`unarchive`] reads archives
//! that other programs wrote, and writes no file.
//!
//! The bytes of an entry do not depend on other entries, so many threads produce them at once. The facts
//! that the end of an archive needs travel as records next to the bytes. Equal input yields equal bytes.

pub mod unarchive;
pub mod tar;
pub mod zip;
pub mod zstd;

use sluice_base::{buffer::Buffer, error::Result};

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link, whose content is the target.
    Symlink,
    /// A directory, whose name ends in a slash.
    Directory,
}

/// An entry without its content.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The full name in the archive, in raw bytes.
    pub name: &'a [u8],
    /// The type.
    pub kind: MemberKind,
    /// The object id in binary. Replaces a name that does not fit.
    pub id: &'a [u8],
    /// Whether the content counts as text. If unknown, the content decides.
    pub text: Option<bool>,
    /// Additional records, in formats that have room for them: keys such as `VENDOR.key`, with their
    /// values. Short values only: no reader accepts a mebibyte.
    pub vendor: &'a [(&'static str, &'a [u8])],
}

impl Member<'_> {
    /// The object id in hexadecimal.
    fn hex_id(&self) -> String {
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Where the archive states the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All metadata precedes the content.
    Whole,
    /// Metadata that is known only after the last byte follows the content, in formats that allow it.
    Streamed,
}

/// The known facts of a file before its body.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// The size of the body in bytes.
    pub size: u64,
    /// Where the archive states the size.
    pub layout: Layout,
}

/// Archive bytes and the records of the entries in them.
#[derive(Default)]
pub struct Part<R> {
    /// The bytes.
    pub bytes: Buffer,
    /// The facts that the end of the archive needs of the entries.
    pub records: R,
}

/// Passes the pieces of a body to a taker, in order. Every call begins with the first piece.
pub type Body<'a, E> = &'a mut dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>;

/// Sends the content of a part and empties the part.
pub type Flush<'a, R, E> = &'a mut dyn FnMut(&mut Part<R>) -> Result<(), E>;

/// Takes the next bytes of an archive.
pub type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// The body of a file as an archive stores it.
#[derive(Clone, Copy, Debug)]
pub struct StoredBody {
    /// The first byte, counted from the beginning of a part or of the archive.
    pub start: i64,
    /// Bytes in the archive.
    pub packed: u64,
    /// Bytes of the content.
    pub size: u64,
    /// The sum of the content, in formats that have one.
    pub crc: u32,
    /// Whether the body is deflated.
    pub is_deflated: bool,
    /// Whether the content looks like text, in formats that tell.
    pub is_text: bool,
}

/// An archive format.
///
/// A file that fits into memory is begun, its body is appended to the part's bytes, and the file is ended.
/// A larger file is streamed.
pub trait Format: Sync {
    /// The state that a thread keeps from entry to entry.
    type Scratch: Default;
    /// The facts that the end of the archive needs of entries whose position is still unknown.
    type Records: Records;
    /// The facts of all entries written so far.
    type Directory: Send;

    /// Append the bytes before all entries.
    fn head(&self, out: &mut Buffer);

    /// Pass the bytes between the head and the entries to `put`, piece by piece: they may be too large for
    /// memory.
    fn preface(&self, _put: Put<'_>) -> Result<()> {
        Ok(())
    }

    /// Refuse an entry that the format cannot hold. Warnings go to `log`.
    fn check(&self, member: &Member<'_>, log: &mut Buffer) -> Result<()>;

    /// Append a directory.
    fn directory(&self, member: &Member<'_>, part: &mut Part<Self::Records>);

    /// Append a symbolic link to `target`.
    fn symlink(&self, member: &Member<'_>, target: &[u8], part: &mut Part<Self::Records>);

    /// Begin a file, whose body the caller appends. [`Self::end_file`] takes the returned value.
    fn begin_file(&self, member: &Member<'_>, part: &mut Part<Self::Records>) -> Begun;

    /// End the file that was begun.
    fn end_file(
        &self,
        scratch: &mut Self::Scratch,
        begun: Begun,
        member: &Member<'_>,
        layout: Layout,
        part: &mut Part<Self::Records>,
    );

    /// End the file that was begun, whose `body` was copied from another archive of this format, as it is stored there.
    fn end_copied(
        &self,
        scratch: &mut Self::Scratch,
        begun: Begun,
        member: &Member<'_>,
        body: StoredBody,
        part: &mut Part<Self::Records>,
    );

    /// Where the body is of the file of `size` bytes that was ended last, with the whole of it in `part`.
    fn last_body(&self, part: &Part<Self::Records>, size: u64) -> Option<StoredBody>;

    /// Append a file that does not fit into memory.
    fn stream_file<E: From<std::io::Error>>(
        &self,
        scratch: &mut Self::Scratch,
        member: &Member<'_>,
        outline: Outline,
        body: Body<'_, E>,
        part: &mut Part<Self::Records>,
        flush: Flush<'_, Self::Records, E>,
    ) -> Result<(), E>;

    /// Append a file of `size` zeros as a hole, in place of a file that is not sent. An empty file in
    /// formats without holes.
    fn sparse_file(&self, member: &Member<'_>, size: u64, part: &mut Part<Self::Records>);

    /// The directory of an archive without entries.
    fn empty_directory(&self) -> Self::Directory;

    /// Fix the positions of entries: the part of `records` begins at byte `start`.
    fn place(
        &self,
        directory: &mut Self::Directory,
        records: &mut Self::Records,
        start: u64,
    ) -> Result<()>;

    /// Pass the end of an archive, which has `written` bytes so far, to `put`, piece by piece.
    fn end(&self, directory: Self::Directory, written: u64, put: Put<'_>) -> Result<()>;

    /// The first byte of a content of `len` bytes whose entry ends at byte `end`, unless the content is compressed.
    fn content_start(&self, end: i64, len: u64) -> Option<i64>;

    /// Append the beginning of a file without its body. A failed archive ends with these bytes, so no
    /// reader takes it for complete.
    fn torn(&self, out: &mut Buffer);
}

/// Records of entries, in order.
pub trait Records: Default + Send {
    /// The number of records, as a mark for `truncate`.
    fn mark(&self) -> usize;

    /// Drop the records after `mark`.
    fn truncate(&mut self, mark: usize);

    /// The memory held, in bytes.
    fn capacity(&self) -> usize;
}

/// For formats whose end needs no facts of the entries.
impl Records for () {
    fn mark(&self) -> usize {
        0
    }

    fn truncate(&mut self, _: usize) {}

    fn capacity(&self) -> usize {
        0
    }
}

/// A file whose body is being appended.
#[must_use]
pub struct Begun {
    /// The offset of the header, including its extended headers.
    header: usize,
    /// The offset of the body.
    body: usize,
}

impl Begun {
    /// Put `header` into the reserved place in `out`. A longer header moves the body.
    fn put_header(&self, header: &[u8], out: &mut Buffer) {
        let (end, longer) = (out.len(), header.len() - (self.body - self.header));
        out.zeros(longer);
        let out = out.as_mut_slice();
        if longer > 0 {
            out.copy_within(self.body..end, self.body + longer);
        }
        out[self.header..][..header.len()].copy_from_slice(header);
    }
}
