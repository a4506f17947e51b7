//! Huffman codes with the originals' code lengths.
//!
//! Many codes are optimal for the same frequencies. The order in which equal nodes leave the heap selects
//! one of them. So this heap repeats the originals' heap step by step, and so does the repair of codes that
//! are too long.

use super::token::{DISTANCE_CODES, DISTANCE_EXTRA, LENGTH_CODES, LENGTH_EXTRA};

/// The size of the largest alphabet: bytes, the end code, lengths.
pub(super) const SYMBOLS: usize = 257 + LENGTH_CODES;
/// The end code.
pub(super) const END: usize = 256;
/// The number of symbols that describe code lengths.
pub(super) const RUN_CODES: usize = 19;
/// The number of leaves and inner nodes.
const NODES: usize = 2 * SYMBOLS + 1;
/// The longest code in bits.
const MAX_LENGTH: usize = 15;

/// The symbols of a code.
pub(super) struct Alphabet {
    size: usize,
    max_length: usize,
    /// The first symbol with extra bits, and the numbers of extra bits from there on.
    extra: (usize, &'static [u8]),
    /// The code lengths of the fixed code, if there is one.
    fixed: Option<&'static [u8; SYMBOLS]>,
}

/// Bytes, the end code, lengths.
pub(super) static LITERALS: Alphabet = Alphabet {
    size: SYMBOLS,
    max_length: MAX_LENGTH,
    extra: (END + 1, &LENGTH_EXTRA),
    fixed: Some(&FIXED_LITERALS),
};

/// Distances.
pub(super) static DISTANCES: Alphabet = Alphabet {
    size: DISTANCE_CODES,
    max_length: MAX_LENGTH,
    extra: (0, &DISTANCE_EXTRA),
    fixed: Some(&FIXED_DISTANCES),
};

/// Code lengths and their runs.
pub(super) static RUNS: Alphabet = Alphabet {
    size: RUN_CODES,
    max_length: 7,
    extra: (16, &[2, 3, 7]),
    fixed: None,
};

const FIXED_LITERALS: [u8; SYMBOLS] = {
    let mut lengths = [8; SYMBOLS];
    let mut symbol = 144;
    while symbol < 280 {
        lengths[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    lengths
};
const FIXED_DISTANCES: [u8; SYMBOLS] = [5; SYMBOLS];

impl Alphabet {
    fn extra(&self, symbol: usize) -> u8 {
        let (first, extra) = self.extra;
        let place = symbol.checked_sub(first);
        place.and_then(|at| extra.get(at)).copied().unwrap_or(0)
    }

    /// The fixed code.
    pub(super) fn fixed(&self) -> Code {
        let mut code = Code {
            last: self.size - 1,
            ..Code::default()
        };
        if let Some(fixed) = self.fixed {
            code.lengths[..self.size].copy_from_slice(&fixed[..self.size]);
        }
        // The fixed code of literals includes two symbols that never occur.
        code.assign(if self.size == SYMBOLS { 2 } else { 0 });
        code
    }
}

/// The bits of a block, in its own codes and in the fixed codes.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) own: i64,
    pub(super) fixed: i64,
}

/// A prefix code.
pub(super) struct Code {
    pub(super) lengths: [u8; SYMBOLS],
    /// The bits of each code in the order of sending: reversed.
    pub(super) codes: [u16; SYMBOLS],
    /// The last symbol with a code.
    pub(super) last: usize,
}

impl Default for Code {
    fn default() -> Self {
        Self {
            lengths: [0; SYMBOLS],
            codes: [0; SYMBOLS],
            last: 0,
        }
    }
}

impl Code {
    /// Build the code of symbols with these `frequencies`, and add its cost to `cost`.
    pub(super) fn build(alphabet: &Alphabet, frequencies: &[u32], cost: &mut Cost) -> Self {
        let mut tree = Tree::plant(alphabet, &frequencies[..alphabet.size], cost);
        tree.grow(alphabet.size);
        let mut code = tree.measure(alphabet, cost);
        code.assign(0);
        code
    }

    /// Assign each symbol its code by the code lengths. `more` further symbols of length 8 follow the last
    /// one.
    fn assign(&mut self, more: u16) {
        let mut counts = [0u16; MAX_LENGTH + 1];
        for &length in &self.lengths[..=self.last] {
            counts[usize::from(length)] += 1;
        }
        counts[0] = 0;
        counts[8] += more;
        let mut next = [0u16; MAX_LENGTH + 1];
        for length in 1..=MAX_LENGTH {
            next[length] = (next[length - 1] + counts[length - 1]) << 1;
        }
        for symbol in 0..=self.last {
            let length = usize::from(self.lengths[symbol]);
            if length > 0 {
                self.codes[symbol] = next[length].reverse_bits() >> (16 - length);
                next[length] += 1;
            }
        }
    }
}

/// A Huffman tree, with the heap from which it is built.
struct Tree {
    frequency: [u32; NODES],
    depth: [u8; NODES],
    parent: [u16; NODES],
    length: [u8; NODES],
    /// The last symbol that occurs.
    last: usize,
    /// Nodes, from index 1 on, the rarest at the top.
    heap: [u16; NODES + 1],
    size: usize,
    /// Nodes in the reverse order of their removal from the heap.
    order: [u16; NODES],
    first: usize,
}

impl Tree {
    /// Create the leaves: the symbols that occur, and further ones until there are two.
    fn plant(alphabet: &Alphabet, frequencies: &[u32], cost: &mut Cost) -> Self {
        let mut tree = Self {
            frequency: [0; NODES],
            depth: [0; NODES],
            parent: [0; NODES],
            length: [0; NODES],
            last: 0,
            heap: [0; NODES + 1],
            size: 0,
            order: [0; NODES],
            first: NODES,
        };
        tree.frequency[..frequencies.len()].copy_from_slice(frequencies);
        let mut last = None;
        for (symbol, &frequency) in frequencies.iter().enumerate() {
            if frequency > 0 {
                tree.push(symbol);
                last = Some(symbol);
            }
        }
        while tree.size < 2 {
            let forced = match last {
                None => 0,
                Some(symbol) if symbol < 2 => symbol + 1,
                Some(_) => 0,
            };
            if last.is_none_or(|symbol| symbol < 2) {
                last = Some(forced);
            }
            tree.frequency[forced] = 1;
            tree.push(forced);
            // The symbol never occurs, so its cost is zero.
            cost.own -= 1;
            if let Some(fixed) = alphabet.fixed {
                cost.fixed -= i64::from(fixed[forced]);
            }
        }
        tree.last = last.unwrap_or(0);
        tree
    }

    fn push(&mut self, node: usize) {
        self.size += 1;
        self.heap[self.size] = node as u16;
    }

    /// Join the two rarest nodes until one is left. New nodes are numbered from `next` on.
    fn grow(&mut self, mut next: usize) {
        for slot in (1..=self.size / 2).rev() {
            self.sift(slot);
        }
        while self.size >= 2 {
            let rarest = self.heap[1];
            self.heap[1] = self.heap[self.size];
            self.size -= 1;
            self.sift(1);
            let second = self.heap[1];
            self.record(rarest);
            self.record(second);
            let (a, b) = (usize::from(rarest), usize::from(second));
            self.frequency[next] = self.frequency[a] + self.frequency[b];
            self.depth[next] = self.depth[a].max(self.depth[b]) + 1;
            self.parent[a] = next as u16;
            self.parent[b] = next as u16;
            self.heap[1] = next as u16;
            next += 1;
            self.sift(1);
        }
        self.record(self.heap[1]);
    }

    fn record(&mut self, node: u16) {
        self.first -= 1;
        self.order[self.first] = node;
    }

    /// The sort key of the heap.
    fn key(&self, node: u16) -> u32 {
        let node = usize::from(node);
        self.frequency[node] << 8 | u32::from(self.depth[node])
    }

    fn sift(&mut self, mut slot: usize) {
        let node = self.heap[slot];
        let key = self.key(node);
        let mut child = 2 * slot;
        while child <= self.size {
            let mut least = self.key(self.heap[child]);
            if child < self.size {
                let other = self.key(self.heap[child + 1]);
                if other <= least {
                    child += 1;
                    least = other;
                }
            }
            if key <= least {
                break;
            }
            self.heap[slot] = self.heap[child];
            slot = child;
            child *= 2;
        }
        self.heap[slot] = node;
    }

    /// Determine the code lengths, up to the limit.
    fn measure(&mut self, alphabet: &Alphabet, cost: &mut Cost) -> Code {
        let max = alphabet.max_length;
        let mut counts = [0u16; MAX_LENGTH + 1];
        let mut overflow = 0i32;
        // The length of the root is 0.
        for place in self.first + 1..NODES {
            let node = usize::from(self.order[place]);
            let mut length = usize::from(self.length[usize::from(self.parent[node])]) + 1;
            if length > max {
                length = max;
                overflow += 1;
            }
            self.length[node] = length as u8;
            if self.is_leaf(node, alphabet) {
                counts[length] += 1;
                let frequency = i64::from(self.frequency[node]);
                let extra = i64::from(alphabet.extra(node));
                cost.own += frequency * (length as i64 + extra);
                if let Some(fixed) = alphabet.fixed {
                    cost.fixed += frequency * (i64::from(fixed[node]) + extra);
                }
            }
        }
        if overflow > 0 {
            shorten(&mut counts, max, overflow);
            self.distribute(alphabet, &counts, cost);
        }
        let mut code = Code {
            last: self.last,
            ..Code::default()
        };
        code.lengths[..alphabet.size].copy_from_slice(&self.length[..alphabet.size]);
        code
    }

    fn is_leaf(&self, node: usize, alphabet: &Alphabet) -> bool {
        node < alphabet.size
    }

    /// Assign the longest codes to the rarest leaves.
    fn distribute(&mut self, alphabet: &Alphabet, counts: &[u16], cost: &mut Cost) {
        let mut place = NODES;
        for length in (1..=alphabet.max_length).rev() {
            let mut left = counts[length];
            while left > 0 {
                place -= 1;
                let node = usize::from(self.order[place]);
                if !self.is_leaf(node, alphabet) {
                    continue;
                }
                let change = length as i64 - i64::from(self.length[node]);
                cost.own += change * i64::from(self.frequency[node]);
                self.length[node] = length as u8;
                left -= 1;
            }
        }
    }
}

/// Make room for `overflow` codes that were shortened to the length `max`.
fn shorten(counts: &mut [u16], max: usize, mut overflow: i32) {
    while overflow > 0 {
        let mut length = max - 1;
        while counts[length] == 0 {
            length -= 1;
        }
        counts[length] -= 1;
        counts[length + 1] += 2;
        counts[max] -= 1;
        overflow -= 2;
    }
}
