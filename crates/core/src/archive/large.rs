//! Streams files that are too large for a job, in archive order.
//!
//! The writer never holds a whole file. If an attempt fails before its first byte, recovery looks for sound
//! copies of the object and of its delta bases. After the first byte, a failure ends the archive inside the
//! file. git reads some of these files whole and could therefore still use another copy. Such a file is
//! read to its end before its first byte is written, if another copy exists.

use std::path::Path;

use bstr::ByteSlice;

use super::{
    archiver::{Archiver, Mark, Piece, Scratch},
    entry::{EntryOutcome, member},
    extra,
};
use crate::{
    filter::Disposition,
    plan::{Blob, Entry, Window, extra::Extra},
};
use sluice_base::pipeline::Sink;
use sluice_format::{Format, Layout, Member, MemberKind, Outline, Part};
use sluice_git::{
    lfs::LfsObject,
    objects::{
        Failure,
        chain::{Chains, NodeId},
        recovery,
        stream::{self, Taker},
    },
    odb::{Odb, loose, pack::Damage},
};

/// The most bytes of memory for a file in which `$Format:…$` is expanded: such files are never streamed,
/// and a header may state a false size.
const MAX_SUBSTITUTED: u64 = 4 << 30;
/// The longest target of a symbolic link, in bytes. Systems accept at most a few thousand.
const MAX_TARGET: u64 = 1 << 30;

impl<F: Format> Archiver<F> {
    /// Write a file that is too large for a job, without holding the whole file.
    pub(super) fn large_entry(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        piece: &mut Piece<F::Records>,
        sink: &mut dyn Sink<Piece<F::Records>>,
    ) -> Result<Disposition, StreamError> {
        if entry.kind == MemberKind::Symlink {
            // git reads the target of a link whole, whatever its size.
            let outcome = self.entry(scratch, window, entry, MAX_TARGET, piece);
            return outcome.map_err(StreamError::BeforeOutput);
        }
        let store = self.store(window);
        if !entry.treatment.is_none() {
            // A conversion needs the whole content. Files that git converts in memory are converted in
            // memory here too.
            let limit = if entry.treatment.substitute {
                store.big_file.max(MAX_SUBSTITUTED)
            } else {
                store.big_file
            };
            let outcome = self.entry(scratch, window, entry, limit, piece);
            if !matches!(outcome, Err(Failure::TooLarge)) || entry.treatment.substitute {
                return outcome.map_err(StreamError::BeforeOutput);
            }
            piece.truncate_part(Mark::default());
        }
        let id = store
            .replaced(&entry.id)
            .map_err(StreamError::BeforeOutput)?;
        let notes = self.notes(entry, Disposition::Content, None);
        let records = notes.records();
        let mut output = Output {
            archiver: self,
            scratch,
            window,
            entry,
            member: member(window, entry, &records),
            piece,
            sink,
            flushed: 0,
            rehearsed: Odb::open(store.odb.clone()).copies(&id).len() > 1,
        };
        let planned = match entry.blob {
            Blob::Packed(node) => output.packed(&window.chains, node),
            Blob::Loose(dir) => output.loose(&store.odb.loose_path(dir, &id)),
            Blob::Extra(number) => return output.extra(&self.extras[number as usize]),
            Blob::Lfs(number) => return output.lfs(&window.lfs_objects[number]),
            Blob::None | Blob::Known(_) | Blob::Unknown => {
                Err(StreamError::BeforeOutput(Failure::Absent))
            }
        };
        let Err(StreamError::BeforeOutput(failure)) = planned else {
            return planned;
        };
        let copy = recovery::copy(&store.odb, &id, self.in_memory, failure);
        let copy = copy.map_err(StreamError::BeforeOutput)?;
        output.rehearsed = false;
        output.file(copy.size(), |taker| copy.stream(taker))
    }
}

/// The progress of an attempt to stream an object before it failed.
pub(super) enum StreamError {
    /// Nothing was written, so another copy may be tried.
    BeforeOutput(Failure),
    /// The archive ends inside this entry.
    AfterOutput(Failure),
}

/// Writes one large file.
struct Output<'a, F: Format> {
    archiver: &'a Archiver<F>,
    scratch: &'a mut Scratch<F>,
    window: &'a Window,
    entry: &'a Entry,
    member: Member<'a>,
    piece: &'a mut Piece<F::Records>,
    sink: &'a mut dyn Sink<Piece<F::Records>>,
    /// Bytes of the entry that were sent.
    flushed: u64,
    /// Whether the content is checked for damage before the first byte, since another copy may be sound.
    rehearsed: bool,
}

