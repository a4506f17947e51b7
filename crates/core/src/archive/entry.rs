//! Archives one entry: decodes its content right after its header, or writes a substitute.
//!
//! The plan decides about the entry as far as possible without its content, and this module decides the
//! rest. An abandoned attempt leaves nothing in the piece.

use bstr::ByteSlice;

use super::{
    archiver::{Archiver, Piece, Scratch},
    donor::Donation,
    extra,
};
use crate::{
    cache::StoredArchive,
    filter::{Disposition, OmissionReason, PlaceholderContent},
    output::report::{EntryPosition, ManifestChange, Record},
    plan::{Blob, ChangeRecord, Entry, Window},
};
use sluice_base::{buffer::Buffer, error::Result};
use sluice_format::{Format, Layout, Member, MemberKind, StoredBody};
use sluice_git::{
    convert,
    lfs::POINTER_LEN,
    objects::{
        Decoder, Failure,
        chain::{Chains, NodeId},
        recovery, stream,
    },
    tree::Mode,
};

/// The outcome for an entry.
#[derive(Clone, Copy)]
pub(super) struct EntryOutcome {
    pub(super) disposition: Disposition,
    /// The size of the content in bytes, if known.
    pub(super) size: Option<u64>,
    /// Whether the content was decoded, for whatever reason.
    pub(super) decoded: bool,
    /// Bytes of the content as the archive has it, for a file with content.
    pub(super) archived: Option<u64>,
}

/// What the manifest says of `entry` before anything is read. The entry is in `submodule`, or stands for a submodule whose
/// contents follow if `is_entered`. With `redacted`, no id may reveal changes in hidden entries.
pub fn record<'a>(
    window: &'a Window,
    entry: &'a Entry,
    (submodule, is_entered): (&'a [u8], bool),
    redacted: bool,
) -> Record<'a> {
    let change = |change: &'a ChangeRecord| ManifestChange {
        status: change.status,
        old: change
            .old
            .as_ref()
            .map(|(mode, id)| (mode.bits(), id.as_bytes())),
    };
    Record {
        path: window.path(entry),
        submodule,
        mode: entry.mode.bits(),
        id: match entry.blob {
            Blob::Extra(_) => &[],
            _ if redacted && (entry.mode == Mode::Directory || is_entered) => &[],
            _ => entry.id.as_bytes(),
        },
        size: entry.size,
        lfs: match entry.blob {
            Blob::Lfs(number) => Some(window.lfs_objects[number].hash()),
            _ => None,
        },
        disposition: entry.disposition,
        decoded: false,
        change: entry.change.as_deref().map(change),
        undecided: false,
        unportable: &[],
        link: entry.kept,
    }
}

impl<F: Format> Archiver<F> {
    /// Append one whole entry to `piece`. An entry that is too large is an error, and its bytes in `piece`
    /// are invalid.
    pub(super) fn entry(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        limit: u64,
        piece: &mut Piece<F::Records>,
    ) -> Result<Disposition, Failure> {
        let mut outcome = EntryOutcome {
            disposition: entry.disposition,
            size: entry.size,
            decoded: false,
            archived: None,
        };
        let start = piece.len().cast_signed();
        match entry.disposition {
            Disposition::Omitted(_) => {}
            Disposition::Placeholder(reason, content) if entry.kind != MemberKind::Directory => {
                self.placeholder(
                    scratch,
                    window,
                    entry,
                    (reason, content, outcome.size),
                    piece,
                )?;
            }
            // The directory that stands in for a submodule is one like any other.
            Disposition::Placeholder(..) | Disposition::Content => {
                outcome = self.content(scratch, window, entry, limit, piece)?;
            }
        }
        self.account(window, entry, (outcome, start), piece);
        Ok(outcome.disposition)
    }

