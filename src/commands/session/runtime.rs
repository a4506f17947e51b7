//! What a command in a session runs with: the streams of one answer, and a repository that stays open.

use std::{ffi::OsString, io::Read};

use super::outputs::Outputs;
use sluice_base::error::{Error, Result};
use sluice_core::{
    output::{Destination, Unfinished},
    runtime::Runtime,
};
use sluice_git::{
    environment::Environment,
    repository::{Repository, pool::RepositoryPool},
};

/// A request of a session.
pub(super) struct RequestRuntime<'a> {
    pub(super) repositories: &'a RepositoryPool,
    pub(super) environment: &'a Environment,
    pub(super) outputs: &'a Outputs,
    pub(super) watch: fn(Unfinished) -> Result<()>,
}

impl Runtime for RequestRuntime<'_> {
    fn repository(&self) -> Result<Result<Repository>> {
        self.repositories.open(self.environment)
    }

    fn become_git(&self, _: Vec<OsString>) -> Error {
        Error::usage("option '--remote' cannot be used in a request")
    }

    fn output(&self) -> Result<Destination> {
        Ok(self.outputs.open_archive())
    }

    fn band(&self, number: u8) -> Result<Destination> {
        self.outputs.open_band(number)
    }

    fn input(&self) -> Result<Box<dyn Read + Send>> {
        Err(Error::fatal("a request has no standard input"))
    }

    fn input_len(&self) -> Option<u64> {
        None
    }

    fn input_is_terminal(&self) -> bool {
        false
    }

    fn watch(&self, file: Unfinished) -> Result<()> {
        (self.watch)(file)
    }
}
