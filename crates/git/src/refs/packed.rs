//! The file `packed-refs` (refs/packed-backend.c of git).
//!
//! A lookup reads as many lines as git's does, which is a few of a long file. Must not skip a line that it cannot read.

use std::{cmp::Ordering, io::ErrorKind, ops::Deref, path::Path};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::name::{AskGit, is_sound};
use crate::odb::map::Map;

/// What the first line begins with, before the traits of the file.
const HEADER: &[u8] = b"# pack-refs with: ";

/// The packed refs, in the order of their names, unless the header says so and errs.
pub(super) struct PackedRefs {
    content: PackedRecords,
    /// Where the records begin, after the header.
    start: usize,
    hex_len: usize,
}

enum PackedRecords {
    None,
    Mapped(Map),
    /// A copy in order of a file that is not.
    Sorted(Vec<u8>),
}

impl Deref for PackedRecords {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::None => b"",
            Self::Mapped(map) => map,
            Self::Sorted(bytes) => bytes,
        }
    }
}

/// A line with a name, and with the line of its peeled object, if it has one.
struct Record<'r> {
    id: ObjectId,
    name: &'r BStr,
    /// Bytes up to the next record.
    len: usize,
}

impl PackedRefs {
    /// Maps the file at `path`, and checks what git checks when it opens the file.
    pub(super) fn open(path: &Path, hash: Kind) -> Result<Self, AskGit> {
        let content = match Map::open(path) {
            Ok(map) => PackedRecords::Mapped(map),
            Err(error) if error.kind() == ErrorKind::NotFound => PackedRecords::None,
            Err(_) => return Err(AskGit),
        };
        let (start, is_sorted) = parse_header(&content)?;
        let packed = Self {
            content,
            start,
            hex_len: hash.len_in_hex(),
        };
        packed.check_end()?;
        let packed = if is_sorted { packed } else { packed.sorted()? };
        packed.check_reads()?;
        Ok(packed)
    }

    /// The id of the ref `name`.
    pub(super) fn find(&self, name: &BStr) -> Result<Option<ObjectId>, AskGit> {
        let id = match self.search(name)? {
            Ok(at) => Some(self.record(at)?.id),
            Err(_) => None,
        };
        self.check_reads()?;
        Ok(id)
    }

    /// The names that begin with `prefix`. As in git, the line after them must be sound, too. Only git can say which of two
    /// lines with one name counts, and what names out of order mean.
    pub(super) fn names_below(&self, prefix: &BStr) -> Result<Vec<BString>, AskGit> {
        let (Ok(mut at) | Err(mut at)) = self.search(prefix)?;
        let mut names: Vec<BString> = Vec::new();
        while at < self.content.len() {
            let record = self.record(at)?;
            let last = names.last().map_or(prefix, |last| last.as_bstr());
            if record.name <= last {
                return Err(AskGit);
            }
            if !record.name.starts_with(prefix) {
                break;
            }
            if !is_sound(record.name) {
                return Err(AskGit);
            }
            names.push(record.name.to_owned());
            at += record.len;
        }
        self.check_reads()?;
        Ok(names)
    }

    /// Where the record `name` is, or else where it would be. Two lines may have one name, and lines may be out of order, so
    /// this takes the very steps of git (`find_reference_location_1`) and ends at the first record that fits.
    fn search(&self, name: &BStr) -> Result<std::result::Result<usize, usize>, AskGit> {
        let (mut low, mut high) = (self.start, self.content.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let at = self.record_start(low, middle);
            let record = self.record(at)?;
            match record.name.cmp(name) {
                Ordering::Less => low = at + record.len,
                Ordering::Equal => return Ok(Ok(at)),
                Ordering::Greater => high = at,
            }
        }
        Ok(Err(low))
    }

    /// Where the record begins that the byte at `offset` is part of, not before `low`.
    fn record_start(&self, low: usize, offset: usize) -> usize {
        let mut at = offset;
        while at > low && (self.content[at - 1] != b'\n' || self.content[at] == b'^') {
            at -= 1;
        }
        at
    }

    /// The record at `at`.
    fn record(&self, at: usize) -> Result<Record<'_>, AskGit> {
        let rest = &self.content[at..];
        let line = line(rest)?;
        let (id, name) = line.split_at_checked(self.hex_len).ok_or(AskGit)?;
        let id = ObjectId::from_hex(id).map_err(|_| AskGit)?;
        let name = name
            .split_first()
            .filter(|(space, _)| space.is_ascii_whitespace());
        let (_, name) = name.ok_or(AskGit)?;
        let mut len = line.len() + 1;
        if rest.get(len) == Some(&b'^') {
            let peeled = self::line(&rest[len..])?;
            let is_id = ObjectId::from_hex(&peeled[1..]).is_ok_and(|it| it.kind() == id.kind());
            if !is_id {
                return Err(AskGit);
            }
            len += peeled.len() + 1;
        }
        Ok(Record {
            id,
            name: name.as_bstr(),
            len,
        })
    }

    /// Checks that the last line is whole.
    fn check_end(&self) -> Result<(), AskGit> {
        let end = self.content.len();
        if end == self.start {
            return Ok(());
        }
        let last = self.record_start(self.start, end - 1);
        let is_whole = self.content[end - 1] == b'\n' && end - last >= self.hex_len + 2;
        is_whole.then_some(()).ok_or(AskGit)
    }

    /// The same refs in the order of their names.
    fn sorted(self) -> Result<Self, AskGit> {
        let mut records = Vec::new();
        let mut at = self.start;
        while at < self.content.len() {
            let record = self.record(at)?;
            records.push((record.name, at..at + record.len));
            at += record.len;
        }
        if records.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Ok(self);
        }
        records.sort_by_key(|(name, _)| *name);
        let pieces: Vec<_> = records
            .into_iter()
            .map(|(_, range)| &self.content[range])
            .collect();
        Ok(Self {
            content: PackedRecords::Sorted(pieces.concat()),
            start: 0,
            hex_len: self.hex_len,
        })
    }

    /// Fails if the file could not be read, so that its bytes are zeros.
    fn check_reads(&self) -> Result<(), AskGit> {
        match &self.content {
            PackedRecords::Mapped(map) if map.failure().is_some() => Err(AskGit),
            _ => Ok(()),
        }
    }
}

