//! Each entry is in one class, and nothing but differences has lines.

use super::{assert_says, project};
use crate::support::{Repo, cases, installed};

/// A tar of a directory in which `script` was run, made by the system's tar.
#[track_caller]
fn archive_after(repo: &Repo, script: &str) -> Vec<u8> {
    let script = format!(
        "rm -rf .git/t && mkdir .git/t && git archive --prefix=p/ v1 | tar -xf - -C .git/t && cd .git/t/p && {{ {script}; }} && \
         cd .. && tar --format=ustar -cf - p"
    );
    repo.shell(&script).success()
}

#[test]
fn each_difference_has_its_class() {
    let repo = project();
    for (script, lines) in [
        ("echo new >configure", "added     configure (4 bytes)\n"),
        ("ln -s README new", "added     new (a symbolic link)\n"),
        ("mkdir m4", "added     m4 (a directory)\n"),
        ("mkdir m4; echo x >m4/x", "added     m4/x (2 bytes)\n"),
        ("echo more >>README", "changed   README\n"),
        ("echo more >>dos.txt", "changed   dos.txt\n"),
        ("ln -sf docs link", "changed   link\n"),
        ("chmod +x README", "mode      README (executable)\n"),
        ("chmod -x run", "mode      run (not executable)\n"),
        (
            "chmod u+s run",
            "mode      run (setuid, setgid or sticky)\n",
        ),
        (
            "rm README; ln -s link README",
            "type      README (a symbolic link)\n",
        ),
        ("rm link; echo read >link", "type      link (a file)\n"),
        (
            "rm README; mkfifo README",
            "type      README (a special file, or a hard link to no file)\n",
        ),
        (
            "echo x >Readme",
            "added     Readme (2 bytes, differs from another path in case alone)\n",
        ),
        ("rm docs/x", "missing   docs/x\n"),
        ("rm -r docs", "missing   docs/x\n"),
        (
            "rm -r docs; echo x >docs",
            "type      docs (a file)\nmissing   docs/x\n",
        ),
        (
            "mkdir .github; echo other >.github/ci",
            "changed   .github/ci (export-ignore)\n",
        ),
    ] {
        let archive = archive_after(&repo, script);
        let output = repo.compare_bytes(&archive, "v1");
        let said = String::from_utf8_lossy(&output.stdout);
        let (found, result) = said.rsplit_once("differs: ").unwrap_or((&said, ""));
        assert_eq!(found, lines, "{script}\n{output}");
        assert!(result.ends_with(" files in the archive)\n"), "{output}");
        assert_eq!(output.code(), 1);
    }
}

/// Files as the repository stores them are no difference, whatever attributes say.
#[test]
fn stored_bytes_are_equal_too() {
    let repo = project();
    let script = "git -C ../../.. show v1:dos.txt >dos.txt; git -C ../../.. show v1:version >version; \
                  mkdir .github; echo ci >.github/ci";
    let archive = archive_after(&repo, script);
    let output = repo.compare_bytes(&archive, "-v v1");
    let lines = "same      .gitattributes\n\
                 as-stored .github/ci (export-ignore)\n\
                 same      README\n\
                 same      docs/x\n\
                 as-stored dos.txt (attributes not applied)\n\
                 same      link\n\
                 same      run\n\
                 same      src/deep/numbers\n\
                 same      src/main.c\n\
                 as-stored version (attributes not applied)\n\
                 same files, other bytes: 2 files as stored, attributes not applied\n";
    assert_says(&output, 0, lines);
}

/// What `git archive` leaves out may be missing, and says why.
#[test]
fn what_is_left_out_may_be_missing() {
    let repo = project();
    let archive = archive_after(&repo, "rm docs/x");
    let output = repo.compare_bytes(&archive, "-v --exclude=docs v1");
    let said = String::from_utf8_lossy(&output.stdout);
    for line in [
        "missing   .github/ci (export-ignore)\n",
        "missing   docs/x (excluded)\n",
        "same files, other bytes: ",
    ] {
        assert!(said.contains(line), "{output}");
    }
    assert_eq!(output.code(), 0);
}

/// A hard link is the file that it names.
#[test]
fn hard_links_are_files() {
    let repo = project();
    let _ = repo
        .shell("cp run run2 && git add run2 && git commit -qm copy && git tag v2")
        .success();
    let archive = archive_after(&repo, "ln run run2");
    let output = repo.compare_bytes(&archive, "v2 run run2");
    assert_says(
        &output,
        0,
        "same files, other bytes: the archive has files outside of these paths\n",
    );
}

