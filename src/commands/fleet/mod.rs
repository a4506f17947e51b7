//! The commands that keep directories up to date without a repository, and publish archives for them.

mod channel_word;

pub(super) mod apply;
pub(super) mod prune;
pub(super) mod publish;
pub(super) mod verify;
