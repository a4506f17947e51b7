//! All tests of the command, as one binary: what they share is compiled once, and they run side by
//! side.
//!
//! `support.rs` is the language they are written in, with `process.rs`, `tar_listing.rs`, `zip.rs`,
//! `schema.rs`,
//! `forge.rs` and `import.rs` below it; of the tests, `oracle.rs` is the main thing.

mod fleet;
mod forge;
mod import;
mod process;
mod progress;
mod schema;
mod support;
mod tar_listing;
mod zip;

mod apply;
mod attributes;
mod batch;
mod cache;
mod circles;
mod command_line;
mod configuration;
mod conversation;
mod convert;
mod deflate;
mod delta;
mod destination;
mod documents;
mod errors;
mod faults;
mod filter_globs;
mod filters;
mod formats;
mod golden;
mod guide;
mod handover;
mod head;
mod host;
mod hostile;
mod layers;
mod lfs;
mod library;
mod matrix;
mod memory;
mod messages;
mod oracle;
mod partial;
mod pathspecs;
mod positions;
mod random;
mod range;
mod readers;
mod remote;
mod report;
mod repository;
mod revisions;
mod scale;
mod seekable;
mod sparse;
mod subdirectory;
mod submodules;
mod threads;
mod tidy;
mod usage;
mod upstream;
mod work_tree;
