//! Trees, packs and pack indices written by hand, so that they can be wrong in every way that git
//! would not write.
//!
//! Only what is asked for is wrong: check sums, fan-outs and trailers are right, so that a reader
//! gets as far as the thing under test. Formats after gitformat-pack(5); compression is zlib's
//! stored blocks.

use std::fs;
use std::path::PathBuf;

use crate::support::Repo;
use crate::support::process::run_with_input;

/// Object kinds as packs number them.
pub(crate) const COMMIT: u8 = 1;
pub(crate) const TREE: u8 = 2;
pub(crate) const BLOB: u8 = 3;

/// An id that no object has by right: 20 times the same byte.
pub(crate) fn made_up(byte: u8) -> String {
    format!("{byte:02x}").repeat(20)
}

/// A stored tree of any entries in any order, and a commit of it; each entry is (mode, name, id).
pub(crate) fn commit(repo: &Repo, entries: &[(&str, &[u8], &str)]) -> String {
    let tree = tree(repo, entries);
    repo.git(["commit-tree", "-m", "forged", &tree])
}

/// The same without the commit.
pub(crate) fn tree(repo: &Repo, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend(id_bytes(id));
    }
    repo.git_with_input(
        ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        bytes,
    )
}

/// A stored blob.
pub(crate) fn blob(repo: &Repo, content: impl Into<Vec<u8>>) -> String {
    repo.git_with_input(["hash-object", "-w", "--stdin"], content)
}

/// Where the loose object that `object` names lies.
pub(crate) fn loose_file(repo: &Repo, object: &str) -> PathBuf {
    let id = repo.git(["rev-parse", object]);
    let objects = repo.path().join(".git/objects");
    objects.join(&id[..2]).join(&id[2..])
}

/// Takes the loose object that `object` names away, and returns its id.
pub(crate) fn lose(repo: &Repo, object: &str) -> String {
    let id = repo.git(["rev-parse", object]);
    fs::remove_file(loose_file(repo, &id)).expect("it is loose");
    id
}

/// The file of the first pack with this extension: `pack` or `idx`. Whoever changes it removes it first, since it is read-only.
pub(crate) fn packed(repo: &Repo, extension: &str) -> PathBuf {
    let files = fs::read_dir(repo.path().join(".git/objects/pack")).expect("it has packs");
    let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files.swap_remove(0)
}

/// Put `inflated` (which should begin with a header such as `blob 3\0`) where the loose object `id`
/// belongs.
pub(crate) fn loose(repo: &Repo, id: &str, inflated: &[u8]) {
    let directory = repo.path().join(".git/objects").join(&id[..2]);
    fs::create_dir_all(&directory).expect("our own");
    fs::write(directory.join(&id[2..]), zlib(inflated)).expect("our own");
}

/// A pack and its index under construction.
pub(crate) struct Pack {
    bytes: Vec<u8>,
    /// Ids and offsets.
    index: Vec<(Vec<u8>, u64)>,
}

impl Pack {
    pub(crate) fn new() -> Pack {
        Pack {
            bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            index: Vec::new(),
        }
    }

    /// The offset of the next entry.
    pub(crate) fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// An object stored whole, whose header says that it has `size` bytes.
    pub(crate) fn whole(&mut self, id: &str, kind: u8, size: u64, content: &[u8]) -> &mut Pack {
        self.entry(id, &entry_header(kind, size), &zlib(content))
    }

    /// A delta against what lies `distance` bytes before it.
    pub(crate) fn offset_delta(&mut self, id: &str, distance: u64, delta: &[u8]) -> &mut Pack {
        let mut header = entry_header(6, delta.len() as u64);
        header.extend(base_distance(distance));
        self.entry(id, &header, &zlib(delta))
    }

    /// The same for an object that the index does not know.
    pub(crate) fn unknown_offset_delta(&mut self, distance: u64, delta: &[u8]) -> &mut Pack {
        self.offset_delta("", distance, delta);
        self.index.pop();
        self
    }

    /// A delta against the object `base`.
    pub(crate) fn id_delta(&mut self, id: &str, base: &str, delta: &[u8]) -> &mut Pack {
        let mut header = entry_header(7, delta.len() as u64);
        header.extend(id_bytes(base));
        self.entry(id, &header, &zlib(delta))
    }

    /// Any entry, of any header and any compressed bytes.
    pub(crate) fn entry(&mut self, id: &str, header: &[u8], compressed: &[u8]) -> &mut Pack {
        self.index_at(id, self.offset());
        self.bytes.extend_from_slice(header);
        self.bytes.extend_from_slice(compressed);
        self
    }

