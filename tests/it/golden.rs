//! Archives whose bytes are known without any git: their SHA-256 is pinned. The oracle may change
//! with the installed git; these may not.

use crate::process::run_with_input;
use crate::support::{Repo, installed, skip};

/// Fixture, arguments, SHA-256 of the archive.
const GOLDEN: [(&str, &[&str], &str); 8] = [
    (
        "golden",
        &["HEAD"],
        "7f5f876a1bf2f48fab6ec8049673356c8584a5e9c9614a7efb3ee7b2b1782156",
    ),
    (
        "golden",
        &["--format=tar", "HEAD"],
        "7f5f876a1bf2f48fab6ec8049673356c8584a5e9c9614a7efb3ee7b2b1782156",
    ),
    (
        "golden",
        &["--prefix=p/", "HEAD"],
        "27b2f3837e7afed5284ac750cc71d7aa21bdf5aa75c777c4eb6981da8e7a1bba",
    ),
    (
        "golden",
        &["plain"],
        "95aa5d6e2b036d0d09fc3c96a7a2fe525bd3caddd5d0fbac42738f6f5671c20d",
    ),
    (
        "golden",
        &["--prefix=p/", "plain"],
        "cbdfd18ea1d9440e24ee339010a8ac28a43808a065b0fcb0ecfcff69cd22bc30",
    ),
    (
        "names-long",
        &["HEAD"],
        "b25401cc60251f78196c8c2b8470605f1f75dcd568adda79cce0304cdadb0735",
    ),
    (
        "names-odd",
        &["HEAD"],
        "2df8bb16079f657f3fe02492b4229a4386814e2ab9c2ac40f309455dc241323f",
    ),
    (
        "dates",
        &["far-future"],
        "28e6b1f828b3f6ce526769f8fbb54ab06833a48bd4b21e2720cfd598e18437dd",
    ),
];

#[test]
fn tar() {
    if !installed("sha256sum") {
        return;
    }
    for (fixture, args, expected) in GOLDEN {
        let repo = Repo::from(fixture);
        let output = repo.sluice(args);
        if output
            .messages()
            .contains("'export-subst' is not supported yet")
        {
            assert_eq!(output.code(), 128, "{output}");
            skip(&format!(
                "{fixture} {args:?}: export-subst is not supported yet"
            ));
            continue;
        }
        let archive = output.success();
        let sum = run_with_input(&mut repo.command("sha256sum"), archive).success();
        let sum = String::from_utf8_lossy(&sum);
        assert_eq!(
            sum.trim_end_matches("  -\n"),
            expected,
            "{fixture} {args:?}"
        );
    }
}

/// The fixture itself: if these ids are wrong, no archive can be right.
#[test]
fn ids() {
    let repo = Repo::from("golden");
    assert_eq!(
        repo.git(["rev-parse", "HEAD"]),
        "f6f65d605da4c2c65c3d63564eb63d4ac92c8850"
    );
    assert_eq!(
        repo.git(["rev-parse", "HEAD^{tree}"]),
        "615b0173cac26ea9528671207535e100f97bb526"
    );
}
