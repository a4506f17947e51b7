//! Writes a tar in whole records, as git does.
//!
//! Pieces of an archive end at an entry, and a reader takes a tar that stops there for complete. A killed
//! process cannot report its end. So the output always ends at a multiple of twenty blocks, which is nearly
//! always inside an entry.

use std::io::{self, IoSlice, Write};

use sluice_base::io::write_all_vectored;

/// Bytes in a record (POSIX.1-2024, pax, "ustar Interchange Format").
const RECORD: usize = 20 * 512;

/// Writes whole records. A flush writes the rest.
pub struct RecordWriter<'a> {
    inner: &'a mut (dyn Write + Send),
    /// Less than a record.
    held: Vec<u8>,
}

impl<'a> RecordWriter<'a> {
    /// Write to `inner`.
    pub fn new(inner: &'a mut (dyn Write + Send)) -> Self {
        Self {
            inner,
            held: Vec::with_capacity(RECORD),
        }
    }

    /// Write the held bytes, then `bytes`.
    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut slices = [IoSlice::new(&self.held), IoSlice::new(bytes)];
        write_all_vectored(self.inner, &mut slices)?;
        self.held.clear();
        Ok(())
    }
}

impl Write for RecordWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let all = self.held.len() + bytes.len();
        let rest = if all < RECORD {
            bytes
        } else {
            let (whole, rest) = bytes.split_at(bytes.len() - all % RECORD);
            self.pass_on(whole)?;
            rest
        };
        self.held.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on(&[])?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::{RECORD, RecordWriter};

    /// Takes a few bytes at a time, and records the lengths at which a process could have been killed.
    #[derive(Default)]
    struct Few {
        taken: Vec<u8>,
        calls: usize,
    }

    impl Write for Few {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let taken = bytes.len().min(4000);
            self.taken.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_are_whole_until_the_end() {
        let mut few = Few::default();
        let mut sent = Vec::new();
        for (number, len) in [
            0,
            1,
            512,
            RECORD - 513,
            0,
            RECORD,
            3 * RECORD + 7,
            5,
            2 * RECORD - 12,
        ]
        .into_iter()
        .enumerate()
        {
            let mut records = RecordWriter::new(&mut few);
            records.held.extend(&sent[sent.len() / RECORD * RECORD..]);
            let bytes = vec![number as u8; len];
            records.write_all(&bytes).unwrap();
            sent.extend(bytes);
            assert_eq!(few.taken, sent[..sent.len() / RECORD * RECORD]);
        }
        let mut records = RecordWriter::new(&mut few);
        records.held.extend(&sent[sent.len() / RECORD * RECORD..]);
        records.flush().unwrap();
        assert_eq!(few.taken, sent);
    }
}
