//! The patterns of gitignore(5) and gitattributes(5), which git parses and matches by the same functions (`dir.c`).
//!
//! Of the files that hold them, and of what a match means, nothing is known here.

mod matcher;

use bstr::{BString, ByteSlice};

pub use matcher::Matcher;

/// A pattern for paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The pattern without a slash at either end.
    pub text: BString,
    /// The pattern matches only directories.
    pub directory: bool,
    /// The pattern has no slash, so it matches base names at any depth.
    pub base_name: bool,
    /// The bytes before the first wildcard.
    pub literal: usize,
}

impl Pattern {
    /// Parses the `text` of a pattern, without quotes or a leading `!`.
    pub fn parse(text: &[u8]) -> Self {
        let directory = text.ends_with(b"/");
        let text = text.strip_suffix(b"/").unwrap_or(text);
        let has_slash = text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        // A name in any directory is a name.
        let in_all = text.strip_prefix(b"**/");
        let in_all = in_all.filter(|rest| !rest.is_empty() && !rest.contains(&b'/'));
        let text = in_all.unwrap_or(text);
        Self {
            text: text.into(),
            directory,
            base_name: !has_slash || in_all.is_some(),
            literal: text.find_byteset(b"*?[\\").unwrap_or(text.len()),
        }
    }

    /// Whether the pattern has no wildcard.
    pub fn is_literal(&self) -> bool {
        self.literal == self.text.len()
    }

    /// The name of a directory, at any depth, that contains every match. `None` if the pattern names none.
    pub fn directory_within(&self) -> Option<&[u8]> {
        let directories = &self.text[..self.text.rfind_byte(b'/')?];
        // A slash may follow a backslash or be in brackets.
        directories
            .split_str("/")
            .take_while(|part| part.find_byteset(b"[\\").is_none())
            .find(|part| !part.is_empty() && part.find_byteset(b"*?").is_none())
    }

    /// The suffix of a pattern `*suffix` that matches base names and has no other wildcard.
    pub fn ending(&self) -> Option<&[u8]> {
        let ending = self.text.strip_prefix(b"*")?;
        (self.base_name && ending.find_byteset(b"*?[\\").is_none()).then_some(ending)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_differ() {
        let pattern = |text: &str, directory, base_name, literal| Pattern {
            text: text.into(),
            directory,
            base_name,
            literal,
        };
        for (given, expected) in [
            ("a", pattern("a", false, true, 1)),
            ("a/", pattern("a", true, true, 1)),
            ("/a*", pattern("a*", false, false, 1)),
            ("a/b\\c/", pattern("a/b\\c", true, false, 3)),
            ("/**/a", pattern("a", false, true, 1)),
            ("**/a/b", pattern("**/a/b", false, false, 0)),
            ("**/", pattern("**", true, true, 0)),
        ] {
            assert_eq!(Pattern::parse(given.as_bytes()), expected);
        }
    }

    #[test]
    fn where_every_match_lies() {
        for (text, directory) in [
            ("**/abc/**", Some("abc")),
            ("**/a*/b/c", Some("b")),
            ("abc", None),
            ("*/abc", None),
            ("[x/a]/b/*", None),
            ("\\/a/*", None),
        ] {
            let found = Pattern::parse(text.as_bytes());
            assert_eq!(
                found.directory_within(),
                directory.map(str::as_bytes),
                "{text}"
            );
        }
    }
}
