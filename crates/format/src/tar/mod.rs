//! git's tar, byte for byte: POSIX ustar with pax extended headers where a field is too short.
//!
//! The fields are those of `git archive` (pax(1), "ustar Interchange Format" and "pax Interchange Format"):
//! no owner, no times of single files, `root` as names, checksums of seven digits. The body of a file
//! follows its header, which is completed when the body is there.

mod header;

use super::{
    Begun, Body, Flush, Format, Layout, Member, MemberKind, Outline, Part, Put, StoredBody,
};
use header::{Header, NAME_LEN, Name, Octal, RECORD, set_size, text};
use sluice_base::{buffer::Buffer, error::Result};

/// The size of git's writes. The size of the archive is a multiple.
const BLOCK: u64 = 20 * RECORD as u64;
/// The least number of zero bytes at the end.
const END_LEN: u64 = 2 * RECORD as u64;
const EXTENDED_MODE: u32 = 0o666;
/// The largest size that fits into a header.
const LARGEST_FILE: u64 = 0o77777777777;

/// The properties that all entries of an archive share.
pub struct Tar {
    /// Modification time in seconds since 1970.
    pub mtime: u64,
    /// Permission bits that files and directories lack (`tar.umask`).
    pub umask: u32,
    /// The comment at the beginning: the commit's id in hexadecimal.
    pub comment: Option<String>,
    /// Further global headers at the beginning.
    pub globals: Globals,
}

/// Global headers after the first, with vendor records for readers that know them.
#[derive(Default)]
pub struct Globals(Option<Box<Tell>>);

/// Writes all records. Every call writes the same ones.
type Tell = dyn Fn(&mut GlobalHeaders<'_>) -> Result<()> + Send + Sync;

impl Globals {
    /// The headers that `tell` writes.
    pub fn new(
        tell: impl Fn(&mut GlobalHeaders<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Box::new(tell)))
    }
}

/// The most bytes of records in one header, after which another begins. No reader accepts a mebibyte.
const GLOBAL_LEN: usize = 256 << 10;

/// Writes global headers, one by one.
pub struct GlobalHeaders<'a> {
    tar: &'a Tar,
    records: Vec<u8>,
    put: Put<'a>,
}

impl GlobalHeaders<'_> {
    /// End the header. The next record begins another header.
    pub fn end(&mut self) -> Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let mut header = Buffer::default();
        self.tar
            .extended(&mut header, b'g', b"pax_global_header", &self.records);
        self.records.clear();
        (self.put)(&header)
    }

    /// Append a record, in another header if this one is full.
    pub fn record(&mut self, key: &str, value: &[u8]) -> Result<()> {
        if self.records.len() >= GLOBAL_LEN {
            self.end()?;
        }
        pax_record(&mut self.records, key, value);
        Ok(())
    }
}

impl Format for Tar {
    type Scratch = ();
    type Records = ();
    type Directory = ();

    /// Append the global header: the comment, and the time if it fits no field. Nothing if there is
    /// neither.
    fn head(&self, out: &mut Buffer) {
        let mut records = Vec::new();
        if let Some(comment) = &self.comment {
            pax_record(&mut records, "comment", comment.as_bytes());
        }
        if Octal::new(self.mtime).is_none() {
            pax_record(&mut records, "mtime", self.mtime.to_string().as_bytes());
        }
        if !records.is_empty() {
            self.extended(out, b'g', b"pax_global_header", &records);
        }
    }

    fn preface(&self, put: Put<'_>) -> Result<()> {
        let Some(tell) = &self.globals.0 else {
            return Ok(());
        };
        let mut headers = GlobalHeaders {
            tar: self,
            records: Vec::new(),
            put,
        };
        tell(&mut headers)?;
        headers.end()
    }

    fn check(&self, _: &Member<'_>, _: &mut Buffer) -> Result<()> {
        Ok(())
    }

