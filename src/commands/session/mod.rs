//! Requests of one program to many repositories: the interface of the library.
//!
//! A [`Session`] keeps repositories open and answers requests, each a command line. An answer has the bytes, the messages
//! and the exit status of a process of its own. No request ever reaches another: neither a failure nor a panic does.
//! A session must not touch the streams, the arguments and the environment of the process. The crate doc has an example.

mod command_line;
mod failure;
mod outputs;
mod runtime;

use std::{
    ffi::OsString,
    io::{self, Write},
    mem,
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{Access, access},
    io::Errno,
};

use crate::commands::{self};
pub use command_line::CommandLine;
pub use failure::Failure;
pub use outputs::Outputs;
use runtime::RequestRuntime;
use sluice_base::{
    error::{Error, Result, format_bytes, strerror},
    progress::Terminal,
    threads::Lock,
};
use sluice_cli::{CliError, OptionTables, RawArgs};
use sluice_core::{
    context::Context,
    output::{self, Unfinished},
    request::Access as Caller,
};
use sluice_git::{environment::Environment, repository::pool::RepositoryPool};

/// Repositories that stay open by default.
const REPOSITORIES: usize = 100;
/// The memory of repositories that stay open by default, in bytes.
const MEMORY_OF_REPOSITORIES: u64 = 64 << 20;

/// What says the value of an environment variable.
type Variables = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// Repositories that stay open, and the place from which requests name them. Threads may share a session.
pub struct Session {
    directory: PathBuf,
    variable: Variables,
    repositories: RepositoryPool,
    tables: Lock<Vec<OptionTables>>,
    max_memory: u64,
    watch: fn(Unfinished) -> Result<()>,
}

impl Session {
    /// A session that names files from `directory` and reads git's environment variables through `variable`. No other
    /// thread must create a file meanwhile.
    pub fn new(
        directory: impl Into<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static,
    ) -> Self {
        // The first look changes the mask for a moment.
        output::umask();
        Self {
            directory: directory.into(),
            variable: Box::new(variable),
            repositories: RepositoryPool::new(REPOSITORIES, MEMORY_OF_REPOSITORIES),
            tables: Lock::default(),
            max_memory: u64::MAX,
            watch: |_| Ok(()),
        }
    }

    /// Keeps up to `number` repositories open, within about `memory` bytes.
    pub fn with_repositories(self, number: usize, memory: u64) -> Self {
        Self {
            repositories: RepositoryPool::new(number, memory),
            ..self
        }
    }

    /// Limits the memory of each request, in bytes, whatever its words ask for.
    pub fn with_max_memory(self, max_memory: u64) -> Self {
        Self { max_memory, ..self }
    }

    /// Calls `watch` with every unfinished file, before the file is created, to remove it if a signal ends the process.
    #[doc(hidden)]
    pub fn with_watch(self, watch: fn(Unfinished) -> Result<()>) -> Self {
        Self { watch, ..self }
    }

    /// Carries out `line`. A failure has the exit status and the last message of a process of its own; the archive
    /// that was written until then ends inside an entry.
    pub fn answer(&self, line: CommandLine, outputs: Outputs) -> Result<(), Failure> {
        let mut tables = self.tables.lock().pop().unwrap_or_default();
        let run = AssertUnwindSafe(|| self.run(line, &outputs, &mut tables));
        let Ok(outcome) = catch_unwind(run) else {
            return Err(Failure::of_panic());
        };
        self.tables.lock().push(tables);
        match outcome {
            Err(CliError::Answer(answer)) => outputs.tell(&answer),
            other => other.map_err(Failure::from),
        }
    }

    /// Carries out `line` and returns the archive, or what else is asked for, in memory. Drops messages.
    pub fn read(&self, line: CommandLine) -> Result<Vec<u8>, Failure> {
        let bytes = SharedBytes::default();
        self.answer(line, Outputs::new(bytes.clone()))?;
        Ok(mem::take(&mut *bytes.0.lock()))
    }

    fn run(
        &self,
        line: CommandLine,
        outputs: &Outputs,
        tables: &mut OptionTables,
    ) -> Result<(), CliError> {
        let directory = full_path(&self.directory.join(&line.directory))?;
        let environment =
            Environment::of_request(directory, line.git_dir.as_deref(), &self.variable)?;
        let mut messages = outputs.messages();
        let context = Context {
            environment: &environment,
            access: Caller::Local,
            runtime: &RequestRuntime {
                repositories: &self.repositories,
                environment: &environment,
                outputs,
                watch: self.watch,
            },
            messages: &mut **messages,
            screen: Terminal::NONE,
            max_memory: self.max_memory,
        };
        commands::run(RawArgs::new(tables, line.words), context)
    }
}

/// The output of a request that stays in memory.
#[derive(Clone, Default)]
struct SharedBytes(Arc<Lock<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The path of `directory` for a process that cannot change to it, since its threads share the current directory.
fn full_path(directory: &Path) -> Result<PathBuf> {
    let found = directory.canonicalize().and_then(|path| {
        if !path.is_dir() {
            return Err(Errno::NOTDIR.into());
        }
        access(&path, Access::EXEC_OK)?;
        Ok(path)
    });
    found.map_err(|error| {
        let why = strerror(&error);
        let values = [directory.as_os_str().as_bytes(), why.as_bytes()];
        Error::fatal(format_bytes("cannot change to '{}': {}", &values))
    })
}
