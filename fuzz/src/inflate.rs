//! Inflate: the bytes are zlib's, or there is an error where zlib has one.
//!
//! ```text
//! cargo +nightly fuzz run inflate
//! ```
//!
//! The input is a raw stream; its checksum is put right, so that everything in it is looked at.

use std::io::Read;

use flate2::read::DeflateDecoder;
use sluice_base::buffer::Buffer;
use sluice_git::objects::Inflater;

/// The header of most zlib streams.
const HEADER: [u8; 2] = [0x78, 0x9c];
/// More than any input should inflate to.
const LARGEST: u64 = 1 << 20;

/// Tries `raw`.
pub fn run(raw: &[u8]) {
    let mut decoder = DeflateDecoder::new(raw);
    let mut content = Vec::new();
    let sound = (&mut decoder)
        .take(LARGEST)
        .read_to_end(&mut content)
        .is_ok();
    let used = decoder.total_in() as usize;
    let sum = adler32(&content).to_be_bytes();
    let stream = [&HEADER, &raw[..used.min(raw.len())], &sum].concat();
    let mut out = Buffer::default();
    let outcome = Inflater::default().whole(&stream, content.len(), &mut out);
    if sound && (content.len() as u64) < LARGEST {
        assert!(outcome.is_ok(), "refused");
    }
    if outcome.is_ok() {
        assert!(*out == content[..], "zlib differs");
    }
    // As it is, and with a size that it hardly has.
    let size = raw.len();
    let _ = Inflater::default().whole(raw, size, &mut out);
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (a + b) % 65521)
    });
    b << 16 | a
}
