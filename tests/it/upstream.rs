//! What git's own tests of `git archive` ask, t5000 to t5004, asked of both programs in repositories like theirs.
//!
//! The installed git passes those tests, so an archive with its bytes does. Readers of archives are for `archive/readers.rs`.

use std::io::Read;
use std::process::Command;

use crate::commands::remote::heard;
use crate::support::process::{Output, Running, run_with_input};
use crate::support::tar_listing::names;
use crate::support::{Repo, binary, cases, forge, git_version, zip};

/// Both ways to ask for a remote archive: we ask git, and git asks us.
const SIDES: [fn(&Repo, &[&str]) -> Output; 2] = [
    |repo, args| repo.sluice(args),
    |repo, args| repo.served(args),
];

/// Both do the same for each line of `table`.
#[track_caller]
fn assert_same(repo: &Repo, table: &str) {
    for line in cases(table) {
        repo.assert_same_within(&["1", "8"], &["1m"], line.split(' '));
    }
}

/// Both write the same to the file `name`, which an option names.
#[track_caller]
fn assert_same_file(repo: &Repo, name: &str, run: impl Fn(&Repo, &[&str]) -> Output, line: &str) {
    let words: Vec<_> = line.split(' ').collect();
    let written = |output: Output| {
        let _ = output.success();
        let path = repo.path().join(name);
        let content = std::fs::read(&path).expect("it was written");
        std::fs::remove_file(path).expect("our own");
        content
    };
    assert!(
        written(run(repo, &words)) == written(repo.archive(&words)),
        "{line}"
    );
}

/// A remote archive is git's, or is refused as by git, whoever serves it.
#[track_caller]
fn assert_same_remote(repo: &Repo, table: &str) {
    for line in cases(table) {
        let words: Vec<_> = line.split(' ').collect();
        let theirs = heard(|| repo.archive(&words));
        for run in SIDES {
            let ours = heard(|| run(repo, &words));
            let stdout = ours.stdout.strip_suffix(b"\ntar.zst\n");
            let is_same = stdout.map_or(ours.stdout == theirs.stdout, |list| {
                theirs.stdout == [list, b"\n"].concat()
            });
            assert!(is_same && ours.code() == theirs.code(), "{line}\n{ours}");
        }
    }
}

/// The same extra file in two directories.
const TWICE: &str =
    "--prefix=one/ --add-file=untracked --prefix=two/ --add-file=untracked --prefix=";

#[test]
fn t5000_archives() {
    let repo = Repo::copy("upstream-tar");
    repo.write("untracked", "untracked\n");
    assert_same(
        &repo,
        "HEAD | --prefix=prefix/ HEAD | --prefix=olde- HEAD | --add-file=untracked HEAD | \
         -v HEAD -- :(glob)**/sh | -v HEAD -- *.abc",
    );
    assert_same(&repo, &format!("{TWICE} HEAD"));
    let below = repo.clone().at("a/bin");
    let bare = repo.clone().at("../bare.git");
    assert_same(&bare, "HEAD");
    // Older versions of git take the directory for one outside of the repository, and see no attributes in a bare one.
    for (repo, path, listed) in [
        (&below, "../bin", "sh\n"),
        (&bare, ":(attr:files_named_a)", "a/\na/a\n"),
    ] {
        assert_eq!(repo.sluice(["-v", "HEAD", path]).messages(), listed);
    }
    assert_same(&repo.clone().with(["--git-dir", "../bare.git"]), "HEAD");
    let large = repo.with(["-c", "core.bigFileThreshold=1"]);
    assert_same(&large, "HEAD");
}

#[test]
fn t5000_formats_and_files() {
    let repo = Repo::copy("upstream-tar");
    for (key, value) in [
        ("tar.tar.foo.command", "tr ab ba"),
        ("tar.bar.command", "tr ab ba"),
        ("tar.bar.remote", "true"),
        ("tar.invalid", "baz"),
    ] {
        repo.git(["config", key, value]);
    }
    assert_same(&repo, "--format=tar.foo HEAD | --format=bar HEAD");
    crate::cli::command_line::assert_same_list(&repo, "--list");
    // The format of a name that says none is tar, and an extension begins with a dot.
    for name in cases(
        "b4.tar | custom-dot.tar.foo | custom-dot.bar | config-implicit.baz | config-implicittar.foo",
    ) {
        assert_same_file(&repo, name, SIDES[0], &format!("-o {name} HEAD"));
    }
    assert_same_file(&repo, "d4.zip", SIDES[0], "--format=tar -o d4.zip HEAD");
    assert_same_remote(
        &repo,
        "--list --remote=. | --remote=. --format=tar.foo HEAD | --remote=. --format=bar HEAD",
    );
    let commands = ["tar.tgz.command=gzip -cn", "tar.tar.gz.command=gzip -cn"];
    for gzip in [
        repo.clone(),
        repo.with(["-c", commands[0], "-c", commands[1]]),
    ] {
        assert_same(&gzip, "--format=tgz HEAD | --format=tar.gz HEAD");
        for name in ["inferred.tgz", "inferred.tar.gz"] {
            assert_same_file(&gzip, name, SIDES[0], &format!("--output={name} HEAD"));
        }
    }
}

