//! `$Format:…$` (gitattributes(5), "export-subst").
//!
//! The ids and the times of a commit are taken from its text, and the installed git is asked once for each other placeholder
//! that is common. If a file has any other placeholder, git expands the whole file: git appends an expansion to the file so
//! far, and such a placeholder may change that.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    process::Output,
};

use bstr::{BStr, BString, ByteSlice};
use gix_date::{Time, time::format};
use gix_hash::ObjectId;

use super::{
    encoding::is_utf8,
    format::{FormatPiece, is_description, pieces, varies},
    origin::{File, FindInTar, Origin},
    shareable::Shareable,
};
use crate::program::{self, ArchiveRules, GitLocation};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};

const START: &[u8] = b"$Format:";
/// No zone is farther from UTC, in hours.
const MAX_HOURS: i32 = 14;
/// The end of the year 9999: later dates are git's affair.
const MAX_SECONDS: i64 = 253_402_300_799 - 14 * 60 * 60;

/// Expands formats for one commit, file by file in the order of the archive.
pub(super) struct Substitution {
    commit: ObjectId,
    /// Whether the commit claims another encoding than UTF-8, to which git converts a file that shows text of the commit.
    is_encoded: bool,
    /// How git would archive the commit.
    rules: ArchiveRules,
    find_in_tar: FindInTar,
    /// The repository of the commit.
    location: GitLocation,
    shareable: Shareable,
    /// The expansion of each common placeholder, as far as it is known.
    known: HashMap<Vec<u8>, Vec<u8>>,
    /// The files so far that describe the commit, or may do so. git describes it once for each archive.
    describing: Vec<BString>,
    /// Whether one of these files certainly describes the commit.
    is_described: bool,
    /// git's messages so far. One process would print each of them once.
    complaints: HashSet<Vec<u8>>,
}

/// A file whose placeholders are all common.
struct Expanded<'a> {
    text: Vec<u8>,
    /// The placeholders that `text` lacks, since git has to be asked for them.
    unknown: BTreeSet<&'a [u8]>,
    /// Whether this file or an earlier one describes the commit.
    is_described: bool,
}

impl Substitution {
    /// For the `commit` of `origin`, in the repository at `location`.
    pub(super) fn new(
        commit: ObjectId,
        origin: &Origin,
        location: GitLocation,
        shareable: Shareable,
    ) -> Self {
        Self {
            commit,
            is_encoded: is_encoded(&origin.content),
            rules: origin.rules.clone(),
            find_in_tar: origin.find_in_tar,
            location,
            shareable,
            known: plain(commit, origin),
            describing: Vec::new(),
            is_described: false,
            complaints: HashSet::new(),
        }
    }

    /// The `content` of `file` with all formats expanded. `None` if there are none. `is_silent` says whether git's messages are
    /// only about formats.
    pub(super) fn expand(
        &mut self,
        file: File<'_>,
        content: &[u8],
        is_silent: bool,
        log: &mut Buffer,
    ) -> Result<Option<Vec<u8>>> {
        if (Found { rest: content }).next().is_none() {
            return Ok(None);
        }
        let mut expanded = self.expand_common(content);
        if let Some(Expanded { unknown, .. }) = &expanded
            && !unknown.is_empty()
        {
            self.ask(unknown, log)?;
            expanded = self.expand_common(content);
        }
        let Some(expanded) = expanded else {
            let mut ignored = Buffer::default();
            let log = if is_silent { log } else { &mut ignored };
            return self.expand_by_git(file, content, log).map(Some);
        };
        if expanded.is_described && !self.is_described {
            self.describing.push(file.path.to_owned());
            self.is_described = true;
        }
        Ok(Some(expanded.text))
    }

