//! Words that do not go together, and places that are none.

use std::{ffi::OsString, fs, path::Path};

use super::{Fleet, has_stores};
use crate::support::process::Output;

#[test]
fn an_unknown_scheme_tells_no_password() {
    let fleet = Fleet::new();
    let output = fleet
        .repo
        .sluice(["publish", "gopher://user:secret@host/x/main", "HEAD"]);
    output.assert_refused(
        128,
        &[
            "fatal: cannot open 'gopher://host/x'\ncaused by: ",
            "\nhint: ",
        ],
    );
    assert!(!output.messages().contains("secret"), "{output}");
}

/// Publishes from the machine's directory.
fn publish_at(fleet: &Fleet, words: &str) -> Output {
    let git_dir = fleet.repo.path().join(".git");
    let top = fleet.top.clone().env("GIT_DIR", git_dir);
    let words = words.split_whitespace().chain(["HEAD"]);
    top.sluice(["publish"].into_iter().chain(words))
}

/// A slip in the place must not make a bucket of some directory.
#[test]
fn a_bucket_is_created_on_demand() {
    let fleet = Fleet::new();
    for name in ["full", "empty"] {
        fs::create_dir(fleet.directory(name)).unwrap();
    }
    fleet.top.write("full/file", "");
    let absent = |name: &str| {
        format!(
            "fatal: there is no bucket at '{name}'\n\
             hint: check the name, or create it: git sluice publish --create {name}/<channel> <commit>\n"
        )
    };
    for name in ["full", "empty", "new", "new/er"] {
        let output = publish_at(&fleet, &format!("{name}/main"));
        output.assert_failure(10, &absent(name));
    }
    publish_at(&fleet, "full/main --create").assert_failure(
        128,
        "fatal: cannot create a bucket at 'full'\n\
         caused by: the directory has other files and is not a bucket\n\
         hint: name a directory that is new or empty: git sluice publish --create <directory>/<channel> <commit>\n",
    );
    for option in ["", " --create"] {
        publish_at(&fleet, &format!("main{option}")).assert_failure(
            128,
            "fatal: 'main' has no bucket part\nhint: git sluice publish <bucket>/main <commit>\n",
        );
        publish_at(&fleet, &format!("./bucket{option}")).assert_failure(
            128,
            "fatal: './bucket' is a bucket, and the channel is missing\nhint: git sluice publish ./bucket/<channel> <commit>\n",
        );
    }
    let mut names = names(&fleet.directory("."));
    names.sort();
    assert_eq!(names, ["bucket", "empty", "full"]);
    let commit = fleet.repo.git(["rev-parse", "HEAD"]);
    for name in ["empty", "new", "new/er", "bucket"] {
        let place = format!("{name}/main");
        // A job may say so each time.
        for _ in 0..2 {
            let _ = publish_at(&fleet, &format!("{place} --create")).success();
        }
        let channel = format!("--channel={place}");
        let _ = fleet.top.sluice(["apply", &channel, "d"]).success();
        fleet.assert_holds("d", &commit);
    }
}

