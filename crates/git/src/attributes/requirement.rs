//! The attributes that a pathspec requires: `:(attr:<requirement> …)` (gitglossary(7), "pathspec").

use bstr::{BStr, BString, ByteSlice};

use super::file::{Value, is_valid_name};
use sluice_base::error::{Error, Result, format_bytes};

/// All requirements of one pathspec.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// The number of the pathspec among those with requirements.
    pub number: usize,
    /// The requirements, all of which a path has to meet.
    pub all: Vec<Requirement>,
}

/// One attribute and its required value.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The attribute.
    pub name: BString,
    /// The required value.
    pub value: Value,
}

impl Requirements {
    /// Parse the text after `attr:`.
    pub fn parse(text: &BStr) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::fatal("attr spec must not be empty"));
        }
        let words = text.split_str(" ").filter(|word| !word.is_empty());
        Ok(Self {
            number: 0,
            all: words.map(Requirement::parse).collect::<Result<_>>()?,
        })
    }
}

impl Requirement {
    fn parse(word: &[u8]) -> Result<Self> {
        let (name, value) = match word {
            [b'!', name @ ..] => (name, Value::Unspecified),
            [b'-', name @ ..] => (name, Value::Unset),
            _ => match word.split_once_str("=") {
                None => (word, Value::Set),
                Some((name, value)) => (name, Value::Text(unescape(value)?)),
            },
        };
        if !is_valid_name(name) {
            return Err(Error::fatal(format_bytes(
                "invalid attribute name {}",
                &[name],
            )));
        }
        Ok(Self {
            name: name.into(),
            value,
        })
    }
}

/// Remove backslashes. Characters that git reserves are refused.
fn unescape(value: &[u8]) -> Result<BString> {
    let mut bytes = value.iter();
    let mut plain = BString::default();
    while let Some(&byte) = bytes.next() {
        let byte = match byte {
            b'\\' => *bytes.next().ok_or_else(|| {
                Error::fatal("Escape character '\\' not allowed as last character in attr value")
            })?,
            byte => byte,
        };
        if !byte.is_ascii_alphanumeric() && !b",-_".contains(&byte) {
            return Err(Error::fatal(format_bytes(
                "cannot use '{}' for value matching",
                &[&[byte]],
            )));
        }
        plain.push(byte);
    }
    Ok(plain)
}
