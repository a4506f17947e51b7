//! Applies an archive to a directory, so that a directory with the tree of one commit holds the
//! tree of another commit.
//!
//! A delta is checked to its end before the first change. For this it is read twice, the second time from a copy
//! (`recording`). A delta that is incomplete or violates the rules changes nothing. A full archive may be large: it is
//! read once, and each entry is checked before it is written, unless the directory has files of the user. Then it is
//! checked to its end as well, because it must not overwrite or delete one of them (`guard`). The calling thread reads,
//! deletes and makes directories; several threads write files (`writers`).
//!
//! A failed or killed application leaves a directory whose state is neither the base nor the target. Applying the
//! same archive again, complete, updates the directory, after any number of interruptions; so does a full archive of any
//! commit.
//!
//! Nothing outside the directory is touched, whatever the archive says and whatever links the directory holds:
//! every operation goes through a handle on the directory, name by name. No git object is read, so no repository
//! is needed.
//!
//! # State
//!
//! The file `.git-sluice` in the directory states in one line what the directory holds: `holds <commit>`, or
//! `applying <base> <target>` from before the first change until after the last, with `-` for the base of a full
//! archive. A third word is the channel that all of the content came from ([`Origin`]); an archive of a channel applies only
//! to what came from the same channel. A delta applies only to its base. A user who has created the base by other means writes the file.
//! Only the applying user may have written it.
//!
//! The file `.git-sluice.files` lists what archives have brought (`list`). With the list, the directory can be compared, and a
//! full archive can take the place of what is there: a listed file stays if it is the same, any other listed file is deleted or
//! written again, and nothing else is touched (`former`). Without the list, as after a base that was made by other means, a full
//! archive goes into an empty directory only.
//!
//! # Format
//!
//! A tar archive as git writes it, plain or compressed with gzip or Zstandard. Its global pax headers contain, in
//! this order:
//!
//! 1. `comment=<commit>`, as in every archive of git; absent if the target is a tree.
//! 2. `GITSLUICE.delta=1`, the version; `GITSLUICE.base=<id>` and `GITSLUICE.target=<id>`, of commits or
//!    of trees; `GITSLUICE.deletions=pax` or `none`; `GITSLUICE.filters=<hash>`, or `none` if the filters have no hash. These
//!    five and no others; the first versions did not write the last one.
//! 3. With `pax`, in as many headers as necessary, each below 1 MiB: `GITSLUICE.delete.<number>=<path>`, once for each
//!    path, numbered from 1. The path of a directory ends in a slash and follows all paths below the directory. Then
//!    `GITSLUICE.add.<number>=<path>`, once for each file or link that the base lacks, or may lack because of its content.
//!
//! Then the entries: directories, files and symbolic links. A path whose type differs from the base
//! is deleted and has an entry of its own, directories too. With `none` the archive lacks its deletions and cannot
//! be applied.
//!
//! An archive without `GITSLUICE.delta` is a full one. It has a header with `GITSLUICE.filters=<hash>` if it was made with
//! `--pax-notes`, and otherwise the bytes of git.

mod batch;
mod clear;
mod cursor;
mod delta;
mod extract;
mod former;
mod guard;
mod hash;
mod input;
mod large;
mod list;
mod list_writer;
mod state_files;
mod path;
mod pax;
mod progress;
mod reader;
mod record;
mod recording;
mod root;
mod state;
mod steps;
mod threads;
mod verify;
mod writer;
mod writers;

use std::{
    io::{Read, Write},
    os::unix::ffi::OsStrExt,
};

use sluice_base::{
    error::{Error, Result, format_bytes, printable_path, push_line},
    progress::Console,
};

use clear::clear;
pub use clear::open_directories;
use delta::ArchiveHeader;
pub use delta::{ChannelOrigin, FilterHash, Id, Origin};
use extract::extract;
use former::Former;
use guard::{Guard, InTheWay};
use list::{List, LiveRecords};
use list_writer::{ListWriter, tidy};
use progress::{ApplyProgress, Count};
use reader::{ArchiveReader, BoxedReader, Item};
use recording::Recording;
pub use root::{LockedDirectory, TargetDirectory};
pub use state::{Content, DirectoryState};
use state::{Files, Verdict};
use state_files::{LIST, NEW_LIST};
use steps::Steps;
use verify::verify;

const APPLYING: &str = "Applying";

/// Whether the files in the directory are compared with what archives have brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// They are not read.
    #[default]
    Nothing,
    /// A difference ends the run.
    Verify,
    /// Where something differs, a full archive takes the place of everything that archives have brought.
    Repair,
}

/// What the user wants done with the files in the directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApplyOptions {
    /// Whether they are compared.
    pub check: Check,
    /// Whether files of the user that are in the way are lost.
    pub overwrite: bool,
}