    fn directory(&self, member: &Member<'_>, part: &mut Part<()>) {
        let header = Header {
            kind: b'5',
            mode: 0o777 & !self.umask,
            link: b"",
        };
        self.member(member, &header, 0, &mut part.bytes);
    }

    fn symlink(&self, member: &Member<'_>, target: &[u8], part: &mut Part<()>) {
        let header = Header {
            kind: b'2',
            mode: 0o777,
            link: target,
        };
        self.member(member, &header, 0, &mut part.bytes);
    }

    fn begin_file(&self, member: &Member<'_>, part: &mut Part<()>) -> Begun {
        let header = part.bytes.len();
        self.file(member, 0, &mut part.bytes);
        Begun {
            header,
            body: part.bytes.len(),
        }
    }

    /// Complete the header with the size of the body, and pad.
    fn end_file(
        &self,
        (): &mut (),
        begun: Begun,
        member: &Member<'_>,
        _: Layout,
        part: &mut Part<()>,
    ) {
        let out = &mut part.bytes;
        let size = (out.len() - begun.body) as u64;
        self.complete(&begun, member, size, out);
        out.zeros(padding(size));
    }

    fn end_copied(
        &self,
        (): &mut (),
        begun: Begun,
        member: &Member<'_>,
        _: StoredBody,
        part: &mut Part<()>,
    ) {
        self.end_file(&mut (), begun, member, Layout::Whole, part);
    }

    fn last_body(&self, part: &Part<()>, size: u64) -> Option<StoredBody> {
        Some(StoredBody {
            start: self.content_start(part.bytes.len() as i64, size)?,
            packed: size,
            size,
            crc: 0,
            is_deflated: false,
            is_text: false,
        })
    }

    fn stream_file<E: From<std::io::Error>>(
        &self,
        (): &mut (),
        member: &Member<'_>,
        outline: Outline,
        body: Body<'_, E>,
        part: &mut Part<()>,
        flush: Flush<'_, (), E>,
    ) -> Result<(), E> {
        self.file(member, outline.size, &mut part.bytes);
        body(&mut |bytes| {
            part.bytes.extend(bytes);
            flush(part)
        })?;
        part.bytes.zeros(padding(outline.size));
        Ok(())
    }

    /// Use GNU's "PAX format, version 1.0": a map precedes the file's data and states that the whole file
    /// is a hole.
    fn sparse_file(&self, member: &Member<'_>, size: u64, part: &mut Part<()>) {
        let slash = member.name.iter().rposition(|&byte| byte == b'/');
        let (directory, base) = member.name.split_at(slash.map_or(0, |slash| slash + 1));
        let size = size.to_string();
        // These records follow `path`: some readers take the last name.
        let sparse: [(_, &[u8]); 4] = [
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", member.name),
            ("GNU.sparse.realsize", size.as_bytes()),
        ];
        let hole = Member {
            // The name for readers without support of sparse files.
            name: &[directory, b"GNUSparseFile.0/", base].concat(),
            vendor: &[&sparse, member.vendor].concat(),
            ..*member
        };
        self.file(&hole, RECORD as u64, &mut part.bytes);
        let map = part.bytes.space(RECORD);
        map.fill(0);
        text(map, format!("1\n{size}\n0\n").as_bytes());
    }

    fn empty_directory(&self) {}

    fn place(&self, (): &mut (), (): &mut (), _: u64) -> Result<()> {
        Ok(())
    }

    fn end(&self, (): (), written: u64, put: Put<'_>) -> Result<()> {
        let rest = BLOCK - written % BLOCK;
        let len = if rest < END_LEN { rest + BLOCK } else { rest };
        put(&vec![0; len as usize])
    }

    fn content_start(&self, end: i64, len: u64) -> Option<i64> {
        end.checked_sub_unsigned(len + padding(len) as u64)
    }

    fn torn(&self, out: &mut Buffer) {
        self.file(&INCOMPLETE, RECORD as u64, out);
    }
}

