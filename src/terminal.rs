//! The terminal of standard error.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, IsTerminal},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rustix::termios::{tcgetwinsize, ttyname};
use sluice_base::progress::Terminal;

/// The columns of a terminal that does not know its size.
const COLUMNS: usize = 80;

/// Where messages go.
pub(super) fn screen() -> Terminal {
    Terminal {
        is_terminal: io::stderr().is_terminal(),
        columns,
        claim,
    }
}

fn columns() -> Option<usize> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    Some(match size.ws_col {
        0 => COLUMNS,
        columns => columns.into(),
    })
}

/// Locks the terminal. Two programs of a pipeline have one, and their lines would overwrite each other.
fn claim() -> io::Result<File> {
    let name = ttyname(io::stderr(), Vec::new())?;
    let terminal = File::open(Path::new(OsStr::from_bytes(name.as_bytes())))?;
    // If locking fails for another reason, drawing continues.
    terminal.try_lock()?;
    Ok(terminal)
}