    /// Append an entry with its content, unless the content turns out to be unwanted.
    fn content(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        limit: u64,
        piece: &mut Piece<F::Records>,
    ) -> Result<EntryOutcome, Failure> {
        let start = piece.mark();
        let notes = self.notes(entry, Disposition::Content, None);
        let records = notes.records();
        let member = member(window, entry, &records);
        let Scratch {
            decoder,
            content,
            format,
            donor,
        } = &mut *scratch;
        let Piece { part, log, .. } = &mut *piece;
        let (mut size, mut archived) = (None, None);
        match entry.kind {
            MemberKind::Directory => {
                self.format.check(&member, log)?;
                self.format.directory(&member, part);
            }
            MemberKind::Symlink => {
                content.clear();
                self.decode(decoder, window, entry, limit, content)?;
                self.format.check(&member, log)?;
                self.format.symlink(&member, content, part);
                size = Some(content.len() as u64);
            }
            MemberKind::File | MemberKind::Executable => {
                let begun = self.format.begin_file(&member, part);
                let body = part.bytes.len();
                if let Some(copied) = self.copied(donor, window, entry, &mut part.bytes) {
                    self.format.check(&member, log)?;
                    self.format.end_copied(format, begun, &member, copied, part);
                    self.donate(window, entry, (Layout::Whole, copied.size), piece)?;
                    return Ok(EntryOutcome {
                        disposition: entry.disposition,
                        size: Some(copied.size),
                        decoded: false,
                        archived: Some(copied.size),
                    });
                }
                let out = (&mut part.bytes, &mut *log);
                let stored = self.file((decoder, content), window, entry, limit, out)?;
                if let Some(unwanted) = self.unwanted(window, entry, &part.bytes[body..], stored) {
                    piece.truncate_part(start);
                    self.replace(scratch, window, entry, (unwanted, stored), piece)?;
                    return Ok(EntryOutcome {
                        disposition: unwanted,
                        size: Some(stored),
                        decoded: true,
                        archived: None,
                    });
                }
                archived = Some((part.bytes.len() - body) as u64);
                self.format.check(&member, log)?;
                let layout = self.layout(window, entry, stored);
                self.format.end_file(format, begun, &member, layout, part);
                self.donate(window, entry, (layout, stored), piece)?;
                size = Some(stored);
            }
        }
        Ok(EntryOutcome {
            disposition: entry.disposition,
            size,
            decoded: size.is_some(),
            archived,
        })
    }

    /// Appends the body of a file that is known from the donor to `out`, through the `reader` of this thread. `None` if there is
    /// none, or if it is not what it was.
    fn copied(
        &self,
        reader: &mut Option<StoredArchive>,
        window: &Window,
        entry: &Entry,
        out: &mut Buffer,
    ) -> Option<StoredBody> {
        let (Blob::Known(number), Some(donor), Some(size)) = (entry.blob, &self.donor, entry.size)
        else {
            return None;
        };
        if self.layout(window, entry, size) == Layout::Streamed {
            return None;
        }
        donor.copy(reader, number, out)
    }

    /// Notes that `piece` ends with a file that is stored as it is, so that the next archive can copy it.
    fn donate(
        &self,
        window: &Window,
        entry: &Entry,
        (layout, size): (Layout, u64),
        piece: &mut Piece<F::Records>,
    ) -> Result<(), Failure> {
        let is_plain = entry.treatment.is_none() && entry.treatment.text.is_none();
        let is_blob = !matches!(entry.blob, Blob::Extra(_) | Blob::Lfs(_) | Blob::None);
        if !self.donates || !is_plain || !is_blob || layout == Layout::Streamed {
            return Ok(());
        }
        let id = self.store(window).replaced(&entry.id)?;
        let body = self.format.last_body(&piece.part, size);
        let donation = body.map(|body| Donation { id, body });
        piece.donations.extend(donation);
        Ok(())
    }

    /// Appends the content of a file to `out`, converted as its attributes ask. Returns the size of the blob in bytes.
    fn file(
        &self,
        (decoder, content): (&mut Decoder, &mut Buffer),
        window: &Window,
        entry: &Entry,
        limit: u64,
        (out, log): (&mut Buffer, &mut Buffer),
    ) -> Result<u64, Failure> {
        if entry.treatment.is_none() {
            let start = out.len();
            self.decode(decoder, window, entry, limit, out)?;
            return Ok((out.len() - start) as u64);
        }
        content.clear();
        self.decode(decoder, window, entry, limit, content)?;
        let converted = self.convert(window, entry, content, out, log);
        converted.map_err(Failure::Refused)?;
        Ok(content.len() as u64)
    }

    /// The disposition of a file with this `content`, whose blob has `stored` bytes, unless it is sent
    /// unchanged.
    fn unwanted(
        &self,
        window: &Window,
        entry: &Entry,
        content: &[u8],
        stored: u64,
    ) -> Option<Disposition> {
        if let Some(too_large) = self.too_large(window, entry, stored) {
            return Some(too_large);
        }
        let binary = self.blob_policy.policy.binary;
        let binary = binary.filter(|binary| binary.shows_in(content, 0))?;
        binary.disposition(content.len() as u64)
    }

