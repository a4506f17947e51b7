//! Files that are too large for a job, streamed by the writer in their turn.
//!
//! Never holds all of a file. An attempt that fails before its first byte may be followed by one on
//! another copy of the object; after it, the archive is cut inside of the file.

use super::{Archiver, MISSING, Piece, Scratch, member};
use crate::{
    decode::{
        Failure,
        chain::{ChainBuilder, Chains, NodeId},
        stream,
    },
    emit::{Kind, Member},
    error::{Error, Result},
    odb::{Odb, Place, loose, pack::Damage},
    pipeline::Sink,
    plan::{Blob, Entry, Window},
};

/// Files in which `$Format:…$` is expanded are never streamed, so this is as far as memory is taken
/// for what a header claims, in bytes.
const MAX_SUBSTITUTED: u64 = 4 << 30;

impl Archiver {
    /// Write a file that is too large for a job, without ever holding all of it.
    pub(super) fn large_entry(
        &self,
        scratch: &mut Scratch,
        window: &Window,
        entry: &Entry,
        piece: &mut Piece,
        sink: &mut dyn Sink<Piece>,
    ) -> Result<(), Failure> {
        if !entry.treatment.is_none() || entry.kind == Kind::Symlink {
            // Conversion looks at the whole; what git converts in memory, so do we.
            let limit = match entry.treatment.substitute {
                true => self.big_file.max(MAX_SUBSTITUTED),
                false => self.big_file,
            };
            let outcome = self.entry(scratch, window, entry, limit, piece);
            if !matches!(outcome, Err(Failure::TooLarge)) || entry.treatment.substitute {
                return outcome;
            }
            piece.clear();
        }
        let id = self.odb.replaced(&entry.id);
        let mut output = Output {
            archiver: self,
            member: member(window, entry),
            piece,
            sink,
        };
        let planned = match entry.blob {
            Blob::Packed(node) => output.packed(&window.chains, node),
            Blob::Loose(dir) => output.loose(&self.odb.loose_path(dir, &id)),
            Blob::None | Blob::Unknown => Err(Attempt::Untouched(MISSING.into())),
        };
        let mut failure = match planned {
            Ok(()) => return Ok(()),
            Err(Attempt::Begun(failure)) => return Err(Failure::Taker(cut(entry, failure))),
            Err(Attempt::Untouched(failure)) => failure,
        };
        let mut odb = Odb::open(self.odb.clone());
        for place in odb.copies(&id) {
            let attempt = match place {
                Place::Loose(dir) => output.loose(&self.odb.loose_path(dir, &id)),
                Place::Packed(pack, offset) => {
                    let mut chains = ChainBuilder::default();
                    match chains.add(&mut odb, pack, offset) {
                        Ok(node) => output.packed(&chains.finish(), node),
                        Err(damage) => Err(Attempt::Untouched(damage.into())),
                    }
                }
            };
            match attempt {
                Ok(()) => return Ok(()),
                Err(Attempt::Begun(failure)) => return Err(Failure::Taker(cut(entry, failure))),
                Err(Attempt::Untouched(next)) => failure = next,
            }
        }
        Err(failure)
    }
}

/// How far an attempt to stream an object came before it failed.
enum Attempt {
    /// Nothing was written: another copy may serve.
    Untouched(Failure),
    /// The archive is cut inside of this entry.
    Begun(Failure),
}

/// Writes one large file.
struct Output<'a> {
    archiver: &'a Archiver,
    member: Member<'a>,
    piece: &'a mut Piece,
    sink: &'a mut dyn Sink<Piece>,
}

impl Output<'_> {
    fn packed(&mut self, chains: &Chains, node: NodeId) -> Result<(), Attempt> {
        let size = stream::size(chains, node).map_err(Attempt::Untouched)?;
        self.file(size, |taker| stream::packed(chains, node, taker))
    }

    fn loose(&mut self, path: &std::path::Path) -> Result<(), Attempt> {
        let mut reader = loose::Reader::default();
        let opened = reader
            .open(path)
            .map_err(|error| Attempt::Untouched(error.into()))?;
        self.file(opened.size, |taker| opened.stream(taker))
    }

    fn file(
        &mut self,
        size: u64,
        content: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure>,
    ) -> Result<(), Attempt> {
        let Self {
            archiver,
            member,
            piece,
            sink,
        } = self;
        archiver.tar.file(member, size, &mut piece.bytes);
        let (mut total, mut begun) = (0, false);
        let outcome = content(&mut |bytes| {
            total += bytes.len() as u64;
            piece.bytes.extend(bytes);
            begun = true;
            Ok(sink.write(piece)?)
        });
        let outcome = match outcome {
            Ok(()) if total != size => Err(Damage("object has another size than it claims").into()),
            outcome => outcome,
        };
        outcome.map_err(|failure| {
            if begun {
                return Attempt::Begun(failure);
            }
            piece.clear();
            Attempt::Untouched(failure)
        })?;
        archiver.tar.pad(size, &mut piece.bytes);
        Ok(())
    }
}

/// The archive ends inside of `entry`; what the destination says goes first.
fn cut(entry: &Entry, failure: Failure) -> Error {
    match failure {
        Failure::Taker(error) => error,
        failure => Error::entry(format!("cannot stream blob {}", entry.id)).caused_by(failure),
    }
}
