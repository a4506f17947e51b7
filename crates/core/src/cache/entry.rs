//! The file of one archive: a header, the archive, then a sum for each chunk and the notes.
//!
//! The header says how far the archive has come. The producer alone writes it, after the bytes that it counts; other
//! processes read it meanwhile. An archive in the making is called `<key>.part`, a complete one `<key>`. The header has the
//! key as well, because files can be renamed. Nothing of a file is believed whose key or sums are wrong.

use std::{fs::File, io, os::unix::fs::FileExt, sync::Arc};

use super::{directory::CacheDirectory, error::CacheError, request::Key};

/// Where the archive begins in the file, in bytes.
pub(super) const DATA: u64 = 4096;
/// Bytes of the archive with a sum of their own.
const CHUNK: u64 = 1 << 20;
/// Changes whenever anything is stored in another way, which includes the notes.
pub const LAYOUT: u8 = 2;
/// The first bytes of every file.
const MAGIC: [u8; 8] = *b"sluice\0\x02";
/// Bytes of the header before its sum, and with it.
const SUMMED: usize = 64;
const HEADER: usize = SUMMED + 4;
/// The number of times that the header is read again, because the producer may be writing it.
const LOOKS: usize = 100;
/// The most bytes after the archive that are read into memory: sums of 16 TiB.
const MAX_TRAILER: u64 = 64 << 20;

/// The name of the archive in the making.
pub(super) fn part(name: &str) -> String {
    format!("{name}.part")
}

/// The name of the file in which the readers of the archive in the making say how far they are.
pub(super) fn readers(name: &str) -> String {
    format!("{name}.read")
}

/// Removes the archive in the making `file`, whose lock the caller holds.
pub(super) fn discard_partial(
    directory: &CacheDirectory,
    name: &str,
    file: &File,
) -> Result<(), CacheError> {
    let part = part(name);
    if directory.is_at(&part, file)? {
        directory.remove(&readers(name))?;
        directory.remove(&part)?;
    }
    Ok(())
}

/// Bytes of a file that are not what the producer wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// What becomes of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// More bytes come, as long as the producer lives.
    Growing,
    /// All bytes are there.
    Complete,
    /// No more bytes come.
    Abandoned,
}

/// How far an archive has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileProgress {
    pub(super) state: FileState,
    /// Bytes of the archive that are in the file.
    pub(super) produced: u64,
    /// Bytes after the archive: sums and notes.
    pub(super) trailer: u64,
}

impl FileProgress {
    /// `produced` bytes of an archive in the making.
    pub(super) fn growing(produced: u64) -> Self {
        Self {
            state: FileState::Growing,
            produced,
            trailer: 0,
        }
    }

    /// Writes the header of `file`, which has the archive `key`.
    pub(super) fn write(self, file: &File, key: &Key) -> io::Result<()> {
        file.write_all_at(&self.encode(key), 0)
    }

    /// Reads the header of `file`; `None` if there is none yet. A file of another key than `key` is damaged.
    pub(super) fn read(file: &File, key: &Key) -> Result<Option<Self>, Damaged> {
        for _ in 0..LOOKS {
            let mut header = [0; HEADER];
            let count = file.read_at(&mut header, 0).map_err(|_| Damaged)?;
            if header[..count].iter().all(|&byte| byte == 0) {
                return Ok(None);
            }
            if count == HEADER
                && let Some(progress) = Self::decode(&header, key)
            {
                return Ok(Some(progress));
            }
        }
        Err(Damaged)
    }

    fn encode(self, key: &Key) -> [u8; HEADER] {
        let state: u64 = match self.state {
            FileState::Growing => 1,
            FileState::Complete => 2,
            FileState::Abandoned => 3,
        };
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&state.to_le_bytes());
        header[16..24].copy_from_slice(&self.produced.to_le_bytes());
        header[24..32].copy_from_slice(&self.trailer.to_le_bytes());
        header[32..SUMMED].copy_from_slice(&key.0);
        let sum = crc32fast::hash(&header[..SUMMED]);
        header[SUMMED..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    fn decode(header: &[u8; HEADER], key: &Key) -> Option<Self> {
        let number = |at: usize| {
            let bytes = header[at..at + 8].try_into().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        let sum = crc32fast::hash(&header[..SUMMED]).to_le_bytes();
        if header[..8] != MAGIC || header[32..SUMMED] != key.0 || header[SUMMED..] != sum {
            return None;
        }
        let state = match number(8) {
            1 => FileState::Growing,
            2 => FileState::Complete,
            3 => FileState::Abandoned,
            _ => return None,
        };
        Some(Self {
            state,
            produced: number(16),
            trailer: number(24),
        })
    }
}

/// Adds up the chunks of an archive that comes piece by piece.
#[derive(Default)]
pub(super) struct Sums {
    /// The sums of all complete chunks, four bytes each.
    done: Vec<u8>,
    current: crc32fast::Hasher,
    /// Bytes of the chunk that is not complete.
    len: u64,
}

impl Sums {
    /// The sums of the first `produced` bytes of the archive in `file`.
    pub(super) fn of(file: &File, produced: u64) -> io::Result<Self> {
        let mut sums = Self::default();
        let mut chunk = Vec::new();
        let mut at = 0;
        while at < produced {
            let len = CHUNK.min(produced - at);
            chunk.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
            file.read_exact_at(&mut chunk, DATA + at)?;
            sums.push(&chunk);
            at += len;
        }
        Ok(sums)
    }

    /// Takes in the next bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(CHUNK - self.len).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.current.update(now);
            self.len += now.len() as u64;
            if self.len == CHUNK {
                self.end_chunk();
            }
            bytes = later;
        }
    }

