//! Partial clones: what an archive lacks is fetched, all of it and nothing else, where git archive would fetch.

pub(crate) mod list;

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;

use crate::{
    support::schema::Schema,
    support::{Repo, cases, forge::lose},
};

/// Directories of a repository, each with 25 files.
const DIRECTORIES: usize = 20;
const FILES: usize = 25;

/// Directories with files of a line each, an attribute file of their own in the first, and names that are left out.
fn origin() -> Repo {
    origin_of("sha1")
}

fn origin_of(hash: &str) -> Repo {
    let repo = Repo::scratch();
    let format = format!("--object-format={hash}");
    repo.git(["init", "-q", "-b", "main", &format]);
    // Or git packs objects that a test takes away.
    repo.git(["config", "maintenance.auto", "false"]);
    for directory in 0..DIRECTORIES {
        let directory = format!("d{directory:02}");
        fs::create_dir(repo.path().join(&directory)).unwrap();
        for file in 0..FILES {
            let name = format!("{directory}/f{file:02}");
            repo.write(&name, format!("{name}\n"));
        }
    }
    repo.write(".gitattributes", "*.secret export-ignore\n");
    repo.write("a.secret", "not archived\n");
    repo.write("d00/.gitattributes", "f01 export-ignore\n");
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "files"]);
    repo.git(["config", "uploadpack.allowFilter", "true"]);
    repo.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    repo
}

/// A clone of `origin` that lacks what `filter` names.
fn clone(origin: &Repo, filter: &str) -> Repo {
    let partial = Repo::scratch();
    let (filter, url) = (format!("--filter={filter}"), url(origin));
    partial.git(["clone", "-q", "--bare", &filter, &url, "."]);
    partial
}

fn url(origin: &Repo) -> String {
    format!("file://{}", origin.path().display())
}

/// The same repository, with git's trace in a file.
pub(crate) fn traced(repo: &Repo) -> (Repo, PathBuf) {
    let trace = repo.path().join("trace");
    (repo.clone().env("GIT_TRACE", &trace), trace)
}

/// How often git has fetched since.
pub(crate) fn fetches(trace: &PathBuf) -> usize {
    let text = fs::read_to_string(trace).unwrap_or_default();
    text.matches("built-in: git fetch ").count()
}

/// The objects of `HEAD` that `repo` lacks.
pub(crate) fn missing(repo: &Repo) -> BTreeSet<String> {
    let objects = repo.git(["rev-list", "--objects", "--missing=print", "HEAD"]);
    let missing = objects.lines().filter_map(|line| line.strip_prefix('?'));
    missing.map(str::to_owned).collect()
}

fn ids(repo: &Repo, names: &[&str]) -> BTreeSet<String> {
    let id = |name: &&str| repo.git(["rev-parse", &format!("HEAD:{name}")]);
    names.iter().map(id).collect()
}

/// One fetch for all files and the attribute files that decide about them. As git does, it brings the files that a missing
/// attribute file leaves out; with the attribute files at hand, no such file comes.
#[test]
fn contents_come_at_once() {
    let origin = origin();
    for args in [
        &["HEAD"][..],
        &["--format=zip", "HEAD"],
        &["--format=tgz", "--prefix=x/", "HEAD"],
    ] {
        let (repo, trace) = traced(&clone(&origin, "blob:none"));
        let expected = clone(&origin, "blob:none").archive(args).success();
        let output = repo.sluice(args);
        assert_eq!((output.code(), output.messages().as_ref()), (0, ""));
        assert!(output.stdout == expected);
        assert_eq!(fetches(&trace), 1);
        assert_eq!(missing(&repo), BTreeSet::new());
        assert!(repo.sluice(args).success() == expected);
        assert_eq!(fetches(&trace), 1);

        let (repo, trace) = traced(&clone(&origin, "blob:none"));
        for attributes in ["HEAD:.gitattributes", "HEAD:d00/.gitattributes"] {
            repo.git(["cat-file", "-e", attributes]);
        }
        let before = fetches(&trace);
        assert!(repo.sluice(args).success() == expected);
        assert_eq!(fetches(&trace), before + 1);
        assert_eq!(missing(&repo), ids(&origin, &["a.secret", "d00/f01"]));
    }
}

