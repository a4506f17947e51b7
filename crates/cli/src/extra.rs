//! Files that come from the command line: `--add-file`, `--add-directory` and `--add-virtual-file`.
//!
//! Only the words are read; no file is opened here.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use bstr::{BString, ByteSlice};
use gix_quote::ansi_c;

use sluice_base::error::{Error, Result, format_bytes};

/// A file of the archive that is in no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its name in the archive.
    pub name: BString,
    /// What is in it.
    pub content: ExtraContent,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// Where the content of an extra file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtraContent {
    /// In this file, seen from the current directory.
    File(PathBuf),
    /// Here.
    Virtual(BString),
    /// The target of a symbolic link.
    Link(BString),
    /// None, of a directory.
    Directory,
}

/// What the words name outside of the tree.
#[derive(Clone, Copy, Debug)]
pub enum Untracked<'w> {
    /// A file.
    File(&'w OsStr),
    /// A directory, of which everything below is meant.
    Directory(&'w OsStr),
}

impl Extra {
    /// The file at `path`. Its name is the last part of the path.
    pub fn file(path: &OsStr, executable: bool) -> Self {
        let base = path.as_bytes().rsplit(|&byte| byte == b'/').next();
        Self {
            name: base.unwrap_or_default().into(),
            content: ExtraContent::File(path.into()),
            executable,
        }
    }

    /// The same file below `prefix`.
    pub(super) fn below(self, prefix: &OsStr) -> Self {
        Self {
            name: [prefix.as_bytes(), &self.name].concat().into(),
            ..self
        }
    }

    /// `--add-virtual-file=<path>:<content>`, where the path may be quoted as in C.
    pub(super) fn of_text(argument: &OsStr) -> Result<Self> {
        let refused = |why: &str| {
            Error::fatal(format_bytes(
                "{}: '{}'",
                &[why.as_bytes(), argument.as_bytes()],
            ))
        };
        let text = argument.as_bytes();
        let (unquoted, end) = match text.first() {
            Some(b'"') => ansi_c::undo(text.into()).map_err(|_| refused("unclosed quote"))?,
            _ => {
                let end = text
                    .find_byte(b':')
                    .ok_or_else(|| refused("missing colon"))?;
                (text[..end].as_bstr().into(), end)
            }
        };
        let content = text[end..]
            .strip_prefix(b":")
            .ok_or_else(|| refused("missing colon"))?;
        // A name that is empty between its quotes git takes with them.
        let name = if unquoted.is_empty() {
            text[..end].into()
        } else {
            unquoted.into_owned()
        };
        if name.is_empty() {
            return Err(refused("empty file name"));
        }
        Ok(Self {
            name,
            content: ExtraContent::Virtual(content.into()),
            executable: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Extra, ExtraContent};
    use std::ffi::OsStr;

    #[test]
    fn virtual_files() {
        let parsed = |argument: &str| {
            Extra::of_text(OsStr::new(argument)).map_err(|error| error.to_string())
        };
        let file = |name: &str, content: &str| {
            Ok(Extra {
                name: name.into(),
                content: ExtraContent::Virtual(content.into()),
                executable: false,
            })
        };
        assert_eq!(parsed("a/b:c:d"), file("a/b", "c:d"));
        assert_eq!(parsed("a:"), file("a", ""));
        assert_eq!(parsed(r#""a:\t\303\244":x"#), file("a:\tä", "x"));
        assert_eq!(parsed(r#""":x"#), file(r#""""#, "x"));
        let refused = |why: &str| Err(format!("fatal: {why}"));
        assert_eq!(parsed(r#""\q":"#), refused(r#"unclosed quote: '"\q":'"#));
    }
}
