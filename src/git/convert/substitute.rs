//! `$Format:…$` (gitattributes(5), "export-subst").
//!
//! What is plain in the commit is taken from there; for everything else the installed git is asked,
//! once for each format. As in git, an expansion is appended to what the file holds so far, and may
//! change that.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    process::Output,
};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    date::{Time, time::format},
};

use super::{
    commit_text::CommitText,
    context::{Context, cannot_expand},
    encoding::encode,
    format::{Format, FormatPiece, SharedFormatState},
    shareable::Shareable,
};
use crate::{
    base::{
        buffer::Buffer,
        error::{Error, Result},
    },
    git::program::{self, GitLocation},
};

const START: &[u8] = b"$Format:";
/// Between the formats of one question.
const SEPARATOR: &[u8] = b"%x00";
/// The most bytes of formats that one question puts together.
const MAX_TOGETHER: usize = 64 << 10;
/// Linux accepts no longer word on a command line, its NUL included.
const MAX_WORD: usize = 128 << 10;
/// No zone is farther from UTC, in hours.
const MAX_HOURS: i32 = 14;
/// The end of the year 9999: later dates are git's affair.
const MAX_SECONDS: i64 = 253_402_300_799 - 14 * 60 * 60;

/// Expands formats for one commit, file by file in the order of the archive.
pub(super) struct Substitution {
    commit: ObjectId,
    tree: ObjectId,
    author: Option<Date>,
    committer: Option<Date>,
    /// What git converts a file to when it puts text from the commit in.
    encoding: Option<String>,
    /// The repository of the commit.
    location: GitLocation,
    shared: SharedFormatState,
    shareable: Shareable,
    /// What git said to each format.
    answers: HashMap<Vec<u8>, Vec<u8>>,
    /// What git has complained about. One process, as git's, would say it once.
    complaints: HashSet<Vec<u8>>,
}

impl Substitution {
    /// For `commit` of the repository at `location`, whose tree is `tree` and whose content is `content`.
    pub(super) fn new(
        commit: ObjectId,
        tree: ObjectId,
        content: &BStr,
        location: GitLocation,
        shareable: Shareable,
    ) -> Self {
        let text = CommitText::of(content);
        let shared = SharedFormatState {
            known: text.known(),
            ..SharedFormatState::default()
        };
        Self {
            commit,
            tree,
            author: text.field("author ").and_then(Date::parse),
            committer: text.field("committer ").and_then(Date::parse),
            encoding: text.encoding,
            location,
            shared,
            shareable,
            answers: HashMap::new(),
            complaints: HashSet::new(),
        }
    }

    /// `content` with all formats expanded; nothing if there are none.
    pub(super) fn expand(&mut self, content: &[u8], log: &mut Buffer) -> Result<Option<Vec<u8>>> {
        if (Found { rest: content }).next().is_none() {
            return Ok(None);
        }
        self.ask_together(content, log)?;
        let mut out = Vec::with_capacity(content.len() + content.len() / 4);
        let mut found = Found { rest: content };
        for [before, format] in found.by_ref() {
            let format = Format::parse(format, &mut self.shared)?;
            if format.varies {
                self.shareable.vary();
            }
            out.extend(before);
            self.append(&format, &mut out, log)?;
        }
        out.extend(found.rest);
        Ok(Some(out))
    }

    fn append(&mut self, format: &Format, out: &mut Vec<u8>, log: &mut Buffer) -> Result<()> {
        if let Some(expanded) = self.expand_plain(format) {
            out.extend(expanded);
        } else if format.leaves_text {
            return Err(cannot_expand("the header of the commit has no end"));
        } else if format.looks_back || format.wraps_all {
            let context = Context::of(out, format)?;
            let asked = [context.asked, format.text.clone()].concat();
            let answer = self.ask(&asked, log)?;
            out.truncate(context.kept);
            out.extend(answer.get(context.repeated..).unwrap_or_default());
        } else {
            if !self.answers.contains_key(&format.text) {
                let answer = self.ask(&format.text, log)?;
                self.answers.insert(format.text.clone(), answer);
            }
            out.extend(&self.answers[&format.text]);
        }
        if format.reads_head
            && let Some(encoding) = &self.encoding
            && let Some(encoded) = encode(encoding, out)
        {
            *out = encoded;
        }
        Ok(())
    }

    /// What needs only the commit, if `format` is made of nothing else.
    fn expand_plain(&self, format: &Format) -> Option<Vec<u8>> {
        let mut expanded = Vec::new();
        for piece in format.pieces.as_ref()? {
            match piece {
                FormatPiece::Text(text) => expanded.extend(text),
                FormatPiece::Placeholder(name) => match &name[..] {
                    b"H" => expanded.extend(self.commit.to_hex().to_string().into_bytes()),
                    b"T" => expanded.extend(self.tree.to_hex().to_string().into_bytes()),
                    [b'a', kind] => expanded.extend(self.author.as_ref()?.show(*kind)?.bytes()),
                    [b'c', kind] => expanded.extend(self.committer.as_ref()?.show(*kind)?.bytes()),
                    _ => return None,
                },
            }
        }
        Some(expanded)
    }