    fn end_chunk(&mut self) {
        let sum = std::mem::take(&mut self.current).finalize();
        self.done.extend(sum.to_le_bytes());
        self.len = 0;
    }

    /// The bytes after the archive: the sums, `notes`, and a sum of both.
    pub(super) fn trailer(mut self, notes: &[u8]) -> Vec<u8> {
        if self.len > 0 {
            self.end_chunk();
        }
        let mut trailer = self.done;
        trailer.extend(notes);
        let sum = crc32fast::hash(&trailer);
        trailer.extend(sum.to_le_bytes());
        trailer
    }
}

/// A complete archive, to be read chunk by chunk.
#[derive(Debug)]
pub(super) struct Contents {
    /// Bytes of the archive.
    pub(super) produced: u64,
    /// What the producer said about the archive.
    pub(super) notes: Vec<u8>,
    sums: Arc<[u8]>,
    /// The number of the chunk that is verified next.
    next: u64,
    chunk: Vec<u8>,
}

impl Contents {
    /// Reads what stands around the archive `key` in `file`.
    pub(super) fn read(file: &File, key: &Key) -> Result<Self, Damaged> {
        let progress = FileProgress::read(file, key)?.ok_or(Damaged)?;
        let FileProgress {
            state,
            produced,
            trailer,
        } = progress;
        if state != FileState::Complete || !(4..=MAX_TRAILER).contains(&trailer) {
            return Err(Damaged);
        }
        let at = DATA.checked_add(produced).ok_or(Damaged)?;
        let mut bytes = vec![0; usize::try_from(trailer).map_err(|_| Damaged)?];
        file.read_exact_at(&mut bytes, at).map_err(|_| Damaged)?;
        let (bytes, sum) = bytes.split_last_chunk().ok_or(Damaged)?;
        if crc32fast::hash(bytes).to_le_bytes() != *sum {
            return Err(Damaged);
        }
        let sums = usize::try_from(4 * produced.div_ceil(CHUNK)).map_err(|_| Damaged)?;
        let (sums, notes) = bytes.split_at_checked(sums).ok_or(Damaged)?;
        Ok(Self {
            produced,
            notes: notes.to_vec(),
            sums: sums.into(),
            next: 0,
            chunk: Vec::new(),
        })
    }

    /// Where the chunk ends that is verified next; `None` after the last one.
    pub(super) fn next_end(&self) -> Option<u64> {
        let start = self.next * CHUNK;
        (start < self.produced).then(|| self.produced.min(start + CHUNK))
    }

    /// Verifies the next chunk of `file`.
    pub(super) fn verify(&mut self, file: &File) -> Result<(), Damaged> {
        let end = self.next_end().ok_or(Damaged)?;
        let start = self.next * CHUNK;
        let len = usize::try_from(end - start).map_err(|_| Damaged)?;
        self.chunk.resize(len, 0);
        file.read_exact_at(&mut self.chunk, DATA + start)
            .map_err(|_| Damaged)?;
        let at = usize::try_from(self.next * 4).map_err(|_| Damaged)?;
        let sum = crc32fast::hash(&self.chunk).to_le_bytes();
        self.next += 1;
        if self.sums.get(at..at + 4) == Some(&sum) {
            Ok(())
        } else {
            Err(Damaged)
        }
    }

    /// The same for another reader, without the notes.
    pub(super) fn another(&self) -> Self {
        Self {
            produced: self.produced,
            notes: Vec::new(),
            sums: Arc::clone(&self.sums),
            next: 0,
            chunk: Vec::new(),
        }
    }

    /// The verified chunk of `file` that holds byte `at` of the archive, and the position of the chunk in the archive. The chunk
    /// of the last call is not read again.
    pub(super) fn chunk_around(&mut self, file: &File, at: u64) -> Result<(u64, &[u8]), Damaged> {
        let number = at / CHUNK;
        if self.chunk.is_empty() || self.next != number + 1 {
            self.next = number;
            if let Err(damaged) = self.verify(file) {
                self.chunk.clear();
                return Err(damaged);
            }
        }
        Ok((number * CHUNK, &self.chunk))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::FileExt};

    use super::{
        CHUNK, Contents, DATA, Damaged, FileProgress, FileState, HEADER, Key, LAYOUT, MAGIC, Sums,
    };
    use sluice_base::temporary;

