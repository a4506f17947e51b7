//! Multi-pack indices (gitformat-pack(5), "multi-pack-index (MIDX) files have the following format").
//!
//! Must not open a pack. Every number in the file is checked against the bounds of the file.

use std::{
    ffi::OsStr,
    io,
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix_hash::{Kind, ObjectId, oid};

use super::{
    map::Map,
    table::{Column, FANOUT_LEN, Layout, ObjectTable, be_u32, be_u64, count},
};

/// Signature, version, hash function, number of chunks, number of base files, number of packs.
const HEADER_LEN: usize = 12;
/// An entry of the table of chunks: a name and an offset.
const CHUNK_LEN: usize = 4 + 8;
/// An entry of the table of offsets: the number of a pack and an offset.
const OFFSET_LEN: usize = 4 + 4;

/// One mapped index of several packs.
pub(super) struct MultiIndex {
    table: ObjectTable,
    packs: Packs,
}

/// The packs, and which one has which object.
struct Packs {
    /// The file names of their indices.
    names: Vec<PathBuf>,
    /// The offset of the entries with their numbers in the file.
    numbers: usize,
}

impl MultiIndex {
    /// Map and check the multi-pack index at `path`.
    pub(super) fn open(path: &Path, hash: Kind) -> io::Result<Self> {
        let (map, (layout, packs)) = Map::parsed(path, |map| {
            parse(map, hash).ok_or("not a valid multi-pack index")
        })?;
        let table = ObjectTable::new(map, layout);
        Ok(Self { table, packs })
    }

    /// The table of objects.
    pub(super) fn table(&self) -> &ObjectTable {
        &self.table
    }

    /// The file names of the indices of the packs, in the order in which the packs are numbered.
    pub(super) fn packs(&self) -> &[PathBuf] {
        &self.packs.names
    }

    /// The number of the pack with the object `id`, and the offset in this pack.
    pub(super) fn lookup(&self, id: &oid) -> Option<(usize, u64)> {
        self.location(self.table.position(id)?)
    }

    /// The id of the object at `offset` of the pack of this number, by a search of all entries.
    pub(super) fn id_at(&self, pack: usize, offset: u64) -> Option<ObjectId> {
        let mut positions = 0..self.table.count();
        let wanted = Some((pack, offset));
        let position = positions.find(|&position| self.location(position) == wanted)?;
        Some(self.table.id(position))
    }

    fn location(&self, position: usize) -> Option<(usize, u64)> {
        let at = self.packs.numbers + position * OFFSET_LEN;
        let pack = be_u32(self.table.map(), at)? as usize;
        let offset = self.table.offset(position)?;
        (pack < self.packs.names.len()).then_some((pack, offset))
    }
}

fn parse(map: &[u8], hash: Kind) -> Option<(Layout, Packs)> {
    let hash_number = match hash {
        Kind::Sha1 => 1,
        _ => 2,
    };
    let [version, of_hash, chunks, _bases] = *map.strip_prefix(b"MIDX")?.first_chunk()?;
    if (version, of_hash) != (1, hash_number) {
        return None;
    }
    let chunk = |name: &[u8; 4]| chunk(map, usize::from(chunks), name);
    let (fanout, ids, offsets) = (chunk(b"OIDF")?, chunk(b"OIDL")?, chunk(b"OOFF")?);
    let (count, id_len) = (count(map, fanout.start)?, hash.len_in_bytes());
    let lengths = (fanout.len(), ids.len(), offsets.len());
    if lengths != (FANOUT_LEN, count * id_len, count * OFFSET_LEN) {
        return None;
    }
    let column = |start, stride| Column { start, stride };
    let layout = Layout {
        count,
        fanout: fanout.start,
        ids: column(ids.start, id_len),
        id_len,
        offsets: column(offsets.start + 4, OFFSET_LEN),
        large_offsets: chunk(b"LOFF"),
    };
    let packs = Packs {
        names: file_names(&map[chunk(b"PNAM")?], be_u32(map, 8)? as usize)?,
        numbers: offsets.start,
    };
    Some((layout, packs))
}

/// The bytes of the chunk `name`, which end where the next chunk begins.
fn chunk(map: &[u8], chunks: usize, name: &[u8; 4]) -> Option<Range<usize>> {
    let entry = |number: usize| map.get(HEADER_LEN + number * CHUNK_LEN..);
    let offset = |number: usize| usize::try_from(be_u64(entry(number)?, 4)?).ok();
    let mut numbers = 0..chunks;
    let number = numbers.find(|&it| entry(it).is_some_and(|entry| entry.starts_with(name)))?;
    let (start, end) = (offset(number)?, offset(number + 1)?);
    (start <= end && end <= map.len()).then_some(start..end)
}

/// The `count` names in `chunk`, each with a NUL at its end. A name with a slash would lead out of the directory.
fn file_names(chunk: &[u8], count: usize) -> Option<Vec<PathBuf>> {
    let names = chunk.split_inclusive(|&byte| byte == 0).take(count);
    let is_name = |name: &&[u8]| !name.is_empty() && !name.contains(&b'/');
    let names: Vec<PathBuf> = names
        .map_while(|name| name.strip_suffix(b"\0").filter(is_name))
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect();
    (names.len() == count).then_some(names)
}

#[cfg(test)]
mod tests {
    use std::{io::Write, path::Path};

    use gix_hash::{Kind, ObjectId};

    use super::MultiIndex;

    /// A file of these `chunks`, of one pack.
    fn file(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
        let mut table = Vec::new();
        let mut offset = 12 + 12 * (chunks.len() as u64 + 1);
        for (name, bytes) in chunks {
            table.extend(*name);
            table.extend(offset.to_be_bytes());
            offset += bytes.len() as u64;
        }
        table.extend([0; 4]);
        table.extend(offset.to_be_bytes());
        let header = [b"MIDX\x01\x01", &[chunks.len() as u8, 0][..], &[0, 0, 0, 1]].concat();
        let content: Vec<u8> = chunks.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        [header, table, content, vec![0; 20]].concat()
    }

    /// Two objects: one at an offset of 32 bits, one at an offset that refers to the table of `large` ones.
    fn chunks(large: &[u64]) -> Vec<(&'static [u8; 4], Vec<u8>)> {
        let fanout = (0..256_u32).map(|first| first.min(2).to_be_bytes());
        let offsets = [[0, 12], [0, 1 << 31]].concat();
        vec![
            (b"PNAM", b"pack-1.idx\0".to_vec()),
            (b"OIDF", fanout.flatten().collect()),
            (b"OIDL", [[1; 20], [2; 20]].concat()),
            (
                b"OOFF",
                offsets.into_iter().flat_map(u32::to_be_bytes).collect(),
            ),
            (
                b"LOFF",
                large.iter().flat_map(|it| it.to_be_bytes()).collect(),
            ),
        ]
    }

    fn open(chunks: &[(&[u8; 4], Vec<u8>)]) -> std::io::Result<MultiIndex> {
        let mut written = tempfile::NamedTempFile::new().expect("a temporary file");
        written.write_all(&file(chunks)).expect("space");
        MultiIndex::open(written.path(), Kind::Sha1)
    }

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[byte; 20])
    }

    #[test]
    fn offsets_of_64_bits() {
        let index = open(&chunks(&[1 << 40])).expect("valid");
        assert_eq!(index.packs(), [Path::new("pack-1.idx")]);
        assert_eq!(index.lookup(&id(1)), Some((0, 12)));
        assert_eq!(index.lookup(&id(2)), Some((0, 1 << 40)));
        assert_eq!(index.lookup(&id(3)), None);
        assert_eq!(index.id_at(0, 1 << 40), Some(id(2)));
        assert_eq!(index.id_at(1, 12), None);
        // The number of a large offset that the table does not have.
        let index = open(&chunks(&[])).expect("valid");
        assert_eq!(index.lookup(&id(2)), None);
        // Without the table, the offset is what it says.
        let index = open(&chunks(&[])[..4]).expect("valid");
        assert_eq!(index.lookup(&id(2)), Some((0, 1 << 31)));
    }

    #[test]
    fn what_is_not_valid() {
        for number in 0..4 {
            let mut short = chunks(&[]);
            let _last = short[number].1.pop();
            assert!(open(&short).is_err(), "chunk {number} is too short");
            short.remove(number);
            assert!(open(&short).is_err(), "chunk {number} is missing");
        }
        let mut outside = chunks(&[]);
        outside[0].1 = b"../pack.idx\0".to_vec();
        assert!(open(&outside).is_err(), "a name leads out of the directory");
        let mut number = chunks(&[]);
        number[3].1[3] = 1;
        let index = open(&number).expect("valid");
        assert_eq!(index.lookup(&id(1)), None, "there is no such pack");
    }
}
