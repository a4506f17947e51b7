//! Amounts as they are typed: numbers, bytes, and parts of a whole.

use std::{fmt::Display, ops::RangeInclusive};

/// The units of bytes, each 1024 of the one before, as for git.
const UNITS: [&str; 4] = ["", "k", "m", "g"];

/// Parse a whole number within `range`.
pub fn number<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<i128> + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse::<i128>().map_err(|_| "not a whole number")?;
        let number = T::try_from(number).ok();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| format!("not from {} to {}", range.start(), range.end()))
    }
}

/// Parse a whole number that is not less than `least`.
pub(super) fn at_least<T>(least: T) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<i128> + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse::<i128>().map_err(|_| "not a whole number")?;
        match T::try_from(number) {
            Ok(number) if number >= least => Ok(number),
            Err(_) if number > 0 => Err("too large".to_owned()),
            _ => Err(format!("less than {least}")),
        }
    }
}

/// Parse bytes: a whole number, and a unit such as `k`, `KB` or `KiB`.
pub fn size(text: &str) -> Result<u64, String> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = text.bytes().take_while(|byte| is_number(byte)).count();
    let (number, unit) = text.split_at(end);
    let lower = unit.to_ascii_lowercase();
    let short = ["ib", "b"].iter().find_map(|end| lower.strip_suffix(end));
    let unit = short.unwrap_or(&lower);
    let power = UNITS.iter().position(|known| *known == unit);
    let (Some(power), Ok(amount)) = (power, number.parse::<f64>()) else {
        return Err("not a number of bytes, such as 4096, 64k or 1m".to_owned());
    };
    if amount >= u64::MAX as f64 {
        return Err("too large".to_owned());
    }
    let Ok(whole) = number.parse::<u64>() else {
        let smaller = power.saturating_sub(1);
        let rounded = (amount * 1024_f64.powi((power - smaller) as i32)).round();
        return Err(format!(
            "not a whole number; use {rounded}{}",
            UNITS[smaller]
        ));
    };
    whole
        .checked_mul(1 << (10 * power))
        .ok_or_else(|| "too large".to_owned())
}

/// Parse permission bits, as octal digits.
pub(super) fn permissions(text: &str) -> Result<u32, String> {
    let bits = u32::from_str_radix(text, 8).ok();
    let bits = bits.filter(|bits| *bits <= 0o777 && !text.starts_with('+'));
    bits.ok_or_else(|| "not octal digits, such as 0022".to_owned())
}

/// Parse a part of a whole: a number from 0 to 1, or a percentage.
pub(super) fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let part = number.trim().parse::<f64>().map(|number| number / whole);
    let part = part.ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "not a fraction, such as 0.25 or 25%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{at_least, number, part, size};

    #[test]
    fn numbers_are_whole_and_within_a_range() {
        let threads = number::<u16>(1..=1024);
        assert_eq!(threads("4"), Ok(4));
        for (text, message) in [
            ("many", "not a whole number"),
            ("", "not a whole number"),
            ("1.5", "not a whole number"),
            ("0", "not from 1 to 1024"),
            ("-1", "not from 1 to 1024"),
            ("65537", "not from 1 to 1024"),
        ] {
            assert_eq!(threads(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn numbers_may_have_no_upper_bound() {
        let jobs = at_least::<u32>(1);
        assert_eq!(jobs("1"), Ok(1));
        for (text, message) in [
            ("0", "less than 1"),
            ("-1", "less than 1"),
            ("4294967296", "too large"),
            ("many", "not a whole number"),
        ] {
            assert_eq!(jobs(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("4096", 4096),
            ("2K", 2048),
            ("2kb", 2048),
            ("2KiB", 2048),
            ("3B", 3),
            ("1g", 1 << 30),
            ("64MiB", 64 << 20),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for (text, message) in [
            ("x", "not a number of bytes, such as 4096, 64k or 1m"),
            ("", "not a number of bytes, such as 4096, 64k or 1m"),
            ("-1", "not a number of bytes, such as 4096, 64k or 1m"),
            ("1.2.3k", "not a number of bytes, such as 4096, 64k or 1m"),
            ("1t", "not a number of bytes, such as 4096, 64k or 1m"),
            ("1.5m", "not a whole number; use 1536k"),
            ("0.5KiB", "not a whole number; use 512"),
            ("1.5", "not a whole number; use 2"),
            ("99999999999g", "too large"),
            ("18446744073709551616", "too large"),
            ("99999999999999999999.5k", "too large"),
        ] {
            assert_eq!(size(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn parts_are_numbers_or_percentages() {
        for (text, value) in [("0.25", 0.25), ("25%", 0.25), ("1", 1.0), ("0", 0.0)] {
            assert_eq!(part(text), Ok(value), "{text}");
        }
        for text in ["2", "-1%", "x", "", "NaN"] {
            assert_eq!(
                part(text),
                Err("not a fraction, such as 0.25 or 25%".to_owned()),
                "{text}"
            );
        }
    }
}
