//! A header: one record of a tar file, field by field (pax(1), "ustar Interchange Format"). Must not know which entries an
//! archive has.

use std::ops::Range;

use crate::Member;
use sluice_base::buffer::Buffer;

/// The unit of a tar file, in bytes.
pub(super) const RECORD: usize = 512;
/// The most bytes of a name without a prefix, and of the target of a link.
pub(super) const NAME_LEN: usize = 100;
const PREFIX_LEN: usize = 155;

/// The positions of a header's fields.
mod field {
    use std::ops::Range;

    pub(super) const NAME: Range<usize> = 0..100;
    pub(super) const MODE: Range<usize> = 100..108;
    pub(super) const UID: Range<usize> = 108..116;
    pub(super) const GID: Range<usize> = 116..124;
    pub(super) const SIZE: Range<usize> = 124..136;
    pub(super) const MTIME: Range<usize> = 136..148;
    pub(super) const CHECKSUM: Range<usize> = 148..156;
    pub(super) const TYPE: usize = 156;
    pub(super) const LINK: Range<usize> = 157..257;
    pub(super) const MAGIC: Range<usize> = 257..265;
    pub(super) const USER: Range<usize> = 265..269;
    pub(super) const GROUP: Range<usize> = 297..301;
    pub(super) const MAJOR: Range<usize> = 329..337;
    pub(super) const MINOR: Range<usize> = 337..345;
    pub(super) const PREFIX: Range<usize> = 345..500;
}

/// A number of at most eleven octal digits, for the fields of sizes and times. A larger number goes to a
/// pax record.
#[derive(Clone, Copy)]
pub(super) struct Octal(u64);

impl Octal {
    pub(super) const ZERO: Self = Self(0);
    const MAX: Self = Self(0o77777777777);

    /// `number`, if it fits.
    pub(super) fn new(number: u64) -> Option<Self> {
        (number <= Self::MAX.0).then_some(Self(number))
    }

    /// `number`, or the largest that fits.
    pub(super) fn at_most(number: u64) -> Self {
        Self::new(number).unwrap_or(Self::MAX)
    }
}

/// The common part of all headers; other bytes are NUL. The checksum is computed over these spaces.
const BLANK: [u8; RECORD] = {
    let header = put([0; RECORD], field::UID, b"0000000");
    let header = put(header, field::GID, b"0000000");
    let header = put(header, field::CHECKSUM, b"        ");
    let header = put(header, field::MAGIC, b"ustar\x0000");
    let header = put(header, field::USER, b"root");
    let header = put(header, field::GROUP, b"root");
    let header = put(header, field::MAJOR, b"0000000");
    put(header, field::MINOR, b"0000000")
};

const fn put(mut header: [u8; RECORD], field: Range<usize>, value: &[u8]) -> [u8; RECORD] {
    let mut at = 0;
    while at < value.len() {
        header[field.start + at] = value[at];
        at += 1;
    }
    header
}

/// The fields that differ between headers, except name, size and time.
pub(super) struct Header<'a> {
    pub(super) kind: u8,
    pub(super) mode: u32,
    pub(super) link: &'a [u8],
}

impl Header<'_> {
    /// Append the header of an entry whose body has `size` bytes. `link` and both parts of the name must fit.
    pub(super) fn write(&self, out: &mut Buffer, name: Parts<'_>, size: Octal, mtime: Octal) {
        let (prefix, name) = name;
        let header = out.space(RECORD);
        header.copy_from_slice(&BLANK);
        text(&mut header[field::NAME], name);
        octal(&mut header[field::MODE], u64::from(self.mode));
        octal(&mut header[field::SIZE], size.0);
        octal(&mut header[field::MTIME], mtime.0);
        header[field::TYPE] = self.kind;
        text(&mut header[field::LINK], self.link);
        text(&mut header[field::PREFIX], prefix);
        checksum(header);
    }
}

/// The prefix field and the name field.
pub(super) type Parts<'a> = (&'a [u8], &'a [u8]);

/// How a name fits into a header.
pub(super) enum Name<'a> {
    Plain(&'a [u8]),
    /// The prefix field and the name field, with a slash between them.
    Split(&'a [u8], &'a [u8]),
    /// The name does not fit; this name replaces it.
    Extended(String),
}

impl<'a> Name<'a> {
    /// How the name of `member` fits.
    pub(super) fn fit(member: &Member<'a>) -> Self {
        let name = member.name;
        if name.len() <= NAME_LEN {
            return Self::Plain(name);
        }
        // The last slash within reach of the prefix field. A slash at the very end does not count.
        let reach = if name.ends_with(b"/") {
            name.len() - 1
        } else {
            name.len()
        };
        let reach = reach.min(PREFIX_LEN);
        match name[..reach].iter().rposition(|&byte| byte == b'/') {
            Some(slash) if slash > 0 && name.len() - slash - 1 <= NAME_LEN => {
                Self::Split(&name[..slash], &name[slash + 1..])
            }
            _ => Self::Extended(format!("{}.data", member.hex_id())),
        }
    }

    /// The fields of the name.
    pub(super) fn parts(&self) -> Parts<'_> {
        match self {
            Self::Plain(name) => (b"", name),
            Self::Split(prefix, name) => (prefix, name),
            Self::Extended(name) => (b"", name.as_bytes()),
        }
    }
}

/// Put `value` at the beginning of the field, which ends in NULs.
pub(super) fn text(field: &mut [u8], value: &[u8]) {
    field[..value.len()].copy_from_slice(value);
}

/// Fill the field with octal digits and one NUL.
fn octal(field: &mut [u8], mut value: u64) {
    let (last, digits) = field.split_last_mut().expect("fields are not empty");
    *last = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value & 7) as u8;
        value >>= 3;
    }
}

/// Complete a header whose checksum field holds spaces.
fn checksum(header: &mut [u8]) {
    let sum = sum(header);
    octal(&mut header[field::CHECKSUM], u64::from(sum));
}

/// Change the size in a complete header.
pub(super) fn set_size(header: &mut [u8], size: Octal) {
    let digits = header[field::CHECKSUM][..7].iter();
    let old = digits.fold(0, |value, digit| 8 * value + u32::from(digit & 7));
    let rest = old - sum(&header[field::SIZE]);
    octal(&mut header[field::SIZE], size.0);
    let sum = rest + sum(&header[field::SIZE]);
    octal(&mut header[field::CHECKSUM], u64::from(sum));
}

/// The sum of at most one record, so that no lane overflows.
fn sum(bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<16>();
    let mut lanes = [0; 16];
    for chunk in chunks {
        for (lane, &byte) in lanes.iter_mut().zip(chunk) {
            *lane += u16::from(byte);
        }
    }
    let lanes = lanes.into_iter().map(u32::from);
    lanes.chain(rest.iter().map(|&byte| u32::from(byte))).sum()
}
