//! All tests of the command, as one binary: what they share is compiled once, and they run side by
//! side.
//!
//! `support.rs` is the language they are written in, with `process.rs`, `tape.rs` and `forge.rs`
//! below it; of the tests, `oracle.rs` is the main thing.

mod forge;
mod process;
mod support;
mod tape;

mod command_line;
mod deflate;
mod destination;
mod errors;
mod faults;
mod golden;
mod hostile;
mod memory;
mod oracle;
mod pathspecs;
mod random;
mod readers;
mod repository;
mod revisions;
mod subdirectory;
mod tidy;
