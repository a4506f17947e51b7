//! The command that makes the bytes of an archive, or the first difference in words.

use sluice_deflate::{Compressor, CompressorSettings, Dialect, Level};

use super::{assert_says, project};
use crate::support::{Repo, cases, installed, rows};

/// The first words of a result, without the command's note.
fn result(repo: &Repo, archive: &[u8], words: &str) -> String {
    let output = repo.compare_bytes(archive, words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.code() < 2, "{output}");
    said.lines().last().unwrap_or_default().to_owned()
}

/// A command that is named makes the same bytes again.
#[test]
fn the_command_makes_the_bytes() {
    let repo = project();
    for command in cases(
        "git archive --format=tar --prefix=p/ v1 | git archive --format=tar --prefix='a b/' v1 | \
         git archive --format=tar.gz --prefix=p/ v1 | git archive --format=tar.gz -9 --prefix=p/ v1 | \
         git archive --format=tar.gz -1 --prefix=p/ v1 | \
         git -c tar.tar.gz.command='gzip -cn' archive --format=tar.gz --prefix=p/ v1 | \
         git archive --format=zip --prefix=p/ v1 | git archive --format=zip -9 v1 | \
         git archive --format=zip -0 v1 | git -c tar.umask=0022 archive --format=tar v1 | \
         git -c tar.umask=0000 archive --format=tar v1 | git archive --format=tar v1 src",
    ) {
        let archive = repo.shell(command).success();
        let paths = if command.ends_with("src") {
            "v1 src"
        } else {
            "v1"
        };
        let said = result(&repo, &archive, &format!("--bytes {paths}"));
        let named = said
            .strip_prefix("identical: ")
            .unwrap_or_else(|| panic!("{command}: {said}"));
        let named = named.split("     (").next().unwrap_or_default();
        let made = repo.shell(named).success();
        assert!(made == archive, "{command}\n{named}");
    }
}

/// Both dialects of gzip are told apart where they differ, and the program is named.
#[test]
fn dialects_of_gzip() {
    let repo = Repo::init();
    let _ = repo
        .shell("seq 100000 >numbers && git add . && git commit -qm numbers")
        .success();
    let tar = repo.archive_of("--format=tar HEAD");
    for (dialect, note) in [
        (Dialect::Zlib, "(bytes of git 2.38 and later)"),
        (
            Dialect::Gzip,
            "(bytes of gzip -n, as git before 2.38 and code hosts write them)",
        ),
    ] {
        let settings = CompressorSettings::new(Level::DEFAULT, dialect);
        let mut gzip = Compressor::gzip(settings, Vec::new());
        std::io::Write::write_all(&mut gzip, &tar).expect("memory");
        let archive = gzip.finish().expect("memory");
        let said = result(&repo, &archive, "HEAD");
        assert!(said.ends_with(note), "{said}");
    }
}

/// A tar in a compressor that git does not have is compared uncompressed.
#[test]
fn other_compressors() {
    let repo = project();
    for program in ["xz", "bzip2", "lzip", "zstd"] {
        if !installed(program) {
            continue;
        }
        let script = format!("git archive --prefix=p/ v1 | {program} -c");
        let archive = repo.shell(&script).success();
        let lines = format!(
            "identical: git archive --format=tar --prefix=p/ v1     (compressed with {program})\n"
        );
        assert_says(&repo.compare_bytes(&archive, "--bytes v1"), 0, &lines);
        let output = repo.compare_bytes(&archive[..archive.len() - 20], "v1");
        assert_eq!(output.code(), 11, "{output}");
    }
}

/// What differs first is said, and counts only with `--bytes`.
#[test]
fn the_first_difference_is_said() {
    let repo = project();
    let _ = repo.shell("git archive --prefix=p/ v1 >.git/a.tar && mkdir .git/t && tar -xf .git/a.tar -C .git/t").success();
    for [script, words] in rows(
        "tar --format=gnu -cf - -C .git/t p | the headers are those of GNU tar
        tar --format=ustar -cf - -C .git/t p | no pax header names the commit
        git archive --prefix=p/ v1^{tree} | 1 file as stored, attributes not applied
        gzip -c .git/a.tar | the gzip header has a name
        gzip -n --rsyncable -c .git/a.tar | the tar is git's, from another compressor
        cat .git/a.tar; head -c 10240 /dev/zero | the headers have other fields",
    ) {
        let archive = repo.shell(script).success();
        if words.ends_with("compressor")
            && !String::from_utf8_lossy(&repo.shell("gzip --help").stdout).contains("rsyncable")
        {
            continue;
        }
        let lines = format!("same files, other bytes: {words}\n");
        assert_says(&repo.compare_bytes(&archive, "v1"), 0, &lines);
        assert_says(&repo.compare_bytes(&archive, "--bytes v1"), 1, &lines);
    }
}

/// With options of git-sluice, the command is that of git-sluice.
#[test]
fn filters() {
    let repo = project();
    let archive = repo
        .sluice(["--exclude=docs", "--format=tar", "v1"])
        .success();
    let said = result(&repo, &archive, "--exclude=docs v1");
    assert_eq!(
        said,
        "identical: git sluice archive --format=tar <options> v1"
    );
}

/// The time that all entries have is an option.
#[test]
fn times() {
    let repo = project();
    let archive = repo.sluice(["--mtime=@1500000000", "--format=tar", "v1"]);
    let said = result(&repo, &archive.success(), "v1");
    assert_eq!(
        said,
        "identical: git archive --format=tar --mtime=@1500000000 v1"
    );
}
