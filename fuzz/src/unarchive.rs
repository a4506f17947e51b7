//! `unarchive`: archives of any kind are read to their end or refused, and contents have the sizes that are stated.
//!
//! The checksum of each block that could be a header is put right, so that the fields behind it are read.

use std::io::{Cursor, Read};

use sluice_base::error::{Error, Result};
use sluice_format::unarchive::{Item, Kind, Raw, Source, Visitor, read, unreadable};

const BLOCK: usize = 512;
const MAGIC: &[u8] = b"ustar";
const MAGIC_AT: usize = 257;
const CHECKSUM: std::ops::Range<usize> = 148..156;
/// More than any input of the fuzzer needs, and few enough for the time of one input.
const CONTENT_MAX: u64 = 64 << 20;
const MEMORY: u64 = 16 << 20;
/// Programs that are not started for each input.
const PROGRAMS: [&[u8]; 3] = [b"\xfd7zXZ\0", b"BZh", b"LZIP"];

/// Reads all contents.
#[derive(Default)]
struct Reader {
    content: u64,
}

impl Visitor for Reader {
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()> {
        if item.kind != Kind::File {
            return Ok(());
        }
        let (mut piece, mut size) = ([0; 4096], 0);
        loop {
            match content.read(&mut piece).map_err(unreadable)? {
                0 => break,
                read => size += read as u64,
            }
            if self.content + size > CONTENT_MAX {
                return Err(Error::fatal("enough"));
            }
        }
        assert_eq!(size, item.size, "a content has another size than is stated");
        self.content += size;
        Ok(())
    }
}

fn with_checksums(input: &[u8]) -> Vec<u8> {
    let mut archive = input.to_vec();
    for block in archive.chunks_exact_mut(BLOCK) {
        if block[MAGIC_AT..].starts_with(MAGIC) {
            block[CHECKSUM].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    archive
}

/// Tries `input`.
pub fn run(input: &[u8]) {
    if PROGRAMS.iter().any(|magic| input.starts_with(magic)) {
        return;
    }
    let archive = with_checksums(input);
    let source = Source::Stream(Box::new(Cursor::new(archive)));
    let _ = read(source, MEMORY, &Raw::default(), &mut Reader::default());
}
