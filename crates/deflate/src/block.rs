//! Turns tokens into the bits of a block, in the cheapest of the three forms by the originals' calculation.
//!
//! A block does not depend on the bits before it, except for the padding of a stored block.

use super::{
    bits::Bits,
    huffman::{Code, Cost, DISTANCES, END, LITERALS, RUN_CODES, RUNS, SYMBOLS},
    token::{
        DISTANCE_BASE, DISTANCE_CODES, DISTANCE_EXTRA, LENGTH_BASE, LENGTH_EXTRA, Token,
        distance_code, length_code,
    },
};

/// The order in which the code lengths of the run codes are sent.
const RUN_ORDER: [usize; RUN_CODES] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The longest stored block in bytes.
const MAX_STORED: usize = 65535;

/// The form of a block. The discriminant is the sent number.
#[derive(Clone, Copy)]
enum Form {
    Stored = 0,
    Fixed = 1,
    Dynamic = 2,
}

/// Receives blocks.
pub(super) trait Sink {
    /// The bits to which a block is appended.
    fn bits(&mut self) -> &mut Bits;
    /// Append a stored block.
    fn stored(&mut self, raw: &[u8], last: bool);
}

impl Sink for Bits {
    fn bits(&mut self) -> &mut Bits {
        self
    }

    fn stored(&mut self, raw: &[u8], last: bool) {
        self.put(head(Form::Stored, last), 3);
        self.align();
        let length = raw.len() as u16;
        self.bytes(&length.to_le_bytes());
        self.bytes(&(!length).to_le_bytes());
        self.bytes(raw);
    }
}

fn head(form: Form, last: bool) -> u64 {
    (form as u64) << 1 | u64::from(last)
}

/// Code `tokens` as one block. `raw` is their content, if the block may be stored.
pub(super) fn block(tokens: &[Token], raw: Option<&[u8]>, last: bool, sink: &mut impl Sink) {
    let (literals, distances) = count(tokens);
    let mut cost = Cost::default();
    let literals = Code::build(&LITERALS, &literals, &mut cost);
    let distances = Code::build(&DISTANCES, &distances, &mut cost);
    let runs = Runs::new(&literals, &distances, &mut cost);
    let fixed = (cost.fixed + 3 + 7) >> 3;
    let own = ((cost.own + 3 + 7) >> 3).min(fixed);
    let raw = raw.filter(|raw| raw.len() <= MAX_STORED && raw.len() as i64 + 4 <= own);
    if let Some(raw) = raw {
        sink.stored(raw, last);
    } else if own == fixed {
        let bits = sink.bits();
        bits.put(head(Form::Fixed, last), 3);
        put_tokens(
            tokens,
            &LITERALS.fixed(),
            &DISTANCES.fixed(),
            cost.fixed,
            bits,
        );
    } else {
        let bits = sink.bits();
        bits.put(head(Form::Dynamic, last), 3);
        runs.put(&literals, &distances, bits);
        put_tokens(tokens, &literals, &distances, cost.own, bits);
    }
}

/// The number of occurrences of each symbol.
fn count(tokens: &[Token]) -> ([u32; SYMBOLS], [u32; DISTANCE_CODES]) {
    let mut literals = [0; SYMBOLS];
    let mut lengths = [0u32; 256];
    let mut distances = [0; DISTANCE_CODES];
    for token in tokens {
        if token.is_match() {
            lengths[usize::from(token.byte())] += 1;
            distances[distance_code(token.distance())] += 1;
        } else {
            literals[usize::from(token.byte())] += 1;
        }
    }
    for (length, count) in (0..=255).zip(lengths) {
        literals[END + 1 + length_code(length)] += count;
    }
    literals[END] = 1;
    (literals, distances)
}

