//! The command line: options, help, manual and completions.

pub(crate) mod command_line;
pub(crate) mod completions;
pub(crate) mod guide;
mod manual;
pub(crate) mod usage;
#[cfg(not(any(feature = "fleet", feature = "compare")))]
mod plain;
