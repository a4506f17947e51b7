//! Names the command that makes the bytes of an archive whose files are all the same, or the first difference in words.
//!
//! A tar is not made again: its files are the same, so all that is around them decides. Compressed bytes and zips are made again and
//! compared as they come.

use std::{
    io::{self, Write},
    ops::Range,
};

use bstr::BString;
use sluice_deflate::{Dialect, Level};

use super::{
    classes::FirstWalk,
    collector::Contents,
    conversion::{Messages, write_archive},
    form::TarForm,
};
use sluice_base::error::{Result, format_bytes, printable_path};
use sluice_core::{
    archive,
    request::{Request, format::Format},
};
use sluice_format::unarchive::{Compression, Form, Raw};
use sluice_git::repository::{settings::Umask, tags::CommitNames};

/// The fields of a gzip header (RFC 1952, section 2.3): flags, of which one says that a name follows, and the time.
const FLAGS: usize = 3;
const HAS_NAME: u8 = 8;
const TIME: Range<usize> = 4..8;
/// The levels of compression, the likeliest first.
const LEVELS: [u8; 10] = [6, 9, 1, 5, 7, 8, 4, 3, 2, 0];
/// The programs that git lets compress, each with its setting and a note.
const DIALECTS: [(Dialect, &str, &str); 2] = [
    (Dialect::Zlib, "", "bytes of git 2.38 and later"),
    (
        Dialect::Gzip,
        " -c tar.tar.gz.command='gzip -cn'",
        "bytes of gzip -n, as git before 2.38 and code hosts write them",
    ),
];

/// What is known of the bytes: the command that makes them and perhaps a note, or only words that say how they differ.
pub(super) struct Naming {
    pub(super) command: Option<String>,
    pub(super) words: Option<String>,
}

impl Naming {
    pub(super) fn other(words: impl Into<String>) -> Self {
        Self {
            command: None,
            words: Some(words.into()),
        }
    }
}

/// An archive whose files are the same as those of a request.
pub(super) struct SameFiles<'a> {
    pub(super) contents: &'a mut Contents,
    pub(super) found: &'a FirstWalk,
    /// The request in the format tar or zip, which matters to a zip.
    pub(super) request: Request,
    /// The words after `git archive --format=<format>`.
    pub(super) words: String,
    /// Whether the archive depends on options that the words do not have.
    pub(super) has_options: bool,
}