/// A path that occurs again is a difference, even if both entries are equal, and the last entry counts.
#[test]
fn a_path_occurs_twice() {
    let repo = project();
    let script = "cd .git && git archive --prefix=p/ -o a.tar v1 && mkdir p && echo other >p/README && \
                  tar --format=ustar -rf a.tar p/README && tar -xf a.tar p/run && tar -rf a.tar p/run && tar -rf a.tar p/run";
    let _ = repo.shell(script).success();
    let lines = "changed   README\ntwice     README (2 times)\ntwice     run (3 times)\n\
                 differs: 0 added, 1 changed, 0 missing, 2 twice (12 files in the archive)\n";
    assert_says(&repo.compare(".git/a.tar v1"), 1, lines);
}

/// Only the paths that are asked for are compared.
#[test]
fn paths_select() {
    let repo = project();
    let archive = archive_after(&repo, "echo more >>README; echo new >src/new; rm docs/x");
    let lines = "added     src/new (4 bytes)\ndiffers: 1 added, 0 changed, 0 missing (9 files in the archive)\n";
    assert_says(&repo.compare_bytes(&archive, "v1 src"), 1, lines);
    let lines =
        "changed   README\ndiffers: 0 added, 1 changed, 0 missing (9 files in the archive)\n";
    assert_says(&repo.compare_bytes(&archive, "v1 README"), 1, lines);
    let archive = repo.archive_of("--format=tar v1");
    let lines = "same files, other bytes: the archive has files outside of these paths\n";
    assert_says(&repo.compare_bytes(&archive, "v1 README"), 0, lines);
}

/// A submodule is an empty directory, or its files.
#[test]
fn submodules() {
    let repo = project();
    let script = "git init -q .git/inner && cd .git/inner && echo inner >file && git add . && git commit -qm inner && cd ../.. && \
                  git -c protocol.file.allow=always submodule --quiet add ./.git/inner sub && git commit -qm sub";
    let _ = repo.shell(script).success();
    let archive = repo.archive_of("--format=tar --prefix=p/ HEAD");
    assert_eq!(repo.compare_bytes(&archive, "HEAD").code(), 0);
    let recursive = repo.sluice([
        "--submodules=recurse",
        "--format=tar",
        "--prefix=p/",
        "HEAD",
    ]);
    let recursive = recursive.success();
    let output = repo.compare_bytes(&recursive, "--submodules=recurse HEAD");
    assert_eq!(output.code(), 0, "{output}");
    assert!(output.stdout.starts_with(b"identical: "), "{output}");
    assert_eq!(repo.compare_bytes(&recursive, "HEAD").code(), 1);
    assert_eq!(
        repo.compare_bytes(&archive, "--submodules=recurse HEAD")
            .code(),
        1
    );
}

/// A script that reads archives and trees on its own puts each entry into the same class.
#[test]
fn another_program_finds_the_same_classes() {
    if !installed("python3") {
        return;
    }
    let repo = project();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/commands/compare/classes.py"
    );
    for change in [
        "true",
        "echo new >configure; mkdir m4; echo x >>README; echo x >>dos.txt; chmod -x run; rm link; mkdir link; rm -r docs",
        "git -C ../../.. show v1:dos.txt >dos.txt; mkdir .github; echo ci >.github/ci; ln README README2; ln -s x src/x",
    ] {
        let archive = archive_after(&repo, change);
        repo.write(".git/a.tar", archive);
        let command = format!(
            "python3 {script} {} .git/a.tar v1 p/",
            crate::support::binary()
        );
        let _ = repo.shell(&command).success();
    }
}

/// Every dialect that tar writes, with long names.
#[test]
fn dialects_of_tar() {
    let repo = project();
    let long = "n".repeat(80);
    let script = format!(
        "mkdir -p {long}/{long} && echo x >{long}/{long}/x && ln -s {long}/{long}/x longlink && git add . && \
         git commit -qm long && git archive --prefix=p/ HEAD | tar -xf - -C .git"
    );
    let _ = repo.shell(&script).success();
    for options in cases("--format=gnu | --format=oldgnu | --format=posix") {
        let archive = repo
            .shell(&format!("tar -C .git {options} -cf - p"))
            .success();
        let output = repo.compare_bytes(&archive, "HEAD");
        assert_eq!(output.code(), 0, "{options}\n{output}");
    }
    // The old forms have no room for long names.
    for options in ["--format=v7", "--format=ustar"] {
        let archive = repo.shell(&format!(
            "tar -C .git {options} -cf - p/src p/README p/run p/link"
        ));
        let output = repo.compare_bytes(&archive.success(), "HEAD src README run link");
        assert_eq!(output.code(), 0, "{options}\n{output}");
    }
}
