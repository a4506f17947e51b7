//! Archives over a distance: what we serve, asked for by the installed git, is what git itself serves.
//!
//! Client and server write to one stderr, so the order of lines is anybody's. The conversation of the
//! two is for `conversation.rs`, our own `--remote` for `handover.rs`.

use std::fs;
use std::time::SystemTime;

use crate::support::process::Output;
use crate::support::tar_listing;
use crate::support::{Repo, cases, skip, without_clock};

/// Makes git ask us for the archive.
pub(crate) const EXEC: &str = "--exec=git-sluice upload-archive";
pub(crate) const DIED: &str = "git upload-archive: archiver died with error";

fn lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<String> = output.messages().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[track_caller]
pub(crate) fn assert_same(ours: &Output, theirs: &Output, start: SystemTime) {
    let same_words = lines(ours) == lines(theirs) && ours.code() == theirs.code();
    assert!(same_words, "ours\n{ours}\n\nshould be\n{theirs}");
    if ours.stdout != theirs.stdout {
        let [ours, theirs] = [ours, theirs].map(|side| without_clock(&side.stdout, start));
        assert!(
            ours == theirs,
            "{}",
            tar_listing::difference(&ours, &theirs)
        );
    }
}

/// What `ask` gets to hear: git's server may hang up while its client still speaks, and the client dies
/// of that.
#[track_caller]
pub(crate) fn heard(ask: impl Fn() -> Output) -> Output {
    let mut answers = (0..10).map(|_| ask());
    let heard = answers.find(|answer| answer.code() != 141);
    heard.expect("it does so seldom")
}

/// A client in `client` sees no difference between our server and git's at `remote`.
#[track_caller]
fn assert_served(client: &Repo, remote: &str, args: &str) {
    let start = SystemTime::now();
    let remote = format!("--remote={remote}");
    let args = || [remote.as_str()].into_iter().chain(args.split_whitespace());
    let theirs = heard(|| client.archive(args()));
    let ours = client.archive([EXEC].into_iter().chain(args()));
    assert_same(&ours, &theirs, start);
}

/// The list of formats is git's, with the one behind it that only we have.
#[track_caller]
fn assert_list_served(client: &Repo, remote: &str, args: &str) {
    let remote = format!("--remote={remote}");
    let args = || [remote.as_str()].into_iter().chain(args.split_whitespace());
    let theirs = heard(|| client.archive(args()));
    let mut ours = client.served(args());
    let list = ours.stdout.strip_suffix(b"tar.zst\n").map(<[u8]>::to_vec);
    ours.stdout = list.unwrap_or_else(|| panic!("{ours}"));
    assert_same(&ours, &theirs, SystemTime::UNIX_EPOCH);
}

/// The same, and that it is refused with these words.
#[track_caller]
fn assert_server_refuses(client: &Repo, remote: &str, args: &str, words: &str) {
    assert_served(client, remote, args);
    let remote = format!("--remote={remote}");
    let words_of = [EXEC, &remote].into_iter().chain(args.split_whitespace());
    let refusal = client.archive(words_of);
    let expected = format!("remote: {words}        ");
    assert!(lines(&refusal).contains(&expected), "{refusal}");
    assert_eq!(refusal.code(), 1, "{refusal}");
}

pub(crate) fn plain(repo: &Repo) -> &str {
    repo.path()
        .to_str()
        .expect("our directories have plain names")
}

#[test]
fn refs_and_what_they_name() {
    let repo = Repo::from("basic");
    for treeish in cases(
        "HEAD | @ | main | heads/main | refs/heads/main | v1 | tags/light | v1:dir | HEAD: | HEAD:dir/sub",
    ) {
        assert_served(&repo, ".", treeish);
    }
}

/// A format of the configuration that is not served hides the one of git that has its name.
#[test]
fn formats_that_are_not_served() {
    let repo = Repo::copy("basic");
    repo.git(["config", "tar.zip.command", "cat"]);
    assert_list_served(&repo, ".", "--list");
    for args in ["--format=zip HEAD", "HEAD"] {
        assert_served(&repo, ".", args);
    }
    repo.git(["config", "tar.zip.remote", "true"]);
    assert_served(&repo, ".", "--format=zip HEAD");
}

