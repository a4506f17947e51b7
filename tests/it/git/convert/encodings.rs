//! `working-tree-encoding`, with what comes before it.

use super::{commit_files, repo};
use crate::support::{cases, is_static, skip};

/// Encodings with a state, which git leaves open at the end of a file. The program `iconv` closes it.
const STATEFUL: [&str; 2] = ["UTF-7", "ISO-2022-JP"];

#[test]
fn encodings() {
    let text = "a\u{e4}\u{65e5}\n";
    for encoding in cases(
        "UTF-16 | utf16 | UTF-16LE | UTF-16BE | UTF-16LE-BOM | utf-16be-bom | UTF16LE-BOM | UTF-32 | \
         UTF-32LE-BOM | UTF-7 | UTF-8 | utf8 | EUC-JP | ISO-2022-JP | ASCII | ASCII//TRANSLIT | latin-1 | \
         Shift_JIS | no-such-encoding",
    ) {
        if STATEFUL.contains(&encoding) && is_static() {
            skip("a static program closes the state of an encoding");
            continue;
        }
        let repo = repo(
            &format!("* working-tree-encoding={encoding}\n"),
            &[
                ("empty", b""),
                ("latin", "\u{e4}".as_bytes()),
                ("no-utf8", b"one\xfftwo"),
                ("japanese", "\u{65e5}".as_bytes()),
                ("cut", b"one\xc3"),
                ("marked", "\u{feff}one".as_bytes()),
                ("text", text.as_bytes()),
                ("large", text.repeat(30_000).as_bytes()),
            ],
        );
        repo.assert_same_within(&["1", "8"], &["1m"], ["-v", "HEAD"]);
    }
}

#[test]
fn encodings_without_a_value() {
    let repo = repo(
        "b -working-tree-encoding\nc working-tree-encoding=\n",
        &[("b", b"one"), ("c", b"two")],
    );
    repo.assert_same(["HEAD"]);
    commit_files(&repo, "b working-tree-encoding\n", &[("b", b"one")]);
    let message = ".gitattributes\nb\nfatal: true/false are no valid working-tree-encodings\n";
    for output in [repo.sluice(["-v", "HEAD"]), repo.archive(["-v", "HEAD"])] {
        output.assert_ends(128, message);
    }
}

/// `$Id$` and line endings come first.
#[test]
fn encodings_with_other_conversions() {
    let repo = repo(
        "* ident text eol=crlf working-tree-encoding=UTF-16\n",
        &[("a", b"one\n$Id$\n"), ("b", b"one\n\xff")],
    );
    repo.assert_same(["-v", "--prefix=p/", "HEAD"]);
    repo.with(["-c", "core.bigFileThreshold=7"])
        .assert_same(["HEAD"]);
}

// --- filters ---
