//! SHA-256 of what is published, which is also its name.

use std::fmt;

use gix_hash::{Hasher, Kind, hasher};
use serde::{Deserialize, Serialize};

use sluice_base::error::{Error, Result};

/// A SHA-256: 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err("not a SHA-256")
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A SHA-256 of bytes that come piece by piece.
pub struct Hashing(Hasher);

impl Default for Hashing {
    fn default() -> Self {
        Self(hasher(Kind::Sha256))
    }
}

impl Hashing {
    /// Adds a piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The sum of all pieces.
    pub fn finish(self) -> Result<Digest> {
        let sum = self.0.try_finalize();
        let sum = sum.map_err(|error| Error::fatal("cannot hash").caused_by(error.to_string()))?;
        Ok(Digest(sum.to_hex().to_string()))
    }
}
