//! Words that do not go together, and places that are none.

use super::Fleet;

#[test]
fn places_that_are_none() {
    let fleet = Fleet::new();
    for place in ["bucket/", "bucket/..", "s3://bucket", "bucket/a b"] {
        let output = fleet
            .repo
            .sluice([format!("--publish={place}"), "HEAD".to_owned()]);
        output.assert_refused(128, &["is not <url>/<view>"]);
    }
    let output = fleet
        .repo
        .sluice(["--publish=gopher://user:secret@host/x/main", "HEAD"]);
    output.assert_refused(
        128,
        &["fatal: cannot open 'gopher://host/x': its scheme is not known\nhint: "],
    );
    assert!(!output.messages().contains("secret"), "{output}");
}

#[test]
fn a_word_is_a_file_or_a_view() {
    let (fleet, ids) = Fleet::published();
    let url = format!("file://{}", fleet.place());
    let _ = fleet.top.sluice(["--apply=d", &url]).success();
    fleet.assert_holds("d", &ids[2]);
    let inside = fleet.top.clone().at("bucket");
    let _ = inside.sluice(["--apply=../e", "main"]).success();
    fleet.assert_holds("e", &ids[2]);
    let output = fleet.top.sluice(["--apply=d", "missing.tar"]);
    output.assert_refused(128, &["could not open 'missing.tar' for reading"]);
    let output = fleet.top.sluice(["--apply=d", "--commit", &ids[0], "-"]);
    output.assert_failure(
        128,
        "fatal: the option '--commit' requires a view\nhint: --apply=<dir> <url>/<view>\n",
    );
    let output = fleet
        .top
        .sluice(["--apply=d", "--commit", &ids[0], "gone/main"]);
    output.assert_refused(10, &["cannot read 'v1/views/main.json' in 'gone'"]);
    let output = fleet.apply("d", "--commit=HEAD");
    output.assert_refused(128, &["'HEAD' is not the id of a commit"]);
}

#[test]
fn words_that_do_not_go_together() {
    let fleet = Fleet::new();
    for words in [
        &["--prune=bucket", "HEAD"][..],
        &["--prune=bucket", "--apply=d"],
        &["--prune=bucket", "-v"],
        &["--apply=d", "--publish=bucket/main", "HEAD"],
    ] {
        let output = fleet.repo.sluice(words);
        assert_eq!(output.code(), 129, "{output}");
    }
    for (option, other) in [
        ("--prune-age=1d", "prune"),
        ("--commit=x", "apply"),
        ("--force", "publish"),
        ("--publish-steps=3", "publish"),
    ] {
        let words = format!("requires '--{other}'");
        let output = fleet.repo.sluice([option, "HEAD"]);
        output.assert_refused(128, &[&words]);
    }
}
