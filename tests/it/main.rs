//! All tests of the command, as one binary: what they share is compiled once, and they run side by
//! side. Each folder has the tests of the crate, or of the module of `crates/core`, with its name; `directory`
//! those of `crates/fleet`.
//!
//! `support` is the language they are written in; of the tests, `archive/oracle.rs` is the main thing.

mod archive;
mod budget;
mod cache;
mod cli;
mod commands;
#[cfg(feature = "fleet")]
mod corpora;
#[cfg(feature = "fleet")]
mod directory;
mod documents;
mod filter;
mod format;
mod git;
mod leftovers;
mod messages;
mod output;
mod plan;
mod request;
#[cfg_attr(not(feature = "fleet"), allow(dead_code))]
mod support;
mod tidy;
#[cfg(feature = "fleet")]
mod upgrades;
mod upstream;