    const KEY: Key = Key([5; 32]);

    fn file() -> File {
        tempfile::tempfile().expect("a file")
    }

    #[test]
    fn a_header_comes_back() {
        let file = file();
        assert_eq!(FileProgress::read(&file, &KEY), Ok(None));
        for state in [
            FileState::Growing,
            FileState::Complete,
            FileState::Abandoned,
        ] {
            let progress = FileProgress {
                state,
                produced: u64::MAX - 7,
                trailer: 5,
            };
            progress.write(&file, &KEY).expect("our own");
            assert_eq!(FileProgress::read(&file, &KEY), Ok(Some(progress)));
        }
        file.write_all_at(&[0; HEADER], 0).expect("our own");
        assert_eq!(
            FileProgress::read(&file, &KEY),
            Ok(None),
            "room that is set aside"
        );
    }

    /// A file that was renamed, and one of another version.
    #[test]
    fn a_header_of_another_key_is_not_believed() {
        let file = file();
        let other = Key([6; 32]);
        FileProgress::growing(7)
            .write(&file, &other)
            .expect("our own");
        assert_eq!(FileProgress::read(&file, &KEY), Err(Damaged));
        assert_eq!(
            FileProgress::read(&file, &other),
            Ok(Some(FileProgress::growing(7)))
        );
        assert_eq!(MAGIC[7], LAYOUT);
    }

    #[test]
    fn no_other_header_is_believed() {
        let header = FileProgress::growing(77).encode(&KEY);
        for at in 0..HEADER {
            let (file, mut damaged) = (file(), header);
            damaged[at] ^= 0x40;
            file.write_all_at(&damaged, 0).expect("our own");
            assert_eq!(FileProgress::read(&file, &KEY), Err(Damaged), "byte {at}");
            file.set_len(0).expect("our own");
            file.write_all_at(&header[..at], 0).expect("our own");
            let expected = if at == 0 { Ok(None) } else { Err(Damaged) };
            assert_eq!(FileProgress::read(&file, &KEY), expected, "{at} bytes");
        }
    }

    /// A complete file of `bytes`, whose sums come in pieces of `step` bytes.
    fn complete(bytes: &[u8], notes: &[u8], step: usize) -> File {
        let file = file();
        let mut sums = Sums::default();
        bytes.chunks(step).for_each(|piece| sums.push(piece));
        let trailer = sums.trailer(notes);
        file.write_all_at(bytes, DATA).expect("our own");
        let end = DATA + bytes.len() as u64;
        file.write_all_at(&trailer, end).expect("our own");
        let progress = FileProgress {
            state: FileState::Complete,
            produced: bytes.len() as u64,
            trailer: trailer.len() as u64,
        };
        progress.write(&file, &KEY).expect("our own");
        file
    }

    #[test]
    fn a_chunk_that_is_damaged_is_noticed() {
        let bytes = vec![7; 2 * CHUNK as usize + 100];
        for step in [1 << 10, 3 << 19, bytes.len()] {
            let file = complete(&bytes, b"notes", step);
            let mut contents = Contents::read(&file, &KEY).expect("complete");
            assert_eq!(contents.notes, b"notes");
            assert_eq!(contents.produced, bytes.len() as u64);
            file.write_all_at(&[8], DATA + CHUNK).expect("our own");
            let found = [(); 3].map(|()| contents.verify(&file));
            assert_eq!(found, [Ok(()), Err(Damaged), Ok(())]);
            assert_eq!(contents.next_end(), None);
            let last = contents.chunk_around(&file, 2 * CHUNK + 99);
            assert_eq!(last.expect("sound"), (2 * CHUNK, &[7; 100][..]));
        }
    }

    #[test]
    fn no_other_trailer_is_believed() {
        let bytes = [1; 1000];
        for at in 0..4 + 5 + 4 {
            let file = complete(&bytes, b"notes", 1000);
            let mut byte = [0];
            let place = DATA + 1000 + at;
            file.read_exact_at(&mut byte, place).expect("our own");
            file.write_all_at(&[byte[0] ^ 1], place).expect("our own");
            assert_eq!(
                Contents::read(&file, &KEY).err(),
                Some(Damaged),
                "byte {at}"
            );
        }
    }

    #[test]
    fn only_the_own_file_is_discarded() {
        let top = temporary::directory();
        let path = top.path().join("cache");
        let directory = super::CacheDirectory::open(&path).expect("ours");
        let old = directory
            .create_file("key.part")
            .expect("new")
            .expect("new");
        directory.remove("key.part").expect("there");
        let new = directory
            .create_file("key.part")
            .expect("new")
            .expect("new");
        super::discard_partial(&directory, "key", &old).expect("nothing");
        assert!(directory.exists("key.part").expect("readable"));
        super::discard_partial(&directory, "key", &new).expect("there");
        assert!(!directory.exists("key.part").expect("readable"));
    }
}
