//! `--apply`: applies an archive to a directory, so that a directory with the tree of one commit holds the
//! tree of another commit.
//!
//! A delta is checked to its end before the first change. For this it is read twice, the second time from a copy
//! (`recording`). A delta that is incomplete or violates the rules changes nothing. A full archive may be large
//! and goes only into an empty directory: it is read once, and each entry is checked before it is written.
//!
//! A failed or killed application leaves a directory whose state is neither the base nor the target. Applying the
//! complete archive again completes the directory, after any number of interruptions.
//!
//! Nothing outside the directory is touched, whatever the archive says and whatever links the directory holds:
//! every operation goes through a handle on the directory, name by name. No git object is read, so no repository
//! is needed.
//!
//! # State
//!
//! The file `.git-sluice` in the directory states in one line what the directory holds: `holds <commit>`, or
//! `applying <base> <target>` from before the first change until after the last, with `-` for the base of a full
//! archive. A delta applies only to its base, a full archive only to a directory without other files. A user who
//! has created the base by other means writes the file by hand. Only the applying user may have written it.
//! The other files of the directory are not compared with the base.
//!
//! # Format
//!
//! A tar archive as git writes it, plain or compressed with gzip or Zstandard. Its global pax headers contain, in
//! this order:
//!
//! 1. `comment=<commit>`, as in every archive of git; absent if the target is a tree.
//! 2. `GITSLUICE.delta=1`, the version; `GITSLUICE.base=<id>` and `GITSLUICE.target=<id>`, of commits or
//!    of trees; `GITSLUICE.deletions=pax`, `whiteout` or `none`. These four and no others.
//! 3. With `pax`, in as many headers as necessary, each below 1 MiB: `GITSLUICE.delete=<path>`, once for each
//!    path. The path of a directory ends in a slash and follows all paths below the directory.
//!
//! Then the entries: with `whiteout`, first an empty file `<directory>/.wh.<name>` for each path to be deleted
//! with everything below it; then directories, files and symbolic links. A path whose type differs from the base
//! is deleted and has an entry of its own, directories too. With `none` the archive lacks its deletions and cannot
//! be applied.
//!
//! An archive without `GITSLUICE.delta` is a full one.

mod cursor;
mod delta;
mod extract;
mod input;
mod path;
mod pax;
mod reader;
mod recording;
mod root;
mod state;
mod steps;
mod writers;

use std::io::{BufRead, Read, Write};

use crate::{error::Result, process::directory::NamedFile};

use delta::Claim;
use extract::extract;
use reader::{Item, Reader};
use recording::Recording;
use root::Root;
use state::{State, Verdict};
use steps::Steps;

const HINT: &str = "the directory is not whole: apply the complete archive again";

/// Apply `archive` to `directory`, which is created for a full archive. Each deleted or written path is
/// reported to `told`.
pub fn apply(
    directory: &NamedFile,
    archive: impl Read,
    told: Option<&mut (dyn Write + 'static)>,
) -> Result<()> {
    let recording = Recording::new();
    let mut reader = Reader::new(input::plain(recording.of(archive))?);
    let (claim, first) = Claim::read(&mut reader)?;
    let root = Root::open(directory, claim.base.is_none())?;
    let state = State::read(root.directory())?;
    if State::judge(state.as_ref(), root.is_bare()?, &claim)? == Verdict::Nothing {
        recording.stop();
        reader.drain();
        return Ok(());
    }
    if claim.base.is_none() {
        recording.stop();
        return carry_out(&root, &claim, first, &mut reader, told);
    }
    Steps::new(&claim).each(first, &mut reader, |_, _| Ok(()))?;
    let mut reader = Reader::new(input::plain(recording.replay()?)?);
    let (claim, first) = Claim::read(&mut reader)?;
    carry_out(&root, &claim, first, &mut reader, told)
}

/// Apply the steps of the archive, between writing the state `applying` and writing the state `holds`.
fn carry_out<R: BufRead>(
    root: &Root,
    claim: &Claim,
    first: Option<Item>,
    reader: &mut Reader<R>,
    told: Option<&mut (dyn Write + 'static)>,
) -> Result<()> {
    State::applying(claim).write(root.directory())?;
    extract(root, claim, first, reader, told)
        .and_then(|()| root.sync())
        .map_err(|error| error.hinted(HINT))?;
    State::Holds(claim.target.clone()).write(root.directory())
}
