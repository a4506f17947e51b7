//! What is in a file at each version: a pure function of seeds, so that no content is ever kept.
//!
//! A file is a list of blocks, each made from a seed of its own. An edit replaces, inserts or
//! removes a few of them, and leaves all others byte for byte as they were; that is what deltas
//! live on.

use std::io::{self, Write};

use super::random::Random;
use super::words::{self, Grammar, ROOTS};

/// Decides the grammar of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Script,
    Build,
    Prose,
    Table,
    Tiny,
    Binary,
    Link,
}

impl Kind {
    /// In the order of their discriminants.
    pub(super) const ALL: [Kind; 8] = [
        Kind::Code,
        Kind::Script,
        Kind::Build,
        Kind::Prose,
        Kind::Table,
        Kind::Tiny,
        Kind::Binary,
        Kind::Link,
    ];

    /// Whether people write new files of this kind by changing an old one.
    pub(super) fn is_copied(self) -> bool {
        matches!(self, Kind::Code | Kind::Script | Kind::Prose | Kind::Table)
    }

    fn grammar(self) -> Option<&'static Grammar> {
        match self {
            Kind::Code => Some(&words::CODE),
            Kind::Script => Some(&words::SCRIPT),
            Kind::Build => Some(&words::BUILD),
            Kind::Prose => Some(&words::PROSE),
            Kind::Table => Some(&words::TABLE),
            Kind::Tiny => Some(&words::TINY),
            Kind::Binary | Kind::Link => None,
        }
    }
}

/// Everything the bytes of a file are derived from.
pub(super) struct Content {
    pub(super) kind: Kind,
    /// Shared by the files of a directory, which use many of the same identifiers.
    pub(super) topic: u64,
    /// Shared by files that began as copies of one another.
    pub(super) seed: u64,
    /// Sets a copy apart from the other copies; 0 in a file that was never copied.
    pub(super) copy: u64,
    /// In the first version.
    pub(super) blocks: u64,
    /// Of a symbolic link, else empty.
    pub(super) target: String,
}

/// Bytes of a block of a binary file.
const BINARY_BLOCK: usize = 512;

impl Content {
    /// Appends the file as it is after `edits` edits.
    pub(super) fn render(&self, edits: u32, out: &mut Vec<u8>) {
        let blocks = self.blocks_after(edits);
        match self.kind.grammar() {
            Some(grammar) => self.render_text(grammar, &blocks, out),
            None if self.kind == Kind::Link => out.extend_from_slice(self.target.as_bytes()),
            None => blocks.iter().for_each(|&block| render_binary(block, out)),
        }
    }

    /// Average length of a block, found by making some.
    pub(super) fn mean_block_bytes(kind: Kind) -> u64 {
        const SAMPLES: u64 = 256;
        let target = String::new();
        let content = Content {
            kind,
            topic: 1,
            seed: 1,
            copy: 0,
            blocks: SAMPLES,
            target,
        };
        let mut bytes = Vec::new();
        content.render(0, &mut bytes);
        (bytes.len() as u64 / SAMPLES).max(1)
    }

    /// The seeds of the blocks.
    fn blocks_after(&self, edits: u32) -> Vec<u64> {
        let mut random = Random::new(&[self.seed, 1]);
        let mut blocks: Vec<u64> = (0..self.blocks).map(|_| random.next()).collect();
        for edit in 0..self.edits_since_copied() + u64::from(edits) {
            self.edit(edit, &mut blocks);
        }
        blocks
    }

    /// What was changed in a copy before its first commit.
    fn edits_since_copied(&self) -> u64 {
        if self.copy == 0 {
            0
        } else {
            1 + self.blocks / 16
        }
    }

    fn edit(&self, edit: u64, blocks: &mut Vec<u64>) {
        let mut random = Random::new(&[self.seed, 2, self.copy, edit]);
        let most = (blocks.len() as u64 / 4).clamp(1, 3);
        for _ in 0..1 + random.below(most) {
            let at = random.below(blocks.len() as u64 + 1) as usize;
            match random.below(10) {
                0..3 => blocks.insert(at, random.next()),
                3 if at < blocks.len() && blocks.len() > 1 => {
                    blocks.remove(at);
                }
                _ if at < blocks.len() => blocks[at] = random.next(),
                _ => blocks.push(random.next()),
            }
        }
    }

    fn render_text(&self, grammar: &Grammar, blocks: &[u64], out: &mut Vec<u8>) {
        if blocks.is_empty() {
            return;
        }
        let names = Names::new(self.topic, self.seed);
        let mut random = Random::new(&[self.seed, 3]);
        names.expand(random.pick(grammar.headers), &mut random, out);
        for &block in blocks {
            let mut random = Random::new(&[block]);
            names.expand(random.pick(grammar.openings), &mut random, out);
            for _ in 0..1 + random.below(grammar.max_lines) {
                names.expand(random.pick(grammar.lines), &mut random, out);
            }
            names.expand(random.pick(grammar.closings), &mut random, out);
        }
    }
}

