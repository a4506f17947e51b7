//! Access rules: what they deny shows nowhere, and without rules that are understood nothing is sent.

use std::fs;

use super::{files, names, unpack};
use crate::support::Repo;
use crate::support::forge;
use crate::support::process::Output;
use crate::support::{cases, tar_listing, zip};

/// The rules that deny what has HUSH in its name.
const RULES: &str = "/**\n-/secret/**\n/secret/notice\n-/kept/HUSH-token\n";
const UNDER: &str = "--access-rules=../rules";

/// The fixture with rules beside it; all of its objects are loose.
fn guarded(rules: &str) -> Repo {
    let repo = Repo::copy("filters");
    unpack(&repo);
    repo.write("../rules", rules);
    repo
}

/// What must not be in any output: names and contents, and the ids of objects.
fn secrets(repo: &Repo) -> Vec<String> {
    let denied = [
        "secret/HUSH-plan",
        "secret/HUSH-deep",
        "secret/HUSH-deep/key",
        "kept/HUSH-token",
    ];
    let ids = denied.map(|path| repo.git(["rev-parse", &format!("HEAD:{path}")]));
    ids.into_iter().chain(["HUSH".into()]).collect()
}

#[track_caller]
fn assert_silent(secrets: &[String], what: &str, bytes: &[u8]) {
    for secret in secrets {
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(
            !found,
            "{what} tells of {secret}\n{}",
            String::from_utf8_lossy(bytes)
        );
    }
}

/// The words with the rules, behind the command if there is one.
fn under<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let (command, rest) = words.split_at(usize::from(words[0] == "explain"));
    [command, &[UNDER], rest].concat()
}

/// Nothing that a run says or writes tells of what is denied.
#[track_caller]
fn run_silently(repo: &Repo, secrets: &[String], args: &[&str]) -> Output {
    let reports = Repo::scratch();
    let at = |name: &str| format!("--{name}={}", reports.path().join(name).display());
    let (manifest, summary) = (at("manifest"), at("summary"));
    let looks = ["ls", "explain"].contains(&args[0]);
    let (command, args) = args.split_at(usize::from(looks));
    let more: &[&str] = if looks { &[] } else { &[&manifest, &summary] };
    let output = repo.sluice([command, &[UNDER], more, args].concat());
    assert_silent(secrets, "stdout", &output.stdout);
    assert_silent(secrets, "stderr", &output.stderr);
    if !looks {
        for name in ["manifest", "summary"] {
            let report = fs::read(reports.path().join(name)).unwrap_or_default();
            assert_silent(secrets, name, &report);
        }
    }
    output
}

#[test]
fn nothing_tells_of_what_is_denied() {
    let repo = guarded(RULES);
    let secrets = secrets(&repo);
    for args in [
        &["HEAD"][..],
        &["-v", "HEAD"],
        &["-v", "--format=zip", "-0", "HEAD"],
        &["-v", "--pax-notes", "HEAD"],
        &[
            "--no-attributes",
            "--max-size=3",
            "--large=empty",
            "--pax-notes",
            "HEAD",
        ],
        &["--profile=zoekt", "-v", "HEAD"],
        &["--profile=searcher", "-v", "HEAD"],
        &["--exclude=secret", "-v", "HEAD"],
        &["--exclude=kept", "HEAD"],
        &["--exclude=**", "HEAD"],
        &["ls", "HEAD"],
        &["ls", "--exclude=secret", "HEAD"],
        &["explain", "HEAD", "secret/notice"],
        &["explain", "HEAD", "kept"],
        &["--missing=omit", "HEAD"],
        &["--prefix=p/", "-v", "HEAD", "secret", "kept"],
        &["-v", "HEAD", "*e*"],
        &["-v", "HEAD", ":!kept/file"],
        &["-v", "HEAD", ":(glob)**/notice", "kept/file"],
    ] {
        let _ = run_silently(&repo, &secrets, args);
    }
    let found = names(&repo, &[UNDER]);
    assert!(found.contains(&"secret/notice".into()) && found.contains(&"secret/".into()));
}

/// What is left out for its size leaves no directory, as what is ignored leaves none.
#[test]
fn directories_are_those_of_what_is_sent() {
    let repo = guarded(RULES);
    let kept = |args: &[&str]| names(&repo, args).contains(&"kept/".into());
    assert!(kept(&[UNDER]) && kept(&["--max-size=0"]));
    assert!(!kept(&[UNDER, "--max-size=0"]));
}

