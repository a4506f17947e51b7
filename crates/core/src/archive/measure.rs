//! The length of an archive, without the archive.
//!
//! The plan runs as for the archive, and the format makes the same headers. Contents are not read: their sizes stand in
//! the headers of objects. Only the files that attributes convert are read and converted.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    archiver::{Archiver, Piece, Scratch},
    entry::member,
    extra,
    prepare::{self, Prepared},
};
use crate::{
    filter::{Disposition, OmissionReason},
    plan::{Blob, ContentSize, Entry, Planner, StoreId, Window},
    request::{Request, format::Container},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
    pipeline::{self, Limits, Sink, Worker},
};
use sluice_format::{Format, Layout, Member, MemberKind, Outline, Part, tar::Tar};
use sluice_git::{convert::Shareable, objects::reader::Reader};

/// A figure, or the reason why the figure is not known.
pub type Known = Result<u64, UnknownReason>;

/// Why a figure of an archive is not known before the archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The content decides whether and how a file is sent.
    Content,
    /// The archive will fail, or hold another copy.
    Unreadable,
    /// A link is longer than what is measured: headers may claim any length.
    LongTarget,
    /// The command of the configuration is not run for a measurement.
    Filtered,
}

impl UnknownReason {
    /// The reason as a user reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "the content of a file decides what is sent",
            Self::Unreadable => "an object is missing or damaged",
            Self::LongTarget => "the target of a symbolic link is long",
            Self::Filtered => "a filter of the configuration converts a file",
        }
    }
}

/// What is known of an archive before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Bytes of the archive as a tar, before any compression.
    pub bytes: Known,
    /// Entries of the archive.
    pub entries: Known,
}

/// Entries in a chunk.
const CHUNK: usize = 256;

/// The longest target of a symbolic link that is measured, in bytes.
const MAX_TARGET: u64 = 16 << 20;

/// Measures the archive that `request` asks for, as a tar. Withdraws `Run::shareable` if the archive depends on
/// more than the request.
pub fn measure(request: Request) -> Result<Measurement> {
    let (measurer, planner, limits) = Measurer::new(request)?;
    let mut total = Lengths::default();
    let (_, outcome) = pipeline::run(planner, &measurer, &mut total, limits);
    outcome?;
    if total.is_withdrawn {
        measurer.shareable.withdraw();
    }
    Ok(Measurement {
        bytes: match total.unknown {
            Some(reason) => Err(reason),
            None => {
                let before_end = measurer.head()?.saturating_add(total.bytes);
                Ok(before_end.saturating_add(measurer.end(before_end)?))
            }
        },
        entries: if total.is_uncertain {
            Err(UnknownReason::Content)
        } else {
            Ok(total.entries)
        },
    })
}

/// Refuses a `request` whose archive is over a limit, as far as that is known before its first byte. Archives in the cache have
/// to be measured too, because the process that created them may have had other limits.
pub fn refuse_large(request: &Request) -> Result<()> {
    let limits = request.run.limits;
    if !limits.concern_plan() {
        return Ok(());
    }
    let mut measured = request.clone();
    // A partial clone may lack objects that are fetched later, and these do not make the archive vary.
    measured.run.shareable = Shareable::default();
    // An archive that cannot be measured says why itself.
    measure(measured).map_or(Ok(()), |measured| {
        limits.refuse(measured.bytes.unwrap_or(0), measured.entries.unwrap_or(0))
    })
}

/// The length of the archive that `request` asks for, if the length is known without the archive. Bytes.
pub fn archive_length(request: &Request) -> Option<u64> {
    let is_plain = request.content.format.is_plain_tar();
    is_plain.then(|| tar_length(request.clone()))?
}

/// The length of the tar that `request` asks for, before any compression, if the length is known. Bytes. Takes a part of
/// the time of the archive, and none where the content of files decides.
pub fn tar_length(request: Request) -> Option<u64> {
    let is_tar = request.content.format.row().container != Container::Zip;
    let is_known = is_tar && request.content.blob_policy.policy.binary.is_none();
    is_known.then(|| measure(request).ok()?.bytes.ok())?
}

/// Adds up the entries of windows.
pub(super) struct Measurer {
    archiver: Archiver<Tar>,
    shareable: Shareable,
}

/// The sums of some entries.
#[derive(Default)]
pub(super) struct Lengths {
    bytes: u64,
    entries: u64,
    /// The bytes of each planned entry; 0 for one that the archive lacks, or whose length is not known.
    pub(super) each: Vec<u64>,
    /// The entries.
    pub(super) chunk: Option<Chunk>,
    /// Why the number of bytes is not known.
    pub(super) unknown: Option<UnknownReason>,
    /// Whether the number of entries is not known.
    is_uncertain: bool,
    /// Whether the archive depends on more than the request: messages go with it, or attributes convert what was not read.
    is_withdrawn: bool,
}