/// What the caller hears.
pub struct Reports<'a> {
    /// Receives a line about each path that differs.
    pub differences: &'a mut dyn Write,
    /// Receives messages to the user, and shows progress.
    pub console: Console<'a>,
}

/// An archive that is applied.
pub struct Archive<R> {
    /// The bytes.
    pub content: R,
    /// The number of bytes, if it is known.
    pub len: Option<u64>,
    /// The channel that the archive is from.
    pub origin: Option<ChannelOrigin>,
}

/// An archive whose header is read.
struct Opened<'a> {
    /// The first item after the header.
    first: Option<Item>,
    reader: BoxedReader<'a>,
    /// The number of bytes, if it is known.
    len: Option<u64>,
    read: Count,
}

/// An archive whose header is read, and which is recorded as it is read on.
struct Incoming<'a> {
    claim: ArchiveHeader,
    opened: Opened<'a>,
    recording: Recording,
}

/// Apply `archive` to `directory`, which is created for a full archive.
pub fn apply(
    directory: &TargetDirectory,
    archive: Archive<impl Read>,
    options: ApplyOptions,
    reports: Reports<'_>,
) -> Result<()> {
    let incoming = Incoming::read(archive)?;
    let root = match incoming.claim.base {
        None => LockedDirectory::create(directory)?,
        Some(ref base) => LockedDirectory::open(directory).map_err(|error| {
            if directory.directory.path.exists() {
                return error;
            }
            let hint = format!("the archive is a delta: apply the full archive of {base} first");
            error.hinted(hint)
        })?,
    };
    incoming.apply(&root, options, reports)
}

/// Apply `archive` to the directory `root`.
pub fn apply_locked(
    root: &LockedDirectory,
    archive: Archive<impl Read>,
    options: ApplyOptions,
    reports: Reports<'_>,
) -> Result<()> {
    Incoming::read(archive)?.apply(root, options, reports)
}

impl<'a> Incoming<'a> {
    fn read(archive: Archive<impl Read + 'a>) -> Result<Self> {
        let (recording, read) = (Recording::new(), Count::default());
        let mut reader = ArchiveReader::new(input::plain(recording.of(read.of(archive.content)))?);
        let (claim, first) = ArchiveHeader::read(&mut reader)?;
        let claim = match archive.origin {
            Some(channel) => claim.of_channel(channel),
            None => claim,
        };
        let opened = Opened {
            first,
            reader,
            len: archive.len,
            read,
        };
        Ok(Self {
            claim,
            opened,
            recording,
        })
    }

    fn apply(
        self,
        root: &LockedDirectory,
        options: ApplyOptions,
        mut reports: Reports<'_>,
    ) -> Result<()> {
        let (claim, opened) = (&self.claim, self.opened);
        let verdict = judge(root, claim, options.check, &mut reports)?;
        if verdict == Verdict::Nothing {
            self.recording.stop();
            opened.reader.drain();
            return Ok(());
        }
        if options.check == Check::Repair && verdict == Verdict::Replace {
            open_directories(root)?;
        }
        let console = &mut reports.console;
        let guard = match claim.base {
            Some(_) => Guard::of_delta(root, claim)?,
            None => Guard::of_full(root)?,
        };
        let (opened, in_the_way) = if claim.base.is_some() || guard.is_some() {
            let in_the_way = check_first(claim, guard, opened, options.overwrite, console)?;
            (reopen(self.recording)?, in_the_way)
        } else {
            // A full archive, which may be large, and a directory without files of the user.
            self.recording.stop();
            (opened, InTheWay::default())
        };
        let (len, read) = (opened.len, opened.read.clone());
        let progress = ApplyProgress::new(console.reborrow(), APPLYING, len, read);
        let application = Application {
            root,
            claim,
            in_the_way,
        };
        application.run(verdict, opened, progress)
    }
}

/// Checks an archive to its end. Returns what is in the way of it, if the user accepts to `overwrite` that.
fn check_first(
    claim: &ArchiveHeader,
    mut guard: Option<Guard<'_>>,
    mut opened: Opened<'_>,
    overwrite: bool,
    console: &mut Console<'_>,
) -> Result<InTheWay> {
    let mut progress = ApplyProgress::new(console.reborrow(), "Checking", opened.len, opened.read);
    Steps::new(claim).each(opened.first, &mut opened.reader, |step, reader| {
        progress.entry();
        guard.as_mut().map_or(Ok(()), |it| it.see(&step, reader))
    })?;
    progress.finish();
    guard.map_or(Ok(InTheWay::default()), |guard| guard.finish(overwrite))
}

/// Opens the archive of a `recording` again, all of which was read.
fn reopen(recording: Recording) -> Result<Opened<'static>> {
    let read = Count::default();
    let (content, len) = recording.replay()?;
    let mut reader = ArchiveReader::new(input::plain(read.of(content))?);
    let (_, first) = ArchiveHeader::read(&mut reader)?;
    Ok(Opened {
        first,
        reader,
        len: Some(len),
        read,
    })
}

