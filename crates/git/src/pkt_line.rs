//! Reads packets of git's protocols (gitprotocol-common(5), "pkt-line") from a pipe, with git's limits and messages.
//!
//! `gix-packetline` knows the format. The other side is not trusted: no memory is reserved beyond the largest packet,
//! and a packet that breaks off is never returned.

use std::io::{self, ErrorKind, Read};

use gix_packetline::decode::{PacketLineOrWantedSize, hex_prefix};

use sluice_base::error::{Error, format_bytes};

/// The longest content of a packet, in bytes.
pub const MAX_CONTENT: usize = 65516;
/// The longest line that git reads is three bytes longer.
const MAX_LINE: usize = 65519;

/// Why no packet was read.
pub enum ReadError {
    /// The other side closed the connection, or reading failed.
    HungUp(io::Error),
    /// The other side violates the protocol.
    Malformed(Error),
}

impl ReadError {
    /// The error for the user: `broke_off` where the other side went away, `failed` where reading failed.
    pub fn explain(self, broke_off: &str, failed: &str) -> Error {
        match self {
            Self::Malformed(error) => error,
            Self::HungUp(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Error::fatal(broke_off)
            }
            Self::HungUp(error) => Error::fatal(failed).caused_by(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::HungUp(error)
    }
}

/// Read a packet as a line of text without its newline. `None` at the end of a list of packets.
pub fn read_line(input: &mut (impl Read + ?Sized)) -> Result<Option<Vec<u8>>, ReadError> {
    let mut line = read(input, MAX_LINE)?;
    if let Some(line) = &mut line {
        line.pop_if(|last| *last == b'\n');
    }
    Ok(line.filter(|line| !line.is_empty()))
}

/// Read the bytes of a packet. `None` at the end of a list of packets.
pub fn read_content(input: &mut (impl Read + ?Sized)) -> Result<Option<Vec<u8>>, ReadError> {
    read(input, MAX_CONTENT)
}

fn read(input: &mut (impl Read + ?Sized), max_len: usize) -> Result<Option<Vec<u8>>, ReadError> {
    let mut prefix = [0; 4];
    input.read_exact(&mut prefix)?;
    let len = match hex_prefix(&prefix) {
        Ok(PacketLineOrWantedSize::Wanted(len)) => usize::from(len),
        Ok(PacketLineOrWantedSize::Line(_)) => return Ok(None),
        Err(_) => match &prefix {
            // An empty packet also ends a list.
            b"0004" => return Ok(None),
            b"0003" => return Err(bad_length(3)),
            _ => return Err(bad_digits(prefix)),
        },
    };
    if len > max_len {
        return Err(bad_length(len));
    }
    let mut content = vec![0; len];
    input.read_exact(&mut content)?;
    Ok(Some(content))
}

fn bad_length(len: usize) -> ReadError {
    let message = format!("protocol error: bad line length {len}");
    ReadError::Malformed(Error::fatal(message))
}

/// The digits are shown up to a NUL, as C shows a string.
fn bad_digits(prefix: [u8; 4]) -> ReadError {
    let shown = prefix.split(|&byte| byte == 0).next().unwrap_or_default();
    let template = "protocol error: bad line length character: {}";
    ReadError::Malformed(Error::fatal(format_bytes(template, &[shown])))
}

#[cfg(test)]
mod tests {
    use gix_packetline::blocking_io::encode;

    use super::{ReadError, read_content, read_line};

    #[test]
    fn packets_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        encode::text_to_write(b"one", &mut bytes).expect("memory");
        encode::data_to_write(b"two\n", &mut bytes).expect("memory");
        encode::flush_to_write(&mut bytes).expect("memory");
        bytes.extend(b"0004");
        let mut bytes = &bytes[..];
        assert_eq!(read_line(&mut bytes).ok(), Some(Some(b"one".to_vec())));
        assert_eq!(read_content(&mut bytes).ok(), Some(Some(b"two\n".to_vec())));
        assert_eq!(read_line(&mut bytes).ok(), Some(None));
        assert_eq!(read_content(&mut bytes).ok(), Some(None));
        assert!(matches!(read_line(&mut bytes), Err(ReadError::HungUp(_))));
    }

    #[test]
    fn malformed_packets_are_refused_in_gits_words() {
        let message = |outcome| match outcome {
            Err(ReadError::Malformed(error)) => error.to_string(),
            _ => panic!("a packet is read"),
        };
        for (bytes, why) in [
            (&b"ERR x"[..], "character: ERR "),
            (b"+00f", "character: +00f"),
            (b"zzzz", "character: zzzz"),
            (b"1\0\x1b2", "character: 1"),
            (b"0003", "3"),
            (b"fff4", "65520"),
        ] {
            let expected = format!("fatal: protocol error: bad line length {why}");
            assert_eq!(message(read_line(&mut &*bytes)), expected);
        }
        let content = message(read_content(&mut &b"fff1"[..]));
        assert_eq!(content, "fatal: protocol error: bad line length 65517");
    }

    #[test]
    fn packets_that_break_off_are_refused() {
        for mut short in [&b""[..], b"00", b"0005", b"fff3x", b"0009abc"] {
            assert!(matches!(read_line(&mut short), Err(ReadError::HungUp(_))));
        }
    }
}
