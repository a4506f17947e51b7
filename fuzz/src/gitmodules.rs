//! `.gitmodules`: no text of an archived tree breaks the parser, and a name never leads out of the directory of all
//! submodules.
//!
//! The input is the file, and behind a NUL the path of a submodule.

use gix_hash::{Kind, ObjectId};
use sluice_git::repository::gitmodules::Gitmodules;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let [text, path] = [(); 2].map(|()| parts.next().unwrap_or_default());
    let id = ObjectId::null(Kind::Sha1);
    let Ok(modules) = Gitmodules::parse(text, id, &mut std::io::sink()) else {
        return;
    };
    let Some(name) = modules.name(path) else {
        return;
    };
    assert!(modules.knows(path) && modules.knows(name));
    assert!(!path.starts_with(b"-"), "an option");
    let mut parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
    assert!(!name.is_empty() && parts.all(|part| part != b".."));
}
