//! `--apply`: an archive over a directory, so that what held the tree of one commit holds that of
//! another.
//!
//! A delta is checked to its end before the first change is made: it is read twice, the second time from a
//! copy (`recording`). One that is incomplete, or asks for what it may not, changes nothing. A full archive
//! may be large and goes only into an empty directory: it is read once, and each entry is checked before it
//! is written.
//!
//! An application that fails or is killed leaves a directory that says of itself that it is neither the
//! base nor the target; applying the complete archive makes it whole, however often this was cut short.
//!
//! Nothing outside of the directory is touched, whatever the archive says and whatever links are in the
//! directory: all that is done goes through a handle on it, name by name. No object of git is looked
//! at, so that this works where there is no repository.
//!
//! # State
//!
//! What the directory holds is said by a file in it, `.git-sluice`, in one line: `holds <commit>`, or
//! `applying <base> <target>` from before the first change until after the last, with `-` for the base
//! of a full archive. A delta goes only over its base; a full archive only into a directory with nothing
//! else in it. Who has laid down a base by other means writes the file himself. Only the user who applies
//! may have written it; what else the directory holds is not compared with the base.
//!
//! # Format
//!
//! A tar archive as git writes it, or the same compressed with gzip or Zstandard, whose global pax
//! headers say, in this order:
//!
//! 1. `comment=<commit>`, as in every archive of git's; absent if the target is a tree.
//! 2. `GITSLUICE.delta=1`, the version; `GITSLUICE.base=<id>` and `GITSLUICE.target=<id>`, of commits or
//!    of trees; `GITSLUICE.deletions=pax`, `whiteout` or `none`. These four and no others.
//! 3. With `pax`, in as many headers as it takes, each below 1 MiB: `GITSLUICE.delete=<path>`, once for
//!    each path. A directory's ends in a slash and comes after all that is below it.
//!
//! Then the entries: with `whiteout`, first an empty file `<directory>/.wh.<name>` for each path to be
//! deleted, with all that is below it; then directories, files and symbolic links. What is of another
//! kind than in the base is deleted and has an entry of its own, directories too. With `none` the
//! deletions are elsewhere, and nothing can be applied.
//!
//! An archive without `GITSLUICE.delta` is a full one.

mod delta;
mod extract;
mod input;
mod path;
mod pax;
mod reader;
mod recording;
mod state;
mod steps;
mod tree;

use std::{
    io::{BufRead, Read, Write},
    path::Path,
};

use crate::error::Result;

use delta::Claim;
use extract::Extraction;
use reader::{Item, Reader};
use recording::Recording;
use state::{State, Verdict};
use steps::Steps;
use tree::Tree;

const HINT: &str = "the directory is not whole: apply the complete archive again";

/// Apply `archive` to `directory`, which a full archive may bring along; say of each path to `told` what
/// was done.
pub fn apply(
    directory: &Path,
    archive: impl Read,
    told: Option<&mut (dyn Write + 'static)>,
) -> Result<()> {
    let recording = Recording::new();
    let mut reader = Reader::new(input::plain(recording.of(archive))?);
    let (claim, first) = Claim::read(&mut reader)?;
    let mut tree = Tree::open(directory, claim.base.is_none())?;
    let state = State::read(tree.root())?;
    if State::judge(state.as_ref(), tree.is_bare()?, &claim)? == Verdict::Nothing {
        recording.stop();
        reader.drain();
        return Ok(());
    }
    if claim.base.is_none() {
        recording.stop();
        return extract(&mut tree, &claim, first, &mut reader, told);
    }
    Steps::new(&claim).each(first, &mut reader, |_, _| Ok(()))?;
    let mut reader = Reader::new(input::plain(recording.replay()?)?);
    let (claim, first) = Claim::read(&mut reader)?;
    extract(&mut tree, &claim, first, &mut reader, told)
}

/// Do what the archive asks for, between the state of an application and that of its end.
fn extract<R: BufRead>(
    tree: &mut Tree,
    claim: &Claim,
    first: Option<Item>,
    reader: &mut Reader<R>,
    told: Option<&mut (dyn Write + 'static)>,
) -> Result<()> {
    State::applying(claim).write(tree.root())?;
    Extraction::new(tree, told)
        .run(claim, first, reader)
        .and_then(|()| tree.sync())
        .map_err(|error| error.hinted(HINT))?;
    State::Holds(claim.target.clone()).write(tree.root())
}
