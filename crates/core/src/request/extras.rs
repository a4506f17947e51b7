//! Extra files as they are planned.

use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};

use crate::plan::extra::{Extra, ExtraSource};
use sluice_base::working_directory::WorkingDirectory;
use sluice_cli as cli;
use sluice_cli::ExtraContent;
use sluice_format::MemberKind;

/// An extra file as it is planned, given in `directory`, which is the directory `below` of the work tree.
pub(super) fn planned(extra: &cli::Extra, directory: &WorkingDirectory, below: &BString) -> Extra {
    let kind = match extra.content {
        ExtraContent::Link(_) => MemberKind::Symlink,
        ExtraContent::Directory => MemberKind::Directory,
        _ if extra.executable => MemberKind::Executable,
        _ => MemberKind::File,
    };
    let from_top = |path: &[u8]| {
        if path.starts_with(b"/") {
            path.into()
        } else {
            [below.as_bytes(), path].concat().into()
        }
    };
    let (name, content) = match &extra.content {
        ExtraContent::Virtual(bytes) => (from_top(&extra.name), ExtraSource::Bytes(bytes.to_vec())),
        ExtraContent::File(path) => {
            let shown = from_top(path.as_os_str().as_bytes());
            let path = directory.file(path).path;
            (extra.name.clone(), ExtraSource::File { path, shown })
        }
        ExtraContent::Link(target) => (extra.name.clone(), ExtraSource::Bytes(target.to_vec())),
        ExtraContent::Directory => (extra.name.clone(), ExtraSource::Bytes(Vec::new())),
    };
    Extra {
        name,
        kind,
        content,
    }
}