/// No file comes that git does not fetch, whatever attribute files say in the end.
#[test]
fn no_more_comes_than_git_fetches() {
    let origin = origin();
    origin.write("d01/.gitattributes", "f0* -export-ignore\n");
    origin.write(
        ".gitattributes",
        "*.secret export-ignore\nf0* export-ignore\n",
    );
    origin.git(["add", "."]);
    origin.git(["commit", "-qm", "attributes"]);
    for args in [&["HEAD"][..], &["HEAD", "d00", "d01"]] {
        let (repo, git) = (clone(&origin, "blob:none"), clone(&origin, "blob:none"));
        let expected = git.archive(args).success();
        assert!(repo.sluice(args).success() == expected, "{args:?}");
        assert!(missing(&git).is_subset(&missing(&repo)), "{args:?}");
    }
}

/// The attribute file that comes in the same fetch leaves out the file that nobody has.
#[test]
fn a_lost_file_may_be_left_out() {
    let origin = origin();
    let expected = origin.archive(["HEAD"]).success();
    let repo = clone(&origin, "blob:none");
    let lost = lose(&origin, "HEAD:d00/f01");
    let output = repo.sluice(["HEAD"]);
    assert_eq!(output.code(), 0, "{output}");
    assert!(output.stdout == expected);
    assert_eq!(missing(&repo), BTreeSet::from([lost]));
    let other = clone(&origin, "blob:none");
    lose(&origin, "HEAD:.gitattributes");
    assert_eq!(other.sluice(["HEAD"]).code(), 128);
}

/// With attributes from elsewhere there is nothing to know before, where git fetches file by file.
#[test]
fn attributes_of_the_work_tree_cost_no_fetch() {
    let origin = origin();
    for args in [
        &["--worktree-attributes", "HEAD"][..],
        &["--no-attributes", "HEAD"],
    ] {
        let (repo, trace) = traced(&clone(&origin, "blob:none"));
        let expected = origin.sluice(["--no-attributes", "HEAD"]).success();
        assert!(repo.sluice(args).success() == expected);
        assert_eq!(fetches(&trace), 1);
        assert_eq!(missing(&repo), BTreeSet::new());
    }
}

/// Five blobs for five files.
#[test]
fn only_selected_files_come() {
    let origin = origin();
    let (repo, trace) = traced(&clone(&origin, "blob:none"));
    let before = missing(&repo);
    let args = ["--worktree-attributes", "HEAD", "d03/f0[0-4]"];
    let expected = origin.archive(args).success();
    assert!(repo.sluice(args).success() == expected);
    assert_eq!(fetches(&trace), 1);
    let came: BTreeSet<_> = before.difference(&missing(&repo)).cloned().collect();
    let names = ["d03/f00", "d03/f01", "d03/f02", "d03/f03", "d03/f04"];
    assert_eq!(came, ids(&origin, &names));
}

/// A fetch for the trees, which brings those below; then as if only blobs were missing.
#[test]
fn trees_come_first() {
    let origin = origin();
    for name in ["HEAD", "HEAD:d03", "HEAD^{tree}:d00"] {
        let (repo, trace) = traced(&clone(&origin, "tree:0"));
        let args = ["--mtime=2005-04-07T22:13:13Z", name];
        let expected = origin.sluice(args).success();
        assert!(repo.sluice(args).success() == expected);
        assert!(fetches(&trace) <= 2, "{name}");
    }
}

/// Some trees and some blobs are there.
#[test]
fn what_is_there_is_not_fetched() {
    let origin = origin();
    for filter in cases("tree:1 | tree:2 | blob:limit=8 | sparse:oid=HEAD:a.secret") {
        let repo = clone(&origin, filter);
        let expected = clone(&origin, filter).archive(["HEAD"]).success();
        assert!(repo.sluice(["HEAD"]).success() == expected, "{filter}");
    }
}

/// A small budget means many fetches, and the same bytes.
#[test]
fn little_memory_means_more_fetches() {
    let origin = origin();
    let (repo, trace) = traced(&clone(&origin, "blob:none"));
    let expected = origin.archive(["HEAD"]).success();
    assert!(repo.sluice(["--memory=1m", "HEAD"]).success() == expected);
    // As many as a sixteenth of the budget has room for.
    assert_eq!(fetches(&trace), 2);
}

