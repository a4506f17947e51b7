//! Level 0: stored blocks, as zlib makes them of whole tar records.
//!
//! zlib assembles a stored block in its window. git hands over 10,240 bytes at a time, so a block has as many of these
//! as fill the window.

/// The first multiple of a tar record that fills the window.
const BLOCK: usize = 4 * 10240;

/// Bytes that are not written yet.
#[derive(Default)]
pub(super) struct StoredEncoder {
    pending: Vec<u8>,
}

impl StoredEncoder {
    /// Takes `bytes` and writes full blocks to `out`.
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

    /// Writes the last block.
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