    /// Say in the index that the object lies at `offset`.
    pub(crate) fn index_at(&mut self, id: &str, offset: u64) -> &mut Pack {
        self.index.push((id_bytes(id), offset));
        self
    }

    /// Write both files into the repository.
    pub(crate) fn write(&mut self, repo: &Repo) {
        let count = u32::try_from(self.index.len()).expect("few");
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let mut pack = self.bytes.clone();
        let pack_sum = sha1(repo, &pack);
        pack.extend_from_slice(&pack_sum);

        let name = format!(".git/objects/pack/pack-{}", made_up(count as u8));
        fs::create_dir_all(repo.path().join(".git/objects/pack")).expect("our own");
        fs::write(repo.path().join(format!("{name}.pack")), pack).expect("our own");
        fs::write(
            repo.path().join(format!("{name}.idx")),
            self.index_file(repo, &pack_sum),
        )
        .expect("our own");
    }

    fn index_file(&mut self, repo: &Repo, pack_sum: &[u8]) -> Vec<u8> {
        self.index.sort();
        let mut file = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=255 {
            let below = self.index.iter().filter(|(id, _)| id[0] <= first).count() as u32;
            file.extend_from_slice(&below.to_be_bytes());
        }
        for (id, _) in &self.index {
            file.extend_from_slice(id);
        }
        // Nobody looks at these unless he copies entries.
        file.extend(std::iter::repeat_n(0, 4 * self.index.len()));
        let mut large = Vec::new();
        for &(_, offset) in &self.index {
            let short = u32::try_from(offset).ok().filter(|short| short >> 31 == 0);
            let short = short.unwrap_or_else(|| {
                large.extend_from_slice(&offset.to_be_bytes());
                1 << 31 | (large.len() / 8 - 1) as u32
            });
            file.extend_from_slice(&short.to_be_bytes());
        }
        file.extend(large);
        file.extend_from_slice(pack_sum);
        let sum = sha1(repo, &file);
        file.extend(sum);
        file
    }
}

/// Type and size in front of a pack entry.
pub(crate) fn entry_header(kind: u8, size: u64) -> Vec<u8> {
    let mut header = vec![kind << 4 | (size & 15) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        *header.last_mut().expect("it began with one") |= 0x80;
        header.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    header
}

/// How far back the base of a delta lies.
pub(crate) fn base_distance(distance: u64) -> Vec<u8> {
    let mut bytes = vec![(distance & 0x7f) as u8];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        bytes.insert(0, 0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

/// Delta data: the two sizes, then the instructions.
pub(crate) fn delta(base_size: u64, result_size: u64, instructions: &[&[u8]]) -> Vec<u8> {
    let mut bytes = delta_size(base_size);
    bytes.extend(delta_size(result_size));
    bytes.extend(instructions.concat());
    bytes
}

fn delta_size(mut size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while size > 0x7f {
        bytes.push(0x80 | (size & 0x7f) as u8);
        size >>= 7;
    }
    bytes.push(size as u8);
    bytes
}

/// The delta instruction that copies from the base.
pub(crate) fn copy(offset: u32, length: u32) -> Vec<u8> {
    let mut bytes = vec![0xff];
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes()[..3]);
    bytes
}

/// The delta instruction that brings bytes of its own, 127 at most.
pub(crate) fn insert(bytes: &[u8]) -> Vec<u8> {
    [&[bytes.len() as u8], bytes].concat()
}

/// A zlib stream of `content`, not compressed.
pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut pieces = content.chunks(0xffff).peekable();
    if content.is_empty() {
        stream.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(piece) = pieces.next() {
        let length = piece.len() as u16;
        stream.push(u8::from(pieces.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(piece);
    }
    stream.extend_from_slice(&adler32(content).to_be_bytes());
    stream
}

fn adler32(content: &[u8]) -> u32 {
    let (low, high) = content.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % 65521;
        (low, (high + low) % 65521)
    });
    high << 16 | low
}

fn sha1(repo: &Repo, bytes: &[u8]) -> Vec<u8> {
    let sum = run_with_input(&mut repo.command("sha1sum"), bytes).success();
    id_bytes(std::str::from_utf8(&sum[..40]).expect("it prints digits"))
}

/// The bytes that these digits stand for.
pub(crate) fn id_bytes(hex: &str) -> Vec<u8> {
    let pairs = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
        .collect()
}
