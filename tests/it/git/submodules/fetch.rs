//! Submodules that are partial clones: what each lacks is fetched from its own remote.

use std::{collections::BTreeSet, fs};

use super::{Project, RECURSE, project};
use crate::{
    git::partial::{fetches, missing, traced},
    support::tar_listing::names,
    support::{Repo, forge},
};

const LIB: &str = "super/.git/modules/the-lib";
const DEEP: &str = "super/.git/modules/the-lib/modules/deep";

impl Project {
    /// The submodules become partial clones that lack what the filters name. Returns them: the outer and the inner one.
    fn with_partial_submodules(&self, lib: &str, deep: &str) -> [Repo; 2] {
        fs::remove_dir_all(self.place.path().join(LIB)).unwrap();
        let lib = self.partial("lib", lib, LIB);
        [lib, self.partial("deep", deep, DEEP)]
    }
}

/// The attribute files of a submodule come with its files, `.gitmodules` before.
#[test]
fn each_repository_fetches_once() {
    for (lib, deep, most) in [
        ("blob:none", "blob:none", 3),
        ("blob:limit=1k", "blob:none", 1),
        ("tree:0", "tree:0", 6),
    ] {
        let project = project();
        let args = [RECURSE, "HEAD"];
        let expected = project.superproject.sluice(args).success();
        let submodules = project.with_partial_submodules(lib, deep);
        let (repo, trace) = traced(&project.superproject);
        let output = repo.sluice(args);
        assert_eq!((output.code(), output.messages().as_ref()), (0, ""));
        assert!(output.stdout == expected, "{lib} {deep}");
        let count = fetches(&trace);
        assert!((1..=most).contains(&count), "{lib} {deep}: {count}");
        let [lib, deep] = submodules;
        // The attribute file that came with `.gitmodules` leaves out a file.
        let left_out = lib.git(["rev-parse", "HEAD:a.secret"]);
        assert!(missing(&lib).is_subset(&BTreeSet::from([left_out])));
        assert_eq!(missing(&deep), BTreeSet::new());
        assert!(repo.sluice(args).success() == expected);
        assert_eq!(fetches(&trace), count);
    }
}

/// The superproject as well, in the same attempts.
#[test]
fn a_partial_superproject() {
    let project = project();
    let expected = project.superproject.sluice([RECURSE, "HEAD"]).success();
    let mirror = project.partial("super", "blob:none", "mirror.git");
    project.partial("lib", "blob:none", "mirror.git/modules/the-lib");
    project.partial("deep", "tree:0", "mirror.git/modules/the-lib/modules/deep");
    let (repo, trace) = traced(&mirror);
    let (summary, output) = repo.summary([RECURSE, "HEAD"]);
    assert!(output.success() == expected);
    let count = fetches(&trace);
    assert_eq!(summary["fetch"]["fetches"], count);
    assert!(count <= 7, "{count}");
}

/// No file comes that is not selected.
#[test]
fn only_selected_files_come() {
    let project = project();
    let [lib, deep] = project.with_partial_submodules("blob:none", "blob:none");
    let (repo, trace) = traced(&project.superproject);
    let output = repo.sluice(["--no-attributes", RECURSE, "HEAD", "libs/lib/sub/deep/dir"]);
    assert_eq!(output.code(), 0, "{output}");
    // `.gitmodules` of the outer one; one file.
    assert_eq!(fetches(&trace), 2);
    assert_eq!(missing(&deep), BTreeSet::new());
    let id = |repo: &Repo, name: &str| repo.git(["rev-parse", name]);
    assert!(!missing(&lib).contains(&id(&lib, "HEAD:.gitmodules")));
    assert!(missing(&lib).contains(&id(&lib, "HEAD:version")));
}

/// A commit that the clone has never seen, where a pointer has moved.
#[test]
fn commits_that_are_not_there() {
    let project = project();
    let superproject = &project.superproject;
    let origin = project.place.clone().at("lib");
    let [lib, _] = project.with_partial_submodules("blob:none", "blob:none");
    origin.write("new", "new\n");
    origin.git(["add", "new"]);
    origin.git(["commit", "-qm", "new"]);
    let moved = origin.git(["rev-parse", "HEAD"]);
    let link = format!("160000,{moved},libs/lib");
    superproject.git(["update-index", "--cacheinfo", &link]);
    superproject.git(["commit", "-qm", "moved"]);
    let (repo, trace) = traced(superproject);
    let output = repo.sluice([RECURSE, "--base=HEAD~1", "HEAD"]);
    assert_eq!(output.code(), 0, "{output}");
    assert!(names(&output.stdout).contains(&"libs/lib/new".to_owned()));
    assert!(fetches(&trace) <= 4);
    assert_eq!(lib.git(["cat-file", "-t", &moved]), "commit");
}

/// The failure names the path in the archived tree; nothing is written.
#[test]
fn what_the_remote_has_lost() {
    let project = project();
    let _ = project.with_partial_submodules("blob:none", "blob:none");
    let lost = forge::lose(&project.place.clone().at("lib"), "HEAD:version");
    let output = project.superproject.sluice([RECURSE, "HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(output.stdout.is_empty());
    let expected = format!(
        "fatal: could not fetch {lost} from promisor remote\n\
         caused by: 'libs/lib/version' is not in the repository\n"
    );
    assert!(output.messages().contains(&expected), "{output}");
}

/// Nothing is fetched for an answer about an archive, nor where fetching is forbidden.
#[test]
fn who_wants_no_fetch_gets_none() {
    let project = project();
    let _ = project.with_partial_submodules("blob:none", "blob:none");
    let (repo, trace) = traced(&project.superproject);
    for word in ["--missing=error", "ls"] {
        let _ = repo.sluice([word, RECURSE, "HEAD"]);
        assert_eq!(fetches(&trace), 0, "{word}");
    }
    let repo = repo.env("GIT_NO_LAZY_FETCH", "1");
    let output = repo.sluice([RECURSE, "HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(output.messages().contains("hint: set GIT_NO_LAZY_FETCH=0"));
    assert_eq!(fetches(&trace), 0);
}

/// A submodule without a repository stays empty, and another one fetches all the same.
#[test]
fn beside_an_absent_submodule() {
    let project = project();
    fs::remove_dir_all(project.place.path().join(LIB)).unwrap();
    let lib = project.partial("lib", "blob:none", LIB);
    let (repo, trace) = traced(&project.superproject);
    let output = repo.sluice(["--submodules=recurse-present", "HEAD"]);
    assert_eq!(output.code(), 0, "{output}");
    let messages = output.messages();
    assert_eq!(
        messages.matches("is empty: commit").count(),
        1,
        "{messages}"
    );
    assert_eq!(fetches(&trace), 2);
    assert!(missing(&lib).len() <= 1);
    let output = repo.sluice([RECURSE, "HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(
        output
            .messages()
            .contains("could not find a repository for submodule path 'libs/lib/sub/deep'")
    );
}