#[test]
fn t5000_remote_archives() {
    let repo = Repo::copy("upstream-tar");
    let id = repo.git(["commit-tree", "-m", "unreachable", "HEAD^{tree}"]);
    let unreachable = format!("--remote=. {id}");
    let lines = "--remote=. HEAD | --remote=. --format=tar.gz HEAD";
    assert_same_remote(&repo, &format!("{lines} | {unreachable}"));
    let no_ref = format!("remote: fatal: no such ref: {id}");
    for run in SIDES {
        let refused = run(&repo, &["--remote=.", &id]);
        assert!(refused.messages().contains(&no_ref), "{refused}");
    }
    repo.git(["config", "uploadarchive.allowUnreachable", "true"]);
    repo.git(["config", "tar.tar.gz.remote", "false"]);
    assert_same_remote(&repo, &format!("{lines} | {unreachable}"));
    let remote = format!("--remote={}", repo.path().display());
    assert_same_remote(&Repo::scratch(), &format!("{remote} HEAD"));
    repo.git(["config", "remote.foo.url", "."]);
    for run in SIDES {
        let below = |repo: &Repo, words: &[&str]| run(&repo.clone().at("a"), words);
        let words = "--remote=foo --output=../b5.tar HEAD";
        let expected = repo.archive(["HEAD"]).success();
        let _ = below(&repo, &words.split(' ').collect::<Vec<_>>()).success();
        assert!(std::fs::read(repo.path().join("b5.tar")).expect("written") == expected);
        repo.git(["config", "tar.tar.gz.remote", "true"]);
        assert_same_file(&repo, "d5.tgz", run, "--output=d5.tgz --remote=. HEAD");
    }
}

#[test]
fn t5001() {
    let repo = Repo::from("upstream-attributes");
    assert_same(
        &repo,
        "HEAD | HEAD . :!excluded-by-pathspec.d | HEAD . :!excluded-by-p* | --worktree-attributes HEAD | \
         --worktree-attributes --worktree-attributes HEAD | --format=zip --worktree-attributes HEAD subdir",
    );
    // Older versions of git do not see the attributes of the directories above.
    let below = repo.clone().at("subdir").sluice(["HEAD"]).success();
    assert_eq!(names(&below), [".gitattributes", "included"]);
    let bare = repo.at("../bare.git");
    assert_same(&bare, "HEAD | --worktree-attributes HEAD");
    // Since 2.43 a configured tree takes the place of the work tree.
    let by_tree = bare.clone().with(["-c", "attr.tree=HEAD"]);
    let args = ["--worktree-attributes", "HEAD"];
    if git_version() >= (2, 43) {
        by_tree.assert_same(args);
    }
    assert!(by_tree.sluice(args).success() == bare.archive(["HEAD"]).success());
}

#[test]
fn t5001_describe_is_expanded_once() {
    let repo = Repo::copy("upstream-attributes");
    repo.git(["tag", "-m", "described", "v1.0"]);
    let line = "$Format:%(describe)$\n$Format:%(describe)$\n";
    repo.write("substfile1", line);
    repo.write("substfile2", line);
    repo.git(["commit", "-qam", "describe"]);
    assert_same(&repo, "HEAD");
}

#[test]
fn t5002() {
    let lines = "-v HEAD | -v --format=zip HEAD | -v --format=tgz HEAD";
    assert_same(&Repo::from("upstream-patterns"), lines);
}

#[test]
fn t5003() {
    let repo = Repo::copy("upstream-zip");
    repo.write("untracked", "untracked\n");
    assert_same(
        &repo,
        "--format=zip HEAD | --format=zip --prefix=prefix/ HEAD | --format=zip --add-file=untracked HEAD",
    );
    assert_same(&repo, &format!("--format=zip {TWICE} HEAD"));
    assert_same(&repo.clone().at("../bare.git"), "--format=zip HEAD");
    for line in ["--format=zip -od1 HEAD", "-o d1.zip HEAD"] {
        let name = if line.starts_with("-o") {
            "d1.zip"
        } else {
            "d1"
        };
        assert_same_file(&repo, name, SIDES[0], line);
    }
    for run in SIDES {
        assert_same_file(&repo, "d2.zip", run, "--remote=. --output=d2.zip HEAD");
    }
    let virtual_files = [
        "--format=zip",
        "--add-virtual-file=\"path with :colon\":",
        "--add-virtual-file=hello:world",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    ];
    repo.assert_same(virtual_files);
    let large = repo.with(["-c", "core.bigFileThreshold=1"]);
    assert_same(&large, "--format=zip -0 HEAD | --format=zip -6 HEAD");
    let deltas = Repo::from("deltas").with(["-c", "core.bigFileThreshold=1k"]);
    deltas.assert_same(["--format=zip", "HEAD"]);
}