    /// The disposition of a file of `size` bytes that is too large, if the plan did not know the size.
    pub(super) fn too_large(
        &self,
        window: &Window,
        entry: &Entry,
        size: u64,
    ) -> Option<Disposition> {
        if entry.size.is_some() || matches!(entry.blob, Blob::Extra(_)) {
            return None;
        }
        let disposition = self.blob_policy.by_size(window.path(entry), size);
        Some(disposition).filter(|it| *it != Disposition::Content)
    }

    /// Append the substitute for a file of `size` bytes whose content turned out to be unwanted.
    pub(super) fn replace(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        (disposition, size): (Disposition, u64),
        piece: &mut Piece<F::Records>,
    ) -> Result<(), Failure> {
        match disposition {
            Disposition::Placeholder(reason, content) => {
                let replaced = (reason, content, Some(size));
                self.placeholder(scratch, window, entry, replaced, piece)
            }
            Disposition::Content | Disposition::Omitted(_) => Ok(()),
        }
    }

    /// Append a file with a placeholder for its content.
    pub(super) fn placeholder(
        &self,
        scratch: &mut Scratch<F>,
        window: &Window,
        entry: &Entry,
        (reason, content, size): (OmissionReason, PlaceholderContent, Option<u64>),
        piece: &mut Piece<F::Records>,
    ) -> Result<(), Failure> {
        let notes = self.notes(entry, Disposition::Placeholder(reason, content), size);
        let records = notes.records();
        let member = member(window, entry, &records);
        let Piece { part, log, .. } = piece;
        self.format.check(&member, log)?;
        if let PlaceholderContent::Sparse(size) = content {
            self.format.sparse_file(&member, size, part);
            return Ok(());
        }
        let begun = self.format.begin_file(&member, part);
        let Scratch {
            decoder, format, ..
        } = scratch;
        match content {
            PlaceholderContent::Pointer => {
                self.decode(decoder, window, entry, POINTER_LEN, &mut part.bytes)?;
            }
            _ => part.bytes.extend(content.bytes()),
        }
        self.format
            .end_file(format, begun, &member, Layout::Whole, part);
        Ok(())
    }

    /// The pax records about `entry`, if requested.
    pub(super) fn notes(
        &self,
        entry: &Entry,
        disposition: Disposition,
        size: Option<u64>,
    ) -> Notes {
        let mut notes = Vec::new();
        if self.pax_notes && entry.mode != Mode::Directory {
            if !matches!(entry.blob, Blob::Extra(_)) {
                notes.push(("GITSLUICE.blob", entry.id.to_hex().to_string().into()));
            }
            let change = entry.change.as_deref();
            notes.extend(change.map(|change| ("GITSLUICE.status", change.status.as_str().into())));
            let size = size.map(|size| ("GITSLUICE.size", size.to_string().into()));
            let reason = disposition.reason();
            let reason = reason.map(|reason| ("GITSLUICE.reason", reason.as_str().into()));
            notes.extend(size.into_iter().chain(reason));
        }
        Notes(notes)
    }

    /// Record the outcome for `entry`, which begins at byte `start` of `piece`.
    pub(super) fn account(
        &self,
        window: &Window,
        entry: &Entry,
        (outcome, start): (EntryOutcome, i64),
        piece: &mut Piece<F::Records>,
    ) {
        let store = self.store(window);
        let is_entered = entry.mode == Mode::Submodule && store.enters(window.path(entry));
        let record = Record {
            size: outcome.size,
            decoded: outcome.decoded,
            disposition: outcome.disposition,
            ..record(window, entry, (&store.submodule, is_entered), self.redacted)
        };
        piece.counts.add(&record);
        let is_omitted = matches!(outcome.disposition, Disposition::Omitted(_));
        if entry.mode == Mode::Symlink && entry.kind == MemberKind::File && !is_omitted {
            piece.counts.files += 1;
        }
        if self.manifest {
            let end = piece.len().cast_signed();
            let content = outcome.archived.and_then(|len| {
                let start = self.format.content_start(end, len)?;
                Some((start, len))
            });
            let place = EntryPosition {
                header: start,
                content,
            };
            piece.manifest.add(&record, (!is_omitted).then_some(place));
        }
    }

    /// Whether git would stream this file of `size` bytes without conversion.
    pub(super) fn layout(&self, window: &Window, entry: &Entry, size: u64) -> Layout {
        // git sees only the pointer of an LFS object.
        let never =
            matches!(entry.blob, Blob::Extra(_) | Blob::Lfs(_)) || entry.treatment.substitute;
        if size > self.store(window).big_file && !never {
            Layout::Streamed
        } else {
            Layout::Whole
        }
    }

