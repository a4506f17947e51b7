//! `--apply`: an archive over a directory, so that what held the tree of one commit holds that of
//! another.
//!
//! An archive is read once, from front to back, and nothing is known of it before it comes. One that
//! turns out to be incomplete, or not to be one, leaves a directory that says of itself that it is
//! neither the base nor the target; applying the complete archive makes it whole, however often this was
//! cut short.
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
//! else in it. Who has laid down a base by other means writes the file himself.
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
mod state;
mod tree;

use std::{
    io::{Read, Write},
    path::Path,
};

use crate::error::Result;

use delta::Claim;
use extract::Extraction;
use reader::Reader;
use state::{State, Verdict};
use tree::Tree;

const HINT: &str = "the directory is not whole: apply the complete archive again";

/// Apply `archive` to `directory`, which a full archive may bring along; say of each path to `told` what
/// was done.
pub fn apply(
    directory: &Path,
    archive: impl Read,
    told: Option<&mut (dyn Write + 'static)>,
) -> Result<()> {
    let mut reader = Reader::new(input::plain(archive)?);
    let (claim, first) = Claim::read(&mut reader)?;
    let mut tree = Tree::open(directory, claim.base.is_none())?;
    let state = State::read(tree.root())?;
    if State::judge(state.as_ref(), tree.is_bare()?, &claim)? == Verdict::Nothing {
        reader.drain();
        return Ok(());
    }
    State::applying(&claim).write(tree.root())?;
    Extraction::new(&mut tree, &claim, told)
        .run(first, &mut reader)
        .and_then(|()| tree.sync())
        .map_err(|error| error.hinted(HINT))?;
    State::Holds(claim.target).write(tree.root())
}