    /// Ask for all formats of `content` that can be asked for at once, since a question costs more than its
    /// answer.
    fn ask_together(&mut self, content: &[u8], log: &mut Buffer) -> Result<()> {
        let mut shared = self.shared;
        let (mut wanted, mut known) = (Vec::new(), HashSet::new());
        for [_, format] in (Found { rest: content }) {
            let format = Format::parse(format, &mut shared)?;
            if format.stands_alone()
                && !format.leaves_text
                && self.expand_plain(&format).is_none()
                && !self.answers.contains_key(&format.text)
                && known.insert(format.text.clone())
            {
                wanted.push(format.text);
            }
        }
        let mut wanted = &wanted[..];
        while wanted.len() > 1 {
            let mut len = 0;
            let fits = wanted.iter().take_while(|text| {
                len += text.len() + SEPARATOR.len();
                len <= MAX_TOGETHER
            });
            let (question, rest) = wanted.split_at(fits.count().max(1));
            self.ask_for(question, log)?;
            wanted = rest;
        }
        Ok(())
    }

    /// Ask for the formats with these `texts` in one question, and note the answers.
    fn ask_for(&mut self, texts: &[Vec<u8>], log: &mut Buffer) -> Result<()> {
        let answer = self.ask(&texts.join(SEPARATOR), log)?;
        let parts: Vec<_> = answer.split(|&byte| byte == 0).collect();
        if parts.len() == texts.len() {
            let parts = parts.into_iter().map(<[u8]>::to_vec);
            self.answers.extend(texts.iter().cloned().zip(parts));
        }
        Ok(())
    }

    /// What the installed git makes of `format`: a command that knows neither the user's taste in
    /// logs nor notes, just like `git archive`.
    fn ask(&mut self, format: &[u8], log: &mut Buffer) -> Result<Vec<u8>> {
        if format.is_empty() {
            return Ok(Vec::new());
        }
        // Refs, notes, mailmaps, dates of today and the number of objects may decide the answer.
        self.shareable.withdraw();
        let commit = self.commit.to_hex().to_string();
        let format = [b"--format=format:", format].concat();
        if format.len() >= MAX_WORD {
            return Err(cannot_expand("git would be asked for more than 128 KiB"));
        }
        let output = program::ask(
            &self.location,
            &[
                OsStr::new("rev-list"),
                // Without a look at the parents, which may be missing.
                OsStr::new("--no-walk"),
                OsStr::new("--no-color"),
                OsStr::new("--encoding=UTF-8"),
                OsStr::from_bytes(&format),
                OsStr::new(&commit),
                OsStr::new("--"),
            ],
        );
        let header = format!("commit {commit}\n");
        let answer = output.as_ref().and_then(|output| {
            let answer = output.stdout.strip_prefix(header.as_bytes());
            answer.filter(|_| output.status.success())
        });
        let (Some(output), Some(answer)) = (&output, answer) else {
            return Err(refused(output.as_ref()));
        };
        if self.complaints.insert(output.stderr.clone()) {
            log.extend(&output.stderr);
        }
        Ok(answer.strip_suffix(b"\n").unwrap_or(answer).to_vec())
    }
}

/// What the installed git has against a format.
fn refused(output: Option<&Output>) -> Error {
    let cannot = || Error::fatal("cannot expand '$Format:…$'");
    match output {
        None => cannot().hinted("the installed git is asked for it: is there one?"),
        Some(output) => program::refusal(output).unwrap_or_else(cannot),
    }
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

    /// As the placeholder with `kind` behind its first letter shows it.
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
    use super::{Date, Found};

    #[test]
    fn formats_end_at_the_next_dollar() {
        let content = b"a$Format:%H$b$Format:$Format:%h\n$ c $Format:%s";
        let mut found = Found { rest: content };
        let expected: [[&[u8]; 2]; 2] = [[b"a", b"%H"], [b"b", b""]];
        assert_eq!(found.by_ref().collect::<Vec<_>>(), expected);
        assert_eq!(found.rest, b"Format:%h\n$ c $Format:%s");
    }

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
        for odd in [
            "A <a> 1117231200",
            "A <a> -1 +0000",
            "A <a> 1 +0060",
            "A <a> 1 +2400",
            "A <a> 1 0000",
            "A > <a> 1 +0000",
            "A <a> 999999999999 +0000",
            "A a 1 +0000",
            "A <a> 0 -0730",
            "A <a> 3599 -0100",
        ] {
            assert!(Date::parse(odd.into()).is_none(), "{odd}");
        }
    }
}