    /// Expand the formats in `content`. `None` if only git can.
    fn expand_common<'a>(&self, content: &'a [u8]) -> Option<Expanded<'a>> {
        if self.is_encoded {
            return None;
        }
        let mut expanded = Expanded {
            text: Vec::with_capacity(content.len() + content.len() / 4),
            unknown: BTreeSet::new(),
            is_described: self.is_described,
        };
        let mut found = Found { rest: content };
        for [before, format] in found.by_ref() {
            expanded.text.extend(before);
            pieces(format).try_for_each(|piece| self.append(piece, &mut expanded))?;
        }
        expanded.text.extend(found.rest);
        Some(expanded)
    }

    /// Append `piece` to `expanded`. `None` if only git can expand it.
    fn append<'a>(&self, piece: FormatPiece<'a>, expanded: &mut Expanded<'a>) -> Option<()> {
        match piece {
            FormatPiece::Text(text) => expanded.text.extend(text),
            FormatPiece::Byte(byte) => expanded.text.push(byte),
            FormatPiece::Placeholder(name) if !is_description(name) => {
                self.append_known(name, expanded)
            }
            FormatPiece::Placeholder(name) if expanded.is_described => {
                expanded.text.push(b'%');
                expanded.text.extend(name);
            }
            // Only git knows whether one of these files describes the commit.
            FormatPiece::Placeholder(_) if !self.describing.is_empty() => return None,
            FormatPiece::Placeholder(name) => {
                expanded.is_described = true;
                self.append_known(name, expanded);
            }
            FormatPiece::Other(_) => return None,
        }
        Some(())
    }

    fn append_known<'a>(&self, name: &'a [u8], expanded: &mut Expanded<'a>) {
        if varies(name) {
            self.shareable.vary();
        }
        match self.known.get(name) {
            Some(text) => expanded.text.extend(text),
            None => {
                expanded.unknown.insert(name);
            }
        }
    }

    /// Ask git for `placeholders`: with a command that, like `git archive`, ignores notes and the user's settings of logs.
    fn ask(&mut self, placeholders: &BTreeSet<&[u8]>, log: &mut Buffer) -> Result<()> {
        // Refs, mailmaps, dates of today and the number of objects may decide the answer.
        self.shareable.withdraw();
        let formats: Vec<_> = placeholders.iter().map(|it| [b"%", *it].concat()).collect();
        let format = [b"--format=format:", &*formats.join(&b"%x00"[..])].concat();
        let commit = self.commit.to_hex().to_string();
        let words = [
            OsStr::new("-c"),
            OsStr::new("core.warnAmbiguousRefs=false"),
            OsStr::new("rev-list"),
            // Without a look at the parents, which may be missing.
            OsStr::new("--no-walk"),
            OsStr::new("--no-color"),
            OsStr::new("--encoding=UTF-8"),
            OsStr::from_bytes(&format),
            OsStr::new(&commit),
            OsStr::new("--"),
        ];
        let output = self.output(program::ask(&self.location, &words), log)?;
        let header = format!("commit {commit}\n");
        let answers = output.strip_prefix(header.as_bytes());
        let answers = answers.ok_or_else(cannot_expand)?;
        let answers = answers.strip_suffix(b"\n").unwrap_or(answers);
        let answers: Vec<_> = answers.split(|&byte| byte == 0).collect();
        if answers.len() != placeholders.len() {
            return Err(cannot_expand());
        }
        let answers = placeholders.iter().zip(answers);
        self.known
            .extend(answers.map(|(name, answer)| (name.to_vec(), answer.to_vec())));
        Ok(())
    }

    /// The content of `file` as git archives it, together with the files before it if it may describe the commit.
    fn expand_by_git(
        &mut self,
        file: File<'_>,
        content: &[u8],
        log: &mut Buffer,
    ) -> Result<Vec<u8>> {
        if file.is_lfs_object {
            return Err(cannot_expand().caused_by(
                "only git knows all placeholders, and git does not read objects of Git LFS",
            ));
        }
        self.shareable.withdraw();
        self.shareable.vary();
        let describes = content.contains_str("(describe");
        let mut paths = if describes {
            self.describing.clone()
        } else {
            Vec::new()
        };
        paths.push(file.path.to_owned());
        if describes && !self.is_described {
            self.describing.clone_from(&paths);
        }
        let output = program::archived_files(&self.location, &self.commit, &paths, &self.rules);
        let tar = self.output(output, log)?;
        let path = [&self.rules.below[..], file.path].concat();
        let content = (self.find_in_tar)(&tar, &path);
        let content = content.map_err(|error| cannot_expand().caused_by(error))?;
        content.ok_or_else(|| cannot_expand().caused_by("git archives no such file"))
    }

    /// The output of git, whose messages go to `log`.
    fn output(&mut self, output: Option<Output>, log: &mut Buffer) -> Result<Vec<u8>> {
        let Some(output) = output else {
            return Err(cannot_expand().hinted("this needs git in PATH"));
        };
        if !output.status.success() {
            return Err(program::refusal(&output).unwrap_or_else(cannot_expand));
        }
        if self.complaints.insert(output.stderr.clone()) {
            log.extend(&output.stderr);
        }
        Ok(output.stdout)
    }
}

fn cannot_expand() -> Error {
    Error::fatal("cannot expand '$Format:…$'")
}