#[test]
fn options_and_pathspecs() {
    let repo = Repo::from("basic");
    for args in cases(
        "-v HEAD | --prefix=p/ HEAD | -v --prefix=p v1 dir | HEAD -- dir bin | \
         --end-of-options HEAD file.txt | HEAD :!dir | HEAD nosuch | HEAD ../x | HEAD :(bogus)x | \
         --format=tar HEAD | -9 HEAD | -v --no-verbose HEAD",
    ) {
        assert_served(&repo, ".", args);
    }
}

/// More than a pipe holds, with both streams in use.
#[test]
fn large_archives() {
    assert_served(&Repo::from("big"), ".", "-v HEAD");
    assert_served(&Repo::from("wide"), ".", "-v HEAD");
}

/// What is served depends on the repository, not on who asks from where.
#[test]
fn configuration_is_that_of_the_served_repository() {
    let repo = Repo::copy("basic");
    let served = plain(&repo).to_owned();
    let client = repo.clone().with(["-c", "tar.umask=0077"]);
    assert_served(&client, ".", "HEAD");
    repo.git(["config", "tar.umask", "0022"]);
    fs::create_dir_all(repo.path().join(".git/info")).expect("our own");
    repo.write(".git/info/attributes", "file.txt export-ignore\n");
    assert_served(&Repo::from("bare"), &served, "HEAD");
    assert_served(&repo.at("dir"), ".", "HEAD");
}

/// Not even one that holds the git directory, where the current directory of the server would select files.
#[test]
fn work_trees_are_not_seen() {
    let client = Repo::from("bare");
    let repo = Repo::copy("basic");
    for treeish in ["HEAD:./dir", "HEAD:../x", "HEAD:dir"] {
        assert_served(&client, plain(&repo), treeish);
    }
    repo.git(["config", "core.worktree", plain(&repo)]);
    let moved = repo.path().join("dir/git");
    fs::rename(repo.path().join(".git"), &moved).expect("our own");
    let served = moved.display().to_string();
    for args in cases("HEAD | HEAD dir | --worktree-attributes HEAD | HEAD nosuch") {
        assert_served(&client, &served, args);
    }
    let nested = client.env("GIT_WORK_TREE", repo.path());
    assert_served(&nested, &served, "HEAD");
}

#[test]
fn a_damaged_repository_breaks_the_archive() {
    let repo = Repo::copy("basic");
    let blob = repo.git(["rev-parse", "HEAD:size-513"]);
    let (directory, file) = blob.split_at(2);
    fs::remove_file(repo.path().join(format!(".git/objects/{directory}/{file}"))).expect("loose");
    let theirs = repo.archive(["--remote=.", "HEAD"]);
    let ours = repo.archive([EXEC, "--remote=.", "HEAD"]);
    assert_eq!((lines(&ours), ours.code()), (lines(&theirs), theirs.code()));
}

#[test]
fn only_refs_are_served() {
    let repo = Repo::copy("basic");
    let id = repo.git(["rev-parse", "HEAD"]);
    let short = &id[..10];
    let treeishes = [
        &id,
        short,
        "HEAD~1",
        "HEAD^{tree}",
        "HEAD@{0}",
        "v1^{}",
        ":file.txt",
        "nosuch",
        "nosuch:dir",
        "config",
        "ORIG_HEAD",
        "^HEAD",
        "HEAD^{tree}:dir",
    ];
    for treeish in treeishes {
        let named = treeish.split(':').next().unwrap_or_default();
        let words = format!("fatal: no such ref: {named}");
        assert_server_refuses(&repo, ".", treeish, &words);
    }
    assert_served(&repo, ".", "HEAD:nosuch");
    assert_served(&repo, ".", "HEAD:file.txt");
    repo.git(["config", "uploadarchive.allowUnreachable", "true"]);
    for treeish in treeishes {
        assert_served(&repo, ".", treeish);
    }
    repo.git(["config", "uploadarchive.allowUnreachable", "what"]);
    assert_served(&repo, ".", "HEAD");
}

