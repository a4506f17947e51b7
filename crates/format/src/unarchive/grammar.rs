//! The headers of a tar that programs are known to write, field by field, and the words for all others.
//!
//! A header is in the grammar if each of its 512 bytes is the one that a known program writes for the entry as it was
//! understood. Free are only the fields that do not decide which files are written: times, owners, and devices of files.

use std::{ops::Range, str::Utf8Error};

/// A field that no program writes so.
pub(super) const FORM: &str =
    "a field of its header has an unknown form: some programs stop at it, others guess";
/// A type of entry that no program writes in this format.
pub(super) const TYPE: &str =
    "its type is unknown: some programs write a file, others skip the entry";
/// A magic of no known format, or bytes of another format.
pub(super) const FORMAT: &str =
    "its header mixes formats: some programs read a field that others ignore";
/// A record that no list has.
pub(super) const KEY: &str =
    "a record of its header has an unknown key: some programs obey it, others ignore it";
/// Headers before an entry that no program writes in this order or number.
pub(super) const ORDER: &str =
    "the headers before it have no known order: some programs combine them, others take one";
/// Two sizes.
pub(super) const SIZES: &str = "its headers state two sizes: programs continue at different places";
/// A body of something that has none.
pub(super) const BODY: &str =
    "something that is no file has content: some programs skip it, others read entries in it";
/// A file with the name of a directory.
pub(super) const SLASH: &str =
    "it ends in a slash and is no directory: some programs write a file, others a directory";
/// Padding that is not zero.
pub(super) const PADDING: &str =
    "bytes after its content belong to nothing: only some programs ignore them";
/// Something after the end.
pub(super) const AFTER_END: &str =
    "something follows its end: some programs stop there, others read on";
/// A header for an entry that does not come.
pub(super) const ALONE: &str =
    "an extended header has no entry: some programs fail, others ignore it";
/// The beginning of another format.
pub(super) const OTHER: &str =
    "it begins like a file of another format, which some programs take it for";
/// A sparse file.
pub(super) const SPARSE: &str =
    "a sparse file: some programs write its map as a part of the content, or another name";

pub(super) const NAME: Range<usize> = 0..100;
pub(super) const MODE: Range<usize> = 100..108;
pub(super) const SIZE: Range<usize> = 124..136;
const CHECKSUM: Range<usize> = 148..156;
pub(super) const TYPE_AT: usize = 156;
const LINK: Range<usize> = 157..257;
const MAGIC: Range<usize> = 257..265;
const DEVICE: usize = 329;
const PREFIX: Range<usize> = 345..500;
/// Fields that may be blank, or binary numbers: owner, group, time, device.
const OPTIONAL: [Range<usize>; 5] = [108..116, 116..124, 136..148, 329..337, 337..345];
/// The least size that does not fit into eleven octal digits.
pub(super) const LARGE: u64 = 1 << 33;

/// Why programs may understand something differently, if they may.
pub(super) type Doubt = Option<&'static str>;

/// The formats of headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    V7,
    Ustar,
    Gnu,
}

/// Notes `reason` in `doubt` unless something `is_right`. The first reason stays.
pub(super) fn require(doubt: &mut Doubt, is_right: bool, reason: &'static str) {
    if !is_right {
        doubt.get_or_insert(reason);
    }
}

/// The dialect of a header, and why programs may understand it differently. What other headers say of the entry is checked
/// elsewhere.
pub(super) fn check(block: &[u8; 512], size: u64, doubt: &mut Doubt) -> Dialect {
    let flag = block[TYPE_AT];
    let tail = &block[PREFIX.start..];
    let has_prefix = is_text(&block[PREFIX]) && is_zero(&block[PREFIX.end..]);
    let (dialect, types, is_pure): (_, &[u8], _) = match &block[MAGIC] {
        b"ustar\x0000" => (
            Dialect::Ustar,
            b"\x000123456xgV",
            has_prefix || is_star(block),
        ),
        b"ustar  \0" => (
            Dialect::Gnu,
            b"\x000123456SLKV",
            flag == b'S' || is_zero(tail),
        ),
        _ => {
            let is_pure = is_zero(&block[MAGIC.start..DEVICE]) && is_zero(tail);
            (Dialect::V7, b"\x000125V", is_pure)
        }
    };
    let may_link = block[LINK.start] == 0 || b"12K".contains(&flag);
    // Some programs write a file for a link that has its target in another header alone.
    let has_target = block[LINK.start] != 0 || !b"12".contains(&flag);
    let may_have_body = size == 0 || b"\x000SLKxg".contains(&flag);
    require(doubt, is_pure, FORMAT);
    require(doubt, types.contains(&flag), TYPE);
    require(doubt, has_known_fields(block, flag, size), FORM);
    require(doubt, may_have_body, BODY);
    require(doubt, may_link, FORMAT);
    require(doubt, has_target, FORM);
    dialect
}

