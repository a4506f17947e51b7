//! `--symlinks=copy`: what links lead to, in their place.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use proptest::{prelude::*, test_runner::TestRunner};

use crate::support::{Repo, forge, rows};

const COPY: &str = "--symlinks=copy";

/// An entry of a tree or an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    File { executable: bool, content: Vec<u8> },
    Link(PathBuf),
    Directory,
}

type Files = BTreeMap<String, Found>;

/// What the tar `archive` has, without directories, which say nothing more.
fn archived(archive: &[u8]) -> Files {
    let mut archive = tar::Archive::new(archive);
    let mut files = Files::new();
    for entry in archive.entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let found = match entry.header().entry_type() {
            tar::EntryType::Regular => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content).expect("it is there");
                let executable = entry.header().mode().expect("octal") & 0o100 != 0;
                Found::File {
                    executable,
                    content,
                }
            }
            tar::EntryType::Symlink => Found::Link(entry.link_name().unwrap().unwrap().into()),
            tar::EntryType::Directory => Found::Directory,
            _ => continue,
        };
        assert!(
            files.insert(name.clone(), found).is_none(),
            "{name} comes twice"
        );
    }
    files.retain(|_, found| *found != Found::Directory);
    files
}

/// What is below `top` once links within it are followed: the system resolves them. `above` are the directories on the way.
fn followed(top: &Path, directory: &Path, name: &str, above: &mut Vec<PathBuf>, files: &mut Files) {
    above.push(directory.to_owned());
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let own = path.file_name().expect("a name").to_str().expect("text");
        if own == ".git" {
            continue;
        }
        let name = format!("{name}{own}");
        let target = path.canonicalize();
        let is_link = path.is_symlink();
        let target = match target {
            Ok(target) if target.starts_with(top) => target,
            _ => {
                files.insert(name, Found::Link(fs::read_link(&path).expect("a link")));
                continue;
            }
        };
        if target.is_file() {
            let executable = target.metadata().expect("a file").permissions().mode() & 0o100 != 0;
            let content = fs::read(&target).expect("a file");
            files.insert(
                name,
                Found::File {
                    executable,
                    content,
                },
            );
        } else if is_link && above.iter().any(|above| above.starts_with(&target)) {
            files.insert(name, Found::Link(fs::read_link(&path).expect("a link")));
        } else if files.len() < 2000 {
            followed(top, &target, &format!("{name}/"), above, files);
        }
    }
    above.pop();
}

/// What is written at a path: a file, or a link.
type Written = (Vec<usize>, Option<Vec<usize>>);

const NAMES: [&str; 5] = ["a", "b", "c", "..", "."];

fn trees() -> impl Strategy<Value = Vec<Written>> {
    let path = prop::collection::vec(0..3_usize, 1..4);
    let target = prop::collection::vec(0..5_usize, 1..5);
    let target = prop::option::weighted(0.6, target);
    prop::collection::vec((path, target), 1..14)
}

/// Writes a tree into the work tree of `repo`, and commits it.
fn write(repo: &Repo, tree: &[Written]) -> String {
    let _ = repo.shell("rm -rf ./*").success();
    for (number, (path, target)) in tree.iter().enumerate() {
        let words = |path: &[usize]| {
            path.iter()
                .map(|part| NAMES[*part])
                .collect::<Vec<_>>()
                .join("/")
        };
        let path = repo.path().join(words(path));
        let parent = path.parent().expect("below the top");
        // What is in the way, or behind a link, is left out.
        let is_plain = parent
            .ancestors()
            .take_while(|it| *it != repo.path())
            .all(|it| !it.is_symlink());
        if !is_plain || fs::create_dir_all(parent).is_err() || path.symlink_metadata().is_ok() {
            continue;
        }
        match target {
            Some(target) => symlink(words(target), &path).expect("ours"),
            None => {
                fs::write(&path, format!("{number}")).expect("ours");
                let mode = if number % 3 == 0 { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
            }
        }
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "m", "--allow-empty"]);
    repo.git(["rev-parse", "HEAD"])
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    })
}