impl<F: Format> Output<'_, F> {
    fn packed(&mut self, chains: &Chains, node: NodeId) -> Result<Disposition, StreamError> {
        let size = stream::size(chains, node).map_err(StreamError::BeforeOutput)?;
        self.file(size, |taker| stream::packed(chains, node, taker))
    }

    fn loose(&mut self, path: &Path) -> Result<Disposition, StreamError> {
        let mut reader = loose::Reader::default();
        let opened = reader
            .open(path)
            .map_err(|error| StreamError::BeforeOutput(error.into()))?;
        self.file(opened.size, |taker| {
            loose::Reader::default().open(path)?.stream(taker)
        })
    }

    fn extra(&mut self, extra: &Extra) -> Result<Disposition, StreamError> {
        let size = extra::size(extra).map_err(StreamError::BeforeOutput)?;
        self.file(size, |taker| extra::stream(extra, taker))
    }

    fn lfs(&mut self, object: &LfsObject) -> Result<Disposition, StreamError> {
        let path = self.archiver.path_in_tree(self.window, self.entry);
        self.rehearsed = false;
        self.file(object.size(), |taker| object.stream(path.as_bstr(), taker))
    }

    /// Write a file of `size` bytes. `content` produces the bytes at every call.
    fn file(
        &mut self,
        size: u64,
        mut content: impl FnMut(Taker<'_>) -> Result<(), Failure>,
    ) -> Result<Disposition, StreamError> {
        let too_large = self.archiver.too_large(self.window, self.entry, size);
        let decoded = too_large.is_none();
        let unwanted = match too_large {
            None => self
                .unwanted(size, &mut content)
                .map_err(StreamError::BeforeOutput)?,
            too_large => too_large,
        };
        match unwanted {
            Some(disposition) => self.replace(disposition, size)?,
            None => {
                self.rehearse(size, &mut content)
                    .map_err(StreamError::BeforeOutput)?;
                self.send(size, &mut content)?;
            }
        }
        let outcome = EntryOutcome {
            disposition: unwanted.unwrap_or(Disposition::Content),
            size: Some(size),
            decoded,
            archived: unwanted.is_none().then_some(size),
        };
        let start = -self.flushed.cast_signed();
        self.archiver
            .account(self.window, self.entry, (outcome, start), self.piece);
        Ok(outcome.disposition)
    }

    /// The disposition of the file, unless its content is sent unchanged.
    fn unwanted(
        &self,
        size: u64,
        content: &mut dyn FnMut(Taker<'_>) -> Result<(), Failure>,
    ) -> Result<Option<Disposition>, Failure> {
        let Some(binary) = self.archiver.blob_policy.policy.binary else {
            return Ok(None);
        };
        let (mut at, mut shown) = (0, false);
        let outcome = content(&mut |bytes| {
            shown |= binary.shows_in(bytes, at);
            at += bytes.len() as u64;
            // The rest of the content cannot change the decision.
            if shown || at >= binary.within as u64 {
                Err(Failure::TooLarge)
            } else {
                Ok(())
            }
        });
        match outcome {
            Ok(()) | Err(Failure::TooLarge) => Ok(binary.disposition(size).filter(|_| shown)),
            Err(failure) => Err(failure),
        }
    }

    fn replace(&mut self, disposition: Disposition, size: u64) -> Result<(), StreamError> {
        let Self {
            archiver,
            scratch,
            window,
            entry,
            piece,
            ..
        } = self;
        archiver
            .replace(scratch, window, entry, (disposition, size), piece)
            .map_err(StreamError::BeforeOutput)
    }

    fn rehearse(
        &self,
        size: u64,
        content: &mut dyn FnMut(Taker<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.rehearsed && self.archiver.layout(self.window, self.entry, size) == Layout::Whole {
            exactly(size, content, &mut |_| Ok(()))
        } else {
            Ok(())
        }
    }

    fn send(
        &mut self,
        size: u64,
        content: &mut dyn FnMut(Taker<'_>) -> Result<(), Failure>,
    ) -> Result<(), StreamError> {
        let mut begun = false;
        match self.attempt(size, content, &mut begun) {
            Ok(()) => Ok(()),
            Err(failure) if begun => Err(StreamError::AfterOutput(failure)),
            Err(failure) => {
                self.piece.truncate_part(Mark::default());
                Err(StreamError::BeforeOutput(failure))
            }
        }
    }

    fn attempt(
        &mut self,
        size: u64,
        content: &mut dyn FnMut(Taker<'_>) -> Result<(), Failure>,
        begun: &mut bool,
    ) -> Result<(), Failure> {
        let Self {
            archiver,
            scratch,
            window,
            entry,
            member,
            piece,
            sink,
            flushed,
            ..
        } = self;
        let outline = Outline {
            size,
            layout: archiver.layout(window, entry, size),
        };
        archiver.format.check(member, &mut piece.log)?;
        let Piece { part, log, .. } = &mut **piece;
        let mut flush = |part: &mut Part<F::Records>| {
            *begun = true;
            *flushed += part.bytes.len() as u64;
            let mut sent = Piece {
                part: std::mem::take(part),
                log: std::mem::take(log),
                ..Piece::default()
            };
            let outcome = sink.write(&mut sent);
            *part = sent.part;
            Ok(outcome?)
        };
        let mut body = |taker: Taker<'_>| exactly(size, content, taker);
        let format = &archiver.format;
        let scratch = &mut scratch.format;
        format.stream_file(scratch, member, outline, &mut body, part, &mut flush)
    }
}

/// Pass the bytes of `content` on and check their number.
fn exactly(
    size: u64,
    content: &mut dyn FnMut(Taker<'_>) -> Result<(), Failure>,
    taker: Taker<'_>,
) -> Result<(), Failure> {
    let mut total = 0;
    content(&mut |bytes| {
        total += bytes.len() as u64;
        taker(bytes)
    })?;
    if total == size {
        Ok(())
    } else {
        Err(Damage("object has another size than it claims").into())
    }
}
