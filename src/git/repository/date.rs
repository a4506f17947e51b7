//! Dates as users type them.
//!
//! Complete dates are parsed here. Other dates may depend on the time of day, on the local time zone and on
//! the heuristics of git's parser, so the installed git parses them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use gix::bstr::ByteSlice;

use crate::{
    base::error::{Error, Result, format_bytes},
    git::program::{self, GitLocation},
};

/// The numbers that git takes for seconds since 1970.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=4_102_444_799;
/// The numbers that git takes for a year in a date.
const YEARS: std::ops::RangeInclusive<u64> = 1970..=2099;

/// The time of `--mtime` in seconds since 1970.
pub fn mtime(value: &OsStr) -> Result<u64> {
    match value.to_str().and_then(exact) {
        Some(time) => Ok(time),
        None => ask_git(value),
    }
}

fn exact(text: &str) -> Option<u64> {
    match text.strip_prefix('@').and_then(|text| text.split_once(' ')) {
        Some((seconds, zone)) if is_zone(zone) => number(seconds),
        Some(_) => None,
        None => number(text)
            .filter(|seconds| SECONDS.contains(seconds))
            .or_else(|| iso_8601(text)),
    }
}

/// Parse `2005-05-27T22:00:00.5+02:00`, with an optional space for the `T` and an optional `Z` for the
/// zone.
fn iso_8601(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, zone) = rest.strip_prefix(['T', ' '])?.split_at_checked(8)?;
    let zone = match zone.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => zone,
    };
    let zone = match zone.strip_prefix(' ').unwrap_or(zone) {
        "Z" => "+0000".to_owned(),
        zone => zone.replacen(':', "", 1),
    };
    // git counts leap seconds, and gix does not.
    let plain = has_shape(date, "0000-00-00")
        && YEARS.contains(&number(&date[..4])?)
        && has_shape(time, "00:00:00")
        && !time.ends_with("60")
        && is_zone(&zone);
    if !plain {
        return None;
    }
    let parsed = gix::date::parse(&format!("{date} {time} {zone}"), None).ok()?;
    parsed.seconds.try_into().ok()
}

fn is_zone(text: &str) -> bool {
    has_shape(text, "+0000") || has_shape(text, "-0000")
}

/// Whether `text` equals `shape`, where a zero in `shape` stands for any digit.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| byte == shape || shape == b'0' && byte.is_ascii_digit();
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

fn number(digits: &str) -> Option<u64> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

fn ask_git(value: &OsStr) -> Result<u64> {
    let mut since = OsString::from("--since=");
    since.push(value);
    let answer = program::ask(&GitLocation::default(), &[OsStr::new("rev-parse"), &since]);
    answer
        .as_ref()
        .and_then(|output| output.stdout.trim_end().strip_prefix(b"--max-age="))
        .and_then(|seconds| number(seconds.to_str().ok()?))
        .ok_or_else(|| {
            Error::fatal(format_bytes(
                "cannot tell what time '{}' is",
                &[value.as_bytes()],
            ))
            .hinted("without git, give seconds since 1970 or a date, a time and a zone")
        })
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn exact_dates() {
        for (text, seconds) in [
            ("@0 +0000", 0),
            ("@12 -0700", 12),
            ("@99999999999 +0200", 99_999_999_999),
            ("1117231200", 1_117_231_200),
            ("4102444799", 4_102_444_799),
            ("2005-05-27T22:00:00Z", 1_117_231_200),
            ("2005-05-28 00:00:00 +0200", 1_117_231_200),
            ("2005-05-28T03:45:00.25+05:45", 1_117_231_200),
            ("2005-05-27 15:00:00-07:00", 1_117_231_200),
        ] {
            assert_eq!(exact(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn dates_for_git() {
        for text in [
            "",
            "now",
            "never",
            "1000",
            "@1000",
            "@1 +00",
            "@+1 +0000",
            "+1117231200",
            "99999999",
            "4102444800",
            "2005-05-27",
            "2005-05-27T22:00:00",
            "2005-05-27 22:00Z",
            "2100-01-01T00:00:00Z",
            "1970-01-01T00:00:00+0100",
            "2005-02-30T00:00:00Z",
            "2005-05-27T22:00:60Z",
            "2005-05-27T24:00:00Z",
            "2005/05/27 22:00:00Z",
            "Fri, 27 May 2005 22:00:00 +0000",
        ] {
            assert_eq!(exact(text), None, "{text}");
        }
    }
}
