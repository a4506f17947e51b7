//! The seek table, by the zstd project's "Zstandard Seekable Format" 0.1.0: a skippable frame with the lengths of all
//! frames before it. All numbers have four bytes, the least significant first.

use std::io;

const SKIPPABLE_FRAME: u32 = 0x184d_2a5e;
const SEEKABLE_FORMAT: u32 = 0x8f92_eab1;
/// No checksums: each frame ends with one of its own.
const DESCRIPTOR: u8 = 0;

/// The lengths of all frames so far.
#[derive(Default)]
pub(super) struct SeekTable {
    entries: Vec<u8>,
    frames: u32,
}

impl SeekTable {
    /// Adds the next frame: `compressed` bytes that hold `plain` bytes.
    pub(super) fn add(&mut self, compressed: usize, plain: usize) -> io::Result<()> {
        for length in [compressed, plain] {
            self.entries.extend(number(length)?);
        }
        self.frames += 1;
        Ok(())
    }

    /// The bytes of the table.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let footer = [
            &self.frames.to_le_bytes()[..],
            &[DESCRIPTOR],
            &SEEKABLE_FORMAT.to_le_bytes(),
        ];
        let footer = footer.concat();
        let length = number(self.entries.len() + footer.len())?;
        let head = [SKIPPABLE_FRAME.to_le_bytes(), length].concat();
        Ok([head, self.entries.clone(), footer].concat())
    }
}

fn number(length: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(length).map_err(io::Error::other)?;
    Ok(length.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the specification.
    #[test]
    fn two_frames() {
        let mut table = SeekTable::default();
        table.add(0x0403_0201, 0x0040_0000).unwrap();
        table.add(0x11, 0x2a).unwrap();
        let expected = [
            &[0x5e, 0x2a, 0x4d, 0x18, 25, 0, 0, 0][..],
            &[0x01, 0x02, 0x03, 0x04, 0, 0, 0x40, 0],
            &[0x11, 0, 0, 0, 0x2a, 0, 0, 0],
            &[2, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f],
        ];
        assert_eq!(table.to_bytes().unwrap(), expected.concat());
    }

    #[test]
    fn no_frame() {
        let expected = [
            &[0x5e, 0x2a, 0x4d, 0x18, 9, 0, 0, 0][..],
            &[0, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f],
        ];
        assert_eq!(SeekTable::default().to_bytes().unwrap(), expected.concat());
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn lengths_of_more_than_four_bytes() {
        assert!(SeekTable::default().add(1 << 32, 1).is_err());
    }
}
