//! Other programs that make an archive of a tree, or nearly, for `compare --peers`.
//!
//! Theirs need not be git's bytes, so each comes with what is different about them; a table must not be
//! read as if all did the same work.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tar::EntryType;

use super::contender::Contender;
use super::equality::{self, Run};
use crate::process;

/// The peers that can be measured, and what is to be said of all, as a Markdown list.
pub(super) struct Peers {
    pub(super) contenders: Vec<Contender>,
    pub(super) notes: String,
}

/// Looks for peers, and compares their archives of `rev` with that of `git`.
pub(super) fn find(rev: &str, git: &Contender, directory: &Path) -> Peers {
    let (mut contenders, mut notes) = (Vec::new(), String::new());
    for peer in all(rev) {
        let Contender { label, .. } = &peer.contender;
        let Some(version) = version(peer.version) else {
            notes += &format!("- `{label}`: absent\n");
            continue;
        };
        eprintln!("looking at `{label}`");
        let (note, works) = match peer.note(git, directory) {
            Ok(note) => (note, true),
            Err(error) => (format!("fails, and is left out: {error:#}"), false),
        };
        notes += &format!("- `{label}`, {version}: {note}\n");
        if works {
            contenders.push(peer.contender);
        }
    }
    Peers { contenders, notes }
}

struct Peer {
    contender: Contender,
    /// Program and arguments that print its version, and fail if it is not there.
    version: &'static [&'static str],
    makes: Makes,
}

/// What comes out of a peer.
enum Makes {
    Tar,
    /// All contents one after the other: what is left to an archive is names and headers.
    Contents,
}

fn all(rev: &str) -> [Peer; 4] {
    let contender = |words: &[&str]| Contender {
        label: process::quote(words.iter().copied()),
        program: words[0].into(),
        arguments: words[1..].iter().map(|&word| word.to_owned()).collect(),
    };
    let ids = process::quote(["git", "ls-tree", "-r", "--format=%(objectname)", rev]);
    let contents = format!("{ids} | git cat-file --batch --buffer");
    [
        Peer {
            // It wants to know a file.
            contender: contender(&["gix", "archive", "--format=tar", "/dev/stdout", rev]),
            version: &["gix", "--version"],
            makes: Makes::Tar,
        },
        Peer {
            contender: contender(&["jgit", "archive", "--format=tar", rev]),
            version: &["jgit", "version"],
            makes: Makes::Tar,
        },
        Peer {
            contender: contender(&["python3", "-m", "dulwich", "archive", rev]),
            version: &[
                "python3",
                "-c",
                "import dulwich; print('dulwich', '.'.join(map(str, dulwich.__version__)))",
            ],
            makes: Makes::Tar,
        },
        Peer {
            contender: Contender {
                // Without the bar, which ends a cell of the table.
                label: "git ls-tree, git cat-file --batch".to_owned(),
                ..contender(&["sh", "-c", &contents])
            },
            version: &["git", "--version"],
            makes: Makes::Contents,
        },
    ]
}

/// The first line that `command` prints, if there is such a program.
fn version(command: &[&str]) -> Option<String> {
    let output = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

impl Peer {
    /// How its output differs from that of `git`.
    fn note(&self, git: &Contender, directory: &Path) -> Result<String> {
        if let Makes::Contents = self.makes {
            let note = "the contents alone, without names, attributes and headers; the memory is \
                        that of the shell which starts it";
            return Ok(note.to_owned());
        }
        if equality::are_equal(git, &self.contender, directory)? {
            return Ok("the same bytes".to_owned());
        }
        let one = Run::start(git, directory)?.read(files)?;
        let two = Run::start(&self.contender, directory)?.read(files)?;
        Ok(difference(&one, &two))
    }
}

/// What an archive says of a path; of files and symbolic links a sum of the content.
#[derive(PartialEq, Eq)]
enum Entry {
    Directory,
    Content(u64),
}

type Files = BTreeMap<Vec<u8>, Entry>;

fn files(archive: &mut dyn Read) -> Result<Files> {
    let mut archive = tar::Archive::new(archive);
    let mut files = Files::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path_bytes().into_owned();
        let found = match entry.header().entry_type() {
            EntryType::XGlobalHeader => continue,
            EntryType::Directory => Entry::Directory,
            _ => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                Entry::Content(sum(target.chain(&mut entry))?)
            }
        };
        let path = path.strip_suffix(b"/").unwrap_or(&path).to_owned();
        files.insert(path, found);
    }
    // What follows the end mark is padding, which the writer wants to be rid of.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(files)
}

fn sum(mut content: impl Read) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher.write(&buffer[..count]),
        }
    }
}

/// Of two archives that are not equal.
fn difference(one: &Files, two: &Files) -> String {
    let changed = one.iter().filter_map(|(path, entry)| {
        let other = two.get(path).is_some_and(|other| other != entry);
        other.then_some(path)
    });
    let files = [
        said("files missing", missing(one, two, false)),
        said("files more", missing(two, one, false)),
        said("files with other contents", changed),
    ];
    let directories = [
        said("directories missing", missing(one, two, true)),
        said("directories more", missing(two, one, true)),
    ];
    let alike = files.iter().all(Option::is_none);
    let alike = alike.then(|| "same files, other headers".to_owned());
    let all: Vec<String> = [alike]
        .into_iter()
        .chain(files)
        .chain(directories)
        .flatten()
        .collect();
    all.join("; ")
}

/// The directories, or all others, that are in `one` and not in `two`.
fn missing<'a>(
    one: &'a Files,
    two: &'a Files,
    directories: bool,
) -> impl Iterator<Item = &'a Vec<u8>> {
    one.iter()
        .filter(move |(_, entry)| (**entry == Entry::Directory) == directories)
        .map(|(path, _)| path)
        .filter(|path| !two.contains_key(*path))
}

/// How many `paths` there are, and the first of them.
fn said<'a>(what: &str, mut paths: impl Iterator<Item = &'a Vec<u8>>) -> Option<String> {
    let first = String::from_utf8_lossy(paths.next()?);
    match paths.count() {
        0 => Some(format!("{what}: `{first}`")),
        others => Some(format!("{what}: `{first}` and {others} others")),
    }
}

impl Run {
    /// Lets `reader` have all of the output.
    fn read<T>(mut self, reader: impl Fn(&mut dyn Read) -> Result<T>) -> Result<T> {
        let read = reader(&mut self.stdout);
        let status = self.finish()?;
        let read = read.context("it does not write a tar archive")?;
        ensure!(status.success(), "{status}");
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::{difference, files};

    fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in entries {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            if path.ends_with('/') {
                header.set_entry_type(tar::EntryType::Directory);
            }
            builder
                .append_data(&mut header, path, content.as_bytes())
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn differ(one: &[(&str, &str)], two: &[(&str, &str)]) -> String {
        let read = |entries| files(&mut archive(entries).as_slice()).unwrap();
        difference(&read(one), &read(two))
    }

    #[test]
    fn what_differs_is_named() {
        let git = [("d/", ""), ("d/a", "1"), ("d/b", "2")];
        assert_eq!(differ(&git, &git), "same files, other headers");
        assert_eq!(
            differ(&git, &git[1..]),
            "same files, other headers; directories missing: `d`"
        );
        assert_eq!(
            differ(&git, &[("d/a", "3"), ("d/c", "2"), ("d/", "")]),
            "files missing: `d/b`; files more: `d/c`; files with other contents: `d/a`"
        );
    }
}
