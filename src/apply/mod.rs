//! `--apply`: an archive over a directory, so that a directory that holds the tree of one commit holds
//! that of another.
//!
//! The directory's own word for what it holds is kept in [a file](state) of its own. An archive is
//! read once, from front to back; nothing is known of it before it comes, and an archive that turns
//! out to be incomplete or not to be one leaves a directory that says of itself that it is neither
//! whole nor the base. Applying the complete archive makes it whole, however often this was cut short.
//!
//! Nothing outside of the directory is touched, whatever the archive says and whatever links are in the
//! directory: [`tree`] sees to that, by its handle. No object of git is looked at: this works without
//! a repository.
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
//! deleted, with all that is below it; then directories, files and symbolic links. A directory that the
//! base does not have has an entry, and a deletion whose place is taken by something of another kind is
//! one all the same. With `none` the deletions are elsewhere, and nothing can be applied.
//!
//! An archive without `GITSLUICE.delta` is a full one and goes into an empty directory.

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
        .map_err(|error| error.hinted(HINT))?;
    tree.sync()?;
    State::Holds(claim.target).write(tree.root())
}
