//! `--add-directory`: files of a directory that no tree has.

use std::{collections::BTreeMap, io::Read};

use crate::support::{Repo, cases, tar_listing};

/// A repository with a file, and a directory of all kinds of files beside it.
fn place() -> Repo {
    let repo = Repo::init();
    let script = r#"
        echo a >a && git add a && git commit -qm m
        mkdir -p ../built/bin ../built/empty ../built/sub/.git ../built/b
        printf '#!/bin/sh\n' >../built/bin/run && chmod 700 ../built/bin/run
        echo x >../built/b.c; echo y >../built/b/y; echo z >../built/sub/z; echo g >../built/sub/.git/config
        ln -s ../nowhere ../built/link; ln -s bin ../built/to-bin; chmod 600 ../built/b.c
        head -c 3000000 /dev/zero >../built/large
    "#;
    // The directory is below the temporary one, which goes when the test ends.
    let inner = repo.shell("mkdir repo && git init -q -b main repo");
    let _ = inner.success();
    let repo = repo.at("repo");
    let _ = repo.shell(script).success();
    repo
}

/// What a tar has: type, mode and content or target of each name.
fn entries(archive: &[u8]) -> BTreeMap<String, (tar::EntryType, u32, Vec<u8>)> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().expect("a tar");
    let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.expect("an entry");
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("it is there");
        if let Some(target) = entry.link_name_bytes() {
            content = target.into_owned();
        }
        let header = entry.header();
        (
            name,
            (header.entry_type(), header.mode().expect("octal"), content),
        )
    };
    let mut all: BTreeMap<_, _> = entries.map(read).collect();
    all.remove("pax_global_header");
    all
}

#[test]
fn everything_below_comes_in_order() {
    use tar::EntryType::{Directory, Regular, Symlink};
    let repo = place();
    for threads in ["-j1", "-j8"] {
        let words = [
            threads,
            "--prefix=p/",
            "--add-directory=../built",
            "--prefix=q/",
            "HEAD",
        ];
        let archive = repo.sluice(words).success();
        let expected = [
            "q/",
            "q/a",
            "p/b.c",
            "p/b/",
            "p/b/y",
            "p/bin/",
            "p/bin/run",
            "p/empty/",
            "p/large",
            "p/link",
            "p/sub/",
            "p/sub/z",
            "p/to-bin",
        ];
        assert_eq!(tar_listing::names(&archive), expected);
        let found = entries(&archive);
        assert_eq!(found["p/b.c"], (Regular, 0o664, b"x\n".to_vec()));
        assert_eq!(
            found["p/bin/run"],
            (Regular, 0o775, b"#!/bin/sh\n".to_vec())
        );
        assert_eq!(found["p/empty/"], (Directory, 0o775, Vec::new()));
        assert_eq!(found["p/link"], (Symlink, 0o777, b"../nowhere".to_vec()));
        assert_eq!(found["p/to-bin"].2, b"bin");
        assert_eq!(found["p/large"].2.len(), 3_000_000);
    }
}

/// A file that is added alone has the same bytes.
#[test]
fn a_file_is_as_if_added_alone() {
    let repo = place();
    let _ = repo
        .shell("mkdir ../one && cp ../built/b.c ../one/")
        .success();
    for format in ["tar", "zip", "tar.gz"] {
        let archive = |option: &str| {
            repo.sluice([&format!("--format={format}"), "--prefix=p/", option, "HEAD"])
                .success()
        };
        assert!(
            archive("--add-directory=../one") == archive("--add-file=../one/b.c"),
            "{format}"
        );
    }
}

#[test]
fn every_format_has_all_of_it() {
    let repo = place();
    let _ = repo
        .sluice(["--add-directory=../built", "-o", "../a.zip", "HEAD"])
        .success();
    if crate::support::installed("unzip") {
        let script =
            "unzip -q ../a.zip -d ../out; diff -r --no-dereference -x .git ../built ../out";
        let output = repo.shell(script);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "Only in ../out: a\n"
        );
    }
    let listed = repo
        .sluice(["ls", "--add-directory=../built", "HEAD"])
        .success();
    let listed = String::from_utf8(listed).expect("text");
    assert!(listed.contains(" sub/z\n"), "{listed}");
    let length = repo.json(["info", "--add-directory=../built", "HEAD"]);
    let archive = repo.sluice(["--add-directory=../built", "HEAD"]).success();
    assert_eq!(length["content_length"], archive.len() as u64);
}

#[test]
fn what_cannot_be_read_ends_the_run_before_the_first_byte() {
    let repo = place();
    let _ = repo.shell("mkfifo ../built/pipe").success();
    let refused = repo.sluice(["--add-directory=../built", "HEAD"]);
    assert!(refused.stdout.is_empty());
    let words = refused.messages();
    assert!(
        words.ends_with("/pipe': not a file, link or directory\n"),
        "{words}"
    );
    let script =
        "rm ../built/pipe; chmod 0 ../built/b.c; git-sluice --add-directory=../built HEAD >out";
    if let Some(output) = repo.unprivileged_shell(script) {
        output.assert_refused(128, &["b.c': Permission denied"]);
    }
}

/// The tag is that of the bytes.
#[test]
fn the_tag_depends_on_every_file() {
    let repo = place();
    let _ = repo.shell("rm ../built/large").success();
    let tag = || {
        let info = repo.json(["info", "--add-directory=../built", "HEAD"]);
        info["etag"].as_str().expect("a tag").to_owned()
    };
    let before = tag();
    assert_eq!(tag(), before);
    for change in cases(
        "echo w >../built/sub/z | ln -sf elsewhere ../built/link | mkdir ../built/more | \
         chmod +x ../built/b.c",
    ) {
        let last = tag();
        let _ = repo.shell(change).success();
        assert_ne!(tag(), last, "{change}");
    }
}
