//! The records of pax headers (pax(1), "pax Interchange Format"): `<len> <key>=<value>\n`.
//!
//! All records are returned in their order, including repeated keys. A false length never leads outside the header.

/// Key and value.
pub type PaxRecord<'a> = (&'a [u8], &'a [u8]);

/// The records of one header. A malformed record is `None`, after which the iteration must stop.
pub fn records(header: &[u8]) -> impl Iterator<Item = Option<PaxRecord<'_>>> {
    let mut rest = header;
    std::iter::from_fn(move || (!rest.is_empty()).then(|| split(&mut rest)))
}

/// Take the first record off `rest`.
fn split<'a>(rest: &mut &'a [u8]) -> Option<PaxRecord<'a>> {
    // Some programs read a number that begins with a zero as octal.
    if rest[0] == b'0' {
        return None;
    }
    let space = rest.iter().position(|&byte| byte == b' ')?;
    let len = usize::try_from(decimal(&rest[..space])?).ok()?;
    let record = rest.get(space + 1..len)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|&byte| byte == b'=')?;
    *rest = &rest[len..];
    (equals > 0).then(|| (&record[..equals], &record[equals + 1..]))
}

/// Parse a number that consists of digits only.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
