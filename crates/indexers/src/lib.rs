//! The patterns of code-search indexers: those of Sourcegraph's ignore files and of zoekt's large-file rules, and an index that
//! finds the rules which could match a path.
//!
//! The crate matches bytes of paths and knows nothing else: it reads no file and no repository.

pub mod doublestar;
pub mod glob;
pub mod index;
pub mod prefixes;