#[test]
fn t5004_empty_trees() {
    assert_same(
        &Repo::from("empty"),
        "HEAD | HEAD: | --prefix=foo/ HEAD: | --format=zip --prefix=foo/ HEAD: | --format=zip HEAD: | \
         HEAD -- foo | only: -- | only: -- empty | only: -- hollow",
    );
}

/// 65,536 files in 256 directories: past what the end record of a zip file can count.
#[test]
fn t5004_many_entries() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "x");
    let names: Vec<String> = (0..256).map(|number| format!("{number:02x}")).collect();
    let full = |mode, id: &str| {
        let entries = names.iter().map(|name| (mode, name.as_bytes(), id));
        forge::tree(&repo, &entries.collect::<Vec<_>>())
    };
    let tree = full("40000", &full("100644", &blob));
    let commit = repo.git(["commit-tree", "-m", "many", &tree]);
    repo.git(["update-ref", "HEAD", &commit]);
    // git opens a loose object, and sets up a compressor, once for each entry.
    repo.git(["repack", "-adq"]);
    let args = ["--format=zip", "-0", "HEAD"];
    repo.assert_same_within(&["2"], &["1m"], args);
    assert_eq!(zip::names(&repo.sluice(args).success()).len(), 65_792);
}

#[test]
fn t5004_long_paths() {
    let repo = Repo::init();
    let blob = forge::blob(&repo, "x");
    let lengths = [100, 1000, 10_000, 100_000, 1_000_000].map(|power| power - 13..power - 8);
    let names: Vec<_> = lengths
        .into_iter()
        .flatten()
        .map(|len| vec![b'n'; len])
        .collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| ("100644", &name[..], &blob[..]))
        .collect();
    let commit = forge::commit(&repo, &entries);
    repo.assert_same_within(&["1", "8"], &["1m"], [&commit]);
}

/// Nobody stores 64 GiB for a test: HEAD has a loose blob that says it is of this size, of which only
/// the first megabytes are there, all noise, so that no compressor holds them back.
fn with_huge_blob(size: u64) -> Repo {
    let repo = Repo::init();
    let id = forge::made_up(0x51);
    let content = crate::support::noise(1, 4_000_000);
    let object = [format!("blob {size}\0").as_bytes(), &content].concat();
    forge::loose(&repo, &id, &object);
    let commit = forge::commit(&repo, &[("100644", b"huge", &id)]);
    repo.git(["update-ref", "HEAD", &commit]);
    repo
}

/// So many bytes from the beginning of its output; then nobody reads any more, which it has to die of.
#[track_caller]
fn beginning(command: &mut Command, length: usize) -> Vec<u8> {
    let mut running = Running::start(command);
    let mut bytes = vec![0; length];
    let read = running.stdout().read_exact(&mut bytes);
    let output = running.hang_up();
    read.unwrap_or_else(|error| panic!("{error}\n{output}"));
    assert_eq!(output.code(), 141, "{output}");
    bytes
}

/// 64 GiB and one byte.
#[test]
fn t5000_huge_sizes() {
    let repo = with_huge_blob(68_719_476_737);
    let theirs = beginning(repo.command("git").args(["archive", "HEAD"]), 4096);
    for threads in ["1", "8"] {
        let args = ["-j", threads, "--memory=1m", "HEAD"];
        assert!(beginning(repo.command(binary()).args(args), 4096) == theirs);
    }
    // tar reads the size, and misses the rest.
    let listing = run_with_input(repo.command("tar").arg("-tvf-"), theirs).stdout;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let size = listing.split_whitespace().nth(2);
    assert_eq!(size, Some("68719476737"), "{listing}");
}

/// The local header of a file of more than 4 GiB says already how it will end.
#[test]
fn t5004_files_bigger_than_4_gb() {
    for (size, level) in [
        (2_147_483_648_u64, "-0"),
        (4_294_967_296, "-0"),
        (4_294_967_296, "-1"),
        (68_719_476_737, "-6"),
    ] {
        /// The local header, its name, and the extra fields for the time and for the size.
        const LENGTH: usize = 30 + 4 + 9 + 20;
        let repo = with_huge_blob(size);
        let args = ["--format=zip", level, "HEAD"];
        let theirs = beginning(repo.command("git").arg("archive").args(args), LENGTH);
        assert_eq!(theirs[30..38], *b"huge\x55\x54\x05\0", "{size}");
        let ours = beginning(repo.command(binary()).args(args), LENGTH);
        assert_eq!(ours, theirs, "{size}");
    }
}

/// In 2514 and 4147: 2^34 - 1 and 2^36 + 1.
#[test]
fn t5000_times_of_the_far_future() {
    let repo = Repo::init();
    repo.write("file", "content\n");
    repo.git(["add", "file"]);
    for time in [17_179_869_183_u64, 68_719_476_737] {
        let date = format!("@{time} +0000");
        let dated = repo.clone().env("GIT_COMMITTER_DATE", date);
        dated.git(["commit", "-q", "--allow-empty", "-m", "tempus fugit"]);
        repo.assert_same(["HEAD"]);
    }
}