/// What the reflog and the configuration say about branches.
#[test]
fn refs_by_other_words() {
    let repo = Repo::copy("basic");
    assert_served(&repo, ".", "@{-1}");
    assert_served(&repo, ".", "@{u}");
    assert_served(&repo, ".", "nosuch@{upstream}");
    repo.git(["checkout", "-q", "-b", "topic", "HEAD~1"]);
    repo.git(["config", "branch.topic.remote", "."]);
    repo.git(["config", "branch.topic.merge", "refs/heads/main"]);
    for treeish in cases("@{-1} | @{-1}:dir | @{u} | topic@{upstream}: | @{-9} | main@{1}") {
        assert_served(&repo, ".", treeish);
    }
    repo.git(["update-ref", "refs/tags/main", "HEAD~1"]);
    assert_served(&repo, ".", "main");
    repo.git(["symbolic-ref", "refs/heads/dangling", "refs/heads/nothing"]);
    let theirs = repo.archive(["--remote=.", "dangling"]);
    let ours = repo.archive([EXEC, "--remote=.", "dangling"]);
    assert_eq!(ours.code(), theirs.code(), "{ours}\n{theirs}");
}

#[test]
fn options_that_are_not_for_clients() {
    let repo = Repo::from("basic");
    assert_server_refuses(
        &repo,
        ".",
        "--outp=f HEAD",
        "fatal: Unexpected option --output",
    );
    assert_server_refuses(
        &repo,
        ".",
        "--format=foo HEAD",
        "fatal: Unknown archive format 'foo'",
    );
    // Usage errors, of which only the first line and the end are git's. Nothing of ours is for a client.
    for (option, name) in [
        ("--nosuch", "nosuch"),
        ("--threads=2", "threads"),
        ("--mem=1g", "mem"),
        ("-j2", "j"),
        ("--progress", "progress"),
        ("-h", "h"),
        ("--help", "help"),
        ("--version", "version"),
        ("-V", "V"),
        ("--git-dir=x", "git-dir"),
        ("--batch", "batch"),
    ] {
        let output = repo.archive([EXEC, "--remote=.", option, "HEAD"]);
        assert_eq!(output.code(), 1, "{output}");
        assert!(output.stdout.is_empty(), "{output}");
        let lines = lines(&output);
        let error = lines
            .iter()
            .find(|line| line.starts_with("remote: error: "));
        assert!(error.is_some_and(|line| line.contains(name)), "{output}");
        assert!(lines.contains(&format!("remote: {DIED}")), "{output}");
        assert!(!output.messages().contains("git sluice"), "{output}");
        assert!(!repo.path().join("f").exists());
    }
}

#[test]
fn extra_files() {
    let repo = Repo::from("basic");
    let words = "fatal: options '--add-file' and '--remote' cannot be used together";
    assert_server_refuses(&repo, ".", "--add-virtual-file=a:b HEAD", words);
    assert_server_refuses(&repo, ".", "--add-file=HEAD HEAD", words);
    assert_server_refuses(
        &repo,
        ".",
        "--add-file=nosuch HEAD",
        "fatal: File not found: nosuch",
    );
}

#[test]
fn many_arguments() {
    let repo = Repo::from("basic");
    assert_served(&repo, ".", &format!("HEAD{}", " dir".repeat(63)));
    let words = "fatal: Too many options (>63)";
    assert_server_refuses(&repo, ".", &format!("HEAD{}", " dir".repeat(64)), words);
}

#[test]
fn paths_of_repositories() {
    let home = Repo::scratch();
    let basic = Repo::from("basic");
    home.git(["clone", "-q", "--bare", plain(&basic), "bare.git"]);
    home.git(["clone", "-q", plain(&basic), "tree"]);
    home.git(["clone", "-q", plain(&basic), "odd.git"]);
    home.git([
        "clone",
        "-q",
        "--separate-git-dir=apart",
        plain(&basic),
        "leads",
    ]);
    home.write("file", "no repository\n");
    for path in cases(
        "bare | bare.git | bare.git// | tree | tree/ | tree/.git | tree/.git/ | odd | odd.git | leads | \
         leads/.git | apart | nosuch | tree/dir | file | tree/.git/refs",
    ) {
        assert_served(&home, path, "HEAD");
        assert_served(&basic, &format!("{}/{path}", plain(&home)), "HEAD");
    }
    let home = home.clone().env("HOME", home.path());
    for path in ["~/bare", "~", "~/tree", "~no-such-user/x"] {
        assert_served(&home, path, "HEAD");
    }
    let url = format!("file://{}/bare.git", plain(&home));
    assert_served(&home, &url, "HEAD");
}

