//! What is left out of an archive, decided by name alone: ignore rules and access rules.
//!
//! Bytes in, verdicts out. Nothing here reads a repository or knows an archive.

pub mod access;
pub mod glob;
pub mod ignore;
mod index;
mod prefixes;