/// Some entries of a window.
pub(super) struct Chunk {
    pub(super) window: Arc<Window>,
    pub(super) range: Range<usize>,
}

/// What one thread needs.
pub(super) struct Tools {
    scratch: Scratch<Tar>,
    /// For the files that are read, by store.
    readers: HashMap<StoreId, Reader>,
    piece: Piece<()>,
    content: Buffer,
}

impl Measurer {
    /// What a pipeline needs to measure the tar that `request` asks for.
    pub(super) fn new(request: Request) -> Result<(Self, Planner, Limits)> {
        let format = prepare::tar(&request.content);
        let prepared = Prepared::new(format, request, false)?;
        let measurer = Self {
            archiver: prepared.archiver,
            shareable: prepared.shareable,
        };
        Ok((measurer, prepared.planner, prepared.limits))
    }

    /// Bytes before the first entry.
    pub(super) fn head(&self) -> Result<u64> {
        let format = &self.archiver.format;
        let mut head = Buffer::default();
        format.head(&mut head);
        let mut total = head.len() as u64;
        format.preface(&mut |bytes| {
            total += bytes.len() as u64;
            Ok(())
        })?;
        Ok(total)
    }

    /// Bytes at the end of an archive that has `written` bytes before.
    pub(super) fn end(&self, written: u64) -> Result<u64> {
        let mut end = 0;
        self.archiver.format.end((), written, &mut |bytes| {
            end += bytes.len() as u64;
            Ok(())
        })?;
        Ok(end)
    }

    /// The length of `entry` in the archive, whose blob has this `size`; the inner result says why the length is not
    /// known.
    fn entry(
        &self,
        tools: &mut Tools,
        window: &Window,
        entry: &Entry,
        size: Option<ContentSize>,
    ) -> Result<Known> {
        let disposition = match size {
            Some(size) => {
                let odb = &self.archiver.stores.get(window.store).odb;
                let policy = &self.archiver.blob_policy;
                policy.decide(window.path(entry), size, odb.is_partial)
            }
            None => entry.disposition,
        };
        match disposition {
            Disposition::Omitted(_) => Ok(Ok(0)),
            Disposition::Placeholder(reason, content) if entry.kind != MemberKind::Directory => {
                let size = size.and_then(ContentSize::exactly).or(entry.size);
                if reason == OmissionReason::Missing {
                    // The archive has a warning, so it is not shared.
                    self.shareable.withdraw();
                }
                let Tools { scratch, piece, .. } = tools;
                let replaced = (reason, content, size);
                let made = self
                    .archiver
                    .placeholder(scratch, window, entry, replaced, piece);
                Ok(made
                    .map(|()| piece.len())
                    .map_err(|_| UnknownReason::Unreadable))
            }
            Disposition::Placeholder(..) | Disposition::Content => {
                let body = match (entry.blob, size) {
                    (Blob::Extra(number), _) => {
                        let extra = &self.archiver.extras[number as usize];
                        extra::size(extra).map_err(|_| UnknownReason::Unreadable)
                    }
                    (_, None) => Ok(0),
                    (_, Some(ContentSize::LfsObject { size, is_here })) => {
                        self.lfs_body(entry, size, is_here)
                    }
                    (_, Some(ContentSize::Blob(size))) => match size.exactly() {
                        Some(size) => self.body(tools, window, entry, size)?,
                        None => Err(UnknownReason::Unreadable),
                    },
                };
                let notes = self.archiver.notes(entry, Disposition::Content, None);
                let records = notes.records();
                let member = member(window, entry, &records);
                Ok(body.map(|size| self.framed(tools, &member, size)))
            }
        }
    }

    /// The length of `member` with a body of `size` bytes.
    fn framed(&self, tools: &mut Tools, member: &Member<'_>, size: u64) -> u64 {
        let Tools { piece, content, .. } = tools;
        let part = &mut piece.part;
        let format = &self.archiver.format;
        match member.kind {
            MemberKind::Directory => format.directory(member, part),
            MemberKind::Symlink => {
                // The length of the target decides, and no byte of the target.
                content.clear();
                content.zeros(usize::try_from(size).unwrap_or(usize::MAX));
                format.symlink(member, content, part);
            }
            MemberKind::File | MemberKind::Executable => {
                let layout = Layout::Whole;
                let outline = Outline { size, layout };
                let mut flush = |_: &mut Part<()>| Ok::<_, std::io::Error>(());
                // A body without bytes leaves what stands around a body.
                let _ =
                    format.stream_file(&mut (), member, outline, &mut |_| Ok(()), part, &mut flush);
                // A damaged header may claim any size.
                return piece.len().saturating_add(size);
            }
        }
        piece.len()
    }

