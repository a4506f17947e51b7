//! Level 0: stored blocks, as zlib makes them of whole tar records.
//!
//! It assembles them in its window, so their size follows from the pieces that git hands over:
//! 10,240 bytes, until the window is full.

/// The first multiple of a tar record that fills the window.
const BLOCK: usize = 4 * 10240;

/// What is not written yet.
#[derive(Default)]
pub(super) struct Stored {
    pending: Vec<u8>,
}

impl Stored {
    /// Append `bytes`, and write blocks that are full to `out`.
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(bytes);
        let mut rest = self.pending.as_slice();
        while let Some((block, more)) = rest.split_at_checked(BLOCK) {
            put(block, false, out);
            rest = more;
        }
        let done = self.pending.len() - rest.len();
        self.pending.drain(..done);
    }

    /// Write the last block.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        put(&self.pending, true, out);
        self.pending.clear();
    }
}

fn put(bytes: &[u8], last: bool, out: &mut Vec<u8>) {
    let length = bytes.len() as u16;
    out.push(u8::from(last));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(bytes);
}