/// Append the tokens and the end code, at most `total` bits.
fn put_tokens(tokens: &[Token], literals: &Code, distances: &Code, total: i64, bits: &mut Bits) {
    // First the literals, then the lengths: the bits to send, and their number.
    let mut short = [(0u32, 0u32); 512];
    for byte in 0..256 {
        short[byte] = (
            u32::from(literals.codes[byte]),
            u32::from(literals.lengths[byte]),
        );
        let code = length_code(byte as u8);
        let symbol = END + 1 + code;
        let width = u32::from(literals.lengths[symbol]);
        let offset = (byte - usize::from(LENGTH_BASE[code])) as u32;
        short[256 + byte] = (
            u32::from(literals.codes[symbol]) | offset << width,
            width + u32::from(LENGTH_EXTRA[code]),
        );
    }
    let mut long = [(0u32, 0u32, 0u32); 32];
    for code in 0..DISTANCE_CODES {
        let width = u32::from(distances.lengths[code]);
        long[code] = (
            u32::from(distances.codes[code]),
            width,
            width + u32::from(DISTANCE_EXTRA[code]),
        );
    }
    bits.put_all(tokens, total as usize, |token| {
        let place = usize::from(token.byte());
        if !token.is_match() {
            let (value, width) = short[place];
            return (u64::from(value), width);
        }
        let (value, width) = short[256 + place];
        let code = distance_code(token.distance());
        let (start, code_width, full_width) = long[code & 31];
        let offset = token.distance() as u64 - 1 - u64::from(DISTANCE_BASE[code]);
        let distance = u64::from(start) | offset << code_width;
        (u64::from(value) | distance << width, width + full_width)
    });
    bits.put(
        u64::from(literals.codes[END]),
        u32::from(literals.lengths[END]),
    );
}

/// The code lengths of a block as runs, and the code of the runs.
struct Runs {
    items: Vec<Run>,
    code: Code,
    /// The number of code lengths of the run code that are sent.
    sent: usize,
}

/// A code length, or a run: 16 repeats the last length, 17 and 18 are zeros.
struct Run {
    symbol: u8,
    extra: u8,
}

impl Run {
    fn extra_bits(&self) -> u32 {
        match self.symbol {
            16 => 2,
            17 => 3,
            18 => 7,
            _ => 0,
        }
    }
}

impl Runs {
    fn new(literals: &Code, distances: &Code, cost: &mut Cost) -> Self {
        let mut items = Vec::with_capacity(SYMBOLS + DISTANCE_CODES);
        // A run must not continue from one alphabet into the other.
        for code in [literals, distances] {
            describe(&code.lengths[..=code.last], &mut items);
        }
        let mut counts = [0; RUN_CODES];
        for item in &items {
            counts[usize::from(item.symbol)] += 1;
        }
        let code = Code::build(&RUNS, &counts, cost);
        let used = |&symbol: &usize| code.lengths[symbol] != 0;
        let sent = 1 + RUN_ORDER.iter().rposition(used).unwrap_or(0).max(3);
        cost.own += 3 * sent as i64 + 5 + 5 + 4;
        Self { items, code, sent }
    }

    fn put(&self, literals: &Code, distances: &Code, bits: &mut Bits) {
        bits.put(literals.last as u64 - END as u64, 5);
        bits.put(distances.last as u64, 5);
        bits.put(self.sent as u64 - 4, 4);
        for &symbol in &RUN_ORDER[..self.sent] {
            bits.put(u64::from(self.code.lengths[symbol]), 3);
        }
        for run in &self.items {
            let symbol = usize::from(run.symbol);
            let width = u32::from(self.code.lengths[symbol]);
            bits.put(u64::from(self.code.codes[symbol]), width);
            bits.put(u64::from(run.extra), run.extra_bits());
        }
    }
}

/// Cut `lengths` into runs.
fn describe(mut lengths: &[u8], items: &mut Vec<Run>) {
    let mut previous = None;
    while let Some(&length) = lengths.first() {
        let again = previous == Some(length);
        let (most, least) = match length {
            0 => (138, 3),
            _ if again => (6, 3),
            _ => (7, 4),
        };
        let same = lengths.iter().take(most).take_while(|&&l| l == length);
        let mut count = same.count();
        lengths = &lengths[count..];
        previous = Some(length);
        let plain = Run {
            symbol: length,
            extra: 0,
        };
        if count < least {
            items.extend((0..count).map(|_| Run { ..plain }));
            continue;
        }
        if length != 0 && !again {
            items.push(plain);
            count -= 1;
        }
        let (symbol, base) = match (length, count) {
            (0, ..=10) => (17, 3),
            (0, _) => (18, 11),
            _ => (16, 3),
        };
        items.push(Run {
            symbol,
            extra: (count - base) as u8,
        });
    }
}