#[test]
fn the_archive_is_that_of_what_may_be_known() {
    let repo = guarded(RULES);
    let head = repo.git(["rev-parse", "HEAD"]);
    let paths = [
        "secret/HUSH-plan",
        "secret/HUSH-deep",
        "kept/HUSH-token",
        "attributes/hidden",
    ];
    let commit = super::commit_without(&repo, &paths);
    let theirs = super::archive_under(&repo, "--format=tar", &commit, &head);
    assert!(repo.sluice([UNDER, "HEAD"]).success() == theirs);
}

/// Directories are there for the sake of what is in them.
#[test]
fn directories_lead_to_something() {
    for (rules, expected) in [
        ("/kept/file", &["kept/", "kept/file"][..]),
        (
            "/secret/*",
            &["secret/", "secret/HUSH-plan", "secret/notice"],
        ),
        ("/kept/**\n-/kept/**", &[]),
        ("/nowhere", &[]),
        ("/module", &["module/"]),
        ("/attributes/hidden", &[]),
        (
            "/**/key\n",
            &["secret/", "secret/HUSH-deep/", "secret/HUSH-deep/key"],
        ),
    ] {
        let repo = guarded(rules);
        assert_eq!(names(&repo, &[UNDER]), expected, "{rules}");
        let zip = repo.sluice([UNDER, "--format=zip", "HEAD"]).success();
        assert_eq!(zip::names(&zip), expected, "{rules}");
    }
}

/// Whoever asks for what is denied hears what he would hear if it was not there.
#[test]
fn what_is_denied_does_not_exist() {
    let repo = guarded(RULES);
    let said = |args: &[&str], asked: &str| {
        let output = repo.sluice(under(args));
        assert!(output.stdout.is_empty() && output.code() == 128, "{output}");
        output.messages().replace(asked, "it")
    };
    for (denied, absent) in [
        ("secret/HUSH-plan", "secret/no-such-plan"),
        ("secret/HUSH-deep", "secret/no-such-directory"),
        ("secret/HUSH-deep/", "secret/no-such-directory/"),
        ("secret/HUSH-deep/key", "secret/no-such-directory/key"),
        ("kept/HUSH-token", "kept/no-such-token"),
        ("*HUSH*", "*no-such*"),
        (":(glob)**/HUSH-deep/**", ":(glob)**/no-such/**"),
    ] {
        let tell = |path: &str| said(&["HEAD", "run.sh", path], path);
        assert_eq!(tell(denied), tell(absent));
        let explain = |path: &str| said(&["explain", "HEAD", path], path.trim_end_matches('/'));
        assert_eq!(explain(denied), explain(absent));
        let name = |path: &str| said(&[&format!("HEAD:{path}")], path);
        assert_eq!(name(denied), name(absent));
        let base = |path: &str| said(&[&format!("--base=HEAD:{path}"), "HEAD"], path);
        assert_eq!(base(denied), base(absent));
    }
    // What is there can still be named.
    for path in cases("secret | secret/ | kept | secret/notice | :(glob)secret/*") {
        let output = repo.sluice([UNDER, "HEAD", path]);
        assert!(!tar_listing::names(&output.success()).is_empty(), "{path}");
    }
}

/// A denied object may be damaged or gone; where it has to be read, its failure has no name.
#[test]
fn failures_tell_of_nothing_either() {
    let repo = guarded(RULES);
    let hidden = secrets(&repo);
    for object in cases("HEAD:secret/HUSH-plan | HEAD:kept/HUSH-token | HEAD:secret/HUSH-deep") {
        forge::lose(&repo, object);
    }
    let output = run_silently(&repo, &hidden, &["-v", "--max-size=9", "HEAD"]);
    let _ = output.success();

    // Here every file is denied by a rule of its own, so the directory has to be read.
    let repo = guarded("/**\n-/**/key\n-/**/HUSH*\n");
    let hidden = secrets(&repo);
    forge::lose(&repo, "HEAD:secret/HUSH-deep");
    for args in [
        &["-v", "HEAD"][..],
        &["ls", "HEAD"],
        &["explain", "HEAD", "secret/notice"],
        &["HEAD", "secret"],
    ] {
        let _ = run_silently(&repo, &hidden, args);
    }
    let output = repo.sluice([UNDER, "HEAD"]);
    assert_ne!(output.code(), 0, "{output}");
    assert!(!tar_listing::is_complete(&output.stdout), "{output}");
}

