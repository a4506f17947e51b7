//! The wait of a read, as the command line and the tables write it: `500us`, `1ms`, `2s`.

use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Reads a number with a unit.
pub(super) fn parse(text: &str) -> Result<Duration> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit() && char != '.');
    let (number, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let number: f64 = number
        .parse()
        .with_context(|| format!("'{text}' is not a time such as 5ms"))?;
    let seconds = match unit {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        _ => bail!("'{text}' needs one of the units us, ms and s"),
    };
    Duration::try_from_secs_f64(seconds).with_context(|| format!("'{text}' is too long"))
}

/// In milliseconds.
pub(super) fn format(latency: Duration) -> String {
    format!("{} ms", latency.as_micros() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{format, parse};

    #[test]
    fn times_have_units() {
        assert_eq!(parse("1ms").unwrap(), Duration::from_millis(1));
        assert_eq!(parse("0.5ms").unwrap(), Duration::from_micros(500));
        assert_eq!(parse("250us").unwrap(), Duration::from_micros(250));
        assert_eq!(parse("2s").unwrap(), Duration::from_secs(2));
        for text in ["", "5", "ms", "1m", "-1ms", "1.2.3s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tables_have_milliseconds() {
        assert_eq!(format(Duration::from_millis(5)), "5 ms");
        assert_eq!(format(Duration::from_micros(250)), "0.25 ms");
    }
}