impl SameFiles<'_> {
    /// Names the bytes. Messages go to `messages`.
    pub(super) fn name(mut self, messages: &mut Messages) -> Result<Naming> {
        let compression = match self.contents.form {
            Form::Directory => return Ok(Naming::other("a directory has none")),
            Form::Zip => return self.name_zip(messages),
            Form::Tar(compression) => compression,
        };
        if let Some(words) = self.difference_of_tar()? {
            return Ok(Naming::other(words));
        }
        let note = match compression {
            None => None,
            Some(Compression::Gzip) => return self.name_gzip(messages),
            Some(other) => Some(format!("compressed with {}", other.program())),
        };
        Ok(self.named("", "tar", note))
    }

    /// The command for `format`, which may need a setting, and a note.
    fn named(&self, setting: &str, format: &str, note: Option<String>) -> Naming {
        let Self {
            request,
            words,
            contents,
            ..
        } = self;
        let umask = match request.content.umask {
            Umask::Bits(2) => String::new(),
            _ if matches!(contents.form, Form::Zip) => String::new(),
            Umask::Bits(bits) => format!(" -c tar.umask={bits:04o}"),
            Umask::User => " -c tar.umask=user".to_owned(),
        };
        let commit_time = request.content.archived().treeish.commit_time();
        let time = request.content.mtime;
        let mtime = if commit_time == Some(time) {
            String::new()
        } else {
            format!(" --mtime=@{time}")
        };
        let (archive, options) = if self.has_options {
            (" sluice", " <options>")
        } else {
            ("", "")
        };
        let command = format!(
            "git{umask}{setting}{archive} archive --format={format}{mtime}{options}{words}"
        );
        Naming {
            command: Some(command),
            words: note,
        }
    }

    /// How the tar differs from git's with the time and the permissions that it shows, if it does.
    fn difference_of_tar(&mut self) -> Result<Option<&'static str>> {
        let tar = &self.contents.tar;
        if let (Some(time), false) = (tar.time, tar.has_other_times) {
            self.request.content.mtime = time;
        }
        if let Some(bits) = tar.umask() {
            self.request.content.umask = Umask::Bits(bits);
        }
        let mut made = TarForm::default();
        let table = &mut self.contents.table;
        let mut size_of = |name: &[u8]| {
            let number = table.find(name);
            number.map_or(0, |number| table.get(number).size)
        };
        let is_known = archive::frame(self.request.clone(), &mut size_of, &mut |bytes| {
            made.frame(bytes);
            Ok(())
        })?;
        if !is_known {
            let words = "not compared, because the repository lacks the targets of links";
            return Ok(Some(words));
        }
        let made = made.digest();
        let is_same = made.is_some() && made == self.contents.tar.digest();
        Ok((!is_same).then(|| self.tar_words()))
    }

    /// The first difference of a tar from git's.
    fn tar_words(&self) -> &'static str {
        let Contents { tar, comment, .. } = &*self.contents;
        let commit = self.request.content.archived().treeish.commit;
        let differences = [
            (tar.is_foreign, "the headers are those of GNU tar"),
            (comment.is_none(), "no pax header names the commit"),
            (*comment != commit, "a pax header names another commit"),
            (!self.found.has_directories, "directories have no entries"),
            (!self.found.is_in_order, "the entries are in another order"),
            (tar.has_other_times, "the entries have different times"),
            (!tar.is_of_root, "the owner is not root"),
            (tar.umask().is_none(), "no umask makes these permissions"),
        ];
        let first = differences.iter().find(|(differs, _)| *differs);
        first.map_or("the headers have other fields", |(_, words)| words)
    }

    /// Names the bytes of a gzip, whose tar is git's.
    fn name_gzip(&self, messages: &mut Messages) -> Result<Naming> {
        let head = self.contents.raw.head();
        if head.get(FLAGS).is_some_and(|flags| flags & HAS_NAME != 0) {
            return Ok(Naming::other("the gzip header has a name"));
        }
        if head.get(TIME) != Some(&[0; 4]) {
            return Ok(Naming::other("the gzip header has a time"));
        }
        for level in LEVELS.into_iter().filter_map(Level::new) {
            for (dialect, setting, note) in DIALECTS {
                if self.makes(Format::TarGz(level, dialect), messages)? {
                    let format = format!("tar.gz{}", level_option(level));
                    return Ok(self.named(setting, &format, Some(note.to_owned())));
                }
            }
        }
        Ok(Naming::other("the tar is git's, from another compressor"))
    }

    fn name_zip(&self, messages: &mut Messages) -> Result<Naming> {
        for level in LEVELS.into_iter().filter_map(Level::new) {
            if self.makes(Format::Zip(level), messages)? {
                return Ok(self.named("", &format!("zip{}", level_option(level)), None));
            }
        }
        Ok(Naming::other(match self.contents.comment {
            None => "no comment names the commit",
            Some(_) if !self.found.has_directories => "directories have no entries",
            Some(_) if !self.found.is_in_order => "the entries are in another order",
            Some(_) => "other times, time zone or compressor",
        }))
    }

    /// Whether the archive in `format` has the bytes of the file.
    fn makes(&self, format: Format, messages: &mut Messages) -> Result<bool> {
        let mut request = self.request.clone();
        request.content.format = format;
        let whole = &self.contents.raw;
        let mut expected = Expected {
            whole,
            made: Raw::default(),
        };
        let outcome = write_archive(request, &mut expected, messages);
        let made = expected.made;
        if !whole.may_follow(&made) {
            return Ok(false);
        }
        outcome?;
        let digest = made.digest();
        Ok(made.size() == whole.size() && digest.is_some() && digest == whole.digest())
    }
}

fn level_option(level: Level) -> String {
    match level {
        Level::DEFAULT => String::new(),
        level => format!(" -{}", level.number()),
    }
}

/// Takes bytes as long as they may be those of the whole file.
struct Expected<'a> {
    whole: &'a Raw,
    made: Raw,
}

impl Write for Expected<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.made.add(bytes);
        if self.whole.may_follow(&self.made) {
            Ok(bytes.len())
        } else {
            Err(io::Error::other("the bytes differ"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first line about a commit that was found, with its names and the reason to believe in it.
pub(super) fn commit_line(
    commit: &str,
    names: &CommitNames,
    source: &str,
    directory: Option<&[u8]>,
) -> BString {
    let names = match names {
        CommitNames::At(names) => names.join(", "),
        CommitNames::In(name) => format!("in {name}"),
        CommitNames::Unnamed => "in no tag".to_owned(),
    };
    let directory = match directory {
        Some(directory) => [b", directory ", &printable_path(directory)[..]].concat(),
        None => Vec::new(),
    };
    let names = printable_path(names.as_bytes());
    let source = printable_path(source.as_bytes());
    format_bytes(
        "commit    {} ({}), from {}{}\n",
        &[commit.as_bytes(), &names, &source, &directory],
    )
}

/// The first line about the nearest tag.
pub(super) fn nearest_line(tag: &[u8], differences: u64, tied: usize) -> BString {
    let mut words = match differences {
        1 => "1 file differs".to_owned(),
        _ => format!("{differences} files differ"),
    };
    match tied {
        0 => {}
        1 => words.push_str("; an older tag is as near"),
        _ => words += &format!("; {tied} older tags are as near"),
    }
    format_bytes(
        "nearest   {} ({})\n",
        &[&printable_path(tag), words.as_bytes()],
    )
}
