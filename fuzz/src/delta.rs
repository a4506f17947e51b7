//! Delta instructions: those of a delta that applies make its result one by one, and nothing else applies.

use sluice_git::objects::delta::{Instruction, PackDelta, next_instruction};

/// Results above this are not made.
const LIMIT: u64 = 1 << 20;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let Some((&length, rest)) = input.split_first() else {
        return;
    };
    let (base, delta) = rest.split_at(rest.len().min(length.into()));
    let Ok(delta) = PackDelta::parse(delta) else {
        return;
    };
    if delta.size > LIMIT {
        return;
    }
    let mut out = vec![0; delta.size as usize];
    let applied = delta.apply(base, &mut out).is_ok();
    let expected = one_by_one(&delta, base);
    assert_eq!(applied.then_some(out), expected);
}

fn one_by_one(delta: &PackDelta<'_>, base: &[u8]) -> Option<Vec<u8>> {
    let mut instructions = delta.instructions;
    let mut out = Vec::new();
    while let Some(instruction) = next_instruction(&mut instructions).ok()? {
        match instruction {
            Instruction::Copy(from, count) => out.extend(base.get(from..from + count)?),
            Instruction::Insert(bytes) => out.extend(bytes),
        }
        if out.len() as u64 > delta.size {
            return None;
        }
    }
    let fits = base.len() as u64 == delta.base_size && out.len() as u64 == delta.size;
    fits.then_some(out)
}
