//! Progress: a line on a terminal or where it is asked for, and nothing in pipes.

use std::{
    io::{self, ErrorKind, Read, Write},
    thread,
    time::{Duration, SystemTime},
};

use sluice_base::{
    progress::{Console, Terminal},
    {
        buffer::spool::{Spool, Spooled},
        error::{Error, Result},
        working_directory::WorkingDirectory,
    },
};
use sluice_fleet::{
    apply::{self, ApplyOptions, Archive, Reports, TargetDirectory},
    bucket::{self, Bucket, BucketUrl, Hashing, Listed, Sent, Take, Version, Versioned},
    channels::{
        self, ArchiveMaker, ChannelAddress, Conditions, History, Limits, Made, PublishedCommit,
        Update,
    },
};

use crate::{
    support::process::Output,
    support::{Repo, at_once, installed, skip},
};

/// Longer than any task is silent.
const LONG: Duration = Duration::from_millis(1100);

/// On a pipe there is nothing to see unless it is asked for, and it is never mixed up with the
/// archive.
#[test]
#[ignore = "slow"]
fn archives() {
    let repo = Repo::from("big");
    let expected = repo.archive(["HEAD"]).success();
    let slowly = |options: &str| {
        let output = repo.shell(&format!("git-sluice {options} HEAD | {{ sleep 1; cat; }}"));
        assert!(output.stdout == expected, "{output}");
        output.messages()
    };
    let options = [
        "",
        "--no-progress",
        "--progress --no-progress",
        "--progress",
    ];
    let [silent @ .., shown] = at_once(options, slowly);
    assert_eq!(silent, ["", "", ""]);
    assert!(shown.starts_with("\rArchiving: "), "{shown:?}");
    assert_done(&shown);
}

/// Nobody types one.
#[test]
fn an_archive_does_not_come_from_a_terminal() {
    let repo = Repo::scratch();
    let command = "git-sluice apply d; git-sluice apply d -; echo $?";
    let Some(shown) = on_a_terminal(&repo, command) else {
        return;
    };
    let shown = String::from_utf8(shown.success()).expect("text");
    let refused = "fatal: cannot read an archive from a terminal\r\n\
                   hint: git sluice HEAD | git sluice apply d\r\n";
    assert_eq!(shown, format!("{refused}{refused}128\r\n"));
}

/// The last line is complete, and ended.
#[track_caller]
fn assert_done(shown: &str) {
    let line = shown.strip_suffix('\n').unwrap_or_default();
    assert!(line.trim_end().ends_with(", done."), "{shown:?}");
}

#[test]
#[ignore = "slow"]
fn archives_that_are_applied() {
    let repo = Repo::copy("big");
    let _ = repo.sluice(["-o", "a.tar", "HEAD"]).success();
    let slowly = |options: &str| {
        let output = repo.shell(&format!(
            "{{ head -c 300000 a.tar; sleep 1.3; tail -c +300001 a.tar; }} | \
             git-sluice apply tree{} {options}",
            options.len()
        ));
        assert_eq!(output.code(), 0, "{output}");
        output.messages()
    };
    let [silent @ .., shown] = at_once(["", "--progress --no-progress", "--progress"], slowly);
    assert_eq!(silent, ["", ""]);
    assert!(shown.starts_with("\rApplying: "), "{shown:?}");
    assert!(shown.contains(" entries"), "{shown:?}");
    assert_done(&shown);
}

/// What a terminal of 30 columns shows of `script`.
fn on_a_terminal(repo: &Repo, script: &str) -> Option<Output> {
    if !installed("script") {
        skip("there is no 'script' that makes a terminal");
        return None;
    }
    repo.write("script", format!("stty cols 30; {script}"));
    Some(repo.shell("script -qec 'sh script' /dev/null </dev/null"))
}

#[test]
#[ignore = "slow"]
fn terminals() {
    let repo = Repo::copy("big");
    let command = "git-sluice HEAD | { sleep 1.2; cat >/dev/null; }";
    let Some(shown) = on_a_terminal(&repo, command) else {
        return;
    };
    let text = String::from_utf8_lossy(&shown.stdout);
    let lines: Vec<_> = text.split(['\r', '\n']).collect();
    assert!(lines.len() > 2, "{shown}");
    for line in lines {
        let is_line = line.starts_with("Archiving: ") && line.len() < 30;
        assert!(is_line || line.is_empty(), "{shown}");
    }
    let silent = command.replace("HEAD", "--no-progress HEAD");
    let shown = on_a_terminal(&repo, &silent).expect("there is one");
    assert_eq!(shown.stdout, b"", "{shown}");
}

/// Two programs of a pipeline would overwrite each other's line.
#[test]
fn terminals_that_another_process_draws_on() {
    if !installed("flock") {
        return skip("there is no 'flock' that keeps the terminal");
    }
    let repo = Repo::copy("big");
    let command = "flock \"$(tty <&2)\" git-sluice HEAD | { sleep 1.2; cat >/dev/null; }";
    if let Some(shown) = on_a_terminal(&repo, command) {
        assert_eq!(shown.stdout, b"", "{shown}");
    }
}

/// What is shown by `run` until its end or failure.
fn shown(run: impl FnOnce(Reports<'_>) -> Result<()>) -> (String, Result<()>) {
    let mut messages = Vec::new();
    let outcome = run(Reports {
        differences: &mut io::sink(),
        console: Console::new(&mut messages, Some(Terminal::NONE)),
    });
    (String::from_utf8(messages).expect("text"), outcome)
}

/// Reads slowly where the second half begins.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.len() < self.1 {
            thread::sleep(LONG);
            self.1 = 0;
        }
        self.0.read(into)
    }
}

