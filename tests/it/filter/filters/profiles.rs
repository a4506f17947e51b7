//! Profiles: what they stand for, what overrides them, and that raw is raw.

use std::fs;

use super::names;
use crate::support::process::run;
use crate::support::tar_listing;
use crate::support::{Repo, cases};

/// What no option sets.
const GLOBS: &str =
    "Each line of an exclude file in the tree is a glob for the whole path of a file.\n";

#[track_caller]
fn printed(name: &str) -> String {
    let said = Repo::scratch().sluice(["help", name]).success();
    String::from_utf8(said).expect("it is text")
}

#[test]
fn what_profiles_stand_for() {
    assert_eq!(printed("git"), "--profile=git\n");
    assert_eq!(
        printed("zoekt"),
        format!(
            "--no-attributes\n--exclude-from-tree=.sourcegraph/ignore\n--max-size=2097152\n--large=placeholder\n\
         --binary=placeholder\n--symlinks=file\n--submodules=omit\n--missing=placeholder\n{GLOBS}"
        )
    );
    assert_eq!(
        printed("searcher"),
        format!(
            "--no-attributes\n--exclude-from-tree=.sourcegraph/ignore\n--max-size=2097152\n--large=empty\n\
         --binary=empty\n--symlinks=link\n--submodules=omit\n\
         --missing=placeholder\n{GLOBS}A file is binary if one of its first 32768 bytes is a NUL.\n"
        )
    );
}

#[test]
fn options_beside_a_profile_override_it() {
    let given = "--max-size=4k --profile=zoekt --large=omit --symlinks=link HEAD";
    let by_hand = "--no-attributes --exclude-from-tree=.sourcegraph/ignore --max-size=4096 --large=omit \
                   --binary=placeholder --symlinks=link --submodules=omit --missing=placeholder HEAD";
    let repo = Repo::from("filters");
    let [given, by_hand, profile] = [given, by_hand, "--profile=zoekt HEAD"]
        .map(|words| repo.sluice(words.split(' ')).success());
    assert!(given == by_hand && given != profile);
    let zoekt = names(&repo, &["--profile=zoekt", "--binary=keep"]);
    assert!(!zoekt.contains(&"module/".into()));
    let dir = names(&repo, &["--submodules=dir", "--profile=zoekt"]);
    assert!(dir.contains(&"module/".into()));
}

/// What a profile prints is what it does: the rules of the fixture mean the same in both grammars.
#[test]
fn a_profile_is_its_options() {
    let repo = Repo::from("filters");
    for name in ["git", "zoekt", "searcher"] {
        let profile = &format!("--profile={name}")[..];
        let options = printed(name);
        let options = options.lines().filter(|line| line.starts_with("--"));
        let by_hand = repo.sluice(options.chain(["HEAD"])).success();
        assert!(
            by_hand == repo.sluice([profile, "HEAD"]).success(),
            "{profile}"
        );
    }
}

/// The plain profile is git's own archive, whatever else could have been asked for.
#[test]
fn the_profile_of_git_changes_nothing() {
    for fixture in cases("filters | basic | export-ignore | eol | ident | names-odd") {
        let repo = Repo::from(fixture);
        for format in ["--format=tar", "--format=zip"] {
            let ours = repo.sluice(["--profile=git", format, "HEAD"]).success();
            assert!(
                ours == repo.archive([format, "HEAD"]).success(),
                "{fixture}"
            );
        }
    }
}

/// No attribute, no configuration, no driver: the bytes of the blobs.
#[test]
fn raw_is_raw_under_any_configuration() {
    let repo = Repo::copy("filters");
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.eol", "crlf"),
        ("core.attributesFile", "../attributes"),
        ("filter.loud.smudge", "tr a-z A-Z"),
        ("filter.loud.required", "true"),
        ("diff.odd.binary", "true"),
    ] {
        repo.git(["config", key, value]);
    }
    repo.write("../attributes", "*.sh ident diff=odd\n");
    fs::create_dir_all(repo.path().join(".git/info")).expect("our own");
    repo.write(
        ".git/info/attributes",
        "kept/** filter=loud\nsize/* eol=crlf text\nrun.sh export-ignore\n\
         *.subst export-subst\nsecret export-ignore\nsize/numbers working-tree-encoding=UTF-16\n",
    );
    let lines = repo.git(["ls-tree", "-r", "HEAD"]);
    for args in [
        &["--no-attributes"][..],
        &["--no-attributes", "--worktree-attributes"],
    ] {
        let archive = repo.sluice(args.iter().chain(&["HEAD"])).success();
        let records = tar_listing::records(&archive);
        for line in lines.lines().filter(|line| line.starts_with("100")) {
            let (name, id) = (&line[53..], &line[12..52]);
            if name.starts_with('"') {
                continue;
            }
            let record = records.iter().find(|record| record.name() == name);
            let record = record.unwrap_or_else(|| panic!("{name} is not there"));
            let blob = run(repo.command("git").args(["cat-file", "blob", id])).success();
            assert!(record.data == blob, "{name}");
        }
    }
    let bare = Repo::scratch();
    let url = repo.path().display().to_string();
    bare.git(["clone", "-q", "--bare", &url, "."]);
    let raw = ["--no-attributes", "HEAD"];
    assert!(repo.sluice(raw).success() == bare.sluice(raw).success());
    // As text is told in zips: by the content alone.
    let raw = ["--no-attributes", "--format=zip", "HEAD"];
    assert!(repo.sluice(raw).success() == bare.sluice(raw).success());
}
