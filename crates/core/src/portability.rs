//! Finds names that break on other systems: two that are one there, and those that cannot exist.
//!
//! Names are compared without regard to case and Unicode normalization, as file systems of macOS and Windows compare them.
//! Nothing here changes what an archive contains.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use bstr::ByteSlice;
use unicode_normalization::UnicodeNormalization;

use crate::output::report::Unportable;

/// The most bytes of a name that common file systems take.
const MAX_NAME: usize = 255;
/// The most characters of a path that older programs of Windows take.
const MAX_PATH: usize = 260;
/// Names that Windows keeps for devices, with any extension. `COM` and `LPT` take a digit.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The names of an archive that have a double on another system.
pub struct Doubles {
    /// PathHashes of folded paths that several paths of different case have.
    case: HashSet<u64>,
    /// PathHashes of normalized paths that several paths have.
    normalization: HashSet<u64>,
}

impl Doubles {
    /// The doubles among `paths`.
    pub fn among(paths: impl IntoIterator<Item = PathHashes>) -> Self {
        let paths = paths.into_iter();
        let paths = paths.map(|path| (path.folded, path.normalized, path.exact));
        let mut paths: Vec<_> = paths.collect();
        // An entry may be in an archive twice under one name.
        paths.sort_unstable();
        paths.dedup();
        let neighbors = || paths.windows(2).map(|pair| (pair[0], pair[1]));
        let in_case = neighbors().filter(|(one, other)| one.0 == other.0 && one.1 != other.1);
        let in_form = neighbors().filter(|(one, other)| one.1 == other.1);
        Self {
            case: in_case.map(|(one, _)| one.0).collect(),
            normalization: in_form.map(|(one, _)| one.1).collect(),
        }
    }

    /// Whether `path` has a double, and of which kind.
    pub fn kinds(&self, path: &[u8]) -> impl Iterator<Item = Unportable> {
        let hashes = PathHashes::of(path);
        let in_case = self.case.contains(&hashes.folded);
        let in_form = self.normalization.contains(&hashes.normalized);
        let in_case = in_case.then_some(Unportable::Case);
        in_case
            .into_iter()
            .chain(in_form.then_some(Unportable::Normalization))
    }

    /// All that is wrong with the name `path` of an entry. `target` is that of a link, if it is known.
    pub fn problems(&self, path: &[u8], target: Option<&[u8]>) -> Vec<Unportable> {
        let path = bare(path);
        let name = &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..];
        let leads_out = target.is_some_and(|target| leads_out(path, target));
        let own = [
            (is_reserved(name), Unportable::Reserved),
            (
                name.ends_with(b".") || name.ends_with(b" "),
                Unportable::Ending,
            ),
            (
                name.iter().any(|byte| is_forbidden(*byte)),
                Unportable::Character,
            ),
            (
                name.len() > MAX_NAME || path.len() > MAX_PATH,
                Unportable::Long,
            ),
            (leads_out, Unportable::Link),
        ];
        let own = own
            .into_iter()
            .filter_map(|(holds, kind)| holds.then_some(kind));
        self.kinds(path).chain(own).collect()
    }
}

/// A path in three forms. A hash of 64 bits stands for each, so that a million paths take 24 MB.
pub struct PathHashes {
    exact: u64,
    normalized: u64,
    folded: u64,
}

impl PathHashes {
    /// The forms of `path`. A slash at the end of a directory does not count.
    pub fn of(path: &[u8]) -> Self {
        let path = bare(path);
        let exact = hash(path);
        let Ok(text) = std::str::from_utf8(path) else {
            return Self {
                exact,
                normalized: exact,
                folded: hash(&path.to_ascii_lowercase()),
            };
        };
        if text.is_ascii() {
            return Self {
                exact,
                normalized: exact,
                folded: hash(&path.to_ascii_lowercase()),
            };
        }
        let normalized: String = text.nfc().collect();
        let folded: String = normalized.to_uppercase().to_lowercase().nfc().collect();
        Self {
            exact,
            normalized: hash(normalized.as_bytes()),
            folded: hash(folded.as_bytes()),
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The path of a directory without the slash.
fn bare(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Whether Windows opens a device instead of a file called `name`.
fn is_reserved(name: &[u8]) -> bool {
    let stem = name.split(|byte| matches!(byte, b'.' | b':')).next();
    let stem = stem.unwrap_or_default().trim_end().to_ascii_lowercase();
    let Ok(stem) = std::str::from_utf8(&stem) else {
        return false;
    };
    let number = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
    let is_port = |number: &str| {
        let mut digits = number.chars();
        matches!(digits.next(), Some('1'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
    };
    DEVICES.contains(&stem) || number.is_some_and(is_port)
}

fn is_forbidden(byte: u8) -> bool {
    byte.is_ascii_control() || b"\\:*?\"<>|".contains(&byte)
}

/// Whether the link at `path` leads out of the directory that the archive is extracted to. Links on the way are not followed.
fn leads_out(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = path.split_str("/").count() - 1;
    for part in target.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Doubles, PathHashes, is_reserved, leads_out};
    use crate::output::report::Unportable;

    fn words(path: &str, target: Option<&str>) -> Vec<&'static str> {
        let doubles = Doubles {
            case: [PathHashes::of("é/a".as_bytes()).folded].into(),
            normalization: [PathHashes::of("é/b".as_bytes()).normalized].into(),
        };
        let found = doubles.problems(path.as_bytes(), target.map(str::as_bytes));
        found.into_iter().map(Unportable::as_str).collect()
    }

    #[test]
    fn problems_of_names() {
        for (path, expected) in [
            ("a/b.c", &[][..]),
            ("É/A/", &["case"]),
            ("e\u{301}/b", &["normalization"]),
            ("con/x", &[]),
            ("x/Con.txt", &["reserved"]),
            ("x/trailing.", &["ending"]),
            ("x /a", &[]),
            ("a:b ", &["ending", "character"]),
            ("a\tb", &["character"]),
        ] {
            assert_eq!(words(path, None), expected, "{path}");
        }
        assert_eq!(words(&"x".repeat(256), None), ["long"]);
        assert_eq!(words(&"xy/".repeat(87), None), [""; 0]);
        assert_eq!(words(&"xyz/".repeat(66), None), ["long"]);
        assert_eq!(words("d/link", Some("../../x")), ["link"]);
    }

    #[test]
    fn names_of_devices() {
        for name in ["nul", "NUL.tar.gz", "com1", "LPT9 .x", "com²", "CONIN$"] {
            assert!(is_reserved(name.as_bytes()), "{name}");
        }
        for name in ["null", "com", "com0", "com10", "lpt1a", ".con", "console"] {
            assert!(!is_reserved(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn where_links_lead() {
        for (path, target, expected) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("a/b", "../b", false),
            ("a/b", "c/../../b", false),
            ("a/b", "c/../../../b", true),
            ("a", "/etc", true),
            ("a", ".//./b", false),
        ] {
            assert_eq!(
                leads_out(path.as_bytes(), target.as_bytes()),
                expected,
                "{path} {target}"
            );
        }
    }
}