/// Whether some programs take a file that begins with `block` for one of another format. Such files begin with bytes that no text
/// has, or with a line. A program of Windows may have an archive after it.
pub(super) fn begins_another(block: &[u8; 512]) -> bool {
    let name = block[NAME].split(|byte| *byte == 0).next();
    let name = name.unwrap_or_default();
    let is_program = name.starts_with(b"MZ") && !block[MAGIC.start..].starts_with(b"ustar");
    let is_no_text = |error: Utf8Error| error.valid_up_to() == 0;
    is_program
        || std::str::from_utf8(name).is_err_and(is_no_text)
        || name.iter().any(u8::is_ascii_control)
}

/// Whether the checksum is right. Some programs add signed bytes.
pub(super) fn is_header(block: &[u8; 512]) -> bool {
    let negative = block.iter().filter(|byte| **byte >= 0x80).count() as u64;
    let stated = octal(&block[CHECKSUM]);
    stated.is_some_and(|stated| [stated, stated + 256 * negative].contains(&sum(block)))
}

/// Whether each field is one that programs write. The label of an archive has neither permissions nor a size.
fn has_known_fields(block: &[u8; 512], flag: u8, size: u64) -> bool {
    let is_label = flag == b'V';
    let is_optional = |field: &Range<usize>| {
        let field = &block[field.clone()];
        // Python 2 ends without an error where a number is negative.
        is_blank(field) || is_octal(field) || matches!(field, [0x80, ..])
    };
    let is_needed = |field: Range<usize>| {
        let field = &block[field];
        is_octal(field) || (is_label && is_blank(field))
    };
    let has_size = match block[SIZE.start] {
        // Only a size that does not fit otherwise is binary, or needs all of the field.
        0x80 => is_zero(&block[SIZE.start + 1..SIZE.start + 4]) && size >= LARGE,
        _ => is_needed(SIZE) && (!block[SIZE.end - 1].is_ascii_digit() || size >= LARGE),
    };
    is_text(&block[NAME])
        && is_text(&block[LINK])
        && is_needed(MODE)
        && !block[MODE.end - 1].is_ascii_digit()
        && has_size
        && OPTIONAL.iter().all(is_optional)
        && is_octal(&block[CHECKSUM])
        && octal(&block[CHECKSUM]) == Some(sum(block))
}

/// Whether `block` ends like a header of star, or of node-tar: a shorter prefix, and two times.
fn is_star(block: &[u8; 512]) -> bool {
    is_text(&block[345..476])
        && block[475] == 0
        && is_octal(&block[476..488])
        && is_octal(&block[488..500])
        && is_zero(&block[500..508])
        && matches!(&block[508..], b"tar\0" | b"\0\0\0\0")
}

/// The sum of all bytes, with blanks for the checksum.
fn sum(block: &[u8; 512]) -> u64 {
    let all: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[CHECKSUM].iter().map(|byte| u64::from(*byte)).sum();
    all - own + 8 * u64::from(b' ')
}

/// The value of octal digits between blanks.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(digits.trim_matches([' ', '\0']), 8).ok()
}

/// Whether a field has octal digits, after blanks and before blanks or NULs.
fn is_octal(field: &[u8]) -> bool {
    let digits = field.trim_ascii_start();
    let len = digits
        .iter()
        .take_while(|byte| matches!(byte, b'0'..=b'7'))
        .count();
    let blanks = field.len() - digits.len();
    len > 0 && field[..blanks].iter().all(|byte| *byte == b' ') && is_blank(&digits[len..])
}

fn is_blank(field: &[u8]) -> bool {
    field.iter().all(|byte| matches!(byte, 0 | b' '))
}

/// Whether only NULs follow the first NUL.
fn is_text(field: &[u8]) -> bool {
    let len = field.iter().position(|byte| *byte == 0);
    len.is_none_or(|len| is_zero(&field[len..]))
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
