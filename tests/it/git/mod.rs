//! The repository, read as git reads it.

pub(crate) mod attributes;
pub(crate) mod configuration;
pub(crate) mod convert;
pub(crate) mod environment;
pub(crate) mod lfs;
pub(crate) mod partial;
pub(crate) mod pathspecs;
pub(crate) mod repository;
pub(crate) mod submodules;
