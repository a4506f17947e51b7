//! From entries to archive bytes. Knows nothing of git: it takes names, kinds, ids and bytes.
//!
//! An entry's bytes do not depend on those around it, so that many threads can make them at once; what
//! the end of an archive has to know of its entries travels beside them, as records. Same input,
//! same bytes.

pub mod tar;
pub mod zip;
pub mod deflate;
pub mod zstd;

use crate::{buffer::Buffer, error::Result};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A regular file that may be run.
    Executable,
    /// A symbolic link; its content is the target.
    Symlink,
    /// A directory; its name ends in a slash.
    Directory,
}

/// An entry without its content.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its full name in the archive, in raw bytes.
    pub name: &'a [u8],
    /// What it is.
    pub kind: MemberKind,
    /// Its object id, in binary; stands in where the name does not fit.
    pub id: &'a [u8],
    /// Whether it counts as text; by its content if unknown.
    pub text: Option<bool>,
    /// More that is told of it, where the format has room: keys such as `VENDOR.key`, with their
    /// values. Short ones: no reader takes a mebibyte of them.
    pub vendor: &'a [(&'static str, &'a [u8])],
}

impl Member<'_> {
    /// The object id in hexadecimal.
    fn hex_id(&self) -> String {
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// How the size of a file is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Everything about it stands in front of it.
    Whole,
    /// What is not known before its last byte comes behind it, in formats that have a way to.
    Streamed,
}

/// What is known of a file before its body.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// The size of the body in bytes.
    pub size: u64,
    /// How it is told.
    pub layout: Layout,
}

/// Archive bytes and the records of the entries in them.
#[derive(Default)]
pub struct Part<R> {
    /// The bytes.
    pub bytes: Buffer,
    /// What the end of the archive has to know of them.
    pub records: R,
}

/// Hands the pieces of a body to a taker, from the first to the last; more than once if asked again.
pub type Body<'a, E> = &'a mut dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>;

/// Sends off what a part holds so far, and empties it.
pub type Flush<'a, R, E> = &'a mut dyn FnMut(&mut Part<R>) -> Result<(), E>;

/// Takes the next bytes of an archive.
pub type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// A format of archives.
///
/// A file that fits into memory is begun, its body appended to the part's bytes, and ended. A larger
/// one is streamed.
pub trait Format: Sync {
    /// What a thread keeps from entry to entry.
    type Scratch: Default;
    /// What the end of the archive has to know of some entries, as long as their place in it is
    /// not known.
    type Records: Records;
    /// The same of all entries written so far.
    type Directory: Send;

    /// What comes before all entries.
    fn head(&self, out: &mut Buffer);

    /// What comes between the head and the entries, and may be too large for memory: hand that to `put`, piece
    /// by piece.
    fn preface(&self, _put: Put<'_>) -> Result<()> {
        Ok(())
    }

    /// Refuse what the format cannot hold; what is merely odd is told to `log`.
    fn check(&self, member: &Member<'_>, log: &mut Buffer) -> Result<()>;

    /// Append a directory.
    fn directory(&self, member: &Member<'_>, part: &mut Part<Self::Records>);

    /// Append a symbolic link to `target`.
    fn symlink(&self, member: &Member<'_>, target: &[u8], part: &mut Part<Self::Records>);

    /// Begin a file whose body is appended next; [`Self::end_file`] wants what this returns.
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

    /// Append a file of `size` zeros without writing them: a hole, which stands in for a file that
    /// is not sent. An empty file in formats that have no holes.
    fn sparse_file(&self, member: &Member<'_>, size: u64, part: &mut Part<Self::Records>);

    /// The directory of an archive without entries.
    fn empty_directory(&self) -> Self::Directory;

    /// Note the place of entries: the part that `records` belong to begins at byte `start`.
    fn place(
        &self,
        directory: &mut Self::Directory,
        records: &mut Self::Records,
        start: u64,
    ) -> Result<()>;

    /// End an archive that has `written` bytes so far: hand what is left of it to `put`, piece by piece.
    fn end(&self, directory: Self::Directory, written: u64, put: Put<'_>) -> Result<()>;

    /// The beginning of a file whose body never comes: what a cut archive ends with, so that no
    /// reader takes it for complete.
    fn torn(&self, out: &mut Buffer);
}

/// Records of entries, in order.
pub trait Records: Default + Send {
    /// How many there are, as a mark to come back to.
    fn mark(&self) -> usize;

    /// Forget those after `mark`.
    fn truncate(&mut self, mark: usize);

    /// The memory held, in bytes.
    fn capacity(&self) -> usize;
}

/// For formats whose end knows nothing of their entries.
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
    /// Where its header begins, with all that belongs to it.
    header: usize,
    /// Where its body begins.
    body: usize,
}

impl Begun {
    /// Put `header` in the place that was left for it in `out`; one that got longer moves the body.
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
