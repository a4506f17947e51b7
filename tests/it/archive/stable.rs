//! `--stable`: bytes that are promised to stay, whatever the configuration, the machine and the version.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{Repo, installed};

/// SHA-256 of an archive and its options, one a line. This is promise 1: no change may touch a line.
const SUMS: &str = include_str!("stable.sums");

/// Time zones and umasks: neither changes a byte.
const PLACES: [(&str, &str); 5] = [
    ("UTC", "022"),
    ("America/St_Johns", "077"),
    ("Asia/Kathmandu", "002"),
    ("Pacific/Chatham", "022"),
    ("AAA+12:34", "000"),
];

/// The sums of the archives with the promised options, by options, as `repo` makes them.
fn sums(repo: &Repo, zone: &str, umask: &str) -> BTreeMap<String, String> {
    // The archive goes elsewhere, since the repository may be shared.
    let directory = Repo::scratch();
    let archive = directory.path().join("archive");
    let archive = archive.display();
    let run = |options: &String| {
        let words = options.replace('*', "\\*");
        format!(
            "git-sluice --stable {words} >{archive} || exit; sha256sum <{archive}; echo '{options}'; "
        )
    };
    let commands: String = promised().keys().map(run).collect();
    let script = format!("umask {umask}; export TZ={zone}; {commands}");
    let said = String::from_utf8(repo.shell(&script).success()).expect("sums are text");
    let lines: Vec<_> = said.lines().collect();
    let pairs = lines.chunks(2);
    pairs
        .map(|pair| {
            (
                pair[1].to_owned(),
                pair[0].trim_end_matches("  -").to_owned(),
            )
        })
        .collect()
}

fn promised() -> BTreeMap<String, String> {
    let lines = SUMS.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(sum, options)| (options.to_owned(), sum.to_owned()))
        .collect()
}

#[track_caller]
fn assert_promised(repo: &Repo, zone: &str, umask: &str) {
    let found = sums(repo, zone, umask);
    let promised = promised();
    assert_eq!(found.len(), 40);
    for (options, sum) in &found {
        assert_eq!(promised.get(options), Some(sum), "{options} in {zone}");
    }
}

#[test]
#[ignore = "slow"]
fn bytes_stay_in_every_place() {
    if !installed("sha256sum") {
        return;
    }
    let repo = Repo::from("stable");
    for (zone, umask) in PLACES {
        assert_promised(&repo, zone, umask);
    }
}

/// Everything that changes an archive without the option is set to something else.
#[test]
fn bytes_stay_in_a_hostile_repository() {
    if !installed("sha256sum") {
        return;
    }
    let repo = Repo::copy("stable");
    let script = r#"
        for git_dir in .git .git/modules/lib; do
            mkdir -p $git_dir/info
            echo '* -text -ident export-subst export-ignore' >$git_dir/info/attributes
            for setting in tar.umask=0077 core.autocrlf=true core.eol=crlf core.bigFileThreshold=1 \
                core.attributesFile="$PWD/../attributes" filter.x.smudge='tr a-z A-Z' core.abbrev=40 \
                tar.tar.gz.command='cat' tar.tar.zst.command='cat' core.ignoreCase=true sluice.gzipCompat=gnu \
                diff.default.binary=true i18n.logOutputEncoding=UTF-16 log.date=iso attr.tree=HEAD~; do
                git --git-dir=$git_dir config "${setting%%=*}" "${setting#*=}"
            done
        done
        echo '* filter=x working-tree-encoding=UTF-16' >../attributes
        git replace "$(git rev-parse HEAD:numbers)" "$(echo other | git hash-object -w --stdin)"
        git tag v1
        git notes add -m note
        git gc -q
    "#;
    let _ = repo.shell(script).success();
    assert_promised(&repo, "Asia/Tokyo", "022");
    let hostile = [
        ("GIT_ATTR_SOURCE", "HEAD~"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "tar.umask"),
        ("GIT_CONFIG_VALUE_0", "0777"),
        ("LC_ALL", "C"),
    ];
    let repo = hostile
        .iter()
        .fold(repo, |repo, (name, value)| repo.env(name, value));
    assert_promised(&repo, "UTC", "077");
}

/// The oracle: git without a configuration, in UTC.
#[test]
fn bytes_are_those_of_git_without_a_configuration() {
    let repo = Repo::from("stable").env("TZ", "UTC");
    for options in promised()
        .keys()
        .filter(|options| !options.contains("tar.zst"))
    {
        let words: Vec<_> = options.split(' ').map(String::from).collect();
        let own = [
            "--umask",
            "--exclude",
            "--submodules",
            "--no-attributes",
            "--max-size",
            "--mtime",
            "^{tree}",
        ];
        if own.iter().any(|word| options.contains(word)) {
            continue;
        }
        let expected = repo.archive(&words).success();
        let found = repo
            .sluice([&["--stable".to_owned()], &words[..]].concat())
            .success();
        assert!(found == expected, "{options}");
    }
    let repo = repo.with(["-c", "tar.umask=0022"]);
    let expected = repo.archive(["HEAD"]).success();
    let found = Repo::from("stable")
        .sluice(["--stable", "--umask=0022", "HEAD"])
        .success();
    assert!(found == expected);
}

