//! How changed text files differ, as a unified diff: first what `git archive` writes, then a second look at the archive.

use std::{collections::HashMap, io::Read};

use similar::TextDiff;

use super::{
    class::Class,
    report::Report,
    table::{Table, clean},
};
use sluice_base::error::{Result, printable_path};
use sluice_format::unarchive::{Item, Kind, Visitor, unreadable};

/// Longer files are not compared line by line, in bytes.
const TEXT_MAX: u64 = 1 << 20;

/// The texts that the changed files would have, by number.
pub(super) struct Texts<'a> {
    pub(super) table: &'a mut Table,
    pub(super) texts: HashMap<usize, Vec<u8>>,
    /// The bytes that may still be held.
    pub(super) room: u64,
}

impl Visitor for Texts<'_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        let number = self.table.find(item.path);
        let number = number.filter(|it| self.table.get(*it).class == Class::Changed);
        if let Some(number) = number
            && item.size <= self.room
            && let Some(text) = text(item, content)?
        {
            self.room -= item.size;
            self.texts.insert(number, text);
        }
        Ok(())
    }
}

/// Shows the differences while the archive is read again.
pub(super) struct Differ<'a, 'r, 't> {
    pub(super) expected: Texts<'t>,
    /// The number of the next entry.
    pub(super) next: usize,
    pub(super) report: &'a mut Report<'r>,
    /// What the paths of the tree begin with.
    pub(super) prefix: &'a [u8],
}

impl Visitor for Differ<'_, '_, '_> {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        if clean(item.path).is_empty() {
            return Ok(());
        }
        let number = self.next;
        self.next += 1;
        let Some(expected) = self.expected.texts.remove(&number) else {
            return Ok(());
        };
        let path = self.expected.table.path(number);
        let path = path.strip_prefix(self.prefix).unwrap_or(path);
        let path = String::from_utf8_lossy(&printable_path(path)).into_owned();
        let Some(found) = text(item, content)? else {
            return Ok(());
        };
        let diff = TextDiff::from_lines(&expected[..], &found[..]);
        let mut unified = diff.unified_diff();
        let mut lines = Vec::new();
        let written = unified
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_writer(&mut lines);
        written.map_err(unreadable)?;
        self.report.write(&lines)
    }
}

/// The content of `item`, if it is a text that is not too long.
fn text(item: &Item<'_>, content: &mut dyn Read) -> Result<Option<Vec<u8>>> {
    if item.kind != Kind::File || item.size > TEXT_MAX {
        return Ok(None);
    }
    let mut text = Vec::new();
    content.read_to_end(&mut text).map_err(unreadable)?;
    Ok(Some(text).filter(|text| !text.contains(&0)))
}
