//! Bits in the order of deflate, the lowest bit of each byte first.

/// Bits under construction.
#[derive(Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// The bits of the incomplete last byte: fewer than eight between calls.
    held: u64,
    count: u32,
}

impl Bits {
    /// No bits yet, in the memory of `bytes`.
    pub(super) fn within(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// The memory.
    pub(super) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Append the `count` low bits of `value`, at most 48. The other bits of `value` must be zero.
    pub(super) fn put(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Append zero bits up to the next byte.
    pub(super) fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }

    /// Append whole bytes, aligned.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.align();
        self.bytes.extend_from_slice(bytes);
    }

    /// Append the bits that `each` returns for every item: at most 48 an item and at most `total` in all.
    pub(super) fn put_all<T: Copy>(
        &mut self,
        items: &[T],
        total: usize,
        each: impl Fn(T) -> (u64, u32),
    ) {
        let mut at = self.bytes.len();
        // The loop stores a word at a time, so the last word may reach beyond the end.
        self.bytes.resize(at + total / 8 + 16, 0);
        let (mut held, mut count) = (self.held, self.count);
        for &item in items {
            let (value, bits) = each(item);
            held |= value << count;
            count += bits;
            self.bytes[at..at + 8].copy_from_slice(&held.to_le_bytes());
            at += (count / 8) as usize;
            held >>= count & !7;
            count &= 7;
        }
        self.bytes.truncate(at);
        (self.held, self.count) = (held, count);
    }

    /// Take the whole bytes so far.
    pub(super) fn drain(&mut self) -> std::vec::Drain<'_, u8> {
        self.bytes.drain(..)
    }

    /// Append all of `other`.
    pub(super) fn append(&mut self, other: &Bits) {
        if self.count == 0 {
            self.bytes.extend_from_slice(&other.bytes);
        } else {
            self.shift(&other.bytes);
        }
        self.put(other.held, other.count);
    }

    /// Append `bytes` after an incomplete byte.
    fn shift(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        self.bytes.reserve(bytes.len() + 8);
        for word in words {
            let word = u64::from_le_bytes(*word);
            let joined = self.held | word << self.count;
            self.bytes.extend_from_slice(&joined.to_le_bytes());
            self.held = word >> (64 - self.count);
        }
        for &byte in rest {
            self.put(u64::from(byte), 8);
        }
    }
}
