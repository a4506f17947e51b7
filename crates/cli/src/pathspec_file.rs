//! `--pathspec-from-file`: pathspecs that are too many or too odd for the command line.
//!
//! Reads what it is handed and judges none of it.

use std::io::Read;

use bstr::{BString, ByteSlice};
use gix_quote::ansi_c;

use sluice_base::error::{Error, Result, strerror};

/// The pathspecs that `reader` holds: one a line, in quotes as in C if it starts with one; or, with
/// `nul`, a NUL after each and nothing quoted.
pub fn pathspecs_from(mut reader: impl Read, nul: bool) -> Result<Vec<BString>> {
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(|error| {
        let why = strerror(&error);
        Error::fatal(format!("cannot read the pathspecs: {why}"))
    })?;
    if !nul {
        return text.lines().map(unquoted).collect();
    }
    let pathspecs = text.split_inclusive(|&byte| byte == 0);
    Ok(pathspecs
        .map(|pathspec| pathspec.strip_suffix(b"\0").unwrap_or(pathspec).into())
        .collect())
}

fn unquoted(line: &[u8]) -> Result<BString> {
    let (pathspec, _) = ansi_c::undo(line.into())
        .map_err(|_| Error::fatal(format!("line is badly quoted: {}", line.as_bstr())))?;
    Ok(pathspec.into_owned())
}

#[cfg(test)]
mod tests {
    use super::pathspecs_from;

    #[test]
    fn lines_may_be_quoted() {
        let read = |text: &str| pathspecs_from(text.as_bytes(), false).map_err(|e| e.to_string());
        let expected = |lines: &[&str]| Ok(lines.iter().map(|&line| line.into()).collect());
        assert_eq!(read(""), expected(&[]));
        assert_eq!(
            read("a\nb c\r\n\nlast"),
            expected(&["a", "b c", "", "last"])
        );
        assert_eq!(read("last\r"), expected(&["last\r"]));
        assert_eq!(read("\"a\\n\\303\\244\"\n"), expected(&["a\nä"]));
        let refused = Err("fatal: line is badly quoted: \"a".to_owned());
        assert_eq!(read("b\n\"a\n"), refused);
    }

    #[test]
    fn nul_quotes_nothing() {
        let read = |text: &str| pathspecs_from(text.as_bytes(), true).expect("nothing to refuse");
        assert_eq!(read(""), [""; 0]);
        assert_eq!(read("a\nb\0\"c\0\0d"), ["a\nb", "\"c", "", "d"]);
    }
}
