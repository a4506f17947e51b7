//! The commands, each in a file of its name.
//!
//! The caller owns the process: a command gets its streams, and neither ends the process nor looks at the process's own
//! streams.

pub mod batch;
pub mod session;
pub mod stand_in;
pub mod upload_archive;

mod archive;
mod completions;
mod explain;
#[cfg(feature = "fleet")]
mod fleet;
mod help;
mod info;
mod ls;
mod manual;
mod missing;

use sluice_base::error::Error;
use sluice_cli::{CliError, CommandName, RawArgs};
pub use sluice_core::context::{Context, refuse_ambiguous};
pub use sluice_core::runtime::Runtime;

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
        #[cfg(feature = "fleet")]
        CommandName::Apply => fleet::apply::run(words, context),
        #[cfg(feature = "fleet")]
        CommandName::Verify => fleet::verify::run(words, context),
        #[cfg(feature = "compare")]
        CommandName::Compare => sluice_compare::run(words, context),
        #[cfg(feature = "fleet")]
        CommandName::Publish => fleet::publish::run(words, context),
        #[cfg(feature = "fleet")]
        CommandName::Prune => fleet::prune::run(words, context),
        CommandName::Completions => completions::run(words, &context),
        CommandName::Manual => manual::run(words, &context),
        CommandName::Help => help::run(words, &context),
        // A batch, a server, a stand-in; and what the program was built without, which the command line does not know.
        command => {
            let refused = format!("'{}' cannot be a request", command.as_str());
            Err(Error::usage(refused).into())
        }
    }
}
