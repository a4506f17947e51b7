//! Sizes in bytes as git writes them on a command line: `64`, `512k`, `250m`, `2g`.

use anyhow::{Context, Result};

/// Reads a number with an optional unit `k`, `m` or `g` (powers of 1024, as in git's configuration).
pub(super) fn parse(text: &str) -> Result<u64> {
    let (digits, shift) = match text.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'k') => (&text[..text.len() - 1], 10),
        Some(b'm') => (&text[..text.len() - 1], 20),
        Some(b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits
        .parse()
        .with_context(|| format!("'{text}' is not a size such as 250m"))?;
    number
        .checked_mul(1 << shift)
        .with_context(|| format!("'{text}' does not fit in 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units_are_powers_of_1024() {
        assert_eq!(parse("7").unwrap(), 7);
        assert_eq!(parse("3k").unwrap(), 3 << 10);
        assert_eq!(parse("250M").unwrap(), 250 << 20);
        assert_eq!(parse("2g").unwrap(), 2 << 30);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "k", "-1", "1.5m", "12kb", "99999999999g"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