#[test]
fn linked_worktrees_are_served() {
    let repo = Repo::from("worktree");
    for path in [".", "../linked", "../gitfile", "../elsewhere.git"] {
        let there = repo.path().join(path);
        let there = there.to_str().expect("a plain name");
        assert_served(&repo, there, "HEAD");
        assert_served(&repo, there, "HEAD ../x");
    }
}

#[test]
fn foreign_owners() {
    if !rustix::process::geteuid().is_root() {
        skip("only root can give a directory away");
        return;
    }
    let repo = Repo::copy("basic");
    let git_dir = repo.path().join(".git");
    std::os::unix::fs::chown(&git_dir, Some(12345), Some(12345)).expect("we are root");
    assert_served(&repo, plain(&repo), "HEAD");
    let home = Repo::scratch();
    for trusted in [repo.path(), &git_dir] {
        let trust = format!("[safe]\n\tdirectory = {}\n", trusted.display());
        home.write(".gitconfig", trust);
        let client = Repo::scratch().env("HOME", home.path());
        assert_served(&client, plain(&repo), "HEAD");
        assert_served(&client, plain(&repo), "@{-1}");
    }
}

/// Over ssh, the command and the path come as one line for a shell.
#[test]
fn over_ssh() {
    let repo = Repo::copy("basic");
    let script = "#!/bin/sh\nshift\nexec sh -c \"$1\"\n";
    repo.write("ssh", script);
    let ssh = repo.path().join("ssh");
    repo.script("chmod +x ssh");
    let client = Repo::scratch()
        .env("GIT_SSH", &ssh)
        .env("GIT_SSH_VARIANT", "simple");
    let there = format!("host:{}", plain(&repo));
    assert_served(&client, &there, "-v HEAD");
    assert_served(&client, &there, "HEAD~1");
}

#[test]
fn gzip_is_allowed_and_can_be_disabled() {
    let repo = Repo::copy("basic");
    assert_served(&repo, ".", "--format=tar.gz HEAD");
    assert_served(&repo, ".", "--format=tgz -1 HEAD");
    repo.git(["config", "tar.tar.gz.remote", "false"]);
    let words = "fatal: Unknown archive format 'tar.gz'";
    assert_server_refuses(&repo, ".", "--format=tar.gz HEAD", words);
    assert_served(&repo, ".", "--format=tgz HEAD");
}

#[test]
fn lists_of_formats() {
    let repo = Repo::copy("basic");
    assert_list_served(&repo, ".", "--list");
    assert_list_served(&repo, ".", "--list --end-of-options");
    repo.git(["config", "tar.tgz.remote", "false"]);
    assert_list_served(&repo, ".", "--list");
    assert_list_served(&Repo::scratch(), plain(&repo), "--list");
}

/// The format that only we have follows the rule of the configuration like the others, at every level.
#[test]
fn zstandard_is_served_as_configured() {
    let repo = Repo::copy("basic");
    let plain = repo.sluice(["HEAD"]).success();
    let list = |repo: &Repo| repo.served(["--remote=.", "--list"]).success();
    assert_eq!(list(&repo), b"tar\ntgz\ntar.gz\nzip\ntar.zst\n");
    let served = repo.served(["--remote=.", "--format=tar.zst", "-1", "HEAD"]);
    assert!(served.success().len() < plain.len());
    repo.git(["config", "tar.tar.zst.remote", "false"]);
    assert_eq!(list(&repo), b"tar\ntgz\ntar.gz\nzip\n");
    for level in ["-0", "-1", "-19"] {
        let refused = repo.served(["--remote=.", "--format=tar.zst", level, "HEAD"]);
        let words = "fatal: Unknown archive format 'tar.zst'";
        assert!(refused.messages().contains(words), "{refused}");
    }
    let _ = repo.sluice(["--format=tar.zst", "HEAD"]).success();
}