/// The placeholders whose expansions are plain in the content of `commit`.
fn plain(commit: ObjectId, origin: &Origin) -> HashMap<Vec<u8>, Vec<u8>> {
    let hex = |id: ObjectId| id.to_hex().to_string().into_bytes();
    let mut known = HashMap::from([(b"H".into(), hex(commit)), (b"T".into(), hex(origin.tree))]);
    for (person, name) in [(b'a', "author "), (b'c', "committer ")] {
        // As in git, the last line counts.
        let date = header(&origin.content, name).last().and_then(Date::parse);
        let shown = |kind: u8| Some((vec![person, kind], date.as_ref()?.show(kind)?.into()));
        known.extend(b"tisI".iter().filter_map(|kind| shown(*kind)));
    }
    known
}

/// Whether a commit with this `content` claims another encoding than UTF-8.
pub fn is_encoded(content: &[u8]) -> bool {
    header(content, "encoding ").any(|name| !is_utf8(&name.to_str_lossy()))
}

/// The values of the lines in the header of a commit with this `content` that start with `name`.
fn header<'c>(content: &'c [u8], name: &str) -> impl Iterator<Item = &'c BStr> {
    let lines = content.lines().take_while(|line| !line.is_empty());
    lines.filter_map(move |line| Some(line.strip_prefix(name.as_bytes())?.as_bstr()))
}

/// The formats in a content, each with the text in front of it.
pub(super) struct Found<'a> {
    /// What follows the last one.
    pub(super) rest: &'a [u8],
}

impl<'a> Iterator for Found<'a> {
    type Item = [&'a [u8]; 2];

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.find(START)?;
        let inside = &self.rest[start + START.len()..];
        let end = inside.find_byte(b'$')?;
        let found = [&self.rest[..start], &inside[..end]];
        self.rest = &inside[end + 1..];
        Some(found)
    }
}

/// A time in a commit, written as git writes it.
struct Date {
    seconds: String,
    time: Time,
}

impl Date {
    /// The time at the end of `line`, an author or a committer; nothing if anything about it is odd.
    fn parse(line: &BStr) -> Option<Self> {
        let (who, when) = line.to_str().ok()?.rsplit_once("> ")?;
        let (seconds, zone) = when.split_once(' ')?;
        let (sign, digits) = zone.split_at_checked(1)?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let odd = who.contains('>')
            || who.matches('<').count() != 1
            || !matches!(sign, "+" | "-")
            || digits.len() != 4
            || !is_number(digits)
            || !is_number(seconds);
        let (hours, minutes): (i32, i32) = (
            digits.get(..2)?.parse().ok()?,
            digits.get(2..)?.parse().ok()?,
        );
        let time = seconds.parse().ok()?;
        if odd || hours > MAX_HOURS || minutes > 59 || time > MAX_SECONDS {
            return None;
        }
        let east = (hours * 60 + minutes) * 60;
        let offset = if sign == "-" { -east } else { east };
        // git refuses to show a local time before 1970.
        (time + i64::from(offset) >= 0).then(|| Self {
            seconds: seconds.to_owned(),
            time: Time::new(time, offset),
        })
    }

    /// As the placeholder with `kind` after its first letter shows it.
    fn show(&self, kind: u8) -> Option<String> {
        match kind {
            b't' => Some(self.seconds.clone()),
            b'i' => self.time.format(format::ISO8601).ok(),
            b's' => self.time.format(format::SHORT).ok(),
            // Not all versions of git write UTC in the same way.
            b'I' if self.time.offset != 0 => self.time.format(format::ISO8601_STRICT).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn dates_are_shown_as_git_shows_them() {
        let date = Date::parse("A U Thor <a@x> 1117231200 -0330".into()).expect("it is plain");
        let shown: Vec<_> = b"tisI".iter().filter_map(|kind| date.show(*kind)).collect();
        let expected = [
            "1117231200",
            "2005-05-27 18:30:00 -0330",
            "2005-05-27",
            "2005-05-27T18:30:00-03:30",
        ];
        assert_eq!(shown, expected);
        let table = "A <a> 1117231200 | A <a> -1 +0000 | A <a> 1 +0060 | A <a> 1 +2400 | A <a> 1 0000 | \
                     A > <a> 1 +0000 | A <a> 999999999999 +0000 | A a 1 +0000 | A <a> 0 -0730 | \
                     A <a> 3599 -0100";
        for odd in table.split(" | ") {
            assert!(Date::parse(odd.into()).is_none(), "{odd}");
        }
    }
}
