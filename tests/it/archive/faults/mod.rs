//! What goes wrong outside of us: the place where the archive goes (`output.rs`), what the
//! repository holds by accident (`damage.rs`, `attributes.rs`) and by intent (`bombs.rs`), packs that nobody may read
//! (`packs.rs`), a repack under our feet (`repack.rs`), and reads that fail (`reads.rs`).
//!
//! Whatever it is, the run ends in time, says why, and never leaves an archive that looks complete
//! and is not. That it ends at all is seen to by `process.rs`.

mod attributes;
mod bombs;
mod damage;
mod malformed;
mod output;
mod packs;
mod reads;
mod repack;

use crate::support::process::Output;
use crate::{archive::readers, support::tar_listing};

/// A failure as it should be: an exit of its own accord, in git's grammar, with nothing that passes
/// for an archive.
#[track_caller]
fn assert_orderly_failure(output: &Output) {
    let code = output.status.code();
    assert!(
        matches!(code, Some(128 | 255)),
        "not a failure, or not an orderly one\n{output}"
    );
    let messages = output.messages();
    let says_why = |line: &str| line.starts_with("fatal: ") || line.starts_with("error: ");
    assert!(
        messages.lines().any(says_why),
        "it does not say why\n{output}"
    );
    assert!(!messages.contains("panicked"), "{output}");
    assert!(
        !tar_listing::is_complete(&output.stdout),
        "it looks complete\n{output}"
    );
    readers::assert_rejected(&output.stdout);
}

/// Either all is well, or all is said.
#[track_caller]
fn assert_right_or_orderly_failure(output: &Output, expected: &[u8]) {
    if output.code() != 0 {
        assert_orderly_failure(output);
    } else if output.stdout != expected {
        panic!(
            "success, and wrong bytes\n{output}\n{}",
            tar_listing::difference(&output.stdout, expected)
        );
    }
}