/// Whether the directory `root` has files of the user.
pub fn has_files_of_user(root: &LockedDirectory) -> Result<bool> {
    Ok(Guard::of_full(root)?.is_some())
}

/// Check that `archives`, applied one after the other, overwrite or delete no file of the user.
pub fn check_files_of_user<R: Read>(
    root: &LockedDirectory,
    archives: impl IntoIterator<Item = R>,
) -> Result<()> {
    let mut archives = archives.into_iter().peekable();
    if archives.peek().is_none() {
        return Ok(());
    }
    let Some(mut guard) = Guard::of_full(root)? else {
        return Ok(());
    };
    for archive in archives {
        let mut reader = ArchiveReader::new(input::plain(archive)?);
        let (claim, first) = ArchiveHeader::read(&mut reader)?;
        Steps::new(&claim).each(first, &mut reader, |step, reader| guard.see(&step, reader))?;
    }
    guard.finish(false).map(drop)
}

/// Check that [`apply`] takes the archive of these bytes, as far as the archive itself decides.
pub fn check_archive(content: impl Read) -> Result<()> {
    let mut reader = ArchiveReader::new(input::plain(content)?);
    let (claim, first) = ArchiveHeader::read(&mut reader)?;
    Steps::new(&claim).each(first, &mut reader, |_, _| Ok(()))
}

/// Decide about an archive with this `claim`.
fn judge(
    root: &LockedDirectory,
    claim: &ArchiveHeader,
    check: Check,
    reports: &mut Reports<'_>,
) -> Result<Verdict> {
    let state = DirectoryState::read(root.directory())?;
    let verdict = DirectoryState::judge(state.as_ref(), files(root, state.as_ref())?, claim)?;
    let is_same = state.as_ref().is_some_and(|state| state.is_held(claim));
    let is_full = claim.base.is_none();
    let held = match (state, check) {
        (_, Check::Nothing) | (None, _) => return Ok(verdict),
        // A full archive takes the place of what an interrupted application has left.
        (Some(state), _) if is_full && state.is_on_the_way() => return Ok(verdict),
        (state, Check::Verify | Check::Repair) => DirectoryState::held(state)?,
    };
    let (differences, console) = (&mut *reports.differences, &mut reports.console);
    match compare(root, &held, differences, text_line, console)? {
        None if check == Check::Repair && is_same => Ok(Verdict::Nothing),
        None => Ok(verdict),
        Some(_) if check == Check::Repair && is_full => Ok(Verdict::Replace),
        Some(differs) => Err(differs),
    }
}

/// What is known of the files in a directory in `state`.
fn files(root: &LockedDirectory, state: Option<&DirectoryState>) -> Result<Files> {
    if root.is_bare()? {
        return Ok(Files::None);
    }
    let root = root.directory();
    let is_listed = match state.map(|state| &state.content) {
        None => false,
        Some(Content::Holds(held)) => List::of(root, &[held])?.is_some(),
        Some(Content::Applying { .. }) => {
            List::open(root, LIST)?.is_some() || List::open(root, NEW_LIST)?.is_some()
        }
    };
    Ok(if is_listed {
        Files::Listed
    } else {
        Files::Unlisted
    })
}

/// What the directory `root` says that it holds. `None` if it says nothing.
pub fn state(root: &LockedDirectory) -> Result<Option<DirectoryState>> {
    DirectoryState::read(root.directory())
}

/// Makes the line about a path that differs: from the path, and from what is wrong with it in a word.
pub type DifferenceLine = fn(&[u8], &str) -> Vec<u8>;

/// The line for people.
pub fn text_line(path: &[u8], difference: &str) -> Vec<u8> {
    let mut line = Vec::new();
    let text = format_bytes("{} {}", &[difference.as_bytes(), &printable_path(path)]);
    push_line(&mut line, "", &text);
    line
}

/// Compare `directory` with what archives have brought into it, and write a `line` about each path that differs.
pub fn check(
    directory: &TargetDirectory,
    differences: &mut dyn Write,
    line: DifferenceLine,
    console: &mut Console<'_>,
) -> Result<()> {
    let root = LockedDirectory::open(directory)?;
    check_locked(&root, differences, line, console)
}

/// Compare the directory `root` like [`check`].
pub fn check_locked(
    root: &LockedDirectory,
    differences: &mut dyn Write,
    line: DifferenceLine,
    console: &mut Console<'_>,
) -> Result<()> {
    let held = DirectoryState::held(DirectoryState::read(root.directory())?)?;
    compare(root, &held, differences, line, console)?.map_or(Ok(()), Err)
}

