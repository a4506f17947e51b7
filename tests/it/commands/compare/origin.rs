//! The commit, the tag and the directory that `compare` finds without words that name them.

use std::fs;

use super::{assert_says, project};
use crate::support::process::{run, run_with_input};
use crate::support::{Repo, binary, installed};

/// The first line that `compare` prints about the tar of `files`, in this `repo`.
fn first_line(repo: &Repo, files: &[(&str, &str)], words: &str) -> String {
    let directory = repo.path().join(".git/package");
    let _ = fs::remove_dir_all(&directory);
    for (path, content) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("our own");
        fs::write(path, content).expect("our own");
    }
    let output = repo.compare(&format!("{words} .git/package"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().chain(words.lines()).next();
    line.unwrap_or_default().to_owned()
}

/// A repository of two packages, with a tag for each style.
fn monorepo() -> Repo {
    let repo = Repo::init();
    let script = "mkdir -p crates/one && echo 1 >crates/one/a && echo r >README && git add . && git commit -qm 1 && \
                  git tag v1.0 && git tag one-1.0 && echo 2 >crates/one/a && git commit -qam 2 && git tag one@2.0 && \
                  git tag crates/one/v1.5.0 && echo 3 >README && git commit -qam 3 && git tag -a -m x v3.0";
    let _ = repo.shell(script).success();
    repo
}

/// A tag or a branch that is the commit has no `in`; otherwise, it is the oldest tag that contains the commit.
#[test]
fn names_of_a_commit() {
    let repo = Repo::init();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i >a && git add a && git commit -qm $i --date=@$i; done && \
                  git tag v3 HEAD~6 && git tag -a -m x v5 HEAD~4 && git tag v5-rc HEAD~5 && git tag v9 && \
                  git checkout -q --orphan other && git commit -qm other && git checkout -q main";
    let _ = repo.shell(script).success();
    for (commit, names) in [
        ("HEAD~8", "in v3"),
        ("HEAD~6", "v3"),
        ("HEAD~4", "v5"),
        ("HEAD~3", "in v9"),
        ("HEAD", "v9, main"),
        ("other", "other"),
    ] {
        let id = repo.git(["rev-parse", commit]);
        let output = repo.compare_bytes(&repo.archive_of(&format!("--format=tar {commit}")), "");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = format!("commit    {id} ({names}), from the comment of the archive");
        assert_eq!(said.lines().next(), Some(&line[..]), "{commit}");
    }
}

/// Tags that only git can read have names, too.
#[test]
fn names_from_tags_of_tags() {
    let repo = project();
    let _ = repo.shell(
        "git tag -a -m x outer v1 && git tag -a -m x outermost outer && git tag blob v1:README",
    );
    let id = repo.git(["rev-parse", "v1^{commit}"]);
    let output = repo.compare_bytes(&repo.archive_of("--format=tar v1"), "");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = format!("commit    {id} (outer, outermost, v1), from the comment of the archive\n");
    assert!(said.starts_with(&line), "{said}");
}

#[test]
fn packages_name_their_origin() {
    let repo = monorepo();
    let [one, two, three] =
        ["v1.0", "one@2.0", "v3.0"].map(|it| repo.git(["rev-parse", &format!("{it}^{{commit}}")]));
    let cargo = format!("{{\"git\": {{\"sha1\": \"{two}\"}}, \"path_in_vcs\": \"crates/one\"}}");
    let archival = format!("node: {three}\nnode-date: 2020\n");
    let lacking = format!("node: {}\n", "1".repeat(40));
    let npm = r#"{"name": "@x/one", "version": "2.0", "repository": {"directory": "crates/one"}}"#;
    let python = "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n\nVersion: 3.0\n";
    let at_two = format!("commit    {two} (crates/one/v1.5.0, one@2.0), from");
    let at_one = format!("commit    {one} (one-1.0, v1.0), from");
    for (files, expected) in [
        (
            &[("p/.cargo_vcs_info.json", &cargo[..]), ("p/a", "2\n")][..],
            format!("{at_two} .cargo_vcs_info.json, directory crates/one"),
        ),
        (
            &[("p/.git_archival.txt", &archival), ("p/a", "2\n")],
            format!("commit    {three} (v3.0, main), from .git_archival.txt"),
        ),
        (
            &[
                ("p/.git_archival.txt", "node: $Format:%H$\n"),
                ("p/PKG-INFO", python),
            ],
            format!("{at_one} version 1.0 in PKG-INFO"),
        ),
        (
            &[("package/package.json", npm)],
            format!("{at_two} version 2.0 in package.json, directory crates/one"),
        ),
        (
            &[("x.org/r/crates/one@v1.5.0/a", "2\n")],
            format!("{at_two} the path of the module, directory crates/one"),
        ),
        (
            &[(
                &format!("x.org/r@v0.0.0-20200101000000-{}/README", &one[..12]),
                "r\n",
            )],
            format!("{at_one} the path of the module"),
        ),
        (
            &[("p/.git_archival.txt", &lacking)],
            format!("fatal: the repository lacks commit {}", "1".repeat(40)),
        ),
        // A file of one of several projects says nothing about the others.
        (
            &[("p/PKG-INFO", python), ("q/a", "1\n")],
            "fatal: the archive does not say which commit it has".to_owned(),
        ),
        (
            &[("p/PKG-INFO", "Name: one\nVersion: 7.0\n")],
            "fatal: the archive does not say which commit it has".to_owned(),
        ),
        (
            &[("p/package.json", "[1")],
            "fatal: the archive does not say which commit it has".to_owned(),
        ),
    ] {
        assert_eq!(first_line(&repo, files, ""), expected, "{files:?}");
    }
}

/// Only the files of the directory that the package names are compared, and the manifest that cargo keeps.
#[test]
fn a_crate_is_compared_with_its_directory() {
    let repo = monorepo();
    let script = "printf '[package]\\n' >crates/one/Cargo.toml && git add . && git commit -qm 4 && id=$(git rev-parse HEAD) && \
                  mkdir -p .git/c/one-4 && cp crates/one/a .git/c/one-4 && cp crates/one/Cargo.toml .git/c/one-4/Cargo.toml.orig && \
                  echo '# THIS FILE IS AUTOMATICALLY GENERATED BY CARGO' >.git/c/one-4/Cargo.toml && \
                  printf '{\"git\":{\"sha1\":\"%s\"},\"path_in_vcs\":\"crates/one\"}' $id >.git/c/one-4/.cargo_vcs_info.json && \
                  tar -czf .git/one-4.crate -C .git/c one-4";
    let _ = repo.shell(script).success();
    let id = repo.git(["rev-parse", "HEAD"]);
    let lines = format!(
        "commit    {id} (main), from .cargo_vcs_info.json, directory crates/one\n\
         added     .cargo_vcs_info.json (86 bytes)\nadded     Cargo.toml (48 bytes, written by cargo)\n\
         differs: 2 added, 0 changed, 0 missing (4 files in the archive)\n"
    );
    assert_says(&repo.compare(".git/one-4.crate"), 1, &lines);
}

/// The nearest tag has the most equal files, then the fewest changed ones, then the fewest missing ones, and is the newest.
#[test]
fn the_nearest_tag() {
    let repo = Repo::init();
    let script = "echo 0 >index && git add . && git commit -qm 0 && git tag v0.1 && for f in a b c; do echo $f >test-$f; done && \
                  for f in index lib util; do echo 5 >$f; done && git add . && git commit -qm 5 && git tag v5.0 && \
                  git tag v5.0-again && echo 6 >test-a && git commit -qam 6 && git tag v6 && echo 7 >lib && git commit -qam 7 && \
                  git tag v7 && git tag tree v7^{tree} && git tag blob v7:lib && \
                  echo 'missing *' >.git/expected";
    let _ = repo.shell(script).success();
    let part = [("p/index", "5\n"), ("p/lib", "5\n"), ("p/util", "5\n")];
    let said = |files: &[(&str, &str)], words: &str| {
        first_line(&repo, files, &format!("--search {words}"))
    };
    assert_eq!(
        said(&part, ""),
        "nearest   v6 (3 files differ; 2 older tags are as near)"
    );
    assert_eq!(
        said(&part, "--expect=.git/expected"),
        "nearest   v6 (0 files differ; 2 older tags are as near)"
    );
    // A pipe can be read once.
    let expected = "compare --search --expect=/dev/stdin .git/package";
    let mut command = repo.command(binary());
    let output = run_with_input(command.args(expected.split(' ')), b"missing *\n");
    assert_eq!(output.code(), 0, "{output}");
    assert_eq!(
        said(&[part[0], ("p/test-a", "a\n")], ""),
        "nearest   v5.0-again (4 files differ; an older tag is as near)"
    );
    assert_eq!(
        said(
            &[("p/lib", "7\n"), ("p/x", "x\n")],
            "--expect=.git/expected"
        ),
        "nearest   v7 (1 file differs; an older tag is as near)"
    );
}

/// Attributes that change every file do not hide the tag, and files that `git archive` leaves out are no difference.
#[test]
fn attributes_do_not_blind_a_search() {
    let repo = Repo::init();
    let script = "printf '* text eol=crlf\\nversion export-subst\\n/test export-ignore\\n' >.gitattributes && echo t >test && \
                  for i in $(seq 20); do echo $i >a && echo $((i / 2)) >b && echo '$Format:%s$' >version && git add . && \
                  git commit -qm $i && git tag v$i; done && git archive --prefix=p/ -o .git/a.tar v7 && \
                  mkdir .git/x && tar -xf .git/a.tar -C .git/x";
    let _ = repo.shell(script).success();
    let line = first_line(
        &repo,
        &[("p/a", "7\r\n"), ("p/version", "7\r\n")],
        "--search",
    );
    assert_eq!(line, "nearest   v7 (2 files differ)");
    for archive in ["a.tar", "x"] {
        let output = repo.compare(&format!("--search .git/{archive}"));
        assert!(
            output
                .stdout
                .starts_with(b"nearest   v7 (0 files differ)\n"),
            "{output}"
        );
        assert_eq!(output.code(), 0, "{output}");
    }
}

/// Tags without the directory are no error.
#[test]
fn a_search_in_a_directory() {
    let repo = Repo::init();
    let script = "echo r >README && git add . && git commit -qm 0 && git tag v0 && mkdir -p packages/one && \
                  echo x >packages/one/index.js && git add . && git commit -qm 1 && git tag v1";
    let _ = repo.shell(script).success();
    let words = "--search --relative=packages/one --prefix=package/";
    let line = first_line(&repo, &[("package/index.js", "x\n")], words);
    assert_eq!(line, "nearest   v1 (0 files differ)");
}

/// A blob of a file that is equal is not fetched.
#[test]
fn a_clone_without_blobs_searches_as_well() {
    let repo = Repo::init();
    let script = "echo 1 >a && echo b >b && git add . && git commit -qm 1 && git tag v1 && echo 2 >a && git commit -qam 2 && git tag v2 && \
                  git config uploadpack.allowFilter true && git config uploadpack.allowAnySHA1InWant true && \
                  git clone -q --no-checkout --filter=blob:none file://$PWD/.git .git/part && git archive --prefix=p/ -o .git/a.tar v1";
    let _ = repo.shell(script).success();
    let part = repo.clone().at(".git/part");
    for words in ["", "--search"] {
        let output = part.compare(&format!("{words} ../a.tar"));
        assert_eq!(output.code(), 0, "{output}");
    }
    let missing = "git rev-list --objects --all --missing=print | grep -c '^?'";
    let missing = String::from_utf8(part.shell(missing).success()).expect("a number");
    assert_eq!(missing.trim(), "3");
}

/// The example `check-lockfile` compares the packages of lock files with their repositories.
#[test]
fn lock_files() {
    let repo = monorepo();
    let has_toml = [
        "-c",
        "import tomllib, sys; sys.exit(sys.version_info < (3, 11))",
    ];
    if !installed("python3") || run(repo.command("python3").args(has_toml)).code() != 0 {
        return;
    }
    let script = r#"
        mkdir .git/lock && cd .git/lock && ln -s ../.. r && mkdir -p cache one-2.0 package cache/content-v2/sha512
        manifest='[package]
repository = "https://example.org/me/r/tree/main/crates/one"'
        id=$(git rev-parse one@2.0) && echo 2 >one-2.0/a && echo "$manifest" >one-2.0/Cargo.toml
        printf '{"git":{"sha1":"%s"},"path_in_vcs":"crates/one"}' $id >one-2.0/.cargo_vcs_info.json
        tar -czf cache/one-2.0.crate one-2.0 && echo evil >>one-2.0/a && mv one-2.0 two-2.0 && tar -czf cache/two-2.0.crate two-2.0
        for name in one two; do
            printf '[[package]]\nname = "%s"\nversion = "2.0"\nchecksum = "%s"\n' $name $(sha256sum <cache/$name-2.0.crate | cut -c1-64)
        done >Cargo.lock
        printf '[[package]]\nname = "one"\nversion = "2.0"\nchecksum = "%064d"\n' 0 >>Cargo.lock
        echo 2 >package/a && printf '{"name":"one","version":"2.0","repository":{"url":"git+https://example.org/me/r.git","directory":"crates/one"}}' >package/package.json
        tar -czf one.tgz package && hex=$(sha512sum <one.tgz | cut -c1-128)
        at=cache/content-v2/sha512/$(echo $hex | cut -c1-2)/$(echo $hex | cut -c3-4) && mkdir -p $at && cp one.tgz $at/$(echo $hex | cut -c5-)
        base64=$(python3 -c "import base64; print(base64.b64encode(bytes.fromhex('$hex')).decode())")
        printf '{"packages":{"":{},"node_modules/one":{"version":"2.0","integrity":"sha512-%s"}}}' "$base64" >package-lock.json
    "#;
    let _ = repo.shell(script).success();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/check-lockfile");
    let check = |lock: &str| {
        let words = ["--cache=cache", "--json=rows", lock, "."];
        let place = repo.clone().at(".git/lock");
        let output = run(place.command("python3").arg("-B").arg(&example).args(words));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.code(), 1, "{output}");
        lines.lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = [
        "| one 2.0 | one@2.0 | .cargo_vcs_info.json | 1 | 0 | 0 | same |",
        "| two 2.0 | one@2.0 | .cargo_vcs_info.json | 0 | 1 | 0 | differs |",
        "| one 2.0 |  |  |  |  |  | no package with the checksum of the lock file |",
    ];
    assert_eq!(check("Cargo.lock"), rows);
    let row = "| one 2.0 | one@2.0 | version 2.0 in package.json | 1 | 1 | 0 | differs |";
    assert_eq!(check("package-lock.json"), [row]);
    let json = fs::read_to_string(repo.path().join(".git/lock/rows")).expect("a file");
    assert!(json.contains("\"paths\": [\"package.json\"]"), "{json}");
}

/// A file of the repository that looks like that of a package is not one.
#[test]
fn the_comment_of_git_counts_more_than_files() {
    let repo = Repo::init();
    let script = r#"mkdir -p packages/x && echo a >packages/x/a && echo b >b && git add . &&
                    echo '{"name":"x","version":"1.0.0","repository":{"directory":"packages/x"}}' >package.json &&
                    git add . && git commit -qm 1 && git tag v1.0.0"#;
    let _ = repo.shell(script).success();
    let archive = repo.archive_of("--prefix=p/ v1.0.0");
    let output = repo.compare_bytes(&archive, "");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("from the comment of the archive\nidentical: "),
        "{output}"
    );
}
