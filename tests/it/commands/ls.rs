//! What `ls` says of names that break on other systems.

use serde_json::Value;

use crate::support::{Repo, forge};

/// A repository with names of all kinds, and the commit that has them.
fn odd_names() -> (Repo, String) {
    let repo = Repo::init();
    let file = forge::blob(&repo, "x");
    let outside = forge::blob(&repo, "../../etc");
    let inside = forge::blob(&repo, "../README");
    let below = forge::tree(
        &repo,
        &[
            ("120000", b"in", &inside),
            ("120000", b"out", &outside),
            ("100644", b"plain", &file),
        ],
    );
    let commit = forge::commit(
        &repo,
        &[
            ("100644", b"Aux.c", &file),
            ("100644", b"README", &file),
            ("100644", b"a:b", &file),
            ("40000", b"d", &below),
            ("100644", "e\u{301}".as_bytes(), &file),
            ("100644", b"end.", &file),
            ("100644", b"readme", &file),
            ("100644", "\u{e9}".as_bytes(), &file),
        ],
    );
    (repo, commit)
}

#[test]
fn names_that_break_elsewhere_have_a_warning() {
    let (repo, commit) = odd_names();
    let messages = repo.sluice(["ls", &commit]).messages();
    let normalization = "differs from another path in Unicode normalization alone";
    let expected = format!(
        "warning: 'Aux.c' has a name that Windows reserves for a device\n\
         warning: 'README' differs from another path in case alone\n\
         warning: 'a:b' contains a character that Windows does not allow\n\
         warning: 'd/out' links to a place outside the archive\n\
         warning: 'e\u{301}' {normalization}\n\
         warning: 'end.' ends in a dot or a space, which Windows drops\n\
         warning: 'readme' differs from another path in case alone\n\
         warning: '\u{e9}' {normalization}\n"
    );
    assert_eq!(messages, expected);
    // An omitted path hurts nobody, and the archive is git's.
    let messages = repo
        .sluice(["ls", "--exclude=/README", &commit, "R*", "r*"])
        .messages();
    assert_eq!(messages, "");
    repo.assert_same(["-v", &commit]);
}

#[test]
fn programs_get_the_reasons() {
    let (repo, commit) = odd_names();
    let listed = repo
        .sluice(["ls", "--json", "--prefix=p/", &commit])
        .success();
    let listed = String::from_utf8(listed).expect("JSON is UTF-8");
    let lines = listed
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines = lines.filter(|line: &Value| line["unportable"] != Value::Null);
    let found: Vec<_> = lines
        .map(|line| format!("{} {}", line["path"], line["unportable"]))
        .collect();
    let expected = [
        r#""p/Aux.c" ["reserved"]"#,
        r#""p/README" ["case"]"#,
        r#""p/a:b" ["character"]"#,
        "\"p/e\u{301}\" [\"normalization\"]",
        r#""p/end." ["ending"]"#,
        r#""p/readme" ["case"]"#,
        "\"p/\u{e9}\" [\"normalization\"]",
    ];
    assert_eq!(found, expected);
}

/// What cannot be read is for the archive to report.
#[test]
fn a_link_that_is_lost_has_no_warning() {
    let (repo, commit) = odd_names();
    let link = format!("{commit}:d/out");
    std::fs::remove_file(forge::loose_file(&repo, &link)).expect("it is there");
    let messages = repo.sluice(["ls", &commit, "d"]).messages();
    assert_eq!(messages, "");
}
