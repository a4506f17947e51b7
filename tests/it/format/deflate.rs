//! The same through the command: on any number of threads, in every dialect.

use std::{fs, io::Read, process::Command};

use flate2::read::GzDecoder;

use crate::support::process::run_with_input;
use crate::support::{Repo, installed, noise, skip};

const SIZE: usize = 600_000;

/// A repository with some megabytes of each kind of data that is worth it.
fn medley() -> Repo {
    let repo = Repo::init();
    let random = noise(1, SIZE);
    let words = random
        .chunks(8)
        .map(|it| &b"return if (value != None) "[..][..it[0] as usize % 26]);
    repo.write("words", words.collect::<Vec<_>>().concat());
    let copies = random
        .chunks(300)
        .flat_map(|it| [it, &it[..it[0] as usize % it.len()]]);
    repo.write("copies", copies.collect::<Vec<_>>().concat());
    repo.write("zeros", [0; SIZE]);
    repo.write("random", random);
    repo.git(["add", "."]);
    repo.git(["commit", "-q", "-m", "medley"]);
    repo
}

#[test]
#[ignore = "slow"]
fn threads_change_no_byte() {
    let repo = medley();
    for (format, level) in [
        ("tgz", "-0"),
        ("tgz", "-1"),
        ("tgz", "-6"),
        ("tgz", "-9"),
        ("zip", "-6"),
        ("zip", "-9"),
    ] {
        let format = format!("--format={format}");
        let expected = repo.archive([&format, level, "HEAD"]).success();
        for threads in ["1", "2", "3", "8"] {
            let output = repo.sluice(["-j", threads, &format, level, "HEAD"]);
            assert!(
                output.stdout == expected,
                "{format} {level} {threads}\n{output}"
            );
        }
    }
}

/// What `gzip -cn` makes of `input`.
fn gzip(level: u8, input: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    gzip.arg(format!("-cn{level}")).env_remove("GZIP");
    run_with_input(&mut gzip, input).success()
}

/// Whether the installed `gzip` is the one whose bytes are meant.
fn has_gzip() -> bool {
    let version = Command::new("gzip").arg("--version").output();
    let is_known = version.is_ok_and(|output| output.stdout.starts_with(b"gzip 1.12\n"));
    if !is_known {
        skip("gzip is not 1.12");
    }
    is_known
}

#[test]
fn gnu_is_what_gzip_makes() {
    if !has_gzip() {
        return;
    }
    let repo = medley();
    let tar = repo.archive(["HEAD"]).success();
    for level in [1, 6, 9] {
        let expected = gzip(level, &tar);
        for threads in ["-j1", "-j2", "-j8"] {
            let level = format!("-{level}");
            let args = ["--gzip-compat=gnu", "--format=tgz", threads, &level, "HEAD"];
            let output = repo.sluice(args);
            assert!(output.stdout == expected, "{threads} {level}\n{output}");
        }
    }
    // In a zip file there is git's dialect alone.
    let expected = repo.archive(["--format=zip", "HEAD"]).success();
    let zip = repo.sluice(["--gzip-compat=gnu", "--format=zip", "HEAD"]);
    assert!(zip.stdout == expected, "{zip}");
}

#[test]
fn the_configuration_chooses_the_program() {
    let repo = medley();
    let gz = |options: &[&str]| repo.sluice([options, &["--format=tgz", "HEAD"]].concat());
    let [git, gnu] = ["git", "gnu"].map(|it| gz(&[&format!("--gzip-compat={it}")]).success());
    assert!(gz(&[]).success() == git);
    repo.git(["config", "sluice.gzipCompat", "gnu"]);
    assert!(gz(&[]).success() == gnu);
    assert!(gz(&["--gzip-compat=git"]).success() == git);
    repo.git(["config", "sluice.gzipCompat", "pigz"]);
    let message = "fatal: bad config value 'pigz' for 'sluice.gzipCompat'\n\
                   caused by: the values are git and gnu\n";
    gz(&[]).assert_failure(128, message);
    // The value is not for other formats.
    repo.assert_same_within(&["2"], &["256m"], ["HEAD"]);
}

