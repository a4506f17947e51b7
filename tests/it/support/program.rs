//! The program under test. Nothing else may decide which one that is.
//!
//! The tests run the program that cargo built with them, or the one that `GIT_SLUICE_BIN` names: a release, or what
//! was installed. That file has to be called `git-sluice`, since git looks for it by that name.

use std::{fs, path::Path, process::Command, sync::LazyLock};

use crate::support::process::run;

/// The binary that cargo built with the tests.
pub(crate) const BUILT: &str = env!("CARGO_BIN_EXE_git-sluice");

/// The binary under test: the one that `GIT_SLUICE_BIN` names, or the one that cargo built.
pub(crate) fn binary() -> &'static str {
    static BINARY: LazyLock<String> = LazyLock::new(|| {
        let Some(other) = std::env::var_os("GIT_SLUICE_BIN") else {
            return installed_program();
        };
        let path = Path::new(&other).canonicalize();
        let path = path.unwrap_or_else(|error| panic!("GIT_SLUICE_BIN={other:?}: {error}"));
        assert!(path.ends_with("git-sluice"), "{path:?} is not 'git-sluice'");
        path.to_str().expect("a path in UTF-8").to_owned()
    });
    &BINARY
}

/// A copy of what cargo built, as an installation makes one. What the linker wrote lies in the kernel's cache page by page, and takes
/// a third more time to start.
fn installed_program() -> String {
    const INSTALLED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/git-sluice");
    let new = format!("{INSTALLED}.{}", std::process::id());
    // By another process, see [`write_program`](super::Repo::write_program).
    let _ = run(Command::new("cp").args([BUILT, &new])).success();
    fs::rename(new, INSTALLED).expect("the target folder can be written to");
    INSTALLED.to_owned()
}

/// Whether the binary under test needs no dynamic loader, as one with musl.
pub(crate) fn is_static() -> bool {
    const LOADER: &[u8] = b"/ld-linux";
    let content = fs::read(binary()).expect("the binary can be read");
    !content.windows(LOADER.len()).any(|bytes| bytes == LOADER)
}