fn names(directory: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// Beside a directory `v1`, and inside a bucket.
#[test]
fn an_existing_file_is_an_archive() {
    let (fleet, ids) = Fleet::published();
    fs::create_dir(fleet.directory("v1")).unwrap();
    let tar = fleet.repo.sluice(["HEAD"]).success();
    fleet.top.write("full.tar", &tar);
    fleet.top.write("bucket/main", &tar);
    let path = fleet.directory("full.tar").display().to_string();
    for (number, word) in [
        "full.tar",
        "./full.tar",
        &path,
        &format!("file://{path}"),
        "bucket/main",
    ]
    .into_iter()
    .enumerate()
    {
        let directory = format!("d{number}");
        let _ = fleet.top.sluice(["apply", &directory, word]).success();
        fleet.assert_holds(&directory, &ids[2]);
    }
}

/// By whatever name: a bucket without the channel, and a bucket that does not exist.
#[test]
fn channels_of_empty_and_missing_buckets() {
    let fleet = Fleet::new();
    let commit = "0".repeat(40);
    let opening = |name: &str| format!("could not open '{name}' for reading");
    for (name, status, what) in [
        ("bucket", 9, "there is no channel 'main' in"),
        ("other", 10, "there is no bucket at"),
    ] {
        let _ = fs::create_dir(fleet.directory(name));
        let path = fleet.directory(name).display().to_string();
        for bucket in [name, &path, &format!("file://{path}")] {
            let place = format!("{bucket}/main");
            let message = format!("fatal: {what} '{bucket}'");
            let channel = format!("--channel={place}");
            let output = fleet.top.sluice(["apply", &channel, "d"]);
            output.assert_refused(status, &[&message]);
            let output = fleet.top.sluice(["apply", "--at", &commit, &channel, "d"]);
            output.assert_refused(status, &[&message]);
            // A word is a channel only if it has a scheme.
            let output = fleet.top.sluice(["apply", "d", &place]);
            if place.starts_with("file://") {
                output.assert_refused(status, &[&message]);
            } else {
                output.assert_refused(128, &[&opening(&place)]);
            }
        }
    }
    for missing in ["gone", "/nowhere/at/all", "file:///nowhere/at/all"] {
        let channel = format!("--channel={missing}/main");
        let output = fleet.top.sluice(["apply", &channel, "d"]);
        output.assert_refused(10, &["fatal: there is no bucket at '"]);
    }
    // A commit, or a slip in the path of an archive.
    fleet.top.sluice(["apply", "d", "HEAD"]).assert_failure(
        128,
        "fatal: could not open 'HEAD' for reading: No such file or directory\n\
         hint: to apply a commit: git sluice HEAD | git sluice apply d\n",
    );
    let output = fleet.top.sluice(["apply", "d", "gone/full.tar"]);
    output.assert_refused(128, &[&opening("gone/full.tar")]);
}

#[test]
fn a_word_is_a_file_or_a_channel() {
    let (fleet, ids) = Fleet::published();
    let url = format!("file://{}", fleet.place());
    let _ = fleet.top.sluice(["apply", "d", &url]).success();
    fleet.assert_holds("d", &ids[2]);
    let inside = fleet.top.clone().at("bucket");
    let _ = inside
        .sluice(["apply", "../e", "--channel=./main"])
        .success();
    fleet.assert_holds("e", &ids[2]);
    let output = fleet.top.sluice(["apply", "d", "missing.tar"]);
    output.assert_refused(128, &["could not open 'missing.tar' for reading"]);
    let output = fleet.top.sluice(["apply", "d", "--at", &ids[0], "-"]);
    output.assert_failure(
        129,
        "error: the option '--at' requires a channel\nhint: git sluice apply --at=<commit> --channel=<bucket>/<channel> <directory>\n",
    );
    let gone = ["apply", "--channel=gone/main", "--at", &ids[0], "d"];
    let output = fleet.top.sluice(gone);
    output.assert_refused(10, &["there is no bucket at 'gone'"]);
    let output = fleet.apply("d", "--at=HEAD");
    output.assert_refused(128, &["'HEAD' is not the id of a commit"]);
}

/// No registry has the program.
#[test]
fn a_program_without_object_stores_says_how_to_get_one_with_them() {
    if has_stores() {
        return;
    }
    let fleet = Fleet::new();
    for url in ["s3://bucket", "https://host/folder"] {
        let output = fleet.top.sluice(["apply", "d", &format!("{url}/main")]);
        output.assert_failure(
            128,
            &format!(
                "fatal: cannot open '{url}'\n\
                 caused by: this program was built without object stores\n\
                 hint: use a path or file://<path>, or build it with them: cargo install --locked \
                 --features store --git https://github.com/git-sluice/git-sluice git-sluice\n"
            ),
        );
    }
}
