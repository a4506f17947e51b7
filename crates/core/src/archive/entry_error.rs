//! The errors of an entry that cannot be archived, in git's words.

use super::archiver::Archiver;
use crate::plan::{Entry, Window};
use sluice_base::error::{Error, format_bytes};
use sluice_format::{Format, Layout, MemberKind};
use sluice_git::{
    objects::{
        Failure,
        reader::Reader,
        size::{Size, Sizer},
    },
    odb::Odb,
    tree::{MissingFile, first_missing},
};

impl<F: Format> Archiver<F> {
    /// The error of an `entry` that cannot be read, in git's words.
    pub(super) fn cannot_read(&self, window: &Window, entry: &Entry, failure: Failure) -> Error {
        let odb = &self.store(window).odb;
        let words = format!("cannot read '{}'", entry.id);
        match failure {
            Failure::Taker(error) | Failure::Refused(error) => error,
            Failure::Absent => odb.missing(self.not_found(window, entry, words)),
            failure => self.damaged(window, entry, words).caused_by(failure),
        }
    }

    /// The error of a missing `entry`, which git reports in `words`.
    fn not_found(&self, window: &Window, entry: &Entry, words: String) -> Error {
        if let Ok(replaced) = self.store(window).odb.replaced(&entry.id)
            && replaced != entry.id
        {
            let id = entry.id;
            return Error::fatal(format!("replacement {replaced} not found for {id}"));
        }
        let error = Error::entry(words);
        match self.named_missing(window, entry) {
            Some(file) => error.after(format_bytes(
                "error: invalid object {} {} for '{}'",
                &[
                    format!("{:06o}", file.mode.bits()).as_bytes(),
                    file.id.to_hex().to_string().as_bytes(),
                    &file.path,
                ],
            )),
            None => error,
        }
    }

    /// The missing file that git names where the missing `entry` ends the run: the first one of the whole tree. It is
    /// `entry` itself in a submodule, in a partial clone, where git would fetch files instead, and if the reader
    /// may not know all of the tree.
    fn named_missing(&self, window: &Window, entry: &Entry) -> Option<MissingFile> {
        let (tree, rules) = self.verified?;
        let store = self.store(window);
        if store.submodule.is_empty() && !store.odb.is_partial && !rules.redacted {
            let mut reader = Reader::new(Odb::open(store.odb.clone()));
            if let Ok(first) = first_missing(&mut reader, tree, rules) {
                return first;
            }
        }
        Some(MissingFile {
            mode: entry.mode,
            id: entry.id,
            path: self.path_in_tree(window, entry).into(),
        })
    }

    /// The error of a run that ends inside `entry`. An error of the destination takes precedence.
    pub(super) fn truncation_error(
        &self,
        window: &Window,
        entry: &Entry,
        failure: Failure,
    ) -> Error {
        match failure {
            Failure::Taker(error) => error,
            failure => {
                let words = format!("cannot stream blob {}", entry.id);
                self.damaged(window, entry, words).caused_by(failure)
            }
        }
    }

    /// The error of a damaged `entry`. git dies of damage, unless it streams the object: then the archive
    /// writer fails. An object without a readable header is never streamed.
    fn damaged(&self, window: &Window, entry: &Entry, words: String) -> Error {
        let odb = self.store(window).odb.clone();
        let size = Sizer::default().size(&mut Odb::open(odb), entry.id);
        let is_file = matches!(entry.kind, MemberKind::File | MemberKind::Executable);
        match size {
            Size::Exactly(size)
                if is_file && self.layout(window, entry, size) == Layout::Streamed =>
            {
                Error::entry(words)
            }
            _ => Error::fatal(words),
        }
    }
}
