//! The second walk over the plan of an archive, which writes a line for each difference. The plan says which entries are sent, and
//! why others are left out.

use std::mem;

use super::{
    applied,
    class::Class,
    classes::each_planned,
    collector::Contents,
    report::{Line, Report},
};
use sluice_base::error::Result;
use sluice_core::{
    filter::{Disposition, OmissionReason},
    output::report::Unportable,
    plan::Entry,
    portability::{Doubles, PathHashes},
    request::Content,
};
use sluice_format::unarchive::{Form, Kind};
use sluice_git::tree::Mode;

/// The bytes of an entry while names that collide on other systems are looked for.
const DOUBLES: usize = 48;

/// Writes the lines of a comparison.
pub(super) struct Listing<'a, 'r> {
    pub(super) contents: &'a mut Contents,
    pub(super) report: &'a mut Report<'r>,
    /// What all names of the tree begin with in the archive.
    pub(super) prefix: &'a [u8],
}

impl Listing<'_, '_> {
    /// Writes a line for each entry of the plan of `content`.
    pub(super) fn tree(&mut self, content: Content) -> Result<()> {
        each_planned(content, |name, entry| self.entry(name, entry))
    }

    fn entry(&mut self, name: &[u8], entry: &Entry) -> Result<()> {
        let path = name.strip_prefix(self.prefix).unwrap_or(name);
        let reason = match entry.disposition {
            Disposition::Omitted(reason) => Some(reason),
            Disposition::Content | Disposition::Placeholder(..) => None,
        };
        match self.contents.table.find(name) {
            Some(number) => self.found(path, number, reason),
            // An archive may have files without entries of their directories.
            None if entry.mode == Mode::Directory => Ok(()),
            None => self.missing(path, reason),
        }
    }

    /// Writes the line of the entry `number`, which `git archive` leaves out for the `reason`, if there is one.
    pub(super) fn found(
        &mut self,
        path: &[u8],
        number: usize,
        reason: Option<OmissionReason>,
    ) -> Result<()> {
        let record = self.contents.table.get(number);
        if record.kind == Kind::Directory && record.class == Class::Same {
            return Ok(());
        }
        let class = record.class;
        let words = match class {
            // These have lines of their own.
            Class::Added | Class::Twice => return Ok(()),
            Class::AsStored if reason.is_none() => Some("attributes not applied"),
            Class::Mode if record.mode & 0o7000 != 0 => Some("setuid, setgid or sticky"),
            Class::Mode if record.mode & 0o100 != 0 => Some("executable"),
            Class::Mode => Some("not executable"),
            Class::Type => Some(kind_words(record.kind)),
            _ => None,
        };
        self.report.left_out += u64::from(class == Class::AsStored && reason.is_some());
        self.report.line(Line {
            reason: words.or(reason.map(OmissionReason::as_str)),
            ..Line::new(class, path)
        })
    }

    /// Writes the line of a path that the archive lacks, which `git archive` leaves out for the `reason`, if there is one.
    pub(super) fn missing(&mut self, path: &[u8], reason: Option<OmissionReason>) -> Result<()> {
        // Nothing counts as missing in an archive that was not read to its end.
        if reason.is_none() && self.contents.damage.is_some() {
            return Ok(());
        }
        self.report.line(Line {
            reason: reason.map(OmissionReason::as_str),
            is_expected: reason.is_some(),
            ..Line::new(Class::Missing, path)
        })
    }

    /// Writes a line for each entry that the tree lacks, and for each path that occurs again. `is_selected` says whether the user
    /// asked for a path.
    pub(super) fn rest(
        &mut self,
        mut is_selected: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        // A directory with the state of `apply`, which names a commit.
        let is_applied = self.contents.form == Form::Directory && self.contents.comment.is_some();
        let table = &mut self.contents.table;
        // A list of many entries leaves no room.
        let has_room = table.charge(DOUBLES * table.len()).is_ok();
        let mut classes = table.sorted().map(|it| table.get(it).class);
        let doubles = (has_room && classes.any(|it| it == Class::Added)).then(|| {
            let paths = table.sorted().map(|it| table.path(it));
            Doubles::among(paths.map(PathHashes::of))
        });
        let mut times = 1;
        for number in table.sorted() {
            let record = table.get(number);
            let name = table.path(number);
            let below = name.strip_prefix(self.prefix);
            let path = below.unwrap_or(name);
            if record.class == Class::Twice {
                times += 1;
                continue;
            }
            let times = mem::replace(&mut times, 1);
            if times > 1 {
                let words = format!("{times} times");
                self.report
                    .line(Line::because(Class::Twice, path, &words))?;
            }
            if below.is_some() && !is_selected(path)? {
                self.report.has_others |= record.class == Class::Added;
                continue;
            }
            let is_above = record.kind == Kind::Directory && table.has_below(name);
            if record.class != Class::Added || is_above {
                continue;
            }
            if is_applied && applied::is_state(name, record) {
                let words = "written by git sluice apply";
                self.report.line(Line::because(Class::Same, path, words))?;
                continue;
            }
            let place = below.is_none().then_some("outside of the prefix");
            let kind = (record.kind != Kind::File).then(|| kind_words(record.kind));
            let doubles = doubles.iter().flat_map(|doubles| doubles.kinds(name));
            let made = table.made_path(number);
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
                ..Line::new(Class::Added, path)
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