/// The objects that the remote has lost are named with their paths, and all the others have come.
#[test]
fn a_lost_object_does_not_lose_the_others() {
    let origin = origin();
    let repo = clone(&origin, "blob:none");
    let names = ["d05/f05", "d07/f07", "d07/f08", "d11/f00", "d19/f24"];
    let lost = names.map(|name| lose(&origin, &format!("HEAD:{name}")));
    let output = repo.sluice(["--worktree-attributes", "HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(output.stdout.is_empty());
    let words = |number: usize| format!("could not fetch {} from promisor remote", lost[number]);
    let mut expected = String::new();
    for (number, name) in names.iter().enumerate().skip(1) {
        expected += &format!("error: {} for '{name}'\n", words(number));
    }
    expected += &format!("fatal: {}\n", words(0));
    expected += "caused by: 'd05/f05' is not in the repository\n\
        hint: --missing=placeholder or --missing=omit skips missing files\n";
    assert!(output.messages().ends_with(&expected), "{output}");
    assert_eq!(missing(&repo), BTreeSet::from(lost));
    let omitted = repo.sluice(["--missing=omit", "--worktree-attributes", "HEAD"]);
    assert_eq!(omitted.code(), 0, "{omitted}");
}

/// What one remote lacks, the next one has; that of the extension is asked last.
#[test]
fn promisor_remotes_are_asked_in_turn() {
    let origin = origin();
    let repo = clone(&origin, "blob:none");
    let spare = Repo::scratch();
    spare.git(["clone", "-q", "--bare", &url(&origin), "."]);
    spare.git(["config", "uploadpack.allowFilter", "true"]);
    let expected = spare.archive(["HEAD"]).success();
    repo.git(["config", "remote.spare.url", &url(&spare)]);
    repo.git(["config", "remote.spare.promisor", "true"]);
    lose(&origin, "HEAD:d05/f05");
    let (repo, trace) = traced(&repo);
    assert!(repo.sluice(["HEAD"]).success() == expected);
    let text = fs::read_to_string(&trace).unwrap();
    let count = |remote: &str| text.matches(&format!("git fetch {remote} ")).count();
    // All in vain, all but one; then that one.
    assert_eq!((count("origin"), count("spare")), (2, 1));
    let gone = Repo::scratch();
    let repo = clone(&spare, "blob:none");
    repo.git(["config", "remote.first.url", &url(&gone)]);
    repo.git(["config", "remote.first.promisor", "true"]);
    repo.git(["config", "extensions.partialClone", "origin"]);
    assert!(repo.sluice(["HEAD"]).success() == expected);
}

/// git's words, git's status, and no fetch.
#[test]
fn fetching_may_be_forbidden() {
    let origin = origin();
    let hint = "hint: set GIT_NO_LAZY_FETCH=0 to allow fetching\n";
    let cause = "caused by: '.gitattributes' is not in the repository\n";
    for (filter, first, cause) in [
        ("blob:none", "HEAD:.gitattributes", cause),
        ("tree:0", "HEAD^{tree}", ""),
    ] {
        let (repo, trace) = traced(&clone(&origin, filter));
        let repo = repo.env("GIT_NO_LAZY_FETCH", "1");
        let output = repo.sluice(["HEAD"]);
        let id = origin.git(["rev-parse", first]);
        let others = output.messages();
        let others = others
            .lines()
            .filter(|line| line.starts_with("error: could not fetch "));
        // Some are named, the others counted.
        let named = if filter == "blob:none" { 7 } else { 0 };
        assert_eq!(others.count(), named);
        assert_eq!(output.code(), 128);
        assert!(output.stdout.is_empty());
        let warning = "warning: lazy fetching disabled; some objects may not be available\n";
        assert!(output.messages().starts_with(warning), "{output}");
        let fatal = format!("fatal: could not fetch {id} from promisor remote\n");
        assert!(
            output
                .messages()
                .ends_with(&format!("{fatal}{cause}{hint}")),
            "{output}"
        );
        if filter == "blob:none" {
            assert_eq!(
                repo.archive(["HEAD"]).messages(),
                format!("{warning}{fatal}")
            );
        }
        assert_eq!(fetches(&trace), 0);
    }
}

/// Nothing is fetched, and the message says what would.
#[test]
fn who_wants_an_error_gets_one() {
    let origin = origin();
    let (repo, trace) = traced(&clone(&origin, "blob:none"));
    let id = origin.git(["rev-parse", "HEAD:.gitattributes"]);
    let hint = "hint: --missing=fetch fetches what a partial clone lacks of an archive\n";
    let output = repo.sluice(["--missing=error", "HEAD"]);
    let expected = format!(
        "error: invalid object 100644 {id} for '.gitattributes'\nerror: cannot read '{id}'\n{hint}"
    );
    output.assert_ends(255, &expected);
    let treeless = traced(&clone(&origin, "tree:0")).0;
    for (args, message) in [
        (&["--missing=error", "HEAD"][..], "not a tree object: "),
        (&["--missing=error", "HEAD:d03"], ""),
        (&["ls", "HEAD"], "not a tree object: "),
        (&["explain", "HEAD", "d03/f00"], "not a tree object: "),
        (&["info", "HEAD"], "not a tree object: "),
    ] {
        let output = treeless.sluice(args);
        assert_eq!(output.code(), 128, "{output}");
        assert!(output.messages().contains(message), "{output}");
    }
    assert_eq!(fetches(&trace), 0);
    assert_eq!(fetches(&treeless.path().join("trace")), 0);
}

/// An index of a hollow archive is wanted rather than a fetch, unless somebody asks for one.
#[test]
fn indexers_do_not_fetch() {
    let origin = origin();
    for profile in ["--profile=zoekt", "--profile=searcher"] {
        let (repo, trace) = traced(&clone(&origin, "blob:none"));
        let output = repo.sluice([profile, "HEAD"]);
        let warning = "warning: 503 files are not in the repository and sent as placeholders\n";
        assert_eq!((output.code(), output.messages().as_ref()), (0, warning));
        assert_eq!(fetches(&trace), 0);
        let expected = origin.sluice([profile, "HEAD"]).success();
        let fetched = repo.sluice([profile, "--missing=fetch", "HEAD"]).success();
        assert!(fetched == expected);
        assert_eq!(fetches(&trace), 1);
    }
}

/// A client cannot make a server fetch; the operator can.
#[test]
fn servers_do_not_fetch() {
    let origin = origin();
    let (repo, trace) = traced(&clone(&origin, "blob:none"));
    let output = repo.served(["--remote=.", "HEAD"]);
    assert_ne!(output.code(), 0);
    assert!(output.messages().contains("could not fetch "), "{output}");
    assert_eq!(fetches(&trace), 0);
    let (treeless, trees) = traced(&clone(&origin, "tree:0"));
    assert_ne!(treeless.served(["--remote=.", "HEAD:d03"]).code(), 0);
    assert_eq!(fetches(&trees), 0);
    let allowed = repo.clone().env("GIT_NO_LAZY_FETCH", "0");
    let expected = origin.archive(["HEAD"]).success();
    assert!(allowed.served(["--remote=.", "HEAD"]).success() == expected);
}

/// Trees of both sides, and the files that are sent.
#[test]
fn deltas_fetch_what_has_changed() {
    let origin = origin();
    origin.write("d03/f00", "changed\n");
    origin.write("d04/new", "new\n");
    origin.git(["rm", "-q", "d05/f05"]);
    origin.git(["add", "."]);
    origin.git(["commit", "-qm", "changes"]);
    let args = ["--base=HEAD~1", "HEAD"];
    let expected = origin.sluice(args).success();
    for (filter, most) in [("blob:none", 2), ("tree:0", 4)] {
        let (repo, trace) = traced(&clone(&origin, filter));
        assert!(repo.sluice(args).success() == expected, "{filter}");
        assert!(fetches(&trace) <= most, "{filter}");
        let left = missing(&repo);
        assert!(ids(&origin, &["d03/f00", "d04/new"]).is_disjoint(&left));
        assert!(ids(&origin, &["d03/f01", "d06/f06"]).is_subset(&left));
    }
    let limited = ["--max-size=8", "--base=HEAD~1", "HEAD"];
    let expected = origin.sluice(limited).success();
    assert!(clone(&origin, "blob:none").sluice(limited).success() == expected);
}

/// A caller whose base is lost can ask for a full archive.
#[test]
fn a_lost_base_is_no_base() {
    let origin = origin();
    origin.write("d03/f00", "changed\n");
    origin.git(["commit", "-qam", "a change"]);
    let partial = || clone(&origin, "tree:0");
    let [without_tree, without_commit, forbidden] = [partial(), partial(), partial()];
    let tree = lose(&origin, "HEAD~1:d03");
    let lost = [tree, lose(&origin, "HEAD~1^{tree}")];
    for (repo, base, message) in [
        (&origin, "HEAD~1", "cannot read the base 'HEAD~1'\n"),
        (&without_tree, "HEAD~1", "cannot read the base 'HEAD~1'\n"),
        (&without_commit, "HEAD~2", "cannot read the base 'HEAD~2'\n"),
    ] {
        let output = repo.sluice([&format!("--base={base}"), "HEAD"]);
        assert_eq!(output.code(), 3, "{output}");
        assert!(output.stdout.is_empty());
        assert!(output.messages().contains(message), "{output}");
        assert!(
            output
                .messages()
                .ends_with("hint: leave out --base to get a full archive\n")
        );
    }
    forbidden.git(["archive", "--output=whole.tar", "HEAD"]);
    let base = forbidden.env("GIT_NO_LAZY_FETCH", "1");
    let output = base.sluice(["--base=HEAD~1", "HEAD"]);
    assert_eq!(output.code(), 3, "{output}");
    let [_, root] = lost;
    let line = format!("error: could not fetch {root} from promisor remote\n");
    assert!(output.messages().contains(&line), "{output}");
}

/// The summary counts fetches, and those who watch see them.
#[test]
fn fetches_are_reported() {
    let origin = origin();
    let repo = clone(&origin, "blob:none");
    let args = ["--progress", "--summary=summary", "HEAD"];
    let output = repo.sluice(args);
    let read = || -> Value {
        let text = fs::read(repo.path().join("summary")).expect("a summary");
        let summary = serde_json::from_slice(&text).expect("JSON");
        Schema::read("summary").accept(&summary);
        summary
    };
    let fetch = &read()["fetch"];
    assert_eq!(
        (&fetch["fetches"], &fetch["objects"]),
        (&1.into(), &503.into())
    );
    assert!(fetch["seconds"].as_f64() > Some(0.0));
    let line = "Fetching: 503 objects from origin\n";
    assert!(output.messages().contains(line), "{output}");
    assert!(
        output
            .messages()
            .contains("Receiving objects: 100% (503/503)"),
        "{output}"
    );
    let quiet = clone(&origin, "blob:none").sluice(["HEAD"]);
    assert_eq!(quiet.messages(), "");
    let again = repo.sluice(args);
    assert!(!again.messages().contains("Fetching"), "{again}");
    assert!(read().get("fetch").is_none());
}

/// A range is cut from the archive of all files.
#[test]
fn ranges_are_those_of_the_whole_archive() {
    let origin = origin();
    let expected = origin.archive(["HEAD"]).success();
    let repo = clone(&origin, "blob:none");
    let part = repo.sluice(["--byte-range=5000-9999", "HEAD"]).success();
    assert!(part == expected[5000..10_000]);
}

/// Sizes of missing files are not known before, and an ignore file of the tree decides first.
#[test]
fn filters_see_what_was_missing() {
    let origin = origin();
    origin.write("d00/.gitattributes", "");
    origin.write("rules", "d10/\nd19/\n");
    origin.write("large", "more than twenty bytes in a file\n");
    origin.git(["add", "."]);
    origin.git(["commit", "-qm", "rules"]);
    let args = ["--exclude-from-tree=rules", "--max-size=20", "HEAD"];
    let expected = origin.sluice(args).success();
    let repo = clone(&origin, "blob:none");
    assert!(repo.sluice(args).success() == expected);
    let left = missing(&repo);
    assert!(ids(&origin, &["d10/f00", "d19/f24"]).is_subset(&left));
}

/// An id that nobody knows is no promise.
#[test]
fn unknown_objects_are_as_unknown_as_to_git() {
    let repo = clone(&origin(), "blob:none");
    let id = "1".repeat(40);
    let output = repo.sluice([&id]);
    let expected = repo.archive([&id]);
    assert_eq!(output.code(), expected.code());
    let last = |output: &crate::support::process::Output| {
        let words = output.messages();
        words
            .lines()
            .find(|line| line.contains("a tree object"))
            .map(str::to_owned)
    };
    assert!(last(&output).is_some(), "{output}");
    assert_eq!(last(&output), last(&expected));
}

#[test]
fn other_hashes_are_fetched_too() {
    let origin = origin_of("sha256");
    let (repo, trace) = traced(&clone(&origin, "blob:none"));
    let expected = origin.archive(["HEAD"]).success();
    assert!(repo.sluice(["HEAD"]).success() == expected);
    assert_eq!(fetches(&trace), 1);
}

/// A run that shares its archive fetches once; who takes the archive from the cache fetches only trees.
#[test]
fn archives_of_a_cache_need_no_files() {
    let origin = origin();
    let cache = Repo::scratch();
    let option = format!("--cache={}", cache.path().join("cache").display());
    let args = ["--cache-always", &option, "HEAD"];
    let expected = origin.archive(["HEAD"]).success();
    for (filter, count) in [("blob:none", 1), ("blob:none", 0), ("tree:0", 1)] {
        let (repo, trace) = traced(&clone(&origin, filter));
        assert!(repo.sluice(args).success() == expected, "{filter}");
        assert_eq!(fetches(&trace), count, "{filter}");
    }
}
