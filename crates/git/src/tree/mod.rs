//! Tree objects: their entries, the names that may be in them, the look-up of one path, and a walk.
//!
//! Every name is verified before a caller sees it. The module reads trees and decides nothing: no pathspec,
//! attribute or filter is known here.

mod copies;
mod entry;
mod links;
mod lookup;
mod missing;
mod mount;
mod trees;

pub use copies::{Copies, CopyRules, KeptLink, copy_links};
pub use entry::Mode;
pub use lookup::{directory_at, file_at, look_up};
pub use missing::{MissingFile, first_missing};
pub use mount::Mount;
pub use trees::{TreeRules, TreeStep, Trees, reported};
