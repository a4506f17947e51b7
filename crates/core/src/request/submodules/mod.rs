//! The submodules of an archive: each is found, opened and checked before the first byte.
//!
//! A submodule is selected by its path in the archived tree, and read as if it were archived alone: with its own
//! attributes, exclude files and configuration. Nothing is cloned or changed. What a submodule lacks that is a partial clone is
//! noted, to be fetched.

mod changes;
mod place;
mod survey;
