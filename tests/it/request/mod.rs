//! The meaning of the arguments: revisions and directories.

pub(crate) mod revisions;
pub(crate) mod subdirectory;
pub(crate) mod work_tree;
