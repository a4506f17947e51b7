//! The options for servers of archives, in the words of HTTP (RFC 9110).

use std::str::FromStr;

/// The heading in help and manual.
pub(super) const HEADING: &str = "HTTP";

/// The condition of a request.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct Condition {
    /// Exit with status 7 if the archive has this ETag
    ///
    /// Nothing is written.
    #[arg(long, value_name = "etag")]
    pub if_none_match: Option<String>,
}

/// The part of the archive that is wanted.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct Range {
    /// Write only these bytes: 0-99, 100-, or the last ones: -50
    ///
    /// The form is that of the header Range. Files outside of the range are not read. If the archive ends before the first
    /// byte, git-sluice exits with status 8 and writes nothing. A range of a compressed archive needs --cache: the first
    /// range creates the entire archive there.
    #[arg(long, value_name = "range", value_parser = ByteRange::from_str, allow_hyphen_values = true,
          conflicts_with_all = ["manifest", "fail_if_empty"])]
    pub byte_range: Option<ByteRange>,

    /// Apply --byte-range only if the archive still has this ETag
    #[arg(long, value_name = "etag")]
    pub if_range: Option<String>,
}

/// A range of bytes (RFC 9110, section 14.1.2). Numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From a byte to the end.
    From(u64),
    /// From a byte to another one, which is included and not before the first.
    Between(u64, u64),
    /// So many bytes at the end.
    Last(u64),
}

impl FromStr for ByteRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORMS: &str = "expected <first>-<last>, <first>- or -<count>";
        let (first, last) = text.split_once('-').ok_or(FORMS)?;
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            // A larger number is more bytes than any archive has.
            is_number
                .then(|| digits.parse().unwrap_or(u64::MAX))
                .ok_or(FORMS)
        };
        match (first, last) {
            ("", "") => Err(FORMS),
            ("", count) => Ok(Self::Last(number(count)?)),
            (first, "") => Ok(Self::From(number(first)?)),
            (first, last) => match (number(first)?, number(last)?) {
                (first, last) if first <= last => Ok(Self::Between(first, last)),
                _ => Err("the last byte is before the first"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByteRange;

    #[test]
    fn ranges_are_those_of_http() {
        let range = |text: &str| text.parse::<ByteRange>();
        assert_eq!(range("0-0"), Ok(ByteRange::Between(0, 0)));
        assert_eq!(range("10-"), Ok(ByteRange::From(10)));
        assert_eq!(range("-5"), Ok(ByteRange::Last(5)));
        let beyond = "99999999999999999999999";
        assert_eq!(range(&format!("{beyond}-")), Ok(ByteRange::From(u64::MAX)));
        for bad in [
            "",
            "-",
            "5",
            "a-",
            "5-4",
            "1-2,4-5",
            "+1-2",
            "-1-2",
            "bytes=0-1",
        ] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
