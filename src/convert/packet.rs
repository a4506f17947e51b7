//! Packets (gitprotocol-common(5), "pkt-line"): four hexadecimal digits of length, then content.

use std::io::{self, Read, Write};

use gix::bstr::ByteSlice;

use crate::error::{Error, filled};

/// As much content as one packet carries, in bytes.
pub(super) const MAX_CONTENT: usize = 65516;
const HEADER: usize = 4;
const MAX_PACKET: usize = MAX_CONTENT + HEADER;

/// Why there is no packet.
pub(super) enum Broken {
    /// The other side went away.
    HungUp,
    /// What came is no packet: nothing that follows can be made sense of.
    Nonsense(Error),
}

/// The content of the next packet; nothing at the end of a list.
pub(super) fn read(from: &mut impl Read) -> Result<Option<Vec<u8>>, Broken> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).map_err(|_| Broken::HungUp)?;
    let nonsense = |what: &str, value: &[u8]| {
        Broken::Nonsense(Error::fatal(filled(
            "protocol error: bad line length{} {}",
            &[what.as_bytes(), value],
        )))
    };
    let digits = header.to_str().ok();
    let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let Some(len) = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok()) else {
        return Err(nonsense(" character:", &header));
    };
    match len {
        // Lists end in different ways in other protocols.
        0..=2 | HEADER => Ok(None),
        3 => Err(nonsense("", b"3")),
        _ if len > MAX_PACKET => Err(nonsense("", len.to_string().as_bytes())),
        _ => {
            let mut content = vec![0; len - HEADER];
            from.read_exact(&mut content).map_err(|_| Broken::HungUp)?;
            Ok(Some(content))
        }
    }
}

/// The next packet as a line of text, without its newline.
pub(super) fn read_line(from: &mut impl Read) -> Result<Option<Vec<u8>>, Broken> {
    let mut line = read(from)?;
    if let Some(line) = &mut line
        && line.last() == Some(&b'\n')
    {
        line.pop();
    }
    Ok(line.filter(|line| !line.is_empty()))
}

/// Write a list of packets, one for each of `contents`, and its end.
pub(super) fn write<'a>(
    to: &mut impl Write,
    contents: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut packet = Vec::with_capacity(HEADER);
    for content in contents {
        packet.clear();
        write!(packet, "{:04x}", content.len() + HEADER)?;
        packet.extend(content);
        to.write_all(&packet)?;
    }
    to.write_all(b"0000")
}

#[cfg(test)]
mod tests {
    use super::{Broken, read, read_line, write};

    #[test]
    fn packets_come_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, [&b"one\n"[..], b"two"]).expect("memory takes all");
        assert_eq!(bytes, b"0008one\n0007two0000");
        let mut bytes = &bytes[..];
        assert_eq!(read_line(&mut bytes).ok(), Some(Some(b"one".to_vec())));
        assert_eq!(read(&mut bytes).ok(), Some(Some(b"two".to_vec())));
        assert_eq!(read(&mut bytes).ok(), Some(None));
        assert!(matches!(read(&mut bytes), Err(Broken::HungUp)));
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        for (bytes, why) in [
            ("zzzz", "character: zzzz"),
            ("+123", "character: +123"),
            ("0003", "3"),
            ("fff1", "65521"),
        ] {
            let Err(Broken::Nonsense(error)) = read(&mut bytes.as_bytes()) else {
                panic!("{bytes} is a packet");
            };
            let message = error.to_string();
            assert!(message.ends_with(why), "{message}");
        }
        assert!(matches!(read(&mut &b"0009abc"[..]), Err(Broken::HungUp)));
    }
}
