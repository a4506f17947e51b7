//! Log lines of a conversion, held until the file is written.

use sluice_base::{buffer::Buffer, error::push_line};

/// Append `line` to `log`, as git prints it.
pub(super) fn say(log: &mut Buffer, line: impl AsRef<[u8]>) {
    let mut printed = Vec::new();
    push_line(&mut printed, "", line.as_ref());
    log.extend(&printed);
}
