//! The values of variables as git reads them (git-config(1), "Values"; parse.c and config.c of git).

use bstr::{BStr, ByteSlice};

use crate::base::error::{Error, Result, format_bytes};

/// The error of `key` without a required value.
pub fn missing_value(key: &str) -> Error {
    Error::fatal(format!("bad config variable '{key}'"))
        .after(format!("error: missing value for '{key}'"))
}

/// The error of `key` with a `value` that is no number.
pub fn bad_number(key: &str, value: &BStr, why: &str) -> Error {
    let key = key.to_ascii_lowercase();
    let template = "bad numeric config value '{}' for '{}': {}";
    Error::fatal(format_bytes(
        template,
        &[value, key.as_bytes(), why.as_bytes()],
    ))
}

/// Parse a boolean as git does. `None` if `value` is none.
pub fn parse_truth(value: &BStr) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => Some(true),
        b"false" | b"no" | b"off" | b"" => Some(false),
        _ => {
            let number = parse_integer(value).ok()?;
            (number.unsigned_abs() <= i32::MAX as u64).then_some(number != 0)
        }
    }
}

/// The boolean `value` of `key`.
pub fn truth(key: &str, value: &BStr) -> Result<bool> {
    parse_truth(value).ok_or_else(|| {
        let key = key.to_ascii_lowercase();
        let template = "bad boolean config value '{}' for '{}'";
        Error::fatal(format_bytes(template, &[value, key.as_bytes()]))
    })
}

/// The number `value` of `key`: decimal, octal with `0`, hexadecimal with `0x`, then `k`, `m` or `g`.
pub fn integer(key: &str, value: &BStr) -> Result<i64> {
    parse_integer(value).map_err(|why| bad_number(key, value, why))
}

/// Parse a number as git does, or say why it is none.
fn parse_integer(value: &BStr) -> std::result::Result<i64, &'static str> {
    const INVALID_UNIT: &str = "invalid unit";
    const OUT_OF_RANGE: &str = "out of range";
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
    let number = i64::from_str_radix(digits, radix).ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .map(|number| sign * number)
        .ok_or(OUT_OF_RANGE)
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