/// Nor is a name told that no tree may have.
#[test]
fn names_that_are_refused_are_not_told() {
    let repo = Repo::copy("basic");
    let blob = forge::blob(&repo, "HUSH");
    let inner = forge::tree(
        &repo,
        &[("100644", b"..", &blob), ("100644", b"HUSH/a", &blob)],
    );
    let entries: [(&str, &[u8], &str); 2] =
        [("40000", b"HUSH", &inner), ("100644", b"known", &blob)];
    let commit = forge::commit(&repo, &entries);
    repo.write("../rules", "/known\n/*/x\n");
    for args in [
        &["-v", &commit][..],
        &[&commit, "known", "*x"],
        &["explain", &commit, "HUSH/x"],
    ] {
        let output = repo.sluice(under(args));
        assert_ne!(output.code(), 0, "{output}");
        assert!(
            !output.messages().replace("HUSH/x", "").contains("HUSH"),
            "{output}"
        );
    }
}

/// Rules of the tree hold for readers who must not see them.
#[test]
fn files_of_rules_may_be_secret() {
    let repo = guarded("/**\n-/.sourcegraph/**\n-/kept/.gitattributes\n-/**HUSH*\n-/**/HUSH*/**");
    let change = |rules: &str| {
        repo.write(".sourcegraph/ignore", rules);
        repo.write("kept/.gitattributes", "HUSH -not/a/name=x\n!HUSH x\n");
        repo.git(["add", ".sourcegraph", "kept/.gitattributes"]);
        repo.git(["commit", "-q", "--allow-empty", "-m", "rules"]);
        let mut secrets = secrets(&repo);
        secrets.push(repo.git(["rev-parse", "HEAD:.sourcegraph/ignore"]));
        secrets
    };
    let secrets = change("HUSH\nx/{*.HUSH,y}\nkept/file\nHUSH/x/\n");
    let ignore = super::IGNORE_FILE;
    for args in [
        &[ignore, "-v", "HEAD"][..],
        &[super::GRAMMAR, "-v", "HEAD"],
        &["ls", ignore, "HEAD"],
        &["ls", super::GRAMMAR, "HEAD"],
        &["explain", ignore, "HEAD", "kept/file"],
        &["explain", ignore, "HEAD", "run.sh"],
        &[ignore, "HEAD", ":(attr:!x)kept"],
    ] {
        let _ = run_silently(&repo, &secrets, args).success();
    }
    assert!(!files(&repo, &[UNDER, ignore]).contains(&"kept/file".into()));
    let secrets = change("HUSH[\n");
    let _ = run_silently(&repo, &secrets, &[ignore, "HEAD"]).success();
    let output = run_silently(&repo, &secrets, &[super::GRAMMAR, "HEAD"]);
    output.assert_refused(128, &["cannot use exclude rules of '.sourcegraph/ignore'"]);
}

