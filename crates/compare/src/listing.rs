//! The second walk over a tree, which writes a line for each difference: the whole tree next to what an archive of it would have.
//!
//! The archive may leave out what the tree has, by attributes or options. The walk names the reason.

use super::{
    classes::{Leaves, class_of_omitted},
    report::{Line, LineClass, Report},
    table::{Class, Table},
};
use sluice_base::error::Result;
use sluice_core::{
    filter::Disposition,
    output::report::Unportable,
    plan::Entry,
    portability::{Doubles, PathHashes},
    request::Content,
};
use sluice_format::unarchive::Kind;
use sluice_git::tree::Mode;

/// The bytes of an entry while names that collide on other systems are looked for.
const DOUBLES: usize = 48;

/// Writes the lines of a comparison.
pub(super) struct Listing<'a, 'r> {
    pub(super) table: &'a mut Table,
    pub(super) report: &'a mut Report<'r>,
    /// What all names of the tree begin with in the archive.
    pub(super) prefix: &'a [u8],
    /// Whether the archive was read to its end. Otherwise, nothing counts as missing.
    pub(super) is_whole: bool,
}

/// What an archive does with an entry of the tree.
#[derive(Clone, Copy)]
enum Plan {
    Sent,
    Omitted(&'static str),
}

impl Listing<'_, '_> {
    /// Writes a line for each entry of the `whole` tree, of which an archive has the entries that are `sent`.
    pub(super) fn tree(&mut self, whole: Content, sent: Content) -> Result<()> {
        let (mut whole, mut sent) = (Leaves::new(whole), Leaves::new(sent));
        // The directory that an option omits, and its words.
        let mut omitted: Option<(Vec<u8>, &'static str)> = None;
        while let Some((name, entry)) = whole.peek()? {
            let planned = match sent.peek()? {
                Some((planned, entry)) if planned == name => Some(entry.disposition),
                _ => None,
            };
            if planned.is_some() {
                sent.advance();
            }
            let is_below = |(above, _): &(Vec<u8>, _)| {
                name.strip_prefix(&above[..])
                    .is_some_and(|it| it.starts_with(b"/"))
            };
            let plan = match (planned, &omitted) {
                (Some(Disposition::Omitted(reason)), _) => Plan::Omitted(reason.as_str()),
                (Some(_), _) => Plan::Sent,
                (None, Some(above)) if is_below(above) => Plan::Omitted(above.1),
                (None, _) => Plan::Omitted("export-ignore"),
            };
            if let (Plan::Omitted(words), Some(_), Mode::Directory) = (plan, planned, entry.mode) {
                omitted = Some((name.to_vec(), words));
            }
            self.entry(name, entry, plan)?;
            whole.advance();
        }
        // Files that options add.
        while let Some((name, entry)) = sent.peek()? {
            self.entry(name, entry, Plan::Sent)?;
            sent.advance();
        }
        Ok(())
    }

    fn entry(&mut self, name: &[u8], entry: &Entry, plan: Plan) -> Result<()> {
        let path = name.strip_prefix(self.prefix).unwrap_or(name).to_vec();
        let Some(number) = self.table.find(name) else {
            return match entry.mode {
                // An archive may have files without entries of their directories.
                Mode::Directory => Ok(()),
                _ => self.missing(&path, plan),
            };
        };
        let record = self.table.get(number);
        let mut reason = None;
        if let (Plan::Omitted(words), Class::Unseen) = (plan, record.class) {
            let is_equal = self.table.id(number) == entry.id;
            reason = Some(words);
            let class = class_of_omitted(entry, record, is_equal);
            self.table.set(number, class);
        }
        let record = self.table.get(number);
        if record.kind == Kind::Directory && record.class == Class::Same {
            return Ok(());
        }
        let (class, words) = match record.class {
            Class::Same => (LineClass::Same, None),
            Class::AsStored if reason.is_some() => (LineClass::AsStored, None),
            Class::AsStored => (LineClass::AsStored, Some("attributes not applied")),
            Class::Mode if record.mode & 0o7000 != 0 => {
                (LineClass::Mode, Some("setuid, setgid or sticky"))
            }
            Class::Mode if record.mode & 0o100 != 0 => (LineClass::Mode, Some("executable")),
            Class::Mode => (LineClass::Mode, Some("not executable")),
            Class::Type => (LineClass::Type, Some(kind_words(record.kind))),
            _ => (LineClass::Changed, None),
        };
        self.report.line(Line {
            reason: words.or(reason),
            ..Line::new(class, &path)
        })
    }

    fn missing(&mut self, path: &[u8], plan: Plan) -> Result<()> {
        let (reason, is_expected) = match plan {
            Plan::Sent if !self.is_whole => return Ok(()),
            Plan::Sent => (None, false),
            Plan::Omitted(words) => (Some(words), true),
        };
        self.report.line(Line {
            reason,
            is_expected,
            ..Line::new(LineClass::Missing, path)
        })
    }

    /// Writes a line for each entry that the tree lacks, and for each path that occurs again. `is_selected` says whether the user
    /// asked for a path.
    pub(super) fn rest(
        &mut self,
        mut is_selected: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        // A list of many entries leaves no room.
        let has_room = self.table.charge(DOUBLES * self.table.len()).is_ok();
        let mut classes = self.table.sorted().map(|it| self.table.get(it).class);
        let has_added = classes.any(|class| class == Class::Unseen);
        let doubles = (has_added && has_room).then(|| {
            let paths = self.table.sorted().map(|it| self.table.path(it));
            Doubles::among(paths.map(PathHashes::of))
        });
        let mut times = 1;
        for at in 0..self.table.len() {
            let number = self.table.number_at(at);
            let record = self.table.get(number);
            let name = self.table.path(number);
            let (path, is_outside) = match name.strip_prefix(self.prefix) {
                Some(path) => (path, false),
                None => (name, true),
            };
            if record.class == Class::Twice {
                times += 1;
                continue;
            }
            if !is_outside && !is_selected(path)? {
                times = 1;
                continue;
            }
            if times > 1 {
                let words = format!("{times} times");
                self.report.line(Line {
                    reason: Some(&words),
                    ..Line::new(LineClass::Twice, path)
                })?;
                times = 1;
            }
            let is_above = record.kind == Kind::Directory && self.table.has_below(name);
            if record.class != Class::Unseen || is_above {
                continue;
            }
            let place = is_outside.then_some("outside of the prefix");
            let kind = (record.kind != Kind::File).then(|| kind_words(record.kind));
            let doubles = doubles.iter().flat_map(|doubles| doubles.kinds(name));
            let made = self.table.made_path(number);
            let path = made.map_or(path, |it| it.strip_prefix(self.prefix).unwrap_or(it));
            let maker = made.map(|_| "written by cargo");
            let words = [kind, place, maker]
                .into_iter()
                .flatten()
                .chain(doubles.map(Unportable::words))
                .collect::<Vec<_>>()
                .join(", ");
            self.report.line(Line {
                reason: Some(&words[..]).filter(|words| !words.is_empty()),
                size: (record.kind == Kind::File).then_some(record.size),
                ..Line::new(LineClass::Added, path)
            })?;
        }
        Ok(())
    }
}

fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Symlink => "a symbolic link",
        Kind::HardLink => "a hard link",
        Kind::Directory => "a directory",
        Kind::Special => "a special file, or a hard link to no file",
    }
}
