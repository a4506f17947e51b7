//! A repository as git reads it: refs and configuration, objects, attributes and pathspecs, and the conversion of
//! stored content to content of the work tree.
//!
//! The folder knows no archive. [`objects`] sees no path, and [`convert`] sees paths but no archive. Only [`program`]
//! and [`command`] start other processes: the installed git where this crate cannot continue, and the commands that the
//! configuration names, after a caller has decided that attributes or configuration ask for them.

pub mod repository;
pub mod refs;
pub mod config;
pub mod environment;
pub mod pathspec;
pub mod attributes;
pub mod pattern;
pub mod convert;
pub mod objects;
pub mod tree;
pub mod odb;
pub mod lfs;
pub mod program;
pub mod command;
pub mod pkt_line;
pub mod wildmatch;
