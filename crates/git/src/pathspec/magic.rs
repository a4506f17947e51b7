//! The magic in front of a pathspec (gitglossary(7), "pathspec"): `:(top,icase)`, `:!`.

use bstr::{BStr, BString, ByteSlice};

use crate::attributes::Requirements;
use sluice_base::error::{Error, Result, format_bytes};

/// The magic of one pathspec.
#[derive(Default)]
pub(super) struct Magic {
    /// The path starts at the root of the tree.
    pub(super) top: bool,
    /// The path has no wildcards.
    pub(super) literal: bool,
    /// Wildcards stop at slashes.
    pub(super) glob: bool,
    /// Case does not matter.
    pub(super) icase: bool,
    /// Matching paths are excluded.
    pub(super) exclude: bool,
    /// The length of the current directory in the path. Git passes this word to its own child processes.
    pub(super) prefix: Option<usize>,
    /// The required attributes.
    pub(super) requirements: Option<Requirements>,
}

impl Magic {
    /// Take the magic off the front of a pathspec.
    pub(super) fn parse(spec: &BString) -> Result<(Self, &BStr)> {
        let magic = Self::default();
        match spec.as_bytes() {
            [b':', b'(', rest @ ..] => magic.long(spec, rest.as_bstr()),
            [b':', rest @ ..] => magic.short(spec, rest.as_bstr()),
            _ => Ok((magic, spec.as_bstr())),
        }
    }

    fn long<'a>(mut self, spec: &BString, rest: &'a BStr) -> Result<(Self, &'a BStr)> {
        let mut rest = rest.as_bytes();
        while !rest.is_empty() && !rest.starts_with(b")") {
            let (word, after) = rest.split_at(word_len(rest));
            rest = after.strip_prefix(b",").unwrap_or(after);
            self.word(word.as_bstr(), spec)?;
        }
        let Some(rest) = rest.strip_prefix(b")") else {
            return Err(Error::fatal(format_bytes(
                "Missing ')' at the end of pathspec magic in '{}'",
                &[spec],
            )));
        };
        if self.literal && self.glob {
            return Err(Error::fatal(format_bytes(
                "{}: 'literal' and 'glob' are incompatible",
                &[spec],
            )));
        }
        Ok((self, rest.as_bstr()))
    }

    fn word(&mut self, word: &BStr, spec: &BString) -> Result<()> {
        match word.as_bytes() {
            b"" | b"attr" => {}
            b"top" => self.top = true,
            b"literal" => self.literal = true,
            b"glob" => self.glob = true,
            b"icase" => self.icase = true,
            b"exclude" => self.exclude = true,
            [b'a', b't', b't', b'r', b':', requirements @ ..] => {
                if self.requirements.is_some() {
                    return Err(Error::fatal("Only one 'attr:' specification is allowed."));
                }
                self.requirements = Some(Requirements::parse(requirements.as_bstr())?);
            }
            [b'p', b'r', b'e', b'f', b'i', b'x', b':', number @ ..] => {
                let number = number.to_str().ok().and_then(|number| number.parse().ok());
                self.prefix = Some(number.ok_or_else(|| {
                    Error::fatal("invalid parameter for pathspec magic 'prefix'")
                })?);
            }
            _ => {
                return Err(Error::fatal(format_bytes(
                    "Invalid pathspec magic '{}' in '{}'",
                    &[word, spec],
                )));
            }
        }
        Ok(())
    }

    fn short<'a>(mut self, spec: &BString, mut rest: &'a BStr) -> Result<(Self, &'a BStr)> {
        while let Some((&byte, after)) = rest.split_first() {
            match byte {
                b'/' => self.top = true,
                b'!' | b'^' => self.exclude = true,
                b':' => return Ok((self, after.as_bstr())),
                // Characters that may become magic one day.
                b'"' | b'#' | b'%' | b'&' | b'\'' | b',' | b'-' | b';' | b'<' | b'=' | b'>'
                | b'@' | b'_' | b'`' | b'~' => {
                    return Err(Error::fatal(format_bytes(
                        "Unimplemented pathspec magic '{}' in '{}'",
                        &[&[byte], spec],
                    )));
                }
                _ => break,
            }
            rest = after.as_bstr();
        }
        Ok((self, rest))
    }
}

/// The length of the first word of long magic. A backslash escapes the next byte.
fn word_len(rest: &[u8]) -> usize {
    let mut hidden = false;
    let end = rest.iter().position(|&byte| {
        let ends = !hidden && matches!(byte, b',' | b')');
        hidden = !hidden && byte == b'\\';
        ends
    });
    end.unwrap_or(rest.len())
}
