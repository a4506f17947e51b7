//! The options of a directory in which archives are shared.

use std::{ffi::OsString, time::Duration};

use clap::ValueHint;

use super::amount::{number, size};

/// The heading in help and manual.
pub(super) const HEADING: &str = "Cache";

/// The directory, and its limits.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct Sharing {
    /// Share archives with other runs in this directory
    ///
    /// The first run that asks for an archive writes it, and the others read along. The directory belongs to one user, and
    /// git-sluice creates it if it is missing. The variable GIT_SLUICE_CACHE and the configuration sluice.cache name it for
    /// runs without this option. An empty name means none.
    #[arg(long, value_name = "dir", value_hint = ValueHint::DirPath, overrides_with = "no_cache")]
    pub cache: Option<OsString>,

    /// Do not use the cache, even if one is configured
    #[arg(long, overrides_with = "cache")]
    pub no_cache: bool,

    /// Keep an archive in the cache from its first request on
    ///
    /// Without this option, an archive is kept from its second request on.
    #[arg(long)]
    pub cache_always: bool,

    /// Finish an archive for the cache even if its client leaves
    ///
    /// The archive is kept, so that the client can continue its download. Without --cache-always, this needs a second request or
    /// an archive of at most 128 MiB. Without this option, the last client that leaves ends the work.
    #[arg(long)]
    pub cache_finish: bool,

    /// Limit the size of the cache, such as 10g
    ///
    /// The limit is 1g unless this option or the configuration says otherwise.
    #[arg(long, value_name = "size", value_parser = size)]
    pub cache_size: Option<u64>,

    /// Remove cached archives that had no request for this long
    ///
    /// The time is in seconds, or has the suffix m, h or d. It is one day unless this option or the configuration says otherwise.
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub cache_age: Option<Duration>,

    /// Create at most this many archives at once
    ///
    /// Further runs wait.
    #[arg(long, value_name = "count", value_parser = number::<u16>(1..=u16::MAX))]
    pub cache_jobs: Option<u16>,

    /// Exit with status 6 after waiting this long for --cache-jobs
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub cache_wait: Option<Duration>,
}

/// A time in seconds, or with a suffix.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 60 * 60),
        Some((at, 'd')) => (&text[..at], 24 * 60 * 60),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>();
    let number = number.map_err(|_| "not a time, such as 90, 15m, 12h or 1d")?;
    let seconds = number.checked_mul(unit).ok_or("too long")?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::duration;

    #[test]
    fn times_have_suffixes() {
        let seconds = |text| duration(text).map(|time| time.as_secs());
        assert_eq!(seconds("90"), Ok(90));
        assert_eq!(seconds("2m"), Ok(120));
        assert_eq!(seconds("1d"), Ok(86_400));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert!(seconds("").is_err() && seconds("h").is_err() && seconds("-1").is_err());
    }
}