/// A `gzip` that notes its words, and is `program` otherwise.
fn noting(repo: &Repo, program: &str) -> Repo {
    let directory = repo.path().join(".git/programs");
    fs::create_dir_all(&directory).expect("our own");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>'{}/words'\n{program}\n",
        directory.display()
    );
    repo.write(".git/programs/gzip", script);
    let _ = repo
        .shell("rm -f .git/programs/words; chmod +x .git/programs/gzip")
        .success();
    let found = repo
        .shell("printf %s:%s \"$PWD/.git/programs\" \"$PATH\"")
        .success();
    repo.clone()
        .env("PATH", String::from_utf8(found).expect("text"))
}

/// The words of all calls of gzip by a run of ours that has git's bytes.
#[track_caller]
fn calls(repo: &Repo, words: &[&str]) -> String {
    let words = [words, &["--format=tar.gz", "HEAD"]].concat();
    let expected = repo.archive(&words).success();
    let _ = repo.shell("rm -f .git/programs/words").success();
    let output = repo.sluice(&words);
    assert!(output.stdout == expected, "{words:?}\n{output}");
    let calls = fs::read_to_string(repo.path().join(".git/programs/words"));
    calls.unwrap_or_default()
}

/// The command of the configuration that means GNU gzip is not run, and its bytes stay.
#[test]
#[ignore = "slow"]
fn a_command_that_means_gnu_gzip() {
    if !has_gzip() {
        return;
    }
    let repo = medley();
    let gzip = repo.shell("command -v gzip").success();
    let gzip = String::from_utf8(gzip).expect("text");
    let exec = format!("exec {} \"$@\"", gzip.trim_end());
    let gnu = noting(&repo, &exec);
    for command in ["gzip -cn", "gzip -n -c"] {
        repo.git(["config", "tar.tar.gz.command", command]);
        for words in [&[][..], &["-1"], &["-6"], &["-9"]] {
            assert_eq!(calls(&gnu, words), "--version\n", "{command} {words:?}");
        }
    }
    let archive = repo.archive(["--format=tar.gz", "HEAD"]).success();
    for limits in [["-j1", "--memory=1m"], ["-j8", "--memory=256m"]] {
        let output = repo.sluice([&limits[..], &["--format=tar.gz", "HEAD"]].concat());
        assert!(output.stdout == archive, "{limits:?}\n{output}");
    }
    // Other words may mean other bytes, and so may the variable of old.
    for command in ["gzip -c", "gzip -cn -9", "gzip  -cn"] {
        repo.git(["config", "tar.tar.gz.command", command]);
        assert!(!calls(&gnu, &[]).contains("--version"), "{command}");
    }
    repo.git(["config", "tar.tar.gz.command", "gzip -cn"]);
    assert!(calls(&gnu.clone().env("GZIP", "-1"), &[]).contains("-cn"));
    let other = "case $1 in --version) echo 'Apple gzip 287' ;; *) tr a-z A-Z ;; esac";
    assert_eq!(calls(&noting(&repo, other), &[]), "--version\n-cn\n");
}

/// gzip and zlib, each with its own idea of what is allowed.
#[test]
fn decoders_give_the_tar_back() {
    let repo = medley();
    let tar = repo.archive(["HEAD"]).success();
    for dialect in ["git", "gnu"] {
        let dialect = format!("--gzip-compat={dialect}");
        let compressed = repo.sluice([&dialect, "--format=tgz", "HEAD"]).success();

        let mut by_zlib = Vec::new();
        let mut zlib = GzDecoder::new(compressed.as_slice());
        zlib.read_to_end(&mut by_zlib).expect("zlib reads it");
        assert!(by_zlib == tar, "zlib");

        if installed("gzip") {
            let mut gzip = repo.command("gzip");
            let by_gzip = run_with_input(gzip.arg("-dc"), compressed).success();
            assert!(by_gzip == tar, "gzip");
        }
    }
}
