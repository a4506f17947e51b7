//! The values of variables as git reads them (git-config(1), "Values"; parse.c and config.c of git).

use std::{os::unix::ffi::OsStrExt, path::Path};

use bstr::{BStr, ByteSlice};

use super::{Variable, canonical};
use sluice_base::error::{Error, Result, format_bytes};

type Parsed<T> = std::result::Result<T, &'static str>;

/// The error of `key` without a required value.
pub fn missing_value(key: &str) -> Error {
    Error::fatal(format!("bad config variable '{key}'"))
        .after(format!("error: missing value for '{key}'"))
}

/// Values in git's words about a variable. Messages name its file from the `directory` in which git runs.
impl Variable {
    /// The value, which git requires.
    pub fn required(&self, directory: &Path) -> Result<&BStr> {
        let value = self.value.as_ref().map(|value| value.as_bstr());
        value.ok_or_else(|| self.missing_value(directory))
    }

    fn missing_value(&self, directory: &Path) -> Error {
        let key = self.key.as_bytes();
        let refused = match self.file_from(directory) {
            Some(file) => {
                let line = self.line.to_string();
                let template = "bad config variable '{}' in file '{}' at line {}";
                format_bytes(template, &[key, file, line.as_bytes()])
            }
            None => format_bytes("unable to parse '{}' from command-line config", &[key]),
        };
        Error::fatal(refused).after(format_bytes("error: missing value for '{}'", &[key]))
    }

    /// The boolean, which is true without a value.
    pub fn truth(&self) -> Result<bool> {
        match &self.value {
            Some(value) => truth(&self.key, value.as_bstr()),
            None => Ok(true),
        }
    }

    /// The number that `parse` reads.
    pub fn number<T>(&self, directory: &Path, parse: fn(&BStr) -> Parsed<T>) -> Result<T> {
        let value = self.value.as_ref().map_or(BStr::new(""), |it| it.as_bstr());
        parse(value).map_err(|why| {
            let (key, why) = (self.key.as_bytes(), why.as_bytes());
            Error::fatal(match self.file_from(directory) {
                Some(file) => {
                    let template = "bad numeric config value '{}' for '{}' in file {}: {}";
                    format_bytes(template, &[value, key, file, why])
                }
                None => format_bytes(BAD_NUMBER, &[value, key, why]),
            })
        })
    }

    /// The file as git calls it.
    fn file_from(&self, directory: &Path) -> Option<&[u8]> {
        let file = self.file.as_deref()?;
        let file = file.strip_prefix(directory).unwrap_or(file);
        Some(file.as_os_str().as_bytes())
    }
}

const BAD_NUMBER: &str = "bad numeric config value '{}' for '{}': {}";

/// Parse a boolean as git does. `None` if `value` is none.
pub fn parse_truth(value: &BStr) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => Some(true),
        b"false" | b"no" | b"off" | b"" => Some(false),
        _ => {
            let number = parse_int(value).ok()?;
            (number != i32::MIN).then_some(number != 0)
        }
    }
}

/// The boolean `value` of `key`.
pub fn truth(key: impl AsRef<[u8]>, value: &BStr) -> Result<bool> {
    parse_truth(value).ok_or_else(|| {
        let template = "bad boolean config value '{}' for '{}'";
        Error::fatal(format_bytes(template, &[value, &canonical(key.as_ref())]))
    })
}

/// The number `value` of `key`: decimal, octal with `0`, hexadecimal with `0x`, then `k`, `m` or `g`.
pub fn integer(key: &str, value: &BStr) -> Result<i64> {
    parse_number(value, i64::MAX).map_err(|why| {
        let key = canonical(key.as_bytes());
        Error::fatal(format_bytes(BAD_NUMBER, &[value, &key, why.as_bytes()]))
    })
}

/// Parse a number of C's type `int` as git does, or say why it is none.
pub fn parse_int(value: &BStr) -> Parsed<i32> {
    parse_number(value, i32::MAX)
}

/// Parse a number of C's type `unsigned long` as git does, or say why it is none.
pub fn parse_unsigned(value: &BStr) -> Parsed<u64> {
    if value.contains(&b'-') {
        return Err(INVALID_UNIT);
    }
    parse_number(value, u64::MAX)
}

const INVALID_UNIT: &str = "invalid unit";
const OUT_OF_RANGE: &str = "out of range";

/// Parse a number from `-max` to `max` as git does.
fn parse_number<T: TryFrom<i128> + Into<i128>>(value: &BStr, max: T) -> Parsed<T> {
    // C also counts a vertical tab as space.
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let text = value.to_str().map_err(|_| INVALID_UNIT)?;
    let text = text.trim_start_matches(is_space);
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(hex) => (16, hex),
        None if lower.starts_with('0') => (8, lower.as_str()),
        None => (10, lower.as_str()),
    };
    let end = digits.find(|c: char| !c.is_digit(radix));
    let (digits, unit) = digits.split_at(end.unwrap_or(digits.len()));
    let factor = match unit {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err(INVALID_UNIT),
    };
    if digits.is_empty() {
        return Err(INVALID_UNIT);
    }
    let number = i128::from_str_radix(digits, radix).ok();
    let number = number.and_then(|number| number.checked_mul(factor));
    let max: i128 = max.into();
    let number = number.filter(|number| *number <= max).ok_or(OUT_OF_RANGE)?;
    T::try_from(sign * number).map_err(|_| OUT_OF_RANGE)
}

#[cfg(test)]
mod tests {
    use super::{integer, parse_truth};

    #[test]
    fn truth_fits_into_an_int() {
        assert_eq!(parse_truth("2147483647".into()), Some(true));
        assert_eq!(parse_truth("2g".into()), None);
        assert_eq!(parse_truth("-2147483648".into()), None);
    }

    #[test]
    fn numbers_are_read_as_git_reads_them() {
        for (value, expected) in [
            ("18", 18),
            ("0022", 0o22),
            ("0x1fF", 0x1ff),
            ("1k", 1024),
            ("-1", -1),
            ("2G", 2 << 30),
            ("\x0b077", 0o77),
            (" \t+1", 1),
        ] {
            assert_eq!(
                integer("tar.umask", value.into()).ok(),
                Some(expected),
                "{value}"
            );
        }
        let error = integer("tar.umask", "x".into()).unwrap_err().to_string();
        assert_eq!(
            error,
            "fatal: bad numeric config value 'x' for 'tar.umask': invalid unit"
        );
        let error = integer("tar.umask", "99999999999g".into())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("out of range"));
    }
}
