//! Comparisons with git-lfs itself, where it is installed.

use std::fs;

use super::{CONTENT, Lfs, place, pointer, sha256};
use crate::support::{Repo, noise, skip};

/// Whether git-lfs is installed.
fn is_installed(repo: &Repo) -> bool {
    let mut command = repo.command("git");
    let output = command.args(["lfs", "version"]).output();
    let is_installed = output.is_ok_and(|output| output.status.success());
    if !is_installed {
        skip("git-lfs is not installed");
    }
    is_installed
}

/// The same repository with git-lfs as its filter.
fn with_git_lfs(repo: &Repo) -> Repo {
    let skip_nothing = repo.clone().env("GIT_LFS_SKIP_SMUDGE", "0");
    skip_nothing.with([
        "-c",
        "filter.lfs.process=git-lfs filter-process",
        "-c",
        "filter.lfs.required=true",
    ])
}

/// Every file of the store that git-lfs has written itself.
#[test]
fn files_of_git_lfs() {
    let lfs = Lfs::new();
    if !is_installed(&lfs.repo) {
        return;
    }
    let clean = ["-c", "filter.lfs.clean=git-lfs clean -- %f"];
    let cleaned = lfs.repo.clone().with(clean);
    lfs.repo.write(
        ".gitattributes",
        "*.bin filter=lfs -text\n*.crlf.bin text eol=crlf\n",
    );
    for number in 0..20 {
        lfs.repo
            .write(format!("f{number}.bin"), noise(1, number * 10_000));
    }
    lfs.repo.write("lines.crlf.bin", "one\ntwo\n");
    cleaned.git(["add", "."]);
    cleaned.git(["commit", "-qm", "files"]);
    let real = with_git_lfs(&lfs.repo);
    for format in ["tar", "zip"] {
        let format = format!("--format={format}");
        let expected = real.archive([&format[..], "HEAD"]).success();
        assert!(lfs.repo.sluice([CONTENT, &format, "HEAD"]).success() == expected);
        // Without the option, git-lfs does the work.
        assert!(real.sluice([&format[..], "HEAD"]).success() == expected);
    }
}

/// Texts that are pointers to git-lfs are pointers, and no others.
#[test]
fn what_is_a_pointer() {
    let lfs = Lfs::new();
    if !is_installed(&lfs.repo) {
        return;
    }
    let content = b"some content\n";
    let hash = sha256(content);
    let canonical = pointer(&hash, content.len());
    let padded = |len: usize| format!("{canonical:\n<len$}");
    let texts = [
        canonical.clone(),
        canonical.replace('\n', "\r\n"),
        canonical.trim_end().to_owned(),
        canonical.replace('\n', "\n\n"),
        canonical.replace("size ", "size +"),
        canonical.replace("git-lfs.github", "hawser.github"),
        canonical.replace(
            "https://git-lfs.github.com/spec/v1",
            "http://git-media.io/v/2",
        ),
        canonical.replace("spec/v1", "spec/v2"),
        canonical.replace("size ", "size  "),
        canonical.replace("size ", "size -"),
        canonical.replace("oid ", "key value\noid "),
        canonical.replace("oid ", "\toid "),
        canonical.to_uppercase(),
        format!("{canonical}key value\n"),
        format!("\n {canonical}"),
        padded(1023),
        "text\n".to_owned(),
        String::new(),
    ];
    lfs.store("lfs/objects", content);
    for (number, text) in texts.iter().enumerate() {
        lfs.point(&format!("f{number:02}.bin"), text);
    }
    lfs.commit();
    let expected = with_git_lfs(&lfs.repo).archive(["HEAD"]).success();
    let object = lfs.git_dir().join("lfs/objects").join(place(&hash));
    assert!(fs::read(object).unwrap() == content);
    let archive = lfs.repo.sluice([CONTENT, "HEAD"]).success();
    let difference = crate::support::tar_listing::difference(&archive, &expected);
    assert!(archive == expected, "{difference}");
}