    /// The size of the body of `entry`, whose content is an LFS object of `size` bytes.
    fn lfs_body(&self, entry: &Entry, size: u64, is_here: bool) -> Known {
        let is_looked_at = self.archiver.blob_policy.policy.binary.is_some();
        if !is_here {
            Err(UnknownReason::Unreadable)
        } else if is_looked_at || entry.treatment.substitute {
            Err(UnknownReason::Content)
        } else {
            Ok(size)
        }
    }

    /// The size of the body of `entry`, whose blob has `size` bytes.
    fn body(&self, tools: &mut Tools, window: &Window, entry: &Entry, size: u64) -> Result<Known> {
        let archiver = &self.archiver;
        if entry.kind == MemberKind::Symlink {
            return Ok(if size <= MAX_TARGET {
                Ok(size)
            } else {
                Err(UnknownReason::LongTarget)
            });
        }
        if archiver.blob_policy.policy.binary.is_some() {
            return Ok(Err(UnknownReason::Content));
        }
        if entry.treatment.is_none() {
            return Ok(Ok(size));
        }
        let store = archiver.store(window);
        if entry.treatment.filter.is_some() {
            return Ok(Err(UnknownReason::Filtered));
        }
        // As in the archive, a file above this size is not converted.
        if size > store.big_file && !entry.treatment.substitute {
            return Ok(Ok(size));
        }
        let Tools {
            readers,
            piece,
            content,
            ..
        } = tools;
        let reader = readers
            .entry(window.store)
            .or_insert_with(|| Reader::new(store.locators.odb()));
        content.clear();
        let id = store.odb.replaced(&entry.id)?;
        if !matches!(reader.read(&id, content), Ok(Some(_))) {
            return Ok(Err(UnknownReason::Unreadable));
        }
        archiver.convert(
            window,
            entry,
            content,
            &mut piece.part.bytes,
            &mut piece.log,
        )?;
        let converted = piece.len();
        piece.part.bytes.clear();
        Ok(Ok(converted))
    }
}

impl Worker for Measurer {
    type Batch = Window;
    type Job = Chunk;
    type Output = Lengths;
    type Scratch = Tools;

    fn scratch(&self) -> Tools {
        Tools {
            scratch: self.archiver.scratch(),
            readers: HashMap::new(),
            piece: Piece::default(),
            content: Buffer::default(),
        }
    }

    fn split(&self, window: Window) -> Result<Vec<Chunk>> {
        let window = Arc::new(window);
        let len = window.entries.len();
        // A window without entries may have last words.
        let starts = (0..len.max(1)).step_by(CHUNK);
        let chunk = |start| Chunk {
            window: Arc::clone(&window),
            range: start..len.min(start + CHUNK),
        };
        Ok(starts.map(chunk).collect())
    }

    fn cost(&self, chunk: &Chunk) -> usize {
        chunk.range.len() * size_of::<Entry>()
    }

    fn held(&self, _: &Lengths) -> usize {
        0
    }

    fn len(&self, _: &Lengths) -> usize {
        0
    }

    fn work(
        &self,
        tools: &mut Tools,
        chunk: Chunk,
        lengths: &mut Lengths,
    ) -> Result<Option<Chunk>> {
        let Chunk { window, range } = &chunk;
        let is_last = range.end == window.entries.len();
        let entries = &window.entries[range.clone()];
        let sizes = self.archiver.store(window).locators.sizes(entries)?;
        for (entry, size) in entries.iter().zip(sizes) {
            tools.piece.clear();
            let len = self.entry(tools, window, entry, size)?;
            lengths.entries += u64::from(len != Ok(0));
            lengths.each.push(len.unwrap_or(0));
            lengths.is_withdrawn |= entry.note.is_some() || !tools.piece.log.is_empty();
            match len {
                Ok(bytes) => lengths.bytes = lengths.bytes.saturating_add(bytes),
                Err(reason) => {
                    lengths.is_uncertain |= reason == UnknownReason::Content;
                    lengths.unknown = lengths.unknown.or(Some(reason));
                    let treatment = &entry.treatment;
                    lengths.is_withdrawn |= treatment.filter.is_some() || treatment.substitute;
                }
            }
        }
        lengths.is_withdrawn |= is_last && window.has_last_words();
        lengths.chunk = Some(chunk);
        Ok(None)
    }

    fn finish(&self, _: &mut Tools, _: Chunk, _: &mut dyn Sink<Lengths>) -> Result<()> {
        Err(Error::fatal("a window was not measured"))
    }
}

impl Sink<Lengths> for Lengths {
    fn write(&mut self, lengths: &mut Lengths) -> Result<()> {
        let made = std::mem::take(lengths);
        self.is_uncertain |= made.is_uncertain;
        self.bytes = self.bytes.saturating_add(made.bytes);
        self.entries += made.entries;
        self.unknown = self.unknown.or(made.unknown);
        self.is_withdrawn |= made.is_withdrawn;
        Ok(())
    }

    fn abandon(&mut self, _: &mut Lengths) {}
}