/// The first line of `rest`, without its end.
fn line(rest: &[u8]) -> Result<&[u8], AskGit> {
    let end = rest.find_byte(b'\n').ok_or(AskGit)?;
    Ok(&rest[..end])
}

/// Where the records begin, and whether the header says that they are in order.
fn parse_header(content: &[u8]) -> Result<(usize, bool), AskGit> {
    if !content.starts_with(b"#") {
        return Ok((0, false));
    }
    let header = line(content)?;
    let traits = header.strip_prefix(HEADER).ok_or(AskGit)?;
    let is_sorted = traits.split_str(" ").any(|it| it == b"sorted");
    Ok((header.len() + 1, is_sorted))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use gix_hash::Kind;

    use super::PackedRefs;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";
    const SORTED: &str = "# pack-refs with: peeled fully-peeled sorted \n";

    /// The ids of `names` in a file with the content `text`; `None` if only git can say.
    fn find(text: &str, names: &[&str]) -> Option<Vec<Option<String>>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let packed = PackedRefs::open(file.path(), Kind::Sha1).ok()?;
        let id = |name: &&str| Some(packed.find((*name).into()).ok()?.map(|id| id.to_string()));
        names.iter().map(id).collect()
    }

    #[test]
    fn refs_are_found_in_any_order() {
        let lines = [
            format!("{A} refs/heads/a\n"),
            format!("{B} refs/tags/b\n^{A}\n"),
            format!("{A} refs/tags/c\n"),
        ];
        let names = [
            "refs/heads/a",
            "refs/tags/b",
            "refs/tags/c",
            "refs/tags/bb",
            "x",
        ];
        let expected = [Some(A), Some(B), Some(A), None, None];
        let expected: Vec<_> = expected.map(|id| id.map(str::to_owned)).into();
        for header in [SORTED, "# pack-refs with: peeled \n", ""] {
            let text = format!("{header}{}", lines.concat());
            assert_eq!(find(&text, &names).as_ref(), Some(&expected), "{header}");
        }
        let turned = format!("{}{}{}", lines[2], lines[1], lines[0]);
        assert_eq!(find(&turned, &names), Some(expected));
        let claimed = format!("{SORTED}{turned}");
        assert_eq!(
            find(&claimed, &["refs/tags/b"]),
            Some(vec![Some(B.to_owned())])
        );
        assert_eq!(find(&claimed, &["refs/tags/c"]), Some(vec![None]));
        assert_eq!(find("", &["x"]), Some(vec![None]));
        assert_eq!(find(SORTED, &["x"]), Some(vec![None]));
    }

    #[test]
    fn git_is_asked_about_damage() {
        let line = format!("{A} refs/heads/a\n");
        for text in [
            format!("{line}\n"),
            format!("{line}junk\n"),
            line.trim_end().to_owned(),
            format!("{SORTED}\n{line}"),
            format!("{SORTED}{line}junk"),
            format!("# other\n{line}"),
            "# pack-refs with:".to_owned(),
            format!("{line}^{A}"),
            format!("{line}^junk\n"),
        ] {
            assert_eq!(find(&text, &["refs/heads/a", "refs/a"]), None, "{text}");
        }
    }

    #[test]
    fn names_below_a_directory() {
        let text =
            format!("{SORTED}{A} refs/a\n{A} refs/replace/{B}\n{A} refs/replace/x\n{B} refs/z\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let packed = PackedRefs::open(file.path(), Kind::Sha1).unwrap();
        let names = packed.names_below("refs/replace/".into()).unwrap();
        assert_eq!(
            names,
            [format!("refs/replace/{B}"), "refs/replace/x".to_owned()]
        );
        for names in [["b", "b"], ["c", "b"]] {
            let lines = names.map(|name| format!("{A} refs/{name}\n"));
            fs::write(file.path(), format!("{SORTED}{}", lines.concat())).unwrap();
            let packed = PackedRefs::open(file.path(), Kind::Sha1).unwrap();
            assert!(packed.names_below("refs/".into()).is_err(), "{names:?}");
        }
    }
}
