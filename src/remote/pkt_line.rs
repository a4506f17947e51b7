//! Lines of git's protocols: four hexadecimal digits that count themselves and what follows.
//!
//! Strict, since what is read comes from anybody: a length is believed as far as it is allowed, and
//! nothing is made of what breaks off.

use std::io::{ErrorKind, Read, Result as IoResult, Write};

use crate::error::{Error, Result, filled};

/// The digits of a length.
const DIGITS: usize = 4;
/// More data than this does not go into one packet.
const MAX_DATA: usize = 65519;
/// Lengths up to this carry nothing: the flush, and the delimiters of later protocols.
const MAX_SPECIAL: usize = 2;

/// The data of the next packet, or nothing for a packet that only ends something.
pub fn read(input: &mut dyn Read) -> Result<Option<Vec<u8>>> {
    let mut digits = [0; DIGITS];
    fill(input, &mut digits)?;
    let length = length(digits)?;
    if length <= MAX_SPECIAL {
        return Ok(None);
    }
    let size = length
        .checked_sub(DIGITS)
        .ok_or_else(|| bad_length(length))?;
    if size > MAX_DATA {
        return Err(bad_length(size));
    }
    let mut data = vec![0; size];
    fill(input, &mut data)?;
    Ok(Some(data))
}

fn length(digits: [u8; DIGITS]) -> Result<usize> {
    let all_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(&digits).ok().filter(|_| all_hex);
    text.and_then(|text| usize::from_str_radix(text, 16).ok())
        .ok_or_else(|| {
            let shown = digits.split(|&byte| byte == 0).next().unwrap_or_default();
            Error::fatal(filled(
                "protocol error: bad line length character: {}",
                &[shown],
            ))
        })
}

fn bad_length(length: usize) -> Error {
    Error::fatal(format!("protocol error: bad line length {length}"))
}

fn fill(input: &mut dyn Read, bytes: &mut [u8]) -> Result<()> {
    input.read_exact(bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => Error::fatal("the remote end hung up unexpectedly"),
        _ => Error::fatal("read error").caused_by(error),
    })
}

/// Write `parts`, one behind the other, as one packet.
pub fn write(output: &mut dyn Write, parts: &[&[u8]]) -> IoResult<()> {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    write!(output, "{:04x}", size + DIGITS)?;
    parts.iter().try_for_each(|part| output.write_all(part))
}

/// Write the packet that ends a list of packets.
pub fn flush(output: &mut dyn Write) -> IoResult<()> {
    output.write_all(b"0000")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::{flush, read, write};

    #[test]
    fn what_is_written_can_be_read() {
        let mut line = Vec::new();
        write(&mut line, &[b"argument ", b"HEAD\n"]).expect("memory");
        flush(&mut line).expect("memory");
        assert_eq!(line, b"0012argument HEAD\n0000");
        let mut rest = line.as_slice();
        assert_eq!(
            read(&mut rest).expect("whole").as_deref(),
            Some(&b"argument HEAD\n"[..])
        );
        assert_eq!(read(&mut rest).expect("whole"), None);
    }

    #[test]
    fn nothing_is_made_of_garbage() {
        let failure = |mut line: &[u8]| read(&mut line).unwrap_err().to_string();
        let character = "fatal: protocol error: bad line length character: ";
        assert_eq!(failure(b"ERR x"), format!("{character}ERR "));
        assert_eq!(failure(b"+00f"), format!("{character}+00f"));
        assert_eq!(failure(b"1\0\x1b2"), format!("{character}1"));
        assert_eq!(failure(b"0003"), "fatal: protocol error: bad line length 3");
        assert_eq!(
            failure(b"fff4"),
            "fatal: protocol error: bad line length 65520"
        );
        for short in [&b""[..], b"00", b"0005", b"fff3x"] {
            assert_eq!(failure(short), "fatal: the remote end hung up unexpectedly");
        }
    }
}
