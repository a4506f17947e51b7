//! Archives whose bytes are known without any git: their SHA-256 is pinned. The oracle may change
//! with the installed git; these may not.

use crate::support::process::run_with_input;
use crate::support::{Repo, installed};

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

/// Compressed, with the bytes of zlib 1.2 and 1.3.
const COMPRESSED: [(&str, &[&str], &str); 10] = [
    (
        "golden",
        &["--format=zip", "HEAD"],
        "711f99954634f8dd912ef395f0a9d170ee07b0063034bd81b3025c42c532f5fb",
    ),
    (
        "golden",
        &["--format=zip", "--prefix=p/", "HEAD"],
        "67ab2dd06db4c3e6d3ed82d6d78408a933f9b3b68f6d4a605643d9fe9cdf2dcf",
    ),
    (
        "golden",
        &["--format=tgz", "HEAD"],
        "c3065a89f273a48118ec48abf47fbfb6817218d74fbabd5cc63335eb496be55a",
    ),
    (
        "golden",
        &["--format=tar.gz", "--prefix=p/", "HEAD"],
        "f210ded278556e51bb560c5ca907b1249454e85a82d3f9a13a6ac71e59b878d7",
    ),
    (
        "names-odd",
        &["--format=zip", "HEAD"],
        "dbccdaf16d81f2dd9e6d3734a8eca44207e1fbec67c900d70c63dfee9ab819c1",
    ),
    (
        "names-odd",
        &["--format=zip", "-0", "HEAD"],
        "dbccdaf16d81f2dd9e6d3734a8eca44207e1fbec67c900d70c63dfee9ab819c1",
    ),
    (
        "eol",
        &["--format=zip", "HEAD"],
        "11af030297c142f152842ea643d11abde36b0797d843def6d9d1b5b137947501",
    ),
    (
        "eol",
        &["--format=zip", "-9", "HEAD"],
        "be0de5308b90fa01d62575d8994ed0c90cd14571546af8c261100b9e17e6731b",
    ),
    (
        "eol",
        &["--format=tgz", "-0", "HEAD"],
        "88aa5ea75ad30d072c90a9baafd56faface89e5bfcce91141b630c2429d0fef3",
    ),
    (
        "eol",
        &["--format=tgz", "-9", "HEAD"],
        "de4f504fc5c0032bbabea8e0e48e75139410dcc6aa8951637c2f978317f3b239",
    ),
];

#[test]
fn tar() {
    assert_golden(&GOLDEN);
}

#[test]
fn compressed() {
    assert_golden(&COMPRESSED);
}

#[track_caller]
fn assert_golden(golden: &[(&str, &[&str], &str)]) {
    if !installed("sha256sum") {
        return;
    }
    for (fixture, args, expected) in golden {
        let repo = Repo::from(fixture);
        let archive = repo.sluice(*args).success();
        let sum = run_with_input(&mut repo.command("sha256sum"), archive).success();
        let sum = String::from_utf8_lossy(&sum);
        assert_eq!(
            sum.trim_end_matches("  -\n"),
            *expected,
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
