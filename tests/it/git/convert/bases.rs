//! A file is converted by its own size, however large the delta base is that it is stored against.

use crate::support::Repo;

const ATTRIBUTES: &str = "eol text eol=crlf\nident ident\nencoding working-tree-encoding=latin-1\n\
                          filter filter=f\nsubst export-subst\n\
                          all export-subst ident text eol=crlf filter=f\n";
const NAMES: [&str; 7] = [
    "all", "encoding", "eol", "filter", "ident", "plain", "subst",
];

/// A text that every conversion changes, with so many lines of numbers.
fn text(name: &str, lines: u32) -> Vec<u8> {
    let numbers: String = (1..=lines).map(|number| format!("{number}\n")).collect();
    format!("{name} $Id$ $Format:%H$ \u{e4}\n{numbers}").into_bytes()
}

/// A repository with files of `lines` lines, which had `base_lines` lines in an earlier commit.
fn repo(names: &[&str], base_lines: u32, lines: u32) -> Repo {
    let repo = Repo::init();
    for lines in [base_lines, lines] {
        let texts: Vec<_> = names.iter().map(|name| text(name, lines)).collect();
        let files = names.iter().zip(&texts);
        let files: Vec<_> = files.map(|(name, text)| (*name, &text[..])).collect();
        super::commit_files(&repo, ATTRIBUTES, &files);
    }
    repo.git(["config", "filter.f.smudge", "tr 0-4 a-e"]);
    repo.git(["config", "filter.f.required", "true"]);
    repo
}

/// Stores the files as deltas, in the end against what is larger.
fn repack(repo: &Repo, names: &[&str]) {
    repo.git(["repack", "-adfq"]);
    let files: String = names.iter().map(|name| format!("HEAD:{name}\n")).collect();
    let bases = repo.git_with_input(["cat-file", "--batch-check=%(deltabase)"], files);
    let is_delta = |base: &str| base.bytes().any(|digit| digit != b'0');
    assert!(bases.lines().all(is_delta), "{bases}");
}

#[track_caller]
fn assert_converted(repo: &Repo) {
    // Below both sizes, between them, and above both.
    for threshold in ["10k", "100k", "1g"] {
        let setting = format!("core.bigFileThreshold={threshold}");
        let repo = repo.clone().with(["-c", &setting]);
        for format in ["--format=tar", "--format=zip"] {
            repo.assert_same_within(&["1", "2"], &["1m", "2g"], [format, "HEAD"]);
        }
    }
}

#[test]
fn loose() {
    assert_converted(&repo(&NAMES, 50_000, 12_000));
}

#[test]
fn packed() {
    let repo = repo(&NAMES, 50_000, 12_000);
    repack(&repo, &NAMES);
    assert_converted(&repo);
}

/// The files are in a pack of their own too, which may be looked into first.
#[test]
#[ignore = "slow"]
fn several_packs() {
    let repo = repo(&NAMES, 50_000, 12_000);
    repack(&repo, &NAMES);
    let ids = repo.git(["ls-tree", "-r", "--format=%(objectname)", "HEAD"]);
    let pack = ["pack-objects", "-q", ".git/objects/pack/pack"];
    let name = repo.git_with_input(pack, ids + "\n");
    for time in ["@1", "@4000000000"] {
        let touch = format!("touch -d {time} .git/objects/pack/pack-{name}.*");
        let _ = repo.shell(&touch).success();
        assert_converted(&repo);
    }
}

/// A server has the memory that it has by default.
#[test]
#[ignore = "slow"]
fn served() {
    let names = ["eol", "filter"];
    let repo = repo(&names, 2_500_000, 130_000);
    repack(&repo, &names);
    repo.git(["config", "core.bigFileThreshold", "1m"]);
    for format in ["--format=tar", "--format=zip"] {
        let expected = repo.archive([format, "HEAD"]).success();
        let served = repo.served(["--remote=.", format, "HEAD"]).success();
        assert!(served == expected, "{format}");
    }
}
