//! The commands, each in a file of its name.
//!
//! The caller owns the process: a command gets its streams, and neither ends the process nor looks at the process's own
//! streams.

pub mod batch;
pub mod session;
pub mod stand_in;
pub mod upload_archive;

mod apply;
mod archive;
mod compare;
mod completions;
mod context;
mod explain;
mod help;
mod info;
mod ls;
mod manual;
mod missing;
mod prune;
mod publish;
mod runtime;
mod verify;

use crate::{
    base::error::Error,
    cli::{CliError, CommandName, RawArgs},
};
pub use context::{Context, refuse_ambiguous};
pub use runtime::Runtime;

/// Runs the command that `words` give. A batch, a server and a stand-in need the process, so its
/// owner runs them.
pub fn run(words: RawArgs<'_>, context: Context<'_>) -> Result<(), CliError> {
    refuse_ambiguous(&words, &|| context.runtime.repository())?;
    match words.command {
        CommandName::Archive => archive::run(words, context),
        CommandName::Ls => ls::run(words, context),
        CommandName::Explain => explain::run(words, context),
        CommandName::Info => info::run(words, context),
        CommandName::Missing => missing::run(words, context),
        CommandName::Apply => apply::run(words, context),
        CommandName::Verify => verify::run(words, context),
        CommandName::Compare => compare::run(words, context),
        CommandName::Publish => publish::run(words, context),
        CommandName::Prune => prune::run(words, context),
        CommandName::Completions => completions::run(words, &context),
        CommandName::Manual => manual::run(words, &context),
        CommandName::Help => help::run(words, &context),
        command @ (CommandName::Batch | CommandName::UploadArchive | CommandName::StandIn) => {
            let refused = format!("'{}' cannot be a request", command.as_str());
            Err(Error::usage(refused).into())
        }
    }
}