/// That something is ignored tells that it is there.
#[test]
fn an_ignored_directory_is_told_only_if_all_of_it_may_be_known() {
    let repo = guarded("/**\n-/secret/HUSH-plan\n");
    let told = |repo: &Repo| {
        let (lines, output) = repo.manifest([UNDER, "--exclude=secret", "--exclude=kept/", "HEAD"]);
        let _ = output.success();
        let omitted = lines.iter().filter(|line| line["disposition"] == "omitted");
        let paths = omitted.map(|line| line["path"].as_str().expect("it is text").to_owned());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(told(&repo), ["kept/"]);
    repo.write("../rules", "/**\n-/kept/**\n");
    assert_eq!(told(&repo), ["secret/"]);
}

#[test]
fn rules_that_may_not_be_meant_so_stop_all() {
    let repo = guarded(RULES);
    fs::create_dir(repo.path().join("../directory")).expect("our own");
    for (name, rules) in [
        ("bad", "/**\n-/HUSH["),
        ("space", "/**\n -/HUSH/**"),
        ("mark", "\u{feff}-/HUSH"),
        ("slash", "/**\n-/HUSH/"),
        ("exclamation", "/**\n!/HUSH"),
        ("comment", "# HUSH\n/**"),
        ("directory-name", "/**\n-/secret/HUSH-deep"),
        ("empty", ""),
        ("blank", "\n\r\n"),
        ("directory/..", ""),
        ("absent", ""),
    ] {
        if !name.contains('/') && name != "absent" {
            repo.write(format!("../{name}"), rules);
        }
        let option = format!("--access-rules=../{name}");
        let output = repo.sluice([&option[..], "-o", "archive.tar", "HEAD"]);
        output.assert_refused(128, &[]);
        assert!(!output.messages().contains("HUSH"), "{output}");
        assert!(!repo.path().join("archive.tar").exists());
        let output = repo.sluice([&option[..], "HEAD"]);
        output.assert_refused(128, &["fatal: "]);
    }
    for name in ["fd:2147483647", "fd:", "fd:x", ""] {
        let output = repo.sluice([&format!("--access-rules={name}"), "HEAD"]);
        output.assert_refused(128, &["fatal: "]);
    }
}

#[test]
fn nobody_reads_rules_that_he_may_not_read() {
    let repo = guarded(RULES);
    let script = "chmod 0 ../rules && git-sluice --access-rules=../rules HEAD";
    if let Some(output) = repo.unprivileged_shell(script) {
        output.assert_refused(128, &["Permission denied"]);
    }
}

#[test]
fn a_tree_is_not_known_to_begin_at_the_root() {
    let repo = guarded(RULES);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    for name in [&tree[..], "HEAD^{tree}"] {
        repo.sluice([UNDER, name])
            .assert_refused(128, &["cannot apply access rules to a tree"]);
    }
    repo.sluice([UNDER, "HEAD:kept"])
        .assert_refused(128, &["cannot apply access rules"]);
}

/// Not even a directory that has to be read to know that all in it is denied.
#[test]
fn the_summary_is_that_of_what_may_be_known() {
    let repo = guarded("/**\n-/**/key\n-/**HUSH*\n-/attributes/*\n");
    let denied = [
        "secret/HUSH-plan",
        "secret/HUSH-deep",
        "kept/HUSH-token",
        "attributes",
    ];
    let without = super::commit_without(&repo, &denied);
    for args in [
        &[][..],
        &["--exclude=kept"],
        &["--max-size=9"],
        &["--profile=zoekt"],
    ] {
        let figures = |commit: &str| {
            let (mut told, output) = repo.summary([args, &[UNDER, commit]].concat());
            let _ = output.success();
            let told = told.as_object_mut().expect("it is one");
            for varying in ["commit", "tree", "seconds", "peak_memory"] {
                told.remove(varying);
            }
            std::mem::take(told)
        };
        assert_eq!(figures("HEAD"), figures(&without), "{args:?}");
    }
}

/// Nor one that has to be read to know that what changed in it is denied.
#[test]
fn the_summary_of_a_delta_is_that_of_what_may_be_known() {
    let repo = guarded("/**\n-/**/key\n-/**HUSH*\n");
    let denied = ["secret/HUSH-plan", "secret/HUSH-deep", "kept/HUSH-token"];
    let base = [&denied[..], &["secret", "kept/x.min.js", "binary"]].concat();
    let [secretless, base, open_base] = [
        super::commit_without(&repo, &denied),
        super::commit_without(&repo, &base),
        super::commit_without(&repo, &["kept/x.min.js"]),
    ];
    // Two commits of one tree differ in the files that show their commit.
    let tree = format!("{secretless}^{{tree}}");
    let twin = repo.git(["commit-tree", "-m", "twin", &tree]);
    let figures = |ends: [&str; 2], options: &[&str]| {
        let base = format!("--base={}", ends[0]);
        let (mut told, output) = repo.summary([options, &[UNDER, &base, ends[1]]].concat());
        let _ = output.success();
        let told = told.as_object_mut().expect("it is one");
        for varying in ["base", "commit", "tree", "seconds", "peak_memory"] {
            told.remove(varying);
        }
        std::mem::take(told)
    };
    let all = ["--exclude=no", "--deletions=none"];
    for options in [&[][..], &["--max-size=9"], &["--profile=zoekt"], &all] {
        for [with, without] in [
            [["HEAD", &secretless], [&twin, &secretless]],
            [[&base, "HEAD"], [&base, &secretless]],
            [["HEAD", &base], [&secretless, &base]],
            [[&open_base, "HEAD"], [&open_base, &secretless]],
        ] {
            let (with, without) = (figures(with, options), figures(without, options));
            assert_eq!(with, without, "{options:?}");
        }
    }
}

/// Denied entries are not counted, either.
#[test]
fn counts_are_of_what_may_be_known() {
    let repo = guarded("/kept/file\n");
    let (told, output) = repo.summary([UNDER, "HEAD"]);
    let _ = output.success();
    assert_eq!((&told["entries"], &told["files"]), (&2.into(), &1.into()));
    assert_eq!(told["directories"]["pruned"], 0);
    assert_eq!(told["omitted"]["excluded"], 0);
    let list = repo.sluice(["ls", UNDER, "HEAD"]).success();
    let list = String::from_utf8(list).expect("it is text");
    assert!(
        list.contains("\ntotal: 1 sent with 5 bytes, 0 placeholders, 0 omitted, an archive of ")
    );
}
