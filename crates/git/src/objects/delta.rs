//! Applies the deltas of packs (gitformat-pack(5), "Deltified representation").
//!
//! A delta is two sizes, then instructions that copy from the base or insert bytes of the delta. The result
//! is written straight to its destination. Nothing outside the given slices is touched.

use std::ops::Range;

use crate::odb::pack::Damage;

/// The shortest delta that git accepts: two sizes, and an instruction with an operand.
const MIN_LEN: usize = 4;

const CORRUPT: Damage = Damage("delta is corrupt");

/// Most copies are at most this long. Where there is room, they are made with this fixed length, and the
/// next instruction overwrites the excess. A call of `memcpy` would cost more.
const SHORT: usize = 32;

/// One instruction of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction<'a> {
    /// Copy from the base: the offset in the base, then the number of bytes.
    Copy(usize, usize),
    /// Insert these bytes.
    Insert(&'a [u8]),
}

/// A delta: its two sizes in bytes, and its instructions.
pub struct PackDelta<'a> {
    /// The size of the base.
    pub base_size: u64,
    /// The size of the result.
    pub size: u64,
    /// The instructions, see [`next_instruction`].
    pub instructions: &'a [u8],
}

impl<'a> PackDelta<'a> {
    /// Read the sizes at the start of `delta`.
    pub fn parse(mut delta: &'a [u8]) -> Result<Self, Damage> {
        if delta.len() < MIN_LEN {
            return Err(CORRUPT);
        }
        let base_size = varint(&mut delta)?;
        let size = varint(&mut delta)?;
        Ok(Self {
            base_size,
            size,
            instructions: delta,
        })
    }

    /// Write the result to `out`, whose length must be the result's size.
    pub fn apply(&self, base: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        if base.len() as u64 != self.base_size {
            return Err(Damage("delta was made against another base"));
        }
        let mut rest = self.instructions;
        let mut out = out;
        while let Some((&op, operands)) = rest.split_first() {
            let (source, len);
            (source, len, rest) = match op {
                0 => return Err(CORRUPT),
                1..0x80 => {
                    let len = usize::from(op);
                    (operands, len, operands.get(len..).ok_or(CORRUPT)?)
                }
                _ => {
                    let (offset, len, after) = copy_operands(op, operands)?;
                    (base.get(offset..).ok_or(CORRUPT)?, len, after)
                }
            };
            match (
                source.first_chunk::<SHORT>(),
                out.first_chunk_mut::<SHORT>(),
            ) {
                (Some(source), Some(out)) if len <= SHORT => *out = *source,
                _ => {
                    let source = source.get(..len).ok_or(CORRUPT)?;
                    out.get_mut(..len).ok_or(CORRUPT)?.copy_from_slice(source);
                }
            }
            out = &mut out[len..];
        }
        match out {
            [] => Ok(()),
            _ => Err(CORRUPT),
        }
    }
}

/// Take the next instruction off `rest`. `None` at the end.
#[inline]
pub fn next_instruction<'a>(rest: &mut &'a [u8]) -> Result<Option<Instruction<'a>>, Damage> {
    let Some((&op, mut tail)) = rest.split_first() else {
        return Ok(None);
    };
    let instruction = if op & 0x80 != 0 {
        let (offset, len);
        (offset, len, tail) = copy_operands(op, tail)?;
        Instruction::Copy(offset, len)
    } else if op != 0 {
        let (bytes, after) = tail.split_at_checked(usize::from(op)).ok_or(CORRUPT)?;
        tail = after;
        Instruction::Insert(bytes)
    } else {
        return Err(CORRUPT);
    };
    *rest = tail;
    Ok(Some(instruction))
}

/// The offset and the length of the copy instruction `op`, and the bytes after its operands. Each of the
/// low seven bits of `op` says whether an operand byte is present.
#[inline]
fn copy_operands(op: u8, mut rest: &[u8]) -> Result<(usize, usize, &[u8]), Damage> {
    let mut operand = |bits: Range<u8>| {
        let mut value = 0;
        for bit in bits.clone() {
            if op & (1 << bit) != 0 {
                let (&byte, after) = rest.split_first().ok_or(CORRUPT)?;
                value |= usize::from(byte) << (8 * (bit - bits.start));
                rest = after;
            }
        }
        Ok(value)
    };
    let offset = operand(0..4)?;
    let len = match operand(4..7)? {
        0 => 0x10000,
        len => len,
    };
    Ok((offset, len, rest))
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Damage> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(CORRUPT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CORRUPT)
}

#[cfg(test)]
mod tests {
    use super::PackDelta;

    fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
        let delta = PackDelta::parse(delta).ok()?;
        let mut out = vec![0; delta.size as usize];
        delta.apply(base, &mut out).ok().map(|()| out)
    }

    #[test]
    fn copies_and_inserts() {
        // Base of 5, result of 6: copy 3 from 1, insert "xyz".
        let delta = b"\x05\x06\x91\x01\x03\x03xyz";
        assert_eq!(apply(b"abcde", delta).as_deref(), Some(&b"bcdxyz"[..]));
    }

    #[test]
    fn short_copies_end_where_they_should() {
        let base: Vec<u8> = (0..40).collect();
        // Result of 35: copies 2 from 1, 2 from 38, inserts 1, copies 30 from 0.
        let delta = b"\x28\x23\x91\x01\x02\x91\x26\x02\x01x\x90\x1e";
        let expected = [&base[1..3], &base[38..], b"x", &base[..30]].concat();
        assert_eq!(apply(&base, delta), Some(expected));
    }

    #[test]
    fn an_absent_length_is_65536() {
        let base = vec![7; 0x10000];
        assert_eq!(apply(&base, b"\x80\x80\x04\x80\x80\x04\x80"), Some(base));
    }

    #[test]
    fn what_leaves_its_bounds_is_refused() {
        for delta in [
            &b"\x04\x03\x91\x01\x03"[..], // another base
            b"\x05\x03\x91\x03\x03",      // reads past the base
            b"\x05\x02\x91\x01\x03",      // writes past the result
            b"\x05\x04\x91\x01\x03",      // ends too early
            b"\x05\x03\x00",              // reserved instruction
            b"\x05\x03\x03ab",            // insert without its bytes
            b"\x05\x03\x91\x01",          // copy without its length
            b"\x05\x00",                  // too short to make anything
            b"\x05\x01\x80",              // shorter than any that git takes
            b"\x85",                      // size without its end
        ] {
            assert_eq!(apply(b"abcde", delta), None, "{delta:?}");
        }
    }
}