/// The identifiers that a file uses, the frequent ones first.
struct Names(Vec<String>);

impl Names {
    const SHARED: usize = 24;
    const OWN: usize = 24;

    fn new(topic: u64, seed: u64) -> Self {
        let mut shared = Random::new(&[topic, 4]);
        let mut own = Random::new(&[seed, 4]);
        let mut names: Vec<String> = (0..Self::SHARED).map(|_| identifier(&mut shared)).collect();
        names.extend((0..Self::OWN).map(|_| identifier(&mut own)));
        own.shuffle(&mut names);
        Names(names)
    }

    /// Appends `pattern` with its placeholders filled in.
    fn expand(&self, pattern: &str, random: &mut Random, out: &mut Vec<u8>) {
        let mut rest = pattern.as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|byte| matches!(byte, b'@' | b'~' | b'^'))
        {
            out.extend_from_slice(&rest[..at]);
            match rest[at] {
                b'@' => out.extend_from_slice(self.pick(random).as_bytes()),
                b'~' => out.extend(
                    self.pick(random)
                        .bytes()
                        .map(|byte| byte.to_ascii_uppercase()),
                ),
                _ => push_number(random.skewed(4096), out),
            }
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }

    fn pick(&self, random: &mut Random) -> &str {
        &self.0[random.skewed(self.0.len() as u64) as usize]
    }
}

fn identifier(random: &mut Random) -> String {
    let mut name = random.pick(&ROOTS).to_owned();
    for _ in 0..random.below(3) {
        name = name + "_" + random.pick(&ROOTS);
    }
    name
}

fn push_number(number: u64, out: &mut Vec<u8>) {
    write!(out, "{number}").expect("a vector takes every write");
}

/// One block in four compresses, as where headers and padding lie between compressed data.
fn render_binary(block: u64, out: &mut Vec<u8>) {
    let mut random = Random::new(&[block]);
    let mask = if block.is_multiple_of(4) {
        0x0000_ff00_0f00_00ff
    } else {
        u64::MAX
    };
    for _ in 0..BINARY_BLOCK / 8 {
        out.extend_from_slice(&(random.next() & mask).to_le_bytes());
    }
}

/// A file of any size, made piece by piece: records of 64 bytes, half of them text.
///
/// The first version is one record longer, so that git takes it as the base of the second.
pub(super) struct FixedRecords {
    pub(super) seed: u64,
    /// Bytes of the second version.
    pub(super) size: u64,
}

impl FixedRecords {
    const RECORD: u64 = 64;
    /// The second version differs from the first in one record out of so many.
    const CHANGE_EVERY: u64 = 4096;

    /// Bytes of the version after `edits` edits, 0 or 1.
    pub(super) fn len(&self, edits: u32) -> u64 {
        self.size + if edits == 0 { Self::RECORD } else { 0 }
    }

    /// Writes the version after `edits` edits, 0 or 1.
    pub(super) fn write(&self, edits: u32, out: &mut impl Write) -> io::Result<()> {
        let mut left = self.len(edits);
        let mut record = Vec::new();
        for number in 0.. {
            if left == 0 {
                break;
            }
            record.clear();
            self.render_record(number, edits, &mut record);
            let take = left.min(Self::RECORD);
            out.write_all(&record[..take as usize])?;
            left -= take;
        }
        Ok(())
    }

    fn render_record(&self, number: u64, edits: u32, out: &mut Vec<u8>) {
        let changed = u64::from(edits) * u64::from(number % Self::CHANGE_EVERY == 1);
        let mut random = Random::new(&[self.seed, number, changed]);
        let (value, root) = (random.next(), random.pick(&ROOTS));
        writeln!(
            out,
            "{number:012x} {root:<16.16} {value:016x} {changed:<16}"
        )
        .expect("a vector takes every write");
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, FixedRecords, Kind};

    fn code(edits: u32) -> Vec<u8> {
        let target = String::new();
        let content = Content {
            kind: Kind::Code,
            topic: 6,
            seed: 5,
            copy: 0,
            blocks: 40,
            target,
        };
        let mut bytes = Vec::new();
        content.render(edits, &mut bytes);
        bytes
    }

    #[test]
    fn an_edit_leaves_most_of_a_file_alone() {
        let (before, after) = (code(3), code(4));
        let lines: Vec<&[u8]> = before.split(|&byte| byte == b'\n').collect();
        let kept = after
            .split(|&byte| byte == b'\n')
            .filter(|line| lines.contains(line))
            .count();
        assert_ne!(before, after);
        assert!(
            kept * 10 > lines.len() * 8,
            "{kept} of {} lines",
            lines.len()
        );
    }

    #[test]
    fn fixed_records_have_the_size_they_promise() {
        for size in [0, 1, 64, 1000] {
            let records = FixedRecords { seed: 1, size };
            for edits in [0, 1] {
                let mut bytes = Vec::new();
                records.write(edits, &mut bytes).unwrap();
                assert_eq!(bytes.len() as u64, records.len(edits));
            }
        }
    }
}
