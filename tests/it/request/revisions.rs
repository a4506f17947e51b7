//! What a tree-ish names: the words of gitrevisions(7), and those that are none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use crate::support::forge;
use crate::support::tar_listing;
use crate::support::{Repo, cases, git_version, without_clock};

const NAMES: &str = "
    HEAD ORIG_HEAD @ main heads/main refs/heads/main origin origin/main deadbeef
    HEAD~3 HEAD~2^2 main^ main^0 main^1 main^^ main~1^2~1
    v1 tags/v1 v1^{} v1^{commit} v1^{tree} v1^{tag} v1^{object} v1~0 HEAD^{}
    main@{0} main@{1} main@{2} @{0} @{1} HEAD@{1} @{-1} main@{u} main@{upstream}
    :/four :/version main^{/two} main^{/merge}
    HEAD: v1: v1:one main:dir main:dir/ main:./dir main:nosuch :dir :one
    same heads/same tags/same
";

const NOT_NAMES: &str = "
    nosuch deadbeef00 refs refs/heads - MERGE_HEAD v1-1-gabcdef
    HEAD~99 HEAD^3 HEAD^{blob} HEAD^{nosuch} HEAD^{ HEAD@{ @{-9}
    HEAD^! HEAD^@ HEAD^- main..side main...side ^HEAD
    0000000000000000000000000000000000000000 1111111111111111111111111111111111111111
";

#[test]
#[ignore = "slow"]
fn names() {
    let repo = Repo::from("revisions");
    for name in NAMES.split_whitespace() {
        repo.assert_same_once([name]);
    }
}

/// Both fail with the same status and the same last line. What git has to say before it, we may; a hint about a range
/// may follow ours.
#[track_caller]
fn assert_no_name(repo: &Repo, name: impl AsRef<OsStr>) {
    let (ours, theirs) = (repo.sluice([&name]), repo.archive([&name]));
    assert!(ours.stdout.is_empty(), "{ours}");
    let [our, their] = [&ours, &theirs].map(|output| (output.code(), output.messages()));
    let is_hint = |line: &&str| line.starts_with("hint: git sluice --base=");
    let last = our.1.lines().rfind(|line| !is_hint(line));
    assert_eq!((our.0, last), (their.0, their.1.lines().last()), "{ours}");
}

#[test]
fn what_is_no_name() {
    let repo = Repo::from("revisions");
    let with_spaces = ["", " ", "HEAD ", ":/nothing like it"];
    for name in NOT_NAMES.split_whitespace().chain(with_spaces) {
        assert_no_name(&repo, name);
    }
    assert_no_name(&repo, OsStr::from_bytes(b"nosuch\xff"));
    repo.assert_same_once(["side@{u}"]);
    let gone = [
        "branch.side.remote=away",
        "branch.side.merge=refs/heads/gone",
        "remote.away.url=/nowhere",
        "remote.away.fetch=+refs/heads/*:refs/remotes/away/*",
    ];
    let gone = repo
        .clone()
        .with(gone.iter().flat_map(|setting| ["-c", setting]));
    gone.assert_same_once(["side@{u}"]);
    gone.assert_same_once(["side@{push}"]);
    // For this git has words that tell more, and we need not.
    let output = repo.sluice(["main@{99}"]);
    assert!(
        output.code() == 128 && output.messages().starts_with("fatal: "),
        "{output}"
    );
}

/// git's regular expressions, and where it searches.
#[test]
fn messages_that_match() {
    let repo = Repo::init();
    let _ = repo
        .shell(
            "git commit -q --allow-empty -m 'alpha beta' && echo 2 >two && git add two && \
             git commit -q -m alpha -m beta && git commit -q --allow-empty -m last",
        )
        .success();
    for name in [
        "HEAD^{/alpha.*beta}",
        ":/alpha.*beta",
        ":/a.+beta",
        "HEAD^{/(?:last)}",
    ] {
        repo.assert_same_once([name]);
    }
    repo.git(["checkout", "-q", "--orphan", "new"]);
    assert_no_name(&repo, "HEAD^{/alpha}");
}

/// To git-rev-parse(1) these are ranges or sets of parents, and to git-archive(1) they are paths, searches or nothing.
#[test]
fn names_with_the_notation_of_a_range() {
    let repo = Repo::init();
    std::fs::create_dir_all(repo.path().join("sub/a..b")).expect("our own");
    repo.write("sub/a..b/file", "line\n");
    repo.write("top", "line\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "Compare v1..v2"]);
    repo.git(["tag", "v1"]);
    for subject in ["Undo HEAD^!", "last"] {
        repo.git(["commit", "-q", "--allow-empty", "-m", subject]);
        repo.git(["tag", "-f", "v2"]);
    }
    for name in cases(
        ":/Compare v1..v2 | HEAD^{/Compare v1..v2} | v2^{/v1..} | :/Undo HEAD^! | HEAD:sub/a..b | \
         HEAD:./sub/a..b | HEAD:sub/.. | HEAD:..",
    ) {
        repo.assert_same_once([name]);
    }
    let sub = repo.clone().at("sub");
    for name in ["HEAD:./..", "HEAD:../sub/a..b"] {
        let ours = sub.sluice(["--worktree-attributes", name]);
        let id = repo.git(["rev-parse", &name.replace("./..", "").replace("../", "")]);
        let expected = sub.sluice(["--worktree-attributes", &id]);
        assert_eq!(
            tar_listing::names(&ours.success()),
            tar_listing::names(&expected.success())
        );
    }
    for name in cases("v1^! | v1^@ | v2^@ | v2^- | .. | HEAD.. | HEAD:@{u} | :@{u}") {
        repo.assert_same_once([name]);
        repo.clone()
            .with(["-c", "core.warnAmbiguousRefs=false"])
            .assert_same_once([name]);
    }
    let refused_with_hint = || {
        for range in ["v1..v2", "v1...v2"] {
            let expected = repo.archive([range]).messages() + "hint: git sluice --base=v1 v2\n";
            repo.sluice([range]).assert_failure(128, &expected);
        }
    };
    refused_with_hint();
    // Of a shallow repository, git is asked for all.
    repo.write(".git/shallow", repo.git(["rev-parse", "v1"]) + "\n");
    for name in ["v1^!", "v1^@", "v2^@", "v2^-", "HEAD:sub/a..b"] {
        repo.assert_same_once([name]);
    }
    refused_with_hint();
    let ours = repo.served(["--remote=.", "v1^!"]);
    assert!(
        ours.messages().contains("fatal: no such ref: v1^!"),
        "{ours}"
    );
}

/// Paths of a tree are git's, or relative to the current directory.
#[test]
fn odd_paths() {
    let repo = Repo::from("revisions");
    for name in cases("HEAD:dir// | HEAD:dir/. | HEAD:dir/.. | HEAD:../dir | HEAD:./ | HEAD:.") {
        repo.assert_same_once([name]);
        repo.clone().at(".git").assert_same_once([name]);
    }
}

/// A commit that names no tree.
#[test]
fn a_malformed_commit() {
    let repo = Repo::copy("revisions");
    let make = "printf 'tree 12\\n' | git hash-object -t commit -w --stdin --literally";
    let id = repo.shell(make).success();
    let id = String::from_utf8_lossy(&id).trim().to_owned();
    for suffix in ["", "^{tree}", ":", "~1"] {
        assert_no_name(&repo, format!("{id}{suffix}"));
    }
}

/// The parents of the oldest commit of a shallow clone are none, even if they are there.
#[test]
fn the_edge_of_a_shallow_clone() {
    let repo = Repo::copy("revisions");
    repo.write(".git/shallow", repo.git(["rev-parse", "HEAD"]) + "\n");
    for name in ["HEAD^", "HEAD~1", "HEAD^:", "HEAD@{0}^"] {
        assert_no_name(&repo, name);
    }
    repo.assert_same_once(["HEAD:dir"]);
}

/// A log that begins after the day that is asked for answers with its oldest entry, and a warning. One
/// with a gap has another.
#[test]
fn days() {
    let repo = Repo::copy("revisions");
    let names = [
        "HEAD@{2005-01-01 00:00:00 +0000}",
        "@{2005-01-01T00:00:00Z}:dir",
        "main@{2005-01-01T00:00:00Z}^{tree}",
        "main@{1000000000}~1",
        "HEAD@{yesterday}",
    ];
    for name in names {
        repo.assert_same_once([name]);
    }
    let told = repo.sluice([names[0]]).messages();
    assert!(told.contains("only goes back to"), "{told}");
    let id = |name| repo.git(["rev-parse", name]);
    let [zero, one, two, three] = ["0".repeat(40), id("HEAD~2"), id("HEAD~1"), id("HEAD")];
    let who = "C <c@example.com>";
    let begin = format!("{zero} {one} {who} 1100000000 +0000\tbegin\n");
    let end = format!("{two} {three} {who} 1300000000 +0000\tend\n");
    repo.write(".git/logs/HEAD", begin + &end);
    repo.assert_same_once(["HEAD@{1200000000}"]);
    let told = repo.sluice(["HEAD@{1200000000}"]).messages();
    assert!(told.contains("has gap after"), "{told}");
}

#[test]
fn ids() {
    let repo = Repo::from("revisions");
    let id = repo.git(["rev-parse", "main"]);
    for length in [3, 4, 5, 7, 12, 39, 40] {
        repo.assert_same_once([&id[..length]]);
        repo.assert_same_once([id[..length].to_uppercase()]);
        repo.assert_same_once([format!("{}^{{tree}}", &id[..length])]);
    }
    repo.assert_same_once([format!("{id}0")]);
    repo.assert_same_once([format!("{}-dirty", &id[..7])]);
    repo.assert_same_once([format!("v1-1-g{}", &id[..7])]);
}

/// Names with the id of a commit after `-g`: since 2.49 those that git-describe(1) prints, and refs with such a name.
#[test]
fn names_of_describe() {
    let repo = Repo::copy("revisions");
    let id = repo.git(["rev-parse", "--short=7", "HEAD~1"]);
    let id = id.trim();
    repo.git(["update-ref", &format!("refs/heads/ref-g{id}"), "HEAD"]);
    for (before, is_name) in [
        ("v1-1", true),
        ("nosuch-12", true),
        ("a/b-x-0", true),
        ("ref", true),
        ("v1", false),
        ("nosuch", false),
        ("v1-", false),
        ("v1-x", false),
        ("v1.lock-1", false),
    ] {
        for ending in ["", "~1", "^0"] {
            let name = format!("{before}-g{id}{ending}");
            if git_version() >= (2, 49) {
                repo.assert_same_once([&name]);
            }
            let code = if is_name { 0 } else { 128 };
            assert_eq!(repo.sluice([&name]).code(), code, "{name}");
        }
    }
}

/// Names that only git can resolve, because a ref is a link. A server must find the ref that git finds first.
#[test]
fn a_server_finds_refs_that_only_git_can_read() {
    let repo = Repo::copy("basic");
    repo.git(["branch", "both", "HEAD~1"]);
    std::os::unix::fs::symlink("main", repo.path().join(".git/refs/tags/both"))
        .expect("a link of ours");
    repo.write(".git/refs/tags/main", repo.git(["rev-parse", "HEAD"]));
    for name in ["both", "both:dir", "heads/both", "tags/both", "nosuch"] {
        let start = SystemTime::now();
        let (ours, theirs) = (
            repo.served(["--remote=.", name]),
            repo.archive(["--remote=.", name]),
        );
        assert_eq!(ours.code(), theirs.code(), "{name}: {ours}");
        let [ours, theirs] = [ours, theirs].map(|it| tar_listing::without_time(&it.stdout, start));
        assert!(ours == theirs, "{name}");
    }
}

/// Among 5,000 objects some share their first four digits.
#[test]
fn ambiguous_abbreviations() {
    let repo = Repo::from("wide");
    let listing = repo.git(["rev-list", "--objects", "--no-object-names", "--all"]);
    let mut ids: Vec<&str> = listing.lines().collect();
    ids.sort_unstable();
    let shared = ids.windows(2).find(|pair| pair[0][..4] == pair[1][..4]);
    assert_no_name(&repo, &shared.expect("so many share some")[0][..4]);
    for id in ids.iter().step_by(ids.len() / 8) {
        for len in [4, 5, 39] {
            let (ours, theirs) = (repo.sluice([&id[..len]]), repo.archive([&id[..len]]));
            assert_eq!(ours.code(), theirs.code(), "{ours}\n{theirs}");
        }
    }
    // A tree-ish is preferred, where there is but one.
    let head = &repo.git(["rev-parse", "HEAD"])[..4];
    repo.assert_same_once([head]);
    repo.clone()
        .with(["-c", "core.disambiguate=commit"])
        .assert_same_once([head]);
    repo.assert_same_once([&repo.git(["rev-parse", "HEAD:wide"])[..4]]);
}

#[test]
fn unborn_and_broken() {
    Repo::init().assert_same_once(["HEAD"]);
    let repo = Repo::copy("basic");
    repo.write(".git/refs/heads/broken", "not an id\n");
    assert_no_name(&repo, "broken");
    repo.git(["pack-refs", "--all"]);
    repo.assert_same_once(["light"]);
    repo.write(".git/HEAD", "ref: refs/heads/nosuch\n");
    repo.assert_same_once(["HEAD"]);
    repo.assert_same_once(["main"]);
}

/// A name that two refs have, or a ref and an object, whatever is done to it.
#[test]
fn ambiguous_refs() {
    let repo = Repo::copy("revisions");
    let short = repo.git(["rev-parse", "--short=7", "HEAD~1"]);
    let full = repo.git(["rev-parse", "HEAD~2"]);
    repo.git(["tag", "main", "HEAD~1"]);
    for name in [&short, &full] {
        repo.git(["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
    }
    let warned = |name: &str, times: usize| {
        let args = ["--prefix=p/", name];
        repo.assert_same_once(args);
        let messages = repo.sluice(args).messages();
        let warnings = messages.matches("is ambiguous.").count();
        assert_eq!(warnings, times, "{name}: {messages}");
    };
    for ending in [
        "", "~1", "^", "^0", ":", ":dir", "~1:dir", ":version", ":no",
    ] {
        warned(&format!("main{ending}"), 1);
        warned(&format!("{short}{ending}"), 1);
        warned(&format!("{full}{ending}"), 1);
    }
    // Named by their trees, archives bear the time at which they are made.
    for name in [
        "main^{tree}",
        "main^{tree}:dir",
        "main~1^{tree}",
        "main^{/one}",
    ] {
        let messages = [repo.sluice([name]), repo.archive([name])].map(|output| output.messages());
        assert_eq!(messages[0], messages[1], "{name}");
    }
    warned("heads/main", 0);
    repo.git(["config", "core.warnAmbiguousRefs", "false"]);
    warned("main:dir", 0);
    warned(&full, 0);
}

/// git knows the empty tree without having it.
#[test]
fn the_empty_tree() {
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let repo = Repo::init();
    repo.assert_same([empty]);
    repo.assert_same([forge::commit(&repo, &[("40000", b"nothing", empty)])]);
}

/// The name of the empty tree is that of the hash of the repository.
#[test]
fn the_empty_tree_of_another_hash() {
    let [sha1, sha256] = [
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    ];
    let repo = Repo::from("sha256");
    repo.assert_same_once([sha256]);
    for suffix in ["", "^{tree}", ":", ":a", "~1", "..HEAD"] {
        assert_no_name(&repo, format!("{sha1}{suffix}"));
    }
    repo.assert_same_once([&repo.git(["rev-parse", "HEAD"])[..40]]);
    assert_no_name(&Repo::from("revisions"), sha256);
    assert_eq!(repo.sluice([&format!("--base={sha1}"), "HEAD"]).code(), 3);
}

/// No git is needed for names that lie in front of everybody.
#[test]
fn names_without_git() {
    for fixture in cases("basic | tags | packs-many | packs-midx | alternates | loose | sha256") {
        let repo = Repo::from(fixture);
        let alone = repo.clone().env("PATH", repo.path().join("missing"));
        let id = repo.git(["rev-parse", "HEAD"]);
        let short = repo.git(["rev-parse", "--short", "HEAD"]);
        let mut names = vec![
            "HEAD".to_owned(),
            "HEAD~0".to_owned(),
            id.clone(),
            "HEAD^{tree}".to_owned(),
            "@^{tree}".to_owned(),
            "HEAD:".to_owned(),
            short.clone(),
            format!("{short}^{{tree}}"),
            format!("{id}:"),
            repo.git(["rev-parse", "--short", "HEAD^{tree}"]),
        ];
        let directories = repo.git(["ls-tree", "-d", "--name-only", "HEAD"]);
        names.extend(directories.lines().next().map(|it| format!("{short}:{it}")));
        for name in names {
            let (ours, theirs) = (alone.sluice([&name]), repo.archive([&name]));
            assert_eq!(ours.code(), 0, "{fixture} {name}: {ours}");
            // Without a commit, entries have the time of the run.
            let start = SystemTime::now();
            let [ours, theirs] = [ours, theirs].map(|it| without_clock(&it.stdout, start));
            assert!(ours == theirs, "{fixture} {name}");
        }
    }
}

/// Only git knows these names, which the FAQ has as well ("Does it need git?").
#[test]
fn names_for_git_without_git() {
    let repo = Repo::from("basic").env("PATH", "/nowhere");
    let _ = repo.sluice(["main"]).success();
    for name in [":/o", "HEAD^{/o}", "@{0}"] {
        let output = repo.sluice([name]);
        let message = format!(
            "fatal: cannot resolve '{name}'\n\
             caused by: the installed git resolves this name, and git cannot be run\n\
             hint: name a branch, a tag or the full id of a commit\n"
        );
        output.assert_failure(128, &message);
    }
    for name in cases("HEAD^{commit} | :/ | @{u} | v1-0-gabc1234") {
        repo.sluice([name]).assert_refused(128, &["git"]);
    }
}
