//! The program whose bytes a tar.gz has: that of the command line, then that of the configuration, then git.
//!
//! A command of the configuration that means GNU gzip is not run. git-sluice writes the same bytes itself, on all threads.

use bstr::{BStr, ByteSlice};

use super::{configuration::Config, format::Format};
use sluice_deflate::{Dialect, Level};

use sluice_base::error::{Error, Result, format_bytes};
use sluice_cli::GzipCompat;
use sluice_git::{command::CommandContext, environment::Environment, repository::Repository};

/// The key of the configuration.
pub const KEY: &str = "sluice.gzipCompat";
/// Commands that write the bytes of GNU gzip without a name and a time. The first one was git's default before git 2.38.
const COMMANDS: [&str; 5] = [
    "gzip -cn",
    "gzip -nc",
    "gzip -c -n",
    "gzip -n -c",
    "gzip -n",
];

/// The program whose bytes are `given` on the command line or in the configuration.
pub(super) fn dialect(given: Option<GzipCompat>, config: Config<'_>) -> Result<Dialect> {
    let compat = match given {
        Some(compat) => compat,
        None => configured(config)?.unwrap_or(GzipCompat::Git),
    };
    Ok(match compat {
        GzipCompat::Git => Dialect::Zlib,
        GzipCompat::Gnu => Dialect::Gzip,
    })
}

/// Refuses the value of [`KEY`] in the configuration if it names no program.
pub fn check(repository: &Repository, environment: &Environment) -> Result<()> {
    let config = Config {
        repository,
        environment,
    };
    configured(config).map(drop)
}

fn configured(config: Config<'_>) -> Result<Option<GzipCompat>> {
    let Some(value) = config.value(KEY)? else {
        return Ok(None);
    };
    match value.as_bytes() {
        b"git" => Ok(Some(GzipCompat::Git)),
        b"gnu" => Ok(Some(GzipCompat::Gnu)),
        _ => {
            let refused = format_bytes("bad config value '{}' for '{}'", &[value, KEY.as_bytes()]);
            Err(Error::fatal(refused).caused_by("the values are git and gnu"))
        }
    }
}

/// The format without a process that has the bytes of the filter `command` at `level`, if the gzip of the system is GNU's.
/// `context` starts that program.
pub(super) fn without_command(
    command: &BStr,
    level: Option<i32>,
    context: &CommandContext,
) -> Option<Format> {
    let level = match level {
        None => Level::DEFAULT,
        // gzip has no other level.
        Some(level @ 1..=9) => Level::new(u8::try_from(level).ok()?)?,
        Some(_) => return None,
    };
    let is_gnu = COMMANDS.contains(&command.to_str().ok()?) && context.has_gnu_gzip();
    is_gnu.then_some(Format::TarGz(level, Dialect::Gzip))
}