#[test]
#[ignore = "slow"]
fn random_trees_are_as_the_system_follows_their_links() {
    let repo = Repo::init();
    let check = |tree: Vec<Written>| {
        write(&repo, &tree);
        let top = repo.path().canonicalize().expect("ours");
        let mut expected = Files::new();
        followed(&top, &top, "", &mut Vec::new(), &mut expected);
        prop_assume!(expected.len() < 2000);
        for threads in ["-j1", "-j2"] {
            let found = archived(&repo.sluice([threads, COPY, "HEAD"]).success());
            prop_assert_eq!(&found, &expected);
        }
        Ok(())
    };
    runner(200)
        .run(&trees(), check)
        .expect("as the system does");
}

#[test]
#[ignore = "slow"]
fn random_deltas_lead_to_the_full_archive() {
    let repo = Repo::init();
    let check = |(old, new): (Vec<Written>, Vec<Written>)| {
        let old = write(&repo, &old);
        let new = write(&repo, &new);
        let place = Repo::scratch();
        let repository = repo.path().display();
        let script = format!(
            "cd {repository} && git-sluice {COPY} {old} | git-sluice apply {0}/d && \
             git-sluice {COPY} --base={old} {new} | git-sluice apply {0}/d && \
             git-sluice {COPY} {new} | git-sluice apply {0}/full && git-sluice verify {0}/d && \
             diff -r --no-dereference -x '.git-sluice*' {0}/full {0}/d",
            place.path().display()
        );
        let output = place.shell(&script);
        prop_assert_eq!(output.code(), 0, "{}", output.messages());
        Ok(())
    };
    runner(60)
        .run(&(trees(), trees()), check)
        .expect("equal directories");
}

/// A project with links of all kinds, and attributes that differ from place to place.
fn project() -> Repo {
    let repo = Repo::init();
    let script = r#"
        mkdir -p src docs/own
        printf '/src/*.txt eol=crlf\n/src/secret export-ignore\nVERSION export-subst\n' >.gitattributes
        echo text >src/a.txt; echo no >src/secret; echo '$Format:%H$' >src/VERSION; echo big >src/big
        ln -s ../src/a.txt docs/a.txt; ln -s ../src/secret docs/secret; ln -s ../src/VERSION docs/version
        ln -s ../src docs/src; ln -s ../../src/big docs/own/big; ln -s /etc/passwd docs/passwd
        git add . && git commit -qm m
    "#;
    let _ = repo.shell(script).success();
    repo
}

