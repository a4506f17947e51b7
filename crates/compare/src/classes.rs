//! Puts each entry of an archive, and each entry of the tree, into one class.
//!
//! The plan of the archive decides what `git archive` would write, as far as trees and attributes do. Blobs are not read here.

use super::table::{Class, Record, Table};
use sluice_base::{error::Result, pipeline::Source};
use sluice_core::{
    filter::Disposition,
    plan::{Blob, Entry, Planner, Window, view::Sizes},
    request::Content,
};
use sluice_format::{MemberKind, unarchive::Kind};
use sluice_git::tree::Mode;

/// The planned entries of an archive, one after another, with those that it leaves out.
pub(super) struct Leaves {
    planner: Planner,
    window: Window,
    at: usize,
    is_last: bool,
}

impl Leaves {
    pub(super) fn new(content: Content) -> Self {
        let repositories = content.repositories.into_iter();
        let trees = repositories.map(|repository| repository.tree.with(Sizes::Limited).with_all());
        Self {
            planner: Planner::new(trees, content.extras),
            window: Window::default(),
            at: 0,
            is_last: false,
        }
    }

    /// The next entry, with its name in the archive. It stays until [`Self::advance`].
    pub(super) fn peek(&mut self) -> Result<Option<(&[u8], &Entry)>> {
        while self.at == self.window.entries.len() {
            if self.is_last {
                return Ok(None);
            }
            let made = self.planner.next()?;
            (self.window, self.at, self.is_last) = (made.batch, 0, made.last);
        }
        let entry = &self.window.entries[self.at];
        Ok(Some((name(&self.window, entry), entry)))
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }
}

/// The name of `entry` without a slash at its end.
pub(super) fn name<'w>(window: &'w Window, entry: &Entry) -> &'w [u8] {
    let name = window.path(entry);
    name.strip_suffix(b"/").unwrap_or(name)
}

/// What the first walk finds.
pub(super) struct FirstWalk {
    /// Whether the archive has its entries in git's order.
    pub(super) is_in_order: bool,
    /// Whether the archive has an entry for each directory.
    pub(super) has_directories: bool,
    /// Whether some entries are undecided without their blobs.
    pub(super) has_undecided: bool,
}

/// Classifies the entries of `table` that an archive of `content` has, as far as ids decide.
pub(super) fn walk(content: Content, table: &mut Table) -> Result<FirstWalk> {
    let content_decides = content.blob_policy.policy.binary.is_some();
    let mut leaves = Leaves::new(content);
    let mut found = FirstWalk {
        is_in_order: true,
        has_directories: true,
        has_undecided: false,
    };
    let mut last = None;
    while let Some((name, entry)) = leaves.peek()? {
        match table.find(name) {
            Some(number) if entry.is_omitted() => {
                let class = class_of_omitted(entry, table, number);
                table.set(number, class);
            }
            None if entry.is_omitted() => {}
            Some(number) => {
                let class = class(entry, content_decides, table, number);
                table.set(number, class);
                found.is_in_order &= last < Some(number);
                last = Some(number);
                found.has_undecided |= needs_content(class);
            }
            None if entry.mode == Mode::Directory => found.has_directories = false,
            None => {}
        }
        leaves.advance();
    }
    Ok(found)
}

/// Whether the content that `git archive` writes is needed: to decide, or because only the ends of lines may differ.
pub(super) fn needs_content(class: Class) -> bool {
    matches!(
        class,
        Class::Undecided | Class::UndecidedAsStored | Class::Changed
    )
}

/// The class of the entry of this `number`, compared with `entry` of a plan. The content of a file decides what is sent of it if
/// `content_decides`.
fn class(entry: &Entry, content_decides: bool, table: &Table, number: usize) -> Class {
    let record = table.get(number);
    let is_equal = table.id(number) == entry.id;
    let is_sent = entry.disposition == Disposition::Content;
    let is_extra = matches!(entry.blob, Blob::Extra(_));
    match entry.kind {
        MemberKind::Symlink if is_extra && record.kind == Kind::Symlink => Class::Undecided,
        MemberKind::File | MemberKind::Executable if record.kind == Kind::File => {
            match (
                entry.treatment.is_none() && is_sent && !content_decides && !is_extra,
                is_equal,
            ) {
                (true, true) => with_mode(Class::Same, entry.kind, record),
                (true, false) => Class::Changed,
                (false, true) => Class::UndecidedAsStored,
                (false, false) => Class::Undecided,
            }
        }
        kind => of_other(kind, record, is_equal),
    }
}

fn of_other(kind: MemberKind, record: &Record, is_equal: bool) -> Class {
    match (kind, record.kind) {
        (MemberKind::Directory, Kind::Directory) => Class::Same,
        (MemberKind::Symlink, Kind::Symlink) if is_equal => Class::Same,
        (MemberKind::Symlink, Kind::Symlink) => Class::Changed,
        _ => Class::Type,
    }
}

/// The class of a file with the right content: `class`, unless its permissions differ. git has no setuid, setgid and sticky bits.
pub(super) fn with_mode(class: Class, kind: MemberKind, record: &Record) -> Class {
    let is_executable = record.mode & 0o100 != 0;
    let is_right = is_executable == (kind == MemberKind::Executable) && record.mode & 0o7000 == 0;
    if is_right { class } else { Class::Mode }
}

/// The class of an entry of the tree that an archive would leave out, and that has this `number`.
fn class_of_omitted(entry: &Entry, table: &Table, number: usize) -> Class {
    let record = table.get(number);
    let is_equal = table.id(number) == entry.id;
    match entry.kind {
        MemberKind::Directory if record.kind == Kind::Directory => Class::Same,
        MemberKind::File | MemberKind::Executable if record.kind == Kind::File => {
            if is_equal {
                with_mode(Class::AsStored, entry.kind, record)
            } else {
                Class::Changed
            }
        }
        kind => match of_other(kind, record, is_equal) {
            Class::Same => Class::AsStored,
            class => class,
        },
    }
}
