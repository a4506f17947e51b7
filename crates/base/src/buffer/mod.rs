//! Growable bytes that are written once and read many times.
//!
//! Decoders write into space of a known size. A `Vec` would zero that space each time; a [`Buffer`]
//! remembers how much of its memory is initialised and never zeroes it again.

pub mod spool;

use std::ops::Deref;

/// Bytes under construction, cheap to reuse.
#[derive(Default)]
pub struct Buffer {
    /// Initialised memory. The first `len` bytes are the contents.
    memory: Vec<u8>,
    len: usize,
}

impl Clone for Buffer {
    /// Copy the contents, without spare memory.
    fn clone(&self) -> Self {
        Self {
            memory: self.to_vec(),
            len: self.len,
        }
    }
}

impl Buffer {
    /// Drop the contents and keep the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Shorten to `len` bytes. A shorter buffer is unchanged.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Append `count` bytes of unspecified content, for the caller to overwrite.
    pub fn space(&mut self, count: usize) -> &mut [u8] {
        self.space_with_slack(count, 0)
    }

    /// As [`Self::space`], followed by `slack` bytes outside the contents that may be overwritten too.
    pub fn space_with_slack(&mut self, count: usize, slack: usize) -> &mut [u8] {
        let start = self.len;
        self.reserve(count + slack);
        self.len += count;
        &mut self.memory[start..self.len + slack]
    }

    /// Append `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).copy_from_slice(bytes);
    }

    /// Append `count` NUL bytes.
    pub fn zeros(&mut self, count: usize) {
        self.space(count).fill(0);
    }

    /// Make room for `count` further bytes, so that appending them moves nothing.
    pub fn reserve(&mut self, count: usize) {
        let needed = self.len + count;
        if needed <= self.memory.len() {
            return;
        }
        if self.len == 0 {
            // The allocator provides fresh zero pages without a memset. The size grows in steps of an
            // eighth to a quarter: every page of fresh memory must be touched for the first time, and
            // unused memory counts as well.
            self.memory = Vec::new();
            let step = (needed.next_power_of_two() / 8).max(1);
            self.memory = vec![0; needed.next_multiple_of(step)];
        } else {
            self.memory.resize(needed, 0);
        }
    }

    /// The memory held, in bytes.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// The contents, for changes in place.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn contents_survive_growth() {
        let mut buffer = Buffer::default();
        buffer.extend(b"one");
        buffer.space(100_000).fill(b'x');
        buffer.zeros(2);
        assert_eq!(&buffer[..4], b"onex");
        assert_eq!(&buffer[100_002..], b"x\0\0");
    }

    #[test]
    fn zeros_are_zero_in_reused_memory() {
        let mut buffer = Buffer::default();
        buffer.extend(b"old contents");
        buffer.clear();
        buffer.zeros(3);
        assert_eq!(&buffer[..], b"\0\0\0");
    }
}
