//! Names the command that makes the bytes of an archive whose files are all the same, or the first difference in words.
//!
//! A tar is not made again: its files are the same, so all that is around them decides. Compressed bytes and zips are made again and
//! compared as they come.

use std::io::{self, Write};

use bstr::{BString, ByteSlice};
use gix_hash::{Hasher, Kind as HashKind, ObjectId, hasher};
use sluice_deflate::{Dialect, Level};

use super::{classes::FirstWalk, collector::Contents};
use sluice_base::{
    error::{Result, format_bytes, printable_path},
    progress::{Console, Meter, Total},
};
use sluice_core::{
    archive::{self, ArchiveOutputs, RunStats},
    request::{Request, format::Format},
};
use sluice_format::unarchive::{Compression, Form, HEAD_LEN, Raw};
use sluice_git::repository::{settings::Umask, tags::CommitNames};

/// The flag of a gzip header that says that a name follows.
const HAS_NAME: u8 = 8;
/// The levels that a gzip header and a zip entry do not tell apart, the likeliest first.
const LEVELS: [u8; 9] = [6, 9, 1, 5, 7, 8, 4, 3, 2];

/// What is known of the bytes.
pub(super) enum Naming {
    /// This command makes them. The note says more.
    Command(String, Option<String>),
    /// They are others.
    Other(String),
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
    pub(super) fn name(mut self, messages: &mut (dyn Write + Send + 'static)) -> Result<Naming> {
        match self.contents.form {
            Form::Zip => self.name_zip(messages),
            Form::Tar(compression) => match self.name_tar()? {
                Naming::Command(command, _) => match compression {
                    None => Ok(Naming::Command(command, None)),
                    Some(Compression::Gzip) => self.name_gzip(messages),
                    Some(other) => {
                        let note = format!("compressed with {}", other.program());
                        Ok(Naming::Command(command, Some(note)))
                    }
                },
                other => Ok(other),
            },
            Form::Directory => Ok(Naming::Other("a directory has none".to_owned())),
        }
    }

    /// The command for `format`, which may need a setting.
    fn command(&self, setting: &str, format: &str) -> String {
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
        format!("git{umask}{setting}{archive} archive --format={format}{mtime}{options}{words}")
    }

    /// Names the tar, with the time and the permissions that it shows.
    fn name_tar(&mut self) -> Result<Naming> {
        let tar = &self.contents.tar;
        if let (Some(time), false) = (tar.time, tar.has_other_times) {
            self.request.content.mtime = time;
        }
        if let Some(bits) = tar.umask() {
            self.request.content.umask = Umask::Bits(bits);
        }
        let mut made = hasher(HashKind::Sha256);
        let table = &mut self.contents.table;
        let mut size_of = |name: &[u8]| {
            let number = table.find(name);
            number.map_or(0, |number| table.get(number).size)
        };
        let is_known = archive::frame(self.request.clone(), &mut size_of, &mut |bytes| {
            made.update(bytes);
            Ok(())
        })?;
        if !is_known {
            let words = "not compared, because the repository lacks the targets of links";
            return Ok(Naming::Other(words.to_owned()));
        }
        let made = made.try_finalize().ok();
        if made.is_some() && made == self.contents.tar.digest() {
            return Ok(Naming::Command(self.command("", "tar"), None));
        }
        Ok(Naming::Other(self.tar_words().to_owned()))
    }

    /// The first difference of a tar from git's.
    fn tar_words(&self) -> &'static str {
        let Contents { tar, comment, .. } = &*self.contents;
        let commit = self.request.content.archived().treeish.commit;
        if tar.is_foreign {
            "the headers are those of GNU tar"
        } else if comment.is_none() {
            "no pax header names the commit"
        } else if *comment != commit {
            "a pax header names another commit"
        } else if !self.found.has_directories {
            "directories have no entries"
        } else if !self.found.is_in_order {
            "the entries are in another order"
        } else if tar.has_other_times {
            "the entries have different times"
        } else if !tar.is_of_root {
            "the owner is not root"
        } else if tar.umask().is_none() {
            "no umask makes these permissions"
        } else {
            "the headers have other fields"
        }
    }