#[test]
fn threads_and_memory_change_nothing() {
    let repo = Repo::from("stable");
    for format in ["tar", "tar.gz", "zip", "tar.zst"] {
        let format = format!("--format={format}");
        let archive = |limits: &[&str]| {
            let words = [&["--stable", &format], limits, &["HEAD"]].concat();
            repo.sluice(words).success()
        };
        let expected = archive(&[]);
        for limits in [&["-j1"][..], &["-j8"], &["-j2", "--memory=1m"]] {
            assert!(archive(limits) == expected, "{format} {limits:?}");
        }
    }
}

/// A commit with a file that shows more, next to one that does not.
fn varying() -> Repo {
    let repo = Repo::init();
    let script = r#"
        printf 'b export-subst\nc filter=x\n' >.gitattributes
        echo '$Format:%H %h$' >b
        echo c >c
        git add . && git commit -qm m
        git config filter.x.smudge cat
    "#;
    let _ = repo.shell(script).success();
    repo
}

#[test]
fn what_may_vary_is_refused_before_the_first_byte() {
    let repo = varying();
    let refused = repo.sluice(["--fail-if-varies", "HEAD"]);
    assert_eq!(refused.code(), 12);
    assert!(refused.stdout.is_empty());
    let words = "error: 'b' expands %h\n\
                 error: 'c' is converted by the filter 'x'\n\
                 fatal: the archive may vary in 2 files\n\
                 hint: %H, %ad and %s show the commit alone\n";
    assert_eq!(refused.messages(), words);
    // No setting counts here, and so no filter.
    let refused = repo.sluice(["--stable", "-o", "archive.tar", "HEAD"]);
    assert_eq!(refused.code(), 12);
    assert!(!refused.messages().contains("'c'"));
    assert!(!repo.path().join("archive.tar").exists());
    for words in [
        &["--fail-if-varies", "HEAD", "c"][..],
        &["--fail-if-varies", "HEAD^{tree}"],
    ] {
        assert_eq!(repo.sluice(words).code(), 12, "{words:?}");
    }
    for words in [&["--stable", "HEAD", "c"][..], &["--stable", "HEAD^{tree}"]] {
        let _ = repo.sluice(words).success();
    }
    repo.write("b", "$Format:%w(20)%s$\n");
    repo.git(["commit", "-qam", "wrapped"]);
    let refused = repo.sluice(["--stable", "HEAD"]);
    assert!(
        refused.messages().starts_with("error: 'b' expands %w\n"),
        "{refused}"
    );
    repo.write("b", "$Format:%s$\n");
    repo.git(["config", "i18n.commitEncoding", "latin-1"]);
    repo.git(["commit", "-qam", "latin"]);
    let refused = repo.sluice(["--stable", "HEAD"]);
    assert!(
        refused.messages().contains("the commit is not in UTF-8"),
        "{refused}"
    );
    let bucket = repo.path().join("bucket/main");
    let bucket = bucket.to_str().expect("text");
    let publish = ["publish", "--create", "--fail-if-varies", bucket, "HEAD"];
    assert_eq!(repo.sluice(publish).code(), 12);
    let publish = ["publish", "--create", "--stable", bucket, "HEAD", "c"];
    let _ = repo.sluice(publish).success();
}

