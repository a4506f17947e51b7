//! A tree in which copies take the place of symbolic links (`--symlinks=copy`).
//!
//! Links are resolved within the tree alone, as if it were checked out. A copied file has the id of its target, a copied directory
//! the id of the tree of its target, so most copies cost one entry of a tree. Trees that change are kept in memory. A
//! link stays where nothing can take its place; see [`KeptLink`].

mod expand;
mod origins;
mod resolve;

use gix_hash::ObjectId;

use crate::objects::reader::Reader;
use expand::Expander;
pub use origins::{Copies, CopyRules, KeptLink};
use sluice_base::error::Result;

/// The tree `root` with copies in place of links, and where they come from.
pub fn copy_links(
    reader: &mut Reader,
    root: ObjectId,
    rules: &CopyRules<'_>,
) -> Result<(ObjectId, Copies)> {
    Expander::new(reader, root, rules).run()
}