    /// Names the bytes of a gzip, whose tar is git's.
    fn name_gzip(&self, messages: &mut (dyn Write + Send + 'static)) -> Result<Naming> {
        let head = self.contents.raw.head();
        let [_, _, _, flags, time @ .., level, _] = &head[..10.min(head.len())] else {
            return Ok(Naming::Other("another compressor".to_owned()));
        };
        if flags & HAS_NAME != 0 {
            return Ok(Naming::Other("the gzip header has a name".to_owned()));
        }
        if time != [0; 4] {
            return Ok(Naming::Other("the gzip header has a time".to_owned()));
        }
        let levels: &[u8] = match level {
            2 => &[9],
            4 => &[1],
            _ => &LEVELS,
        };
        let dialects = [Dialect::Zlib, Dialect::Gzip];
        let candidates = levels
            .iter()
            .flat_map(|level| dialects.map(|dialect| (level, dialect)));
        for (number, dialect) in candidates {
            let level = Level::new(*number).unwrap_or(Level::DEFAULT);
            if !self.makes(Format::TarGz(level, dialect), messages)? {
                continue;
            }
            let (setting, note) = if dialect == Dialect::Gzip {
                (
                    " -c tar.tar.gz.command='gzip -cn'",
                    "bytes of gzip -n, as git before 2.38 and code hosts write them",
                )
            } else {
                ("", "bytes of git 2.38 and later")
            };
            let command = self.command(setting, &format!("tar.gz{}", level_option(level)));
            return Ok(Naming::Command(command, Some(note.to_owned())));
        }
        Ok(Naming::Other(
            "the tar is git's, from another compressor".to_owned(),
        ))
    }

    fn name_zip(&self, messages: &mut (dyn Write + Send + 'static)) -> Result<Naming> {
        for number in LEVELS.into_iter().chain([0]) {
            let level = Level::new(number).unwrap_or(Level::DEFAULT);
            if self.makes(Format::Zip(level), messages)? {
                let option = level_option(level);
                return Ok(Naming::Command(
                    self.command("", &format!("zip{option}")),
                    None,
                ));
            }
        }
        let words = match self.contents.comment {
            None => "no comment names the commit",
            Some(_) if !self.found.has_directories => "directories have no entries",
            Some(_) if !self.found.is_in_order => "the entries are in another order",
            Some(_) => "other times, time zone or compressor",
        };
        Ok(Naming::Other(words.to_owned()))
    }

    /// Whether the archive in `format` has the bytes of the file.
    fn makes(&self, format: Format, messages: &mut (dyn Write + Send + 'static)) -> Result<bool> {
        let mut request = self.request.clone();
        request.content.format = format;
        let mut expected = Expected::new(&self.contents.raw);
        let outputs = ArchiveOutputs {
            destination: &mut expected,
            console: Console::new(messages, None),
            meter: Meter::new("Archiving", Total::Unknown),
        };
        let made = archive::run(request, outputs, &mut RunStats::default());
        if expected.differs {
            return Ok(false);
        }
        made?;
        Ok(expected.are_all())
    }
}

fn level_option(level: Level) -> String {
    match level {
        Level::DEFAULT => String::new(),
        level => format!(" -{}", level.number()),
    }
}

/// Takes bytes as long as they may be those of a file.
struct Expected {
    head: Vec<u8>,
    len: u64,
    digest: Option<ObjectId>,
    at: u64,
    hasher: Hasher,
    differs: bool,
}

impl Expected {
    fn new(raw: &Raw) -> Self {
        Self {
            head: raw.head(),
            len: raw.len(),
            digest: raw.digest(),
            at: 0,
            hasher: hasher(HashKind::Sha256),
            differs: false,
        }
    }

    /// Whether these were all bytes of the file.
    fn are_all(self) -> bool {
        let made = self.hasher.try_finalize().ok();
        self.at == self.len && made.is_some() && made == self.digest
    }
}

impl Write for Expected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = (self.at as usize).min(HEAD_LEN);
        let known = self.head.get(at..).unwrap_or_default();
        let compared = known.len().min(bytes.len());
        let end = self.at + bytes.len() as u64;
        if known[..compared] != bytes[..compared] || end > self.len {
            self.differs = true;
            return Err(io::Error::other("the bytes differ"));
        }
        self.hasher.update(bytes);
        self.at = end;
        Ok(bytes.len())
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

/// `word` as a shell reads it.
pub(super) fn quoted(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./+,:@%^~=".contains(byte);
    let text = word.to_str_lossy();
    if !word.is_empty() && word.iter().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