/// Everything outside of the commit that may decide about the bytes names itself: keys, variables, and attribute files.
#[test]
fn settings_that_decide_are_named() {
    let repo = Repo::copy("stable");
    let home = Repo::scratch();
    home.write("attributes", "*.c diff=cpp\n");
    home.write("text", "[attr]lines eol=crlf\n");
    let home_file = |name: &str| home.path().join(name).to_str().expect("text").to_owned();
    let [harmless, deciding] = ["attributes", "text"].map(home_file);
    let file = |file: &str| format!("core.attributesFile={file}");
    let tar: &[&str] = &["HEAD"];
    let zip: &[&str] = &["--format=zip", "HEAD"];
    let gzip: &[&str] = &["--format=tar.gz", "HEAD"];
    for (words, key, named) in [
        (tar, "tar.umask=0077", "tar.umask"),
        (tar, "tar.umask=user", "tar.umask"),
        (tar, "tar.umask=0002", ""),
        (&["--umask=0022", "HEAD"], "tar.umask=0077", ""),
        (zip, "tar.umask=0077", ""),
        (tar, "core.autocrlf=true", "core.autocrlf"),
        (tar, "core.autocrlf=input", ""),
        (tar, "core.eol=crlf", "core.eol"),
        (tar, "core.eol=lf", ""),
        (tar, "core.ignoreCase=true", "core.ignoreCase"),
        (tar, "core.bigFileThreshold=1", "core.bigFileThreshold"),
        (tar, "core.bigFileThreshold=512m", ""),
        (tar, "diff.x.binary=true", ""),
        (zip, "diff.x.binary=true", "diff.x.binary"),
        (gzip, "tar.tar.gz.command=gzip -cn", "tar.tar.gz.command"),
        (gzip, "tar.tar.gz.command=cat", "tar.tar.gz.command"),
        (gzip, "tar.tar.gz.command=git archive gzip", ""),
        (gzip, "sluice.gzipCompat=gnu", "sluice.gzipCompat"),
        (
            &["--gzip-compat=gnu", "--format=tar.gz", "HEAD"],
            "sluice.gzipCompat=gnu",
            "",
        ),
        (tar, "sluice.gzipCompat=gnu", ""),
        (tar, "user.name=somebody", ""),
        (tar, &file(&harmless), ""),
        (zip, &file(&harmless), &harmless),
        (tar, &file(&deciding), &deciding),
        (&["--mtime=yesterday", "HEAD"], "a.b=c", "--mtime=yesterday"),
        (&["--mtime=1112911993", "HEAD"], "a.b=c", ""),
        (
            &["--worktree-attributes", "HEAD"],
            "attr.tree=HEAD",
            "attr.tree",
        ),
    ] {
        let repo = repo.clone().env("HOME", home.path()).with(["-c", key]);
        check_named(&repo, words, named, key);
    }
    for (words, variable, value, named) in [
        (
            &["HEAD", "dir"][..],
            "GIT_LITERAL_PATHSPECS",
            "1",
            "GIT_LITERAL_PATHSPECS",
        ),
        (
            &["HEAD", "*"],
            "GIT_ICASE_PATHSPECS",
            "1",
            "GIT_ICASE_PATHSPECS",
        ),
        (tar, "GIT_ICASE_PATHSPECS", "1", ""),
        (zip, "TZ", "Asia/Tokyo", "TZ"),
        (zip, "TZ", "XYZ-5", "TZ"),
        (zip, "TZ", "UTC", ""),
        (tar, "TZ", "XYZ-5", ""),
        (
            &["--worktree-attributes", "HEAD"],
            "GIT_ATTR_SOURCE",
            "HEAD",
            "GIT_ATTR_SOURCE",
        ),
    ] {
        check_named(&repo.clone().env(variable, value), words, named, variable);
    }
    let _ = fs::create_dir(repo.path().join(".git/info"));
    repo.write(".git/info/attributes", "*.txt export-ignore\n");
    check_named(&repo, tar, ".git/info/attributes", "info");
    repo.write(".git/info/attributes", "# nothing\n");
    let blob = repo.git_with_input(["hash-object", "-w", "--stdin"], "x");
    let other = repo.git_with_input(["hash-object", "-w", "--stdin"], "y");
    repo.git(["replace", blob.trim(), other.trim()]);
    check_named(&repo, tar, "refs/replace/", "replace");
}

/// With `--fail-if-varies`, `words` end with a line about what is `named`, or succeed if that is empty; with `--stable`, they
/// have no line about it.
#[track_caller]
fn check_named(repo: &Repo, words: &[&str], named: &str, case: &str) {
    let run = |option: &str| repo.sluice([option].into_iter().chain(words.iter().copied()));
    let refused = run("--fail-if-varies");
    let line = format!("error: '{named}' decides about ");
    let is_named = refused.messages().lines().any(|it| it.starts_with(&line));
    assert_eq!(
        (refused.code() == 12, is_named),
        (!named.is_empty(), !named.is_empty()),
        "{case}: {refused}"
    );
    assert!(
        !run("--stable").messages().contains("decides about"),
        "{case}"
    );
    if is_named {
        assert!(
            refused
                .messages()
                .ends_with("hint: --stable leaves them out\n"),
            "{case}: {refused}"
        );
    }
}

#[test]
fn times_are_the_same_everywhere() {
    let repo = Repo::from("stable");
    let archive = |time: &str| {
        repo.sluice(["--stable", &format!("--mtime={time}"), "HEAD"])
            .success()
    };
    assert!(archive("1112911993") == archive("2005-04-07 22:13:13 +0000"));
    let dated = repo.clone().env("SOURCE_DATE_EPOCH", "1112911993");
    let tree = dated.sluice(["--stable", "HEAD^{tree}"]).success();
    let typed = repo
        .sluice(["--stable", "--mtime=1112911993", "HEAD^{tree}"])
        .success();
    assert!(tree == typed);
}

