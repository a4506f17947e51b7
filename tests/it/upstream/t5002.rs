//! t5002: patterns of attributes, with and without a slash at their end.

use super::untarred;
use crate::support::Repo;

/// Of directories that have nothing left there is nothing, nor of their parents.
const LEFT: [&str; 2] = ["not-ignored-dir", "not-ignored-dir/ignored-only-if-dir"];

#[test]
fn git_archive() {
    let repo = Repo::from("upstream-patterns");
    let contents = untarred(repo.sluice(["HEAD"]).success());
    let names: Vec<String> = contents
        .into_keys()
        .map(|path| path.escape_ascii().to_string())
        .collect();
    assert_eq!(names, LEFT);
    for format in ["--format=tar", "--format=zip", "--format=tgz"] {
        repo.assert_same(["-v", format, "HEAD"]);
    }
}