fn content(files: &Files, name: &str) -> String {
    match &files[name] {
        Found::File { content, .. } => String::from_utf8_lossy(content).into_owned(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn copies_have_the_content_that_their_targets_have_in_an_archive() {
    let repo = project();
    let files = archived(&repo.sluice([COPY, "HEAD"]).success());
    let commit = repo.git(["rev-parse", "HEAD"]);
    for directory in ["docs", "docs/src"] {
        assert_eq!(content(&files, &format!("{directory}/a.txt")), "text\r\n");
    }
    assert_eq!(content(&files, "docs/version"), format!("{commit}\n"));
    // What a repository keeps back is not sent under another name.
    for name in ["docs/secret", "docs/src/secret", "src/secret"] {
        assert!(!files.contains_key(name), "{name}");
    }
    assert_eq!(files["docs/passwd"], Found::Link("/etc/passwd".into()));
    // The target need not be in the archive, and rules by path look at the path in the archive.
    let files = archived(
        &repo
            .sluice([COPY, "--exclude=/docs/src", "HEAD", "docs"])
            .success(),
    );
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["docs/a.txt", "docs/own/big", "docs/passwd", "docs/version"]
    );
    // A rule by content looks at what is copied.
    let files = archived(
        &repo
            .sluice([COPY, "--max-size=3", "HEAD", "docs/own"])
            .success(),
    );
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn formats_and_reports_agree() {
    let repo = project();
    let expected = archived(&repo.sluice([COPY, "HEAD"]).success());
    let info = repo.json(["info", COPY, "HEAD"]);
    let archive = repo.sluice([COPY, "HEAD"]).success();
    assert_eq!(info["content_length"], archive.len() as u64);
    assert_ne!(info["etag"], repo.json(["info", "HEAD"])["etag"]);
    let listed = repo.sluice(["ls", COPY, "HEAD"]).success();
    let listed = String::from_utf8(listed).expect("text");
    assert!(
        listed.contains(" docs/passwd (link: outside)\n"),
        "{listed}"
    );
    let manifest = repo.sluice([COPY, "--manifest=manifest", "--summary=summary", "HEAD"]);
    assert_eq!(archived(&manifest.success()), expected);
    let manifest = fs::read_to_string(repo.path().join("manifest")).expect("written");
    assert!(manifest.contains(r#""link":"outside""#), "{manifest}");
    let summary = fs::read_to_string(repo.path().join("summary")).expect("written");
    assert!(summary.contains(r#""kept_links":1"#), "{summary}");
    if crate::support::installed("unzip") {
        let script = "git-sluice --symlinks=copy -o a.zip HEAD && unzip -q a.zip -d z && \
                      git-sluice --symlinks=copy HEAD | (mkdir t && tar -x -C t) && \
                      diff -r --no-dereference z t";
        let _ = repo.shell(script).success();
    }
}

#[test]
fn explain_tells_what_is_a_copy() {
    let repo = project();
    let words = [
        "explain",
        COPY,
        "HEAD",
        "docs/src/big",
        "docs/passwd",
        "docs/secret",
    ];
    let told = String::from_utf8(repo.sluice(words).success()).expect("text");
    assert_eq!(
        told,
        "docs/src/big: sent, a copy of 'src/big'\n\
         docs/passwd: sent as a link: outside\n\
         docs/secret: omitted: by the attribute export-ignore\n"
    );
}

/// A copy has no file that an attribute keeps out of the archive where it is stored, on whatever level the attribute is.
#[test]
fn a_copy_of_something_excluded_is_not_sent() {
    let script = r#"
        mkdir -p a/b/c open && echo secret | tee a/b/c/file a/b/file a/file >open/file
        ln -s a/b/c/file file && ln -s a/b/c directory && ln -s a/b all && ln -s file again && ln -s open link-open
        ln -s ../a/b/c/file open/file-too && ln -s ../a/b/c open/directory-too
        git add . && git commit -qm m
    "#;
    let repo = Repo::init();
    let _ = repo.shell(script).success();
    for [rule, sent] in rows(
        "/a | link-open/file open/file
        /a/b | a/file link-open/file open/file
        /a/b/c | a/b/file a/file all/file link-open/file open/file
        c/ | a/b/file a/file all/file link-open/file open/file
        /a/b/c/file | a/b/file a/file all/file link-open/file open/file
        /open/*-too | a/b/c/file a/b/file a/file again all/c/file all/file directory/file file link-open/file open/file
        /open | a/b/c/file a/b/file a/file again all/c/file all/file directory/file file",
    ) {
        repo.write(
            ".gitattributes",
            format!("{rule} export-ignore\n/.gitattributes export-ignore\n"),
        );
        repo.git(["add", "."]);
        repo.git(["commit", "-qm", "rule"]);
        let files = archived(&repo.sluice([COPY, "HEAD"]).success());
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(names.join(" "), sent, "{rule}");
    }
}

/// A link in a submodule is resolved there, and none leads into one.
#[test]
fn submodules_are_trees_of_their_own() {
    let place = Repo::scratch();
    let script = r#"
        git init -q -b main lib && cd lib && mkdir d && echo lib >d/file && ln -s d/file copy && ln -s ../top out
        git add . && git commit -qm lib && cd ..
        git init -q -b main super && cd super && echo top >top && mkdir dir
        git -c protocol.file.allow=always submodule --quiet add ../lib dir/lib
        ln -s dir/lib/d/file into && ln -s dir/lib module && ln -s dir around && ln -s top link
        git add . && git commit -qm super
    "#;
    let _ = place.shell(script).success();
    let repo = place.at("super");
    let files = archived(
        &repo
            .sluice([COPY, "--submodules=recurse", "HEAD"])
            .success(),
    );
    assert_eq!(content(&files, "dir/lib/copy"), "lib\n");
    assert_eq!(content(&files, "link"), "top\n");
    for (name, target) in [
        ("dir/lib/out", "../top"),
        ("into", "dir/lib/d/file"),
        ("module", "dir/lib"),
        ("around", "dir"),
    ] {
        assert_eq!(files[name], Found::Link(target.into()), "{name}");
    }
    // An empty directory can be copied.
    let archive = repo.sluice([COPY, "HEAD"]).success();
    let names = crate::support::tar_listing::names(&archive);
    assert!(names.contains(&"around/lib/".to_owned()), "{names:?}");
}

/// A reader gets a copy only of what is allowed at both paths.
#[test]
fn access_rules_allow_both_paths() {
    let repo = project();
    let shown = |rules: &str| {
        repo.write("rules", rules);
        let archive = repo
            .sluice([COPY, "--access-rules=rules", "HEAD"])
            .success();
        archived(&archive)
    };
    let files = shown("docs/**\n");
    assert_eq!(files["docs/a.txt"], Found::Link("../src/a.txt".into()));
    assert_eq!(files["docs/src"], Found::Link("../src".into()));
    let files = shown("docs/**\nsrc/a.txt\n");
    assert_eq!(content(&files, "docs/a.txt"), "text\r\n");
    assert_eq!(files["docs/src"], Found::Link("../src".into()));
    let files = shown("docs/**\nsrc/**\n-docs/src/a.txt\n");
    assert_eq!(content(&files, "docs/src/big"), "big\n");
    assert!(!files.contains_key("docs/src/a.txt"));
    // Whether something is at the target is not told.
    repo.write("rules", "docs/**\n");
    let listed = repo
        .sluice(["ls", COPY, "--access-rules=rules", "HEAD"])
        .success();
    assert!(!String::from_utf8_lossy(&listed).contains("link:"));
}

/// Each level doubles what is below it.
#[test]
#[ignore = "slow"]
fn a_bomb_is_refused_at_once() {
    let repo = Repo::init();
    let file = forge::blob(&repo, "x");
    let mut root: Vec<(&str, Vec<u8>, String)> = vec![(
        "40000",
        b"d00".to_vec(),
        forge::tree(&repo, &[("100644", b"x", &file)]),
    )];
    for level in 1..30 {
        let link = forge::blob(&repo, format!("../d{:02}", level - 1));
        let tree = forge::tree(&repo, &[("120000", b"a", &link), ("120000", b"b", &link)]);
        root.push(("40000", format!("d{level:02}").into_bytes(), tree));
    }
    let root: Vec<_> = root
        .iter()
        .map(|(mode, name, id)| (*mode, &name[..], id.as_str()))
        .collect();
    let commit = forge::commit(&repo, &root);
    let start = Instant::now();
    let refused = repo.sluice([COPY, &commit]);
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
    assert!(refused.stdout.is_empty());
    refused.assert_refused(
        128,
        &[
            "fatal: copies of links would add more than 1048576 entries",
            "hint: 'd29/",
        ],
    );
    // With a link back to the first level, no directory is the same wherever it is copied to.
    let back = forge::blob(&repo, "../d29");
    let first = forge::tree(
        &repo,
        &[("120000", b"back", &back), ("100644", b"x", &file)],
    );
    let mut root = root;
    root[0].2 = &first;
    let commit = forge::commit(&repo, &root);
    let start = Instant::now();
    repo.sluice([COPY, &commit])
        .assert_refused(128, &["fatal: copies of links would add"]);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

/// The link and its target change on their own, and so do attributes far from both.
#[test]
fn deltas_have_every_copy_that_changed() {
    let repo = project();
    let names = |base: &str| {
        let archive = repo
            .sluice([COPY, &format!("--base={base}"), "HEAD", "docs"])
            .success();
        archived(&archive).into_keys().collect::<Vec<_>>()
    };
    let version = "docs/version".to_owned();
    let change = |script: &str| {
        let _ = repo
            .shell(&format!("{script} && git add -A && git commit -qm c"))
            .success();
    };
    change("echo more >>src/a.txt");
    assert_eq!(
        names("HEAD~"),
        ["docs/a.txt", "docs/src/VERSION", "docs/src/a.txt", &version]
    );
    change("chmod +x src/big");
    assert_eq!(
        names("HEAD~"),
        ["docs/own/big", "docs/src/VERSION", "docs/src/big", &version]
    );
    change("printf '/src/*.txt eol=lf\\nVERSION export-subst\\n' >.gitattributes");
    let changed = names("HEAD~");
    for name in ["docs/a.txt", "docs/src/a.txt", "docs/secret"] {
        assert!(
            changed.iter().any(|found| found == name),
            "{name} {changed:?}"
        );
    }
    change("git mv src/big src/large");
    let changed = names("HEAD~");
    assert!(changed.contains(&"docs/own/big".to_owned()), "{changed:?}");
}
