//! What a partial clone lacks, without a fetch: a failure, or something in its place.

use super::{files, spoil, unpack};
use crate::support::tar_listing;
use crate::support::{Repo, forge};

const ATTRIBUTES: &str = "attributes/.gitattributes";

/// A clone without blobs but an attribute file, whose remote is gone: whoever asks it fails.
fn partial() -> Repo {
    let origin = Repo::copy("filters");
    origin.git(["config", "uploadpack.allowFilter", "true"]);
    let partial = Repo::scratch();
    let url = format!("file://{}", origin.path().display());
    partial.git(["clone", "-q", "--bare", "--filter=blob:none", &url, "."]);
    partial.git(["remote", "set-url", "origin", &format!("{url}/missing")]);
    with_file(partial, ATTRIBUTES)
}

/// The same, with the exclude rules of the tree.
fn with_rules(partial: Repo) -> Repo {
    with_file(partial, ".sourcegraph/ignore")
}

/// The same, with the file at `path`.
fn with_file(partial: Repo, path: &str) -> Repo {
    let file = Repo::from("filters")
        .command("git")
        .args(["cat-file", "blob", &format!("HEAD:{path}")])
        .output()
        .expect("git runs");
    forge::blob(&partial, file.stdout);
    partial
}

/// Rules that are not in the repository are not none, nor are those in a directory that is not.
#[test]
fn missing_rules_are_a_failure() {
    for (missing, args) in [
        ("HEAD:.sourcegraph/ignore", &["--profile=zoekt", "HEAD"][..]),
        (
            "HEAD:.sourcegraph",
            &["--profile=searcher", "HEAD", "run.sh"],
        ),
    ] {
        let repo = Repo::copy("filters");
        unpack(&repo);
        forge::lose(&repo, missing);
        let output = repo.sluice(args);
        let expected = "fatal: cannot read exclude rules of '.sourcegraph/ignore'\n\
             caused by: object does not exist\n\
             hint: in a partial clone, 'git cat-file -p <tree-ish>:.sourcegraph/ignore' fetches them\n";
        assert_eq!((output.code(), output.messages().as_ref()), (128, expected));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_is_missing_may_be_left_out() {
    let repo = partial();
    let before = repo.git(["count-objects", "-v"]);
    assert_eq!(files(&repo, &["--missing=omit"]), [ATTRIBUTES]);
    let (told, output) = repo.summary(["--missing=omit", "HEAD"]);
    let _ = output.success();
    let blobs = repo
        .git(["ls-tree", "-r", "HEAD"])
        .matches(" blob ")
        .count();
    // The attribute file is there, and leaves out a file.
    assert_eq!(told["omitted"]["missing"], blobs - 2);
    assert_eq!(told["files"], 1);
    assert_eq!(repo.git(["count-objects", "-v"]), before);
}

#[test]
fn something_may_take_its_place() {
    let repo = with_rules(partial());
    let before = repo.git(["count-objects", "-v"]);
    for (args, kinds) in [
        (&["--missing=placeholder"][..], [Some(0), Some(0)]),
        (
            &["--missing=placeholder", "--max-size=10", "--large=empty"],
            [Some(0), Some(0)],
        ),
        (
            &["--profile=zoekt", "--max-size=99"],
            [Some(512), Some(512)],
        ),
        (&["--profile=searcher"], [Some(0), Some(0)]),
    ] {
        let archive = repo.sluice(args.iter().chain(&["HEAD"])).success();
        let records = tar_listing::records(&archive);
        let size = |name: &str| {
            let found = records.iter().find(|record| record.name().ends_with(name));
            let found = found.filter(|record| record.kind() == '0');
            found.map(|record| record.data.len())
        };
        assert_eq!([size("run.sh"), size("link")], kinds, "{args:?}");
    }
    let (lines, _) = repo.manifest(["--missing=placeholder", "HEAD", "run.sh"]);
    assert_eq!(
        (&lines[1]["disposition"], &lines[1]["reason"]),
        (&"placeholder".into(), &"missing".into())
    );
    assert_eq!(repo.git(["count-objects", "-v"]), before);
}

/// An index of placeholders would be hollow: one line says so, for any option that leaves out content.
#[test]
fn what_is_missing_is_told() {
    let repo = with_rules(partial());
    let entries = repo.git(["ls-tree", "-r", "HEAD"]);
    let blobs = entries.matches(" blob ").count();
    for (args, instead, field) in [
        (
            &["--profile=zoekt"][..],
            "sent as placeholders",
            "placeholders",
        ),
        (
            &["--profile=searcher"],
            "sent as placeholders",
            "placeholders",
        ),
        (
            &["--missing=placeholder", "--format=tgz"],
            "sent as placeholders",
            "placeholders",
        ),
        (&["--missing=omit"], "left out", "omitted"),
    ] {
        let (told, output) = repo.summary([args, &["HEAD"]].concat());
        assert_eq!(output.code(), 0, "{output}");
        let count = told[field]["missing"].as_u64().expect("a number");
        assert!((1..=blobs as u64).contains(&count), "{count} of {blobs}");
        let expected = format!("warning: {count} files are not in the repository and {instead}\n");
        assert_eq!(output.messages(), expected, "{args:?}");
    }
    let output = repo.sluice(["--missing=omit", "HEAD", "run.sh"]);
    let expected = "warning: 1 file is not in the repository and left out\n";
    assert_eq!((output.code(), output.messages().as_ref()), (0, expected));
    let whole = Repo::from("filters").sluice(["--missing=omit", "HEAD"]);
    assert_eq!((whole.code(), whole.messages().as_ref()), (0, ""));
}

/// What a repository lacks that is no partial clone was lost: a hollow archive must not hide the loss.
#[test]
fn loss_is_no_absence() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    forge::lose(&repo, "HEAD:run.sh");
    let expected = repo.sluice(["--no-attributes", "--submodules=omit", "HEAD"]);
    assert_eq!(expected.code(), 255, "{expected}");
    for args in [
        &["--missing=omit"][..],
        &["--missing=placeholder"],
        &["--missing=placeholder", "--max-size=1g"],
        &["--profile=zoekt"],
        &["--profile=searcher"],
    ] {
        let output = repo.sluice(args.iter().chain(&["HEAD"]));
        let failure = (255, expected.messages());
        assert_eq!((output.code(), output.messages()), failure, "{args:?}");
        assert!(!tar_listing::is_complete(&output.stdout), "{args:?}");
    }
    let head = repo.json(["info", "--missing=omit", "HEAD"]);
    assert_eq!(head["content_length"], serde_json::Value::Null);
}

/// An object that is there and damaged is not missing.
#[test]
fn damage_is_no_absence() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    let id = repo.git(["rev-parse", "HEAD:run.sh"]);
    forge::loose(&repo, &id, b"blub 10\0");
    for how in ["--missing=omit", "--missing=placeholder"] {
        let output = repo.sluice([how, "HEAD"]);
        assert_eq!(output.code(), 128, "{output}");
        assert!(!tar_listing::is_complete(&output.stdout), "{output}");
    }
    spoil(&repo, "HEAD:kept/file");
    assert_eq!(repo.sluice(["--missing=omit", "HEAD", "kept"]).code(), 128);
}

/// No process of ours is git's, and none asks for a name on the network.
#[test]
fn nobody_is_asked() {
    let args = ["--missing=omit", "HEAD"];
    if let Some(trace) = partial().traced("trace=execve,connect", &args) {
        assert_eq!(trace.matches("execve(").count(), 1, "{trace}");
        assert_eq!(trace.matches("connect(").count(), 0, "{trace}");
    }
}
