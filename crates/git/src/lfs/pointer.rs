//! Pointers, read as git-lfs reads them (git-lfs docs/spec.md, "The Pointer"; lfs/pointer.go).

use std::fmt;

use bstr::{BString, ByteSlice};

/// A blob of as many bytes, or more, is no pointer.
pub const POINTER_LEN: u64 = 1024;

/// The names by which the format was known.
const VERSIONS: [&[u8]; 3] = [
    b"https://git-lfs.github.com/spec/v1",
    b"https://hawser.github.com/spec/v1",
    b"http://git-media.io/v/2",
];
/// The keys of a pointer, in order. Extensions stand between any two of them.
const KEYS: [&[u8]; 3] = [b"version", b"oid", b"size"];

/// The SHA-256 of an LFS object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

/// In hexadecimal.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that stands for an LFS object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The name of the object.
    pub hash: Hash,
    /// The size of the object in bytes.
    pub size: u64,
    /// The first program that has to convert the object, if there is one.
    pub extension: Option<BString>,
}

impl Pointer {
    /// The pointer that `text` is; `None` for any other text.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() as u64 >= POINTER_LEN {
            return None;
        }
        let mut values: Vec<&[u8]> = Vec::new();
        let mut extension = None;
        let lines = text.trim_ascii().split_str("\n");
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once_str(" ")?;
            match KEYS.get(values.len())? {
                expected if *expected == key => values.push(value),
                _ => {
                    hash(value)?;
                    extension.get_or_insert(extension_name(key)?.into());
                }
            }
        }
        let [version, oid, size] = values[..] else {
            return None;
        };
        Some(Self {
            hash: hash(oid).filter(|_| VERSIONS.contains(&version))?,
            size: number(size)?,
            extension,
        })
    }
}

/// The name in the key `ext-<digit>-<name>`.
fn extension_name(key: &[u8]) -> Option<&[u8]> {
    let (priority, name) = key.strip_prefix(b"ext-")?.split_once_str("-")?;
    let is_digit = priority.len() == 1 && priority[0].is_ascii_digit();
    (is_digit && !name.is_empty()).then_some(name)
}

/// The hash in `sha256:<hash>`, in lower case.
fn hash(value: &[u8]) -> Option<Hash> {
    let hex = value.strip_prefix(b"sha256:")?;
    let mut bytes = [0; 32];
    if hex.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(Hash(bytes))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// A signed decimal number that is not negative.
fn number(value: &[u8]) -> Option<u64> {
    let number: i64 = value.to_str().ok()?.parse().ok()?;
    u64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::Pointer;

    const VERSION: &str = "version https://git-lfs.github.com/spec/v1\n";
    const OID: &str =
        "oid sha256:b85f99e2d5ad3a3b0a6a0b3e7a0a2e4bbf1c0f2f7e7f3d1c9a5e6d4b3c2a1f00\n";

    fn size(text: &str) -> Option<u64> {
        Pointer::parse(text.as_bytes()).map(|pointer| pointer.size)
    }

    #[test]
    fn pointers() {
        let canonical = format!("{VERSION}{OID}size 300000\n");
        let padded = format!("{canonical:\n<1023}");
        let texts = [
            canonical.clone(),
            canonical.replace('\n', "\r\n"),
            canonical.trim_end().to_owned(),
            canonical.replace('\n', "\n\n"),
            canonical.replace("size ", "size +"),
            canonical.replace("https://git-lfs.github", "https://hawser.github"),
            canonical.replace(
                "https://git-lfs.github.com/spec/v1",
                "http://git-media.io/v/2",
            ),
            format!(" \n{canonical} "),
            padded.clone(),
        ];
        for text in texts {
            assert_eq!(size(&text), Some(300_000), "{text:?}");
        }
        assert_eq!(size(&format!("{padded}\n")), None);
        let pointer = Pointer::parse(canonical.as_bytes()).expect("a pointer");
        assert_eq!(format!("oid sha256:{}\n", pointer.hash), OID);
        assert_eq!(pointer.extension, None);
    }

    #[test]
    fn other_texts() {
        let size_line = "size 300000\n";
        for text in [
            String::new(),
            "text".to_owned(),
            format!("{VERSION}{OID}"),
            format!("{VERSION}{size_line}{OID}"),
            format!("{VERSION}{OID}{size_line}key value\n"),
            format!("{VERSION}{OID}key value\n{size_line}"),
            format!("{VERSION}{}{size_line}", OID.replace("b85f", "B85F")),
            format!("{VERSION}{}{size_line}", OID.replace("f00", "f0")),
            format!("{VERSION}{}{size_line}", OID.replace("oid ", "oid  ")),
            format!("{VERSION}{}{size_line}", OID.replace("sha256", "sha512")),
            format!("{VERSION}{OID}size -1\n"),
            format!("{VERSION}{OID}size\n"),
            format!("{VERSION}{OID}size 99999999999999999999\n"),
            format!("{}{OID}{size_line}", VERSION.replace("v1", "v2")),
        ] {
            assert_eq!(size(&text), None, "{text:?}");
        }
    }

    #[test]
    fn extensions() {
        let oid = OID.trim_start_matches("oid ");
        let extended = |key: &str| format!("{VERSION}{key} {oid}{OID}size 1\n");
        let name = |text: String| Pointer::parse(text.as_bytes())?.extension;
        assert_eq!(name(extended("ext-0-foo")), Some("foo".into()));
        let both = extended("ext-0-foo").replace(OID, &format!("ext-1-bar {oid}{OID}"));
        assert_eq!(name(both), Some("foo".into()));
        for key in ["ext-10-foo", "ext-0-", "ext-foo", "other"] {
            assert_eq!(Pointer::parse(extended(key).as_bytes()), None, "{key}");
        }
    }
}
