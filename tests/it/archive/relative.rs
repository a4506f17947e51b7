//! `--relative`: a sub-directory as the root, wherever the command runs.

use crate::support::{Repo, cases, tar_listing::names};

/// A repository with a directory that rules from above apply to, and a bare clone of it.
fn repositories() -> (Repo, Repo) {
    let repo = Repo::init();
    let script = r#"
        mkdir -p dir/sub other
        printf '*.id ident\n*.txt text\n/dir/*.txt eol=crlf\n/dir/secret export-ignore\nV export-subst\n' >.gitattributes
        printf '$Id$\n' >dir/a.id; echo text >dir/b.txt; echo no >dir/secret; echo x >dir/sub/c; echo y >other/d
        echo '$Format:%H$' >dir/V
        git add . && git commit -qm one
        echo two >>dir/sub/c; git rm -q dir/a.id; echo z >>other/d; git commit -qam two
        git clone -q --bare . bare.git
    "#;
    let _ = repo.shell(script).success();
    (repo.clone(), repo.at("bare.git"))
}

#[test]
fn it_is_what_git_archives_in_the_directory() {
    let (repo, bare) = repositories();
    // In a sub-directory, git converts no file, because it looks for the attributes elsewhere.
    let selected = ["sub", "*c", ":!sub/nothing", ":(exclude,top)other"];
    for format in ["tar", "zip", "tar.gz"] {
        let format = format!("--format={format}");
        for options in [&[][..], &["--prefix=p/"], &["--prefix=p"]] {
            let words = [options, &[&format], &["HEAD~"], &selected].concat();
            let expected = repo.clone().at("dir").archive(&words).success();
            for place in [&repo, &bare, &repo.clone().at("other")] {
                let words = [&["--relative=dir"][..], &words].concat();
                assert!(place.sluice(words).success() == expected, "{options:?}");
            }
        }
    }
}

#[test]
fn rules_from_above_apply() {
    let (_, bare) = repositories();
    let archive = bare.sluice(["--relative=dir/", "HEAD"]).success();
    assert!(archive.windows(6).any(|bytes| bytes == b"text\r\n"));
    let commit = bare.git(["rev-parse", "HEAD"]);
    assert!(
        archive
            .windows(41)
            .any(|bytes| bytes == format!("{commit}\n").as_bytes())
    );
    assert_eq!(names(&archive), ["V", "b.txt", "sub/", "sub/c"]);
}

/// git runs in another directory then.
#[test]
fn files_that_git_expands() {
    let (repo, bare) = repositories();
    repo.write("dir/V", "$Format:%+an$\n");
    repo.git(["commit", "-qam", "three"]);
    repo.git(["push", "-q", "bare.git", "HEAD:three"]);
    repo.git(["branch", "three"]);
    for place in [
        &repo,
        &bare,
        &repo.clone().at("dir"),
        &repo.clone().at("other"),
    ] {
        let archive = place.sluice(["--relative=dir", "three", "V"]).success();
        let expanded = archive.windows(3).any(|bytes| bytes == b"\nA\n");
        assert!(expanded);
    }
}

#[test]
fn every_command_knows_it() {
    let (repo, bare) = repositories();
    let changes = bare
        .sluice(["--relative=dir", "--base=HEAD~", "HEAD"])
        .success();
    assert_eq!(names(&changes), ["V", "sub/", "sub/c"]);
    let text = |words: &[&str]| String::from_utf8(bare.sluice(words).success()).expect("text");
    assert!(text(&["ls", "--relative=dir", "HEAD"]).contains(" sub/c\n"));
    assert_eq!(
        text(&["explain", "--relative=dir", "HEAD", "secret"]),
        "dir/secret: omitted: by the attribute export-ignore (.gitattributes:4)\n"
    );
    let bucket = repo.path().join("bucket/main");
    let bucket = bucket.to_str().expect("text");
    let _ = bare
        .sluice(["publish", "--create", "--relative=dir", bucket, "HEAD"])
        .success();
    let channel = format!("--channel={bucket}");
    let target = repo.path().join("target");
    let target = target.to_str().expect("text");
    let _ = repo.sluice(["apply", &channel, target]).success();
    assert_eq!(
        std::fs::read(repo.path().join("target/sub/c")).expect("applied"),
        b"x\ntwo\n"
    );
}

#[test]
fn a_reader_is_not_told_what_is_no_directory() {
    let (_, bare) = repositories();
    // Whether there is one is not for a reader who may not see it.
    std::fs::write(bare.path().join("rules"), "other/**\n").expect("ours");
    for directory in ["nowhere", "dir"] {
        let words = [
            &format!("--relative={directory}"),
            "--access-rules=rules",
            "HEAD",
        ];
        let archive = bare.sluice(words).success();
        assert_eq!(names(&archive), [""; 0]);
    }
}

/// A directory only shows less, so a client of a server may ask for one.
#[test]
fn clients_may_name_a_directory() {
    let (repo, bare) = repositories();
    repo.write(
        ".gitattributes",
        "/dir/secret export-ignore\n/other export-ignore\n",
    );
    repo.git(["commit", "-qam", "three"]);
    repo.git(["push", "-q", "bare.git", "main"]);
    let remote = format!("--remote={}", bare.path().display());
    for words in [
        &["HEAD"][..],
        &["--prefix=p/", "HEAD", "sub"],
        &["--format=zip", "main"],
    ] {
        let words = [&["--relative=dir"][..], words].concat();
        let expected = bare.sluice(&words).success();
        let served = repo.served([&[&remote[..]][..], &words].concat());
        assert!(served.success() == expected, "{words:?}");
        // The installed git asks the server with the same words.
        let exec = "--exec=git-sluice upload-archive";
        let handed_over = repo.sluice([&[exec, &remote[..]][..], &words].concat());
        assert!(handed_over.success() == expected, "{words:?}");
    }
    let names = |directory: &str| {
        let option = format!("--relative={directory}");
        names(&repo.served([&remote, &option, "HEAD"]).success())
    };
    assert_eq!(names("dir"), ["V", "b.txt", "sub/", "sub/c"]);
    assert_eq!(names("other"), [""; 0], "what is excluded stays so");
    let commit = bare.git(["rev-parse", "HEAD"]);
    for (directory, treeish, refused) in [
        ("dir", &commit[..], "no such ref"),
        ("nowhere", "HEAD", "'nowhere' is no directory of 'HEAD'"),
        ("../bare.git", "HEAD", "is no directory of a tree"),
        ("/etc", "HEAD", "is no directory of a tree"),
    ] {
        let option = format!("--relative={directory}");
        let output = repo.served([&remote, &option, treeish]);
        assert!(output.messages().contains(refused), "{output}");
        assert_ne!(output.code(), 0);
    }
    // The other options of git-sluice stay with the server.
    for option in cases("--pathspec-from-file=/etc/passwd | --mtime-now | --threads=9 | --umask=0")
    {
        let output = repo.served([&remote, option, "HEAD"]);
        assert!(output.messages().contains("unknown option"), "{output}");
    }
}
