//! The server's side of `git archive --remote`; the client's side is left to the installed git.
//!
//! [`server`] speaks the protocol of git-upload-archive(1) and leaves the archive to a process that it
//! starts, the *writer*: the client learns how the writer ended. It must never know what an
//! archive looks like, and it trusts nothing that a client sends: the writer takes only options of
//! git's and grants only what [`Access::Remote`](sluice_core::request::Access) may have.

pub mod server;
pub mod side_band;

/// The first argument of the writer, which runs in the git directory that is served. The words of the client follow.
pub const WRITER: &str = "upload-archive--writer";