/// The entry at the end of an archive that is not complete.
const INCOMPLETE: Member<'_> = Member {
    name: b"incomplete-archive",
    kind: MemberKind::File,
    id: b"",
    text: None,
    vendor: &[],
};
/// The headers after an archive that was cut anywhere. They would pass for the rest of a file only if it lacked just as
/// many bytes: a number that few files have in common.
const LAST_HEADERS: usize = 131;

/// What to write after `len` bytes of an archive, where nobody knows what they end in, so that no reader takes them for a
/// complete archive: headers of files that are larger than what follows. Between two entries, a reader misses the content of
/// the first of them; in the content of a file, that of the first after the file, or the rest of the file.
pub fn torn_at(len: u64) -> Buffer {
    let tar = Tar {
        mtime: 0,
        umask: 0o022,
        comment: None,
        globals: Globals::default(),
    };
    let mut out = Buffer::default();
    out.zeros(padding(len));
    for _ in 0..LAST_HEADERS {
        tar.file(&INCOMPLETE, LARGEST_FILE, &mut out);
    }
    out
}

impl Tar {
    /// Append the header of a file of `size` bytes.
    fn file(&self, member: &Member<'_>, size: u64, out: &mut Buffer) {
        let executable = member.kind == MemberKind::Executable;
        let header = Header {
            kind: b'0',
            mode: if executable { 0o777 } else { 0o666 } & !self.umask,
            link: b"",
        };
        self.member(member, &header, size, out);
    }

    /// Put `size` into the header of the file that was begun with size zero. A size that does not fit makes
    /// the header longer.
    fn complete(&self, begun: &Begun, member: &Member<'_>, size: u64, out: &mut Buffer) {
        if let Some(size) = Octal::new(size) {
            let header = begun.body - RECORD..begun.body;
            return set_size(&mut out.as_mut_slice()[header], size);
        }
        let mut header = Buffer::default();
        self.file(member, size, &mut header);
        begun.put_header(&header, out);
    }

    fn member(&self, member: &Member<'_>, fields: &Header<'_>, size: u64, out: &mut Buffer) {
        let mut records = Vec::new();
        let name = Name::fit(member);
        if matches!(name, Name::Extended(_)) {
            pax_record(&mut records, "path", member.name);
        }
        let see;
        let mut link = fields.link;
        if link.len() > NAME_LEN {
            pax_record(&mut records, "linkpath", link);
            see = format!("see {}.paxheader", member.hex_id());
            link = see.as_bytes();
        }
        let size = Octal::new(size).unwrap_or_else(|| {
            pax_record(&mut records, "size", size.to_string().as_bytes());
            Octal::ZERO
        });
        for (key, value) in member.vendor {
            pax_record(&mut records, key, value);
        }
        if !records.is_empty() {
            self.extended(
                out,
                b'x',
                format!("{}.paxheader", member.hex_id()).as_bytes(),
                &records,
            );
        }
        let header = Header { link, ..*fields };
        header.write(out, name.parts(), size, Octal::at_most(self.mtime));
    }

    /// Append an extended header (`x`) or a global header (`g`) with its records.
    fn extended(&self, out: &mut Buffer, kind: u8, name: &[u8], records: &[u8]) {
        let size = records.len() as u64;
        let octal =
            Octal::new(size).expect("names and targets are held in memory, and far shorter");
        let fields = Header {
            kind,
            mode: EXTENDED_MODE,
            link: b"",
        };
        fields.write(out, (b"", name), octal, Octal::at_most(self.mtime));
        out.extend(records);
        out.zeros(padding(size));
    }
}

/// Bytes from the end of a body of `size` bytes to the next record.
fn padding(size: u64) -> usize {
    (size.wrapping_neg() % RECORD as u64) as usize
}

