//! Puts each entry of an archive, and each entry of the tree, into one class.
//!
//! The plan of the archive decides what `git archive` would write, as far as trees and attributes do. Blobs are not read here.

use super::{
    class::Class,
    table::{Record, Table},
};
use sluice_base::{error::Result, pipeline::Source};
use sluice_core::{
    filter::Disposition,
    plan::{Blob, Entry, Planner, view::Sizes},
    request::Content,
};
use sluice_format::{MemberKind, unarchive::Kind};
use sluice_git::tree::Mode;

/// Passes the planned entries of an archive to `take`, each with its name in the archive, and with those that it leaves out.
pub(super) fn each_planned(
    content: Content,
    mut take: impl FnMut(&[u8], &Entry) -> Result<()>,
) -> Result<()> {
    let repositories = content.repositories.into_iter();
    let trees = repositories.map(|repository| repository.tree.with(Sizes::Limited).with_all());
    let mut planner = Planner::new(trees, content.extras);
    loop {
        let made = planner.next()?;
        for entry in &made.batch.entries {
            let name = made.batch.path(entry);
            take(name.strip_suffix(b"/").unwrap_or(name), entry)?;
        }
        if made.last {
            return Ok(());
        }
    }
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
    let mut found = FirstWalk {
        is_in_order: true,
        has_directories: true,
        has_undecided: false,
    };
    let (mut last, mut is_original) = (None, false);
    each_planned(content.clone(), |name, entry| {
        is_original |= table.stand_back(|made| made == name);
        let is_sent = !entry.is_omitted();
        if let Some(number) = table.find(name) {
            let class = class(entry, content_decides, table, number);
            table.set(number, class);
            if is_sent {
                found.is_in_order &= last < Some(number);
                last = Some(number);
                found.has_undecided |= needs_content(class);
            }
        } else if is_sent && entry.mode == Mode::Directory {
            found.has_directories = false;
        }
        Ok(())
    })?;
    if is_original {
        table.reset();
        return walk(content, table);
    }
    Ok(found)
}

/// Whether the content that `git archive` writes is needed: an attribute may change the blob, or only the ends of lines may differ.
pub(super) fn needs_content(class: Class) -> bool {
    matches!(class, Class::AsStored | Class::Changed)
}

/// The class of the entry of this `number`, compared with `entry` of a plan. The content of a file decides what is sent of it if
/// `content_decides`.
fn class(entry: &Entry, content_decides: bool, table: &Table, number: usize) -> Class {
    let is_stored = !matches!(entry.blob, Blob::Extra(_)) && table.ids.get(number) == entry.id;
    let is_plain = entry.treatment.is_none() && !content_decides;
    let content = match entry.disposition {
        _ if !is_stored => Class::Changed,
        Disposition::Omitted(_) => Class::AsStored,
        _ if entry.kind == MemberKind::Symlink => Class::Same,
        Disposition::Content if is_plain => Class::Same,
        _ => Class::AsStored,
    };
    with_kind(content, entry.kind, table.get(number))
}

/// The class of an entry whose content has the class `content` and that has to be of this `kind`. git has no setuid, setgid and
/// sticky bits.
pub(super) fn with_kind(content: Class, kind: MemberKind, record: &Record) -> Class {
    let has_mode = member_kind(record.kind, record.mode.into()) == Some(kind);
    let has_other = content != Class::Changed && (!has_mode || record.mode & 0o7000 != 0);
    match (kind, record.kind) {
        (MemberKind::Directory, Kind::Directory) => Class::Same,
        (MemberKind::Symlink, Kind::Symlink) => content,
        (MemberKind::File | MemberKind::Executable, Kind::File) if has_other => Class::Mode,
        (MemberKind::File | MemberKind::Executable, Kind::File) => content,
        _ => Class::Type,
    }
}

/// What git calls an entry of this `kind` and `mode`, if git has such entries.
pub(super) fn member_kind(kind: Kind, mode: u32) -> Option<MemberKind> {
    match kind {
        Kind::File if mode & 0o100 == 0 => Some(MemberKind::File),
        Kind::File => Some(MemberKind::Executable),
        Kind::Symlink => Some(MemberKind::Symlink),
        Kind::Directory => Some(MemberKind::Directory),
        Kind::HardLink | Kind::Special => None,
    }
}
