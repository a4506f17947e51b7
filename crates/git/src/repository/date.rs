//! Dates as users type them.
//!
//! Seconds since 1970 are read here. Other dates may depend on the time of day, on the local time zone and on
//! the heuristics of git's parser, so the installed git parses them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use bstr::ByteSlice;

use crate::program::{self, GitLocation};
use sluice_base::error::{Error, Result, format_bytes};

/// The numbers that git takes for seconds since 1970.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=4_102_444_799;

/// The time of `--mtime` in seconds since 1970. git runs in the repository at `location` if it has to parse the date.
pub fn mtime(value: &OsStr, location: &GitLocation) -> Result<u64> {
    match value.to_str().and_then(exact) {
        Some(time) => Ok(time),
        None => ask_git(value, location, &[]),
    }
}

/// The time of `--mtime` if it is the same on every machine and every day; refuses a time without a day, a time of day or a
/// zone, and anything that git takes for the present.
pub fn fixed_mtime(value: &OsStr, location: &GitLocation) -> Result<u64> {
    if let Some(time) = value.to_str().and_then(exact) {
        return Ok(time);
    }
    // Two days, two times of day and two zones.
    let answers = [("86400", "UTC0"), ("1000000000", "AAA-5:45")]
        .map(|(now, zone)| [("GIT_TEST_DATE_NOW", now), ("TZ", zone)])
        .map(|surroundings| ask_git(value, location, &surroundings));
    let [one, other] = answers;
    let (one, other) = (one?, other?);
    if one == other {
        return Ok(one);
    }
    let refused = format_bytes("'{}' is not the same time everywhere", &[value.as_bytes()]);
    Err(Error::fatal(refused)
        .hinted("give a date, a time and a zone, such as 2005-04-07T22:13:13Z"))
}

/// The seconds that `text` is, if git takes it for nothing else.
fn exact(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = text.parse().ok().filter(|_| is_number);
    seconds.filter(|seconds| SECONDS.contains(seconds))
}

/// What git reads `value` as, in the repository at `location`, with these variables in addition to its environment. `rev-parse`
/// reads dates only in a repository, and the process of a batch may run outside of any.
fn ask_git(value: &OsStr, location: &GitLocation, surroundings: &[(&str, &str)]) -> Result<u64> {
    let given = |(name, text): &(&str, &str)| (name.into(), Some(text.into()));
    let others = location.variables.iter().flat_map(|it| it.iter()).cloned();
    let location = GitLocation {
        variables: Some(others.chain(surroundings.iter().map(given)).collect()),
        ..location.clone()
    };
    let mut since = OsString::from("--since=");
    since.push(value);
    let answer = program::ask(&location, &[OsStr::new("rev-parse"), &since]);
    answer
        .as_ref()
        .and_then(|output| output.stdout.trim_end().strip_prefix(b"--max-age="))
        .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
        .ok_or_else(|| {
            Error::fatal(format_bytes(
                "cannot tell what time '{}' is",
                &[value.as_bytes()],
            ))
            .hinted("without git, give seconds since 1970")
        })
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn seconds() {
        for (text, seconds) in [("1117231200", 1_117_231_200), ("4102444799", 4_102_444_799)] {
            assert_eq!(exact(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn dates_for_git() {
        let table = " | now | never | 1000 | @1000 | @0 +0000 | 2005-05-28 00:00:00 +0200 | @1 +00 | \
                     @+1 +0000 | +1117231200 | 99999999 | 4102444800 | 2005-05-27 | 2005-05-27T22:00:00 | \
                     2005-05-27 22:00Z | 2100-01-01T00:00:00Z | 1970-01-01T00:00:00+0100 | \
                     2005-02-30T00:00:00Z | 2005-05-27T22:00:60Z | 2005-05-27T24:00:00Z | \
                     2005/05/27 22:00:00Z | Fri, 27 May 2005 22:00:00 +0000";
        for text in table.split(" | ") {
            assert_eq!(exact(text), None, "{text}");
        }
    }
}