/// Report each path that differs from what archives have brought of `held`. Returns the error of a directory that
/// differs.
fn compare(
    root: &LockedDirectory,
    held: &Id,
    differences: &mut dyn Write,
    line: DifferenceLine,
    console: &mut Console<'_>,
) -> Result<Option<Error>> {
    let found = verify(root, held, console)?;
    let mut lines = Vec::new();
    for (path, difference) in &found {
        lines.extend(line(path, difference.as_str()));
    }
    let written = differences
        .write_all(&lines)
        .and_then(|()| differences.flush());
    written.map_err(|error| Error::write(&error))?;
    let name = root.directory().name.as_os_str().as_bytes();
    let differs = || Error::directory_differs(found.len(), &held.to_string(), name);
    Ok((!found.is_empty()).then(differs))
}

/// An archive that may be applied.
struct Application<'a> {
    root: &'a LockedDirectory,
    claim: &'a ArchiveHeader,
    /// What the user wants to lose.
    in_the_way: InTheWay,
}

impl Application<'_> {
    fn run(self, verdict: Verdict, opened: Opened<'_>, progress: ApplyProgress<'_>) -> Result<()> {
        match &self.claim.base {
            None => self.full(verdict, opened, progress),
            Some(base) => self.delta(base, opened, progress),
        }
    }

    /// Apply a full archive: it replaces the files of earlier archives, or into an empty directory.
    fn full(self, verdict: Verdict, opened: Opened<'_>, progress: ApplyProgress<'_>) -> Result<()> {
        let directory = self.root.directory();
        let state = DirectoryState::read(directory)?;
        let former = match &state {
            Some(state) if verdict == Verdict::Replace && !state.is_on_the_way() => {
                Former::of(directory)?
            }
            _ => None,
        };
        // What says that it is not whole and takes any full archive may be cleared first. On a full disk, that makes room.
        let is_broken = state.is_some_and(|state| state.takes_full_archives_only());
        if !is_broken {
            self.begin()?;
        }
        // Directories of archives are deleted only once nothing of the user is in them.
        self.in_the_way.remove(self.root).map_err(not_whole)?;
        if verdict == Verdict::Replace && former.is_none() {
            LiveRecords::of_both(directory)
                .and_then(|live| clear(self.root, &live, |_| Ok(())))
                .map_err(not_whole)?;
            // Without the new list, the old one would name again what that says is deleted.
            if List::open(directory, NEW_LIST)?.is_some() {
                state_files::remove(directory, LIST)?;
            }
        }
        if is_broken {
            self.begin()?;
        }
        let list = ListWriter::create(directory, &self.claim.target)?;
        if former.is_none() {
            // All that it names is deleted: whatever is there after an interruption is the user's.
            state_files::remove(directory, LIST)?;
        }
        self.extract(Some(list), former, opened, progress)
    }

    /// Apply a delta.
    fn delta(self, base: &Id, opened: Opened<'_>, progress: ApplyProgress<'_>) -> Result<()> {
        let (root, target) = (self.root.directory(), &self.claim.target);
        // An earlier application may have ended just before its last state.
        let listed = tidy(root, &[base, target])?;
        if listed.is_none() {
            // The list of another tree would be taken for the list of this one after an interruption.
            state_files::remove(root, LIST)?;
            state_files::remove(root, NEW_LIST)?;
        }
        self.begin()?;
        // A full archive that follows a full disk needs room for its state before it may delete anything.
        DirectoryState::applied(self.claim).prepare(root)?;
        self.in_the_way.remove(self.root).map_err(not_whole)?;
        let list = listed.map(|header| ListWriter::go_on(root, target, &header));
        self.extract(list.transpose()?, None, opened, progress)
    }

    fn begin(&self) -> Result<()> {
        DirectoryState::applying(self.claim).write(self.root.directory())
    }

    /// Apply the steps of the archive after the state `applying` was written, then write the state `holds`.
    fn extract(
        self,
        list: Option<ListWriter>,
        former: Option<Former>,
        mut opened: Opened<'_>,
        mut progress: ApplyProgress<'_>,
    ) -> Result<()> {
        let (root, directory) = (self.root, self.root.directory());
        extract(
            root,
            list.as_ref(),
            former,
            Steps::new(self.claim),
            opened.first,
            &mut opened.reader,
            &mut progress,
        )
        .and_then(|()| root.sync())
        .map_err(not_whole)?;
        progress.finish();
        if let Some(list) = list {
            list.complete(directory)?;
        }
        DirectoryState::applied(self.claim).write(directory)
    }
}

/// The `error` that has left the directory without some files. Its hint, if it has one, is what to do first.
fn not_whole(error: Error) -> Error {
    let first = error.hint().map(|hint| format_bytes("{}, and ", &[hint]));
    error.hinted(format_bytes(
        "the update was interrupted: {}apply the archive again",
        &[&first.unwrap_or_default()],
    ))
}