/// `<len> <key>=<value>\n`, where `<len>` counts the whole record and itself.
fn pax_record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = 1 + key.len() + 1 + value.len() + 1;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    records.extend_from_slice(format!("{len} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::{
        Format, Globals, Layout, Member, MemberKind, Name, Part, Tar, padding, pax_record,
    };
    use sluice_base::buffer::Buffer;

    const TAR: Tar = Tar {
        mtime: 1_117_231_200,
        umask: 0o002,
        comment: None,
        globals: Globals(None),
    };

    fn file(name: &[u8]) -> Member<'_> {
        Member {
            name,
            kind: MemberKind::File,
            id: b"\x01\x23",
            text: None,
            vendor: &[],
        }
    }

    /// No end of an archive passes for the end of a complete one.
    #[test]
    fn an_archive_that_was_cut_anywhere() {
        let mut part = Part::<()>::default();
        for (name, len) in [("a", 0), ("b", 1024), ("c", 700), ("d", 0)] {
            TAR.file(&file(name.as_bytes()), len, &mut part.bytes);
            part.bytes.zeros(len as usize + padding(len));
        }
        let whole = part.bytes.to_vec();
        for len in 0..=whole.len() {
            let torn = super::torn_at(len as u64);
            let archive = [&whole[..len], &torn].concat();
            let mut archive = tar::Archive::new(&archive[..]);
            let mut entries = archive.entries().expect("nothing is read yet");
            assert!(entries.any(|entry| entry.is_err()), "{len}");
        }
    }

    #[test]
    fn pax_lengths_count_themselves() {
        for (value, start) in [
            (85, "95 p="),
            (92, "99 p="),
            (93, "101 p="),
            (995, "1003 p="),
        ] {
            let mut record = Vec::new();
            pax_record(&mut record, "p", &vec![b'v'; value - 1]);
            let text = String::from_utf8(record).expect("ASCII");
            let len: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(len, text.len(), "{start}");
        }
    }

    #[test]
    fn long_names_split_at_the_last_slash_in_reach() {
        let name = [&[b'd'; 154][..], b"/", &[b'f'; 100]].concat();
        assert!(matches!(Name::fit(&file(&name)), Name::Split(prefix, _) if prefix.len() == 154));
        let name = [&[b'd'; 155][..], b"/", &[b'f'; 100]].concat();
        assert!(matches!(Name::fit(&file(&name)), Name::Extended(_)));
        let name = [&[b'd'; 150][..], b"/"].concat();
        assert!(matches!(Name::fit(&file(&name)), Name::Extended(_)));
    }

    #[test]
    fn a_file_is_header_body_and_padding() {
        let mut part = Part::default();
        let begun = TAR.begin_file(&file(b"a"), &mut part);
        part.bytes.extend(&[b'x'; 600]);
        TAR.end_file(&mut (), begun, &file(b"a"), Layout::Whole, &mut part);
        assert_eq!(part.bytes.len(), 512 + 1024);
        assert_eq!(&part.bytes[124..136], b"00000001130\0");
        let mut known = Buffer::default();
        TAR.file(&file(b"a"), 600, &mut known);
        assert_eq!(part.bytes[..512], known[..512]);
    }

    /// git writes such a file piece by piece, with its size in a pax record.
    #[test]
    fn a_size_beyond_the_field_goes_to_a_pax_record() {
        let long = [b'n'; 101];
        for name in [&b"a"[..], &long] {
            for size in [0o77777777777, 0o100000000000, 9_017_753_600] {
                let mut part = Part::default();
                part.bytes.extend(b"what came before");
                let begun = TAR.begin_file(&file(name), &mut part);
                part.bytes.extend(b"a body");
                TAR.complete(&begun, &file(name), size, &mut part.bytes);
                let mut known = Buffer::default();
                known.extend(b"what came before");
                TAR.file(&file(name), size, &mut known);
                known.extend(b"a body");
                assert!(part.bytes[..] == known[..], "{size} bytes");
            }
        }
        let mut part = Part::default();
        TAR.file(&file(b"a"), 9_017_753_600, &mut part.bytes);
        assert_eq!(records(&part), ["size=9017753600"]);
        assert_eq!(&part.bytes[1024 + 124..1024 + 136], b"00000000000\0");
    }

    /// The records of the extended header at the beginning of `part`, one a line without its length.
    fn records(part: &Part<()>) -> Vec<String> {
        assert_eq!(part.bytes[156], b'x');
        let size = std::str::from_utf8(&part.bytes[124..135]).expect("digits");
        let size = usize::from_str_radix(size, 8).expect("octal");
        let text = std::str::from_utf8(&part.bytes[512..512 + size]).expect("text");
        let records = text
            .lines()
            .map(|line| line.split_once(' ').expect("a length"));
        records.map(|(_, record)| record.to_owned()).collect()
    }

    #[test]
    fn vendor_records_come_last() {
        let (name, target) = ([b'n'; 101], [b't'; 101]);
        let member = Member {
            kind: MemberKind::Symlink,
            vendor: &[("GITSLUICE.size", b"7"), ("GITSLUICE.reason", b"why")],
            ..file(&name)
        };
        let mut part = Part::default();
        TAR.symlink(&member, &target, &mut part);
        let keys = records(&part).join("\n");
        assert_eq!(
            keys,
            format!(
                "path={}\nlinkpath={}\nGITSLUICE.size=7\nGITSLUICE.reason=why",
                "n".repeat(101),
                "t".repeat(101)
            )
        );
        part = Part::default();
        let member = Member {
            kind: MemberKind::File,
            ..member
        };
        let begun = TAR.begin_file(&member, &mut part);
        part.bytes.extend(b"body");
        TAR.end_file(&mut (), begun, &member, Layout::Whole, &mut part);
        assert_eq!(records(&part).len(), 3);
        assert_eq!(part.bytes.len(), 4 * 512);
        assert_eq!(&part.bytes[1024 + 124..1024 + 136], b"00000000004\0");
    }

    #[test]
    fn a_sparse_file_is_a_map_without_data() {
        let member = Member {
            vendor: &[("GITSLUICE.size", b"9")],
            ..file(b"a/b")
        };
        let mut part = Part::default();
        TAR.sparse_file(&member, 8, &mut part);
        assert_eq!(
            records(&part),
            [
                "GNU.sparse.major=1",
                "GNU.sparse.minor=0",
                "GNU.sparse.name=a/b",
                "GNU.sparse.realsize=8",
                "GITSLUICE.size=9",
            ]
        );
        assert_eq!(part.bytes.len(), 4 * 512);
        assert_eq!(&part.bytes[1024..1044], b"a/GNUSparseFile.0/b\0");
        assert_eq!(&part.bytes[1024 + 124..1024 + 136], b"00000001000\0");
        assert_eq!(part.bytes[1024 + 156], b'0');
        assert_eq!(&part.bytes[1536..1543], b"1\n8\n0\n\0");
    }

    /// Go's reader accepts no more.
    #[test]
    fn an_extended_header_has_less_than_a_mebibyte() {
        let name = vec![b'n'; 500_000];
        let mut part = Part::default();
        TAR.sparse_file(&file(&name), 1, &mut part);
        assert!(part.bytes.len() < 1 << 20);
    }

    #[test]
    fn an_archive_ends_on_a_block_with_two_zero_records_at_least() {
        for (written, len) in [
            (0, 10240),
            (512, 9728),
            (9216, 1024),
            (9728, 10752),
            (10240, 10240),
        ] {
            let mut total = 0;
            TAR.end((), written, &mut |bytes| {
                total += bytes.len();
                Ok(())
            })
            .expect("nothing that could fail");
            assert_eq!(total, len, "after {written}");
        }
    }

    #[test]
    fn the_global_header_is_there_for_a_commit_or_a_late_time() {
        let mut out = Buffer::default();
        TAR.head(&mut out);
        assert!(out.is_empty());
        let late = Tar {
            mtime: 68_719_476_737,
            umask: 0,
            comment: None,
            globals: Globals::default(),
        };
        late.head(&mut out);
        assert_eq!(&out[512..533], b"21 mtime=68719476737\n");
        assert_eq!(&out[136..148], b"77777777777\0");
    }
}