/// The date of a zip begins in 1980 and ends in 2107. A time that is ours stays within; a commit's wraps around, as in git.
#[test]
fn a_zip_has_the_closest_date() {
    let repo = Repo::copy("stable");
    for (time, date, seconds) in [
        ("0", "1980-01-01 00:00:00", 315_532_800),
        ("315532799", "1980-01-01 00:00:00", 315_532_800),
        ("315532802", "1980-01-01 00:00:02", 315_532_802),
        ("4354819199", "2107-12-31 23:59:58", u32::MAX),
        ("4354819200", "2107-12-31 23:59:58", u32::MAX),
        ("1667997441000", "2107-12-31 23:59:58", u32::MAX),
        ("18446744073709551615", "2107-12-31 23:59:58", u32::MAX),
    ] {
        let dated = repo.clone().env("SOURCE_DATE_EPOCH", time);
        let zip = dated
            .sluice(["--stable", "--format=zip", "HEAD^{tree}"])
            .success();
        let word = |at: usize| u16::from_le_bytes([zip[at], zip[at + 1]]);
        let (clock, day) = (word(10), word(12));
        let found = format!(
            "{}-{:02}-{:02} {:02}:{:02}:{:02}",
            1980 + (day >> 9),
            day >> 5 & 15,
            day & 31,
            clock >> 11,
            clock >> 5 & 63,
            (clock & 31) * 2,
        );
        assert_eq!(found, date, "{time}");
        let extra = 30 + usize::from(word(26)) + 5;
        assert_eq!(zip[extra..extra + 4], seconds.to_le_bytes(), "{time}");
    }
    for date in ["0 +0000", "4354819200 +0000"] {
        let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
        let dated = repo.clone().env("GIT_COMMITTER_DATE", format!("@{date}"));
        let commit = dated.git(["commit-tree", "-m", "old", tree.trim()]);
        let words = ["--format=zip", commit.trim()];
        let ours = repo.sluice(["--stable"].into_iter().chain(words)).success();
        assert!(
            ours == repo.clone().env("TZ", "UTC").archive(words).success(),
            "{date}"
        );
    }
}

/// A host that promises serves files that vary as git does, and says so. Somebody who asks for the promise is refused.
#[test]
fn a_promise_by_configuration_fails_no_download() {
    let repo = varying();
    repo.git(["config", "sluice.stable", "true"]);
    let log = repo.path().join(".git/log");
    repo.git(["config", "sluice.log", log.to_str().expect("text")]);
    let git = |path: &str| repo.archive(["HEAD", path]).success();
    assert!(repo.sluice(["HEAD", "b"]).success() == git("b"));
    assert!(repo.served(["--remote=.", "HEAD", "b"]).success() == git("b"));
    let _ = repo.sluice(["HEAD", "c"]).success();
    let lines = fs::read_to_string(&log).expect("a log");
    let varies = lines.lines().map(|line| line.contains(r#""varies":true"#));
    assert_eq!(varies.collect::<Vec<_>>(), [true, true, false]);
    for (path, varies) in [("b", true), ("c", false)] {
        let info = repo.sluice(["info", "HEAD", path]);
        let text = String::from_utf8(info.success()).expect("text");
        assert_eq!(text.contains(r#""varies":true"#), varies, "{text}");
    }
    for option in ["--stable", "--fail-if-varies"] {
        let refused = repo.sluice([option, "HEAD"]);
        assert_eq!(refused.code(), 12, "{refused}");
        assert!(refused.stdout.is_empty());
    }
    for option in ["--base=HEAD", "--pax-notes"] {
        let warned = repo.sluice([option, "HEAD"]);
        assert_eq!(warned.code(), 0, "{warned}");
        let line = "warning: sluice.stable makes no promise about --base and --pax-notes\n";
        assert_eq!(warned.messages(), line);
    }
}

/// A host switches it on for all its archives, in the configuration.
#[test]
fn hosts_promise_by_configuration() {
    let repo = Repo::copy("stable");
    let expected = repo.sluice(["--stable", "HEAD"]).success();
    repo.git(["config", "sluice.stable", "true"]);
    repo.git(["config", "tar.umask", "0077"]);
    assert!(repo.sluice(["HEAD"]).success() == expected);
    let served = repo.served(["--remote=.", "HEAD"]).success();
    assert!(served == expected);
    let _ = fs::create_dir(repo.path().join(".git/info"));
    fs::write(
        repo.path().join(".git/info/attributes"),
        "* export-ignore\n",
    )
    .expect("ours");
    assert!(repo.sluice(["HEAD"]).success() == expected);
}