    /// Log the messages about an entry that git prints before reading the entry.
    pub(super) fn log_entry(&self, window: &Window, entry: &Entry, log: &mut Buffer) {
        if let Some(note) = &entry.note {
            log.extend(&note.before);
        }
        let is_listed = !matches!(entry.blob, Blob::Extra(_)) && !entry.is_omitted();
        if self.verbose && is_listed {
            log.extend(window.path(entry));
            log.extend(b"\n");
        }
        if let Some(note) = &entry.note {
            log.extend(&note.after);
        }
    }

    /// Append the stored content of `entry` to `out`, unless the content has more than `limit` bytes.
    fn decode(
        &self,
        decoder: &mut Decoder,
        window: &Window,
        entry: &Entry,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let start = out.len();
        let store = self.store(window);
        let outcome = match entry.blob {
            Blob::None => return Ok(()),
            Blob::Packed(node) => self.packed(decoder, (&window.chains, node), limit, out),
            Blob::Loose(dir) => {
                let id = store.replaced(&entry.id)?;
                decoder
                    .loose(&store.odb.loose_path(dir, &id), limit, out)
                    .map(drop)
            }
            Blob::Extra(number) => return extra::read(&self.extras[number as usize], limit, out),
            Blob::Lfs(number) => {
                let object = &window.lfs_objects[number];
                return if object.size() > limit {
                    Err(Failure::TooLarge)
                } else {
                    Ok(object.append(self.path_in_tree(window, entry).as_bstr(), out)?)
                };
            }
            // A known blob whose bytes turned out to be bad is looked for as well.
            Blob::Known(_) | Blob::Unknown => Err(Failure::Absent),
        };
        match outcome {
            Ok(()) | Err(Failure::TooLarge) => outcome,
            Err(failure) => {
                out.truncate(start);
                let id = store.replaced(&entry.id)?;
                recovery::append(&store.odb, &id, limit, out, failure).map(drop)
            }
        }
    }

    /// Append the object at `node`, unless the object has more than `limit` bytes. Delta bases that memory
    /// cannot hold are streamed: their sizes say nothing about the file.
    fn packed(
        &self,
        decoder: &mut Decoder,
        (chains, node): (&Chains, NodeId),
        limit: u64,
        out: &mut Buffer,
    ) -> Result<(), Failure> {
        let start = out.len();
        match decoder.packed(chains, node, limit.min(self.in_memory), out) {
            Err(Failure::TooLarge) => {
                out.truncate(start);
                stream::append(chains, node, limit, out)
            }
            outcome => outcome,
        }
    }

    /// Append the `content` of `entry`, converted, to `out`.
    pub(super) fn convert(
        &self,
        window: &Window,
        entry: &Entry,
        content: &Buffer,
        out: &mut Buffer,
        log: &mut Buffer,
    ) -> Result<()> {
        if self.layout(window, entry, content.len() as u64) == Layout::Streamed {
            out.extend(content);
            return Ok(());
        }
        let store = self.store(window);
        let name = window.path(entry);
        let file = convert::File {
            path: store.naming.relative_path(name).unwrap_or(name).as_bstr(),
            id: entry.id,
            stored: store.odb.replaced(&entry.id)?,
            is_lfs_object: matches!(entry.blob, Blob::Lfs(_)),
        };
        store
            .converter
            .convert(file, &entry.treatment, content, out, log)
    }

    /// The path of `entry` in the archived tree.
    pub(super) fn path_in_tree(&self, window: &Window, entry: &Entry) -> Vec<u8> {
        self.blob_policy.naming.path_in_tree(window.path(entry))
    }
}

/// The pax records about an entry.
pub(super) struct Notes(Vec<(&'static str, Vec<u8>)>);

impl Notes {
    pub(super) fn records(&self) -> Vec<(&'static str, &[u8])> {
        let records = self.0.iter();
        records.map(|(key, value)| (*key, &value[..])).collect()
    }
}

pub(super) fn member<'a>(
    window: &'a Window,
    entry: &'a Entry,
    notes: &'a [(&'static str, &'a [u8])],
) -> Member<'a> {
    Member {
        name: window.path(entry),
        kind: entry.kind,
        id: entry.id.as_bytes(),
        text: entry.treatment.text,
        vendor: notes,
    }
}
