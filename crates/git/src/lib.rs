//! A repository as git reads it: refs and configuration, objects, attributes and pathspecs, and the conversion of
//! stored content to content of the work tree.
//!
//! The promise: every function answers what the installed git would read, or returns an error. An answer that only git knows is
//! asked of git, which this crate starts for:
//!
//! * names of revisions other than ids, refs and their ancestors (`name_object` in [`program`]);
//! * placeholders of `$Format:…$` that are not plain in the commit (`ask`), and files that only git expands (`archived_files`);
//! * the objects that a partial clone lacks (`fetch`, `is_promised`);
//! * refs that are stored in a reftable, and ancestry (`is_ancestor`);
//! * the message of a refusal that this crate has foreseen (`refusal`, `check_config`, `repository_refusal`, `check_served`);
//! * the homes of users in paths (`expanded_path`).
//!
//! The crate knows no archive, no command line and no cache. [`objects`] sees no path, and [`convert`] sees paths but no
//! archive. Only [`program`] and [`command`] start other processes: the installed git, and the commands that the configuration
//! names, after a caller has decided that attributes or configuration ask for them.

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