fn tree(top: &Repo) -> TargetDirectory {
    TargetDirectory {
        directory: WorkingDirectory::Current.file(top.path().join("tree")),
        threads: None,
    }
}

#[test]
#[ignore = "slow"]
fn files_show_how_much_is_left() {
    let archive = Repo::from("big").sluice(["HEAD"]).success();
    let half = archive.len() / 2;
    let apply = |bytes: &[u8]| {
        let top = Repo::scratch();
        shown(|reports| {
            let archive = Archive {
                content: Slow(bytes, half),
                len: Some(archive.len() as u64),
                origin: None,
            };
            apply::apply(&tree(&top), archive, ApplyOptions::default(), reports)
        })
    };
    let (text, outcome) = apply(&archive);
    assert!(outcome.is_ok(), "{text}");
    let first = text.split('\r').nth(1).unwrap_or_default();
    for part in [
        "Applying: ",
        " %, ",
        " of ",
        "iB/s, ",
        " left, ",
        " entries",
    ] {
        assert!(first.contains(part), "{text:?}");
    }
    assert_done(&text);
    // A failure leaves the line, and ends it.
    let (text, outcome) = apply(&archive[..archive.len() - half / 2]);
    assert!(outcome.is_err(), "{text}");
    assert!(
        text.trim_end().ends_with(" entries") && text.ends_with('\n'),
        "{text:?}"
    );
}

/// A bucket that takes its time.
struct SlowBucket(Box<dyn Bucket>);

impl Bucket for SlowBucket {
    fn read(&self, name: &str, max: u64) -> Result<Option<Versioned>> {
        self.0.read(name, max)
    }

    fn replace(&self, name: &str, bytes: &[u8], known: Option<&Version>) -> Result<bool> {
        self.0.replace(name, bytes, known)
    }

    fn put(&self, name: &str, content: &Spooled, sent: &mut Sent<'_>) -> Result<()> {
        thread::sleep(LONG);
        sent(content.size() / 2);
        self.0.put(name, content, sent)
    }

    fn fetch(&self, name: &str, size: u64, take: &mut Take<'_>) -> Result<bool> {
        thread::sleep(LONG);
        self.0.fetch(name, size, take)
    }

    fn written(&self, name: &str) -> Result<Option<SystemTime>> {
        self.0.written(name)
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.0.list(folder)
    }

    fn has_folder(&self, name: &str) -> Result<bool> {
        self.0.has_folder(name)
    }

    fn create(&self, folder: &str, probe: &str) -> Result<()> {
        self.0.create(folder, probe)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name)
    }
}

/// Has one archive.
struct Archives {
    commit: String,
    archive: Vec<u8>,
}

impl ArchiveMaker for Archives {
    fn target(&self) -> PublishedCommit {
        PublishedCommit {
            commit: self.commit.clone(),
            tree: self.commit.clone(),
            time: 0,
        }
    }

    fn filters(&self) -> String {
        "f".repeat(64)
    }

    fn make(&mut self, _base: Option<&str>, _console: Console<'_>) -> Result<Made> {
        let failed = |error: io::Error| Error::fatal("no memory").caused_by(error);
        let (mut spool, mut hashing) = (Spool::new(usize::MAX), Hashing::default());
        spool.write_all(&self.archive).map_err(failed)?;
        hashing.update(&self.archive);
        Ok(Made {
            content: spool.finish().map_err(failed)?,
            sha256: hashing.finish()?,
            entries: 1,
            deletions: 0,
            varies: false,
        })
    }

    fn standing(&self, _: &PublishedCommit, _: &[&str]) -> Result<History> {
        Ok(History::Ahead)
    }
}

#[test]
#[ignore = "slow"]
fn uploads_and_downloads() {
    let (repo, top) = (Repo::from("basic"), Repo::scratch());
    let place = ChannelAddress {
        bucket: BucketUrl::new(top.path().to_str().expect("our own")),
        ..ChannelAddress::parse("bucket/main").expect("it is one")
    };
    let bucket =
        bucket::open(&place.bucket, &WorkingDirectory::Current, LONG).expect("a directory");
    let bucket = SlowBucket(bucket);
    let mut archives = Archives {
        commit: repo.git(["rev-parse", "HEAD"]),
        archive: repo.sluice(["HEAD"]).success(),
    };
    let limits = Limits {
        steps: 1,
        part: 1.0,
    };
    let conditions = Conditions {
        limits,
        force: false,
        republish: false,
        create: true,
    };
    let (text, outcome) = shown(|reports| {
        channels::publish(&bucket, &place, &mut archives, conditions, reports.console).map(drop)
    });
    assert!(outcome.is_ok(), "{text}");
    assert!(text.starts_with("\rUploading: 50 %, "), "{text:?}");
    assert_done(&text);
    let update = Update {
        place: &place,
        directory: &tree(&top),
        commit: None,
        options: ApplyOptions::default(),
    };
    let (text, outcome) = shown(|reports| channels::update(&bucket, &update, reports));
    assert!(outcome.is_ok(), "{text}");
    assert!(text.starts_with("\rFetching: 0 %, 0.0 of "), "{text:?}");
    assert_done(&text);
}

/// A screen that cannot be written to stops nobody.
#[test]
fn nobody_looks() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (archive, top) = (
        Repo::from("big").sluice(["HEAD"]).success(),
        Repo::scratch(),
    );
    let (mut differences, mut broken) = (io::sink(), Broken);
    let reports = Reports {
        differences: &mut differences,
        console: Console::new(&mut broken, Some(Terminal::NONE)),
    };
    let archive = Archive {
        content: Slow(&archive, archive.len() / 2),
        len: None,
        origin: None,
    };
    let applied = apply::apply(&tree(&top), archive, ApplyOptions::default(), reports);
    applied.unwrap_or_else(|error| panic!("{error}"));
}
