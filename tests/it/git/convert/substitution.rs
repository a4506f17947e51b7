//! `$Format:…$`: what stands for it, how often, and what it does to the text around it.

use super::{assert_same_failure, commit_files, repo};
use crate::support::{Repo, git_version};
use crate::support::{forge, tar_listing};

const SUBSTITUTED: &str = "* export-subst\n.gitattributes -export-subst\n";

/// The commit has a name in a mailmap, notes, a tag, and an abbreviation of its own length.
fn repo_to_describe(files: &[(&str, &[u8])]) -> Repo {
    let repo = repo(SUBSTITUTED, files);
    repo.git(["tag", "-am", "one", "v1.0"]);
    repo.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "Another subject\n\nBody.\n\nKey: value\nOther: one\n two",
    ]);
    repo.git(["tag", "light"]);
    repo.git(["notes", "add", "-m", "a note"]);
    repo.write(".mailmap", "Mapped <mapped@example.com> <a@example.com>\n");
    repo.with([
        "-c",
        "core.abbrev=11",
        "-c",
        "log.date=iso",
        "-c",
        "log.showSignature=true",
        "-c",
        "color.ui=always",
    ])
}

/// Every placeholder there is and some that are none, each in a file by itself and all in one.
#[test]
fn placeholders() {
    let formats = [
        "",
        "plain",
        "%",
        "%%",
        "100%%",
        "%H",
        "%h",
        "%T",
        "%t",
        "%P",
        "%p",
        "%an",
        "%aN",
        "%ae",
        "%aE",
        "%al",
        "%aL",
        "%ad",
        "%aD",
        "%at",
        "%ai",
        "%as",
        "%ah",
        "%cn",
        "%cN",
        "%ce",
        "%cE",
        "%cl",
        "%cL",
        "%cd",
        "%cD",
        "%ct",
        "%ci",
        "%cI",
        "%cs",
        "%aI",
        "%ch",
        "%d",
        "%D",
        "%e",
        "%s",
        "%f",
        "%b",
        "%B",
        "%N",
        "%S",
        "%G?",
        "%GS",
        "%GK",
        "%GF",
        "%GP",
        "%GT",
        "%gD",
        "%gd",
        "%gn",
        "%gN",
        "%ge",
        "%gE",
        "%gs",
        "%gx",
        "%m",
        "%n",
        "%n%n",
        "%x00",
        "%x41%x0a",
        "%xzz",
        "%x4",
        "%x",
        "%(describe)",
        "%(trailers)",
        "%(trailers:key=Key,valueonly,separator=%x2C)",
        "%(trailers:only,unfold)",
        "%(trailers:bad",
        "%(trailers",
        "%(decorate",
        "%(unknown)",
        "%C(auto)%h",
        "%Cred%h%Creset",
        "%C(always,red)%h%C(always,reset)",
        "%Cno",
        "%w(20,2,4)%B",
        "%w(10)%s %h",
        "%<(20)%s|",
        "%<(8,trunc)%s|",
        "%>(20)%h|",
        "%><(20)%h|",
        "%<(x)%s",
        "%<",
        "%<(3",
        "%+s",
        "% s",
        "%-s",
        "%+N",
        "%+gd",
        "%-gd",
        "% gd",
        "%+",
        "%-",
        "% ",
        "%q",
        "%aq",
        "%a",
        "%c",
        "%g",
        "%G",
        "%H%n%s%n%b",
        "two\nlines %h\n",
        "%ct %H",
        "%ai %ci",
        "%<(5)%%%h",
        "$Id: %h",
        "caf\u{e9} %s",
        "'%s' \"%h\" `%H`",
    ];
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut all = Vec::new();
    for (number, format) in formats.iter().enumerate() {
        let content = format!("one \u{e4} $Format:{format}$ two\n").into_bytes();
        all.extend(&content);
        files.push((format!("f{number:03}"), content));
    }
    files.push(("all".into(), all));
    files.push(("nul".into(), b"$Format:%h\0%s$ \0 $Format:%H\0$".to_vec()));
    files.push(("no-utf8".into(), b"\xff $Format:\xff %s$".to_vec()));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    let repo = repo_to_describe(&files);
    // The names of the files decide which %(describe) is the first.
    for revision in ["HEAD", "v1.0", "HEAD^{tree}"] {
        compare(&repo, revision);
    }
    repo.assert_same(["-v", "--prefix=p/", "HEAD", "all", "f000", "f001"]);
}

/// Each entry by itself, so that a failure tells the format.
#[track_caller]
fn compare(repo: &Repo, revision: &str) {
    let (ours, theirs) = (
        repo.sluice([revision]).success(),
        repo.archive([revision]).success(),
    );
    let (ours, theirs) = (tar_listing::records(&ours), tar_listing::records(&theirs));
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.name(), theirs.name());
        let [ours_text, theirs_text] =
            [ours, theirs].map(|record| String::from_utf8_lossy(record.data).into_owned());
        assert_eq!(ours_text, theirs_text, "{} of {revision}", ours.name());
    }
}

#[test]
fn where_formats_end() {
    let repo = repo_to_describe(&[
        ("empty", b"$Format:$|$Format:$$Format:$"),
        ("nested", b"$Format:$Format:%h$ $Format:a$Format:%H$"),
        ("unclosed", b"$Format:%h$ $Format:%h"),
        ("cut", b"$Format"),
        ("lines", b"one\n$Format:%h\n%H\n\n$two$Format:\n$three\n"),
        (
            "other",
            b"$Format %h$ $format:%h$ $Format: %h$ $$Format:%h$$",
        ),
        ("none", b"nothing\n"),
        ("nothing", b""),
    ]);
    repo.assert_same(["HEAD"]);
    repo.assert_same(["HEAD:"]);
    repo.with(["-c", "core.bigFileThreshold=2"])
        .assert_same(["HEAD"]);
}

/// Even the conversions before it, where it is set and the file is large, commit or not.
#[test]
fn substituted_files_are_never_streamed() {
    let line = "line \u{e4} $Format:%h$\n".repeat(40_000);
    let files: [(&str, &[u8]); 2] = [("large", line.as_bytes()), ("small", b"$Id$ $Format:%h$\n")];
    let repo = repo(
        "* export-subst ident text eol=crlf working-tree-encoding=latin-1\n",
        &files,
    );
    for threshold in ["1", "1g"] {
        let setting = format!("core.bigFileThreshold={threshold}");
        let repo = repo.clone().with(["-c", &setting]);
        repo.assert_same(["HEAD"]);
        repo.assert_same(["HEAD^{tree}"]);
    }
}

/// The texts of all formats together would be too long for a command line.
#[test]
fn many_formats() {
    let all: String = (0..20_000)
        .map(|number| format!("$Format:{number} %h$\n"))
        .collect();
    repo("* export-subst\n", &[("all", all.as_bytes())]).assert_same(["HEAD"]);
    let long = format!("$Format:{} %h$", "x".repeat(140_000));
    let output = repo("* export-subst\n", &[("long", long.as_bytes())]).sluice(["HEAD"]);
    let why = "caused by: git would be asked for more than 128 KiB\n";
    assert!(
        output.code() == 128 && output.messages().ends_with(why),
        "{}",
        output.messages()
    );
}

/// The first in the order of the archive, even if it comes to nothing.
#[test]
fn an_archive_is_described_once() {
    let described: [(&str, &[u8]); 5] = [
        ("a", b"$Format:%%(describe) %h$"),
        (
            "b",
            b"$Format:%(describe:tags=true) %(describe)$ $Format:%(describe)$",
        ),
        ("c", b"$Format:%(describe:match=x) %+(describe)$"),
        ("d/a", b"$Format:%(describe)$"),
        ("e", b"$Format:%<(30)%(describe)|$"),
    ];
    let repo = repo_to_describe(&described);
    repo.assert_same(["HEAD"]);
    for paths in [&["c", "d"][..], &["d"], &["d", "e"], &["e"]] {
        repo.assert_same([&["HEAD"], paths].concat());
    }
    let wasted: [(&str, &[u8]); 2] = [
        ("a", b"$Format:%(describe:no-such-option)$"),
        ("b", b"$Format:%(describe)$"),
    ];
    repo_to_describe(&wasted).assert_same(["HEAD"]);
}

/// git takes a colour and a padding whole, and what is not valid as text, with the placeholders in it.
#[test]
fn placeholders_within_placeholders() {
    let formats = [
        "%(trailersX%>|(20)%an",
        "%(trailersX%(describe:tags)",
        "%(trailers:separator=%x2C,only)",
        "%(describeX%(describe:tags)",
        "%<(5%(describe:tags)x",
        "%<(0%(describe:tags)x",
        "%><|( +7%(describe:tags),trunc)%an|",
        "%<(7%(describe:tags),cut)%an|",
        "%C(x%(describe:tags)",
        "%C(x%>|(20)%an",
        "%+C(x%an)%H",
    ];
    for format in formats {
        let text = format!("abcdef $Format:{format}$ $Format:%(describe:tags)$\n");
        compare(&repo_to_describe(&[("a", text.as_bytes())]), "HEAD");
        let text = format!("\u{e4} $Format:{format}$\n");
        let encoded = repo(SUBSTITUTED, &[("a", text.as_bytes())])
            .with(["-c", "i18n.commitEncoding=ISO-8859-1"]);
        encoded.git(["commit", "-q", "--allow-empty", "-m", "encoded"]);
        compare(&encoded, "HEAD");
    }
}

/// Nothing of it is needed for the text.
#[test]
fn formats_and_a_parent_that_is_missing() {
    let text: &[u8] = b"$Format:%h %an %d %s %ar$ $Format:%P$\n";
    let repo = repo(SUBSTITUTED, &[("a", text)]);
    let parent = repo.git(["rev-parse", "HEAD"]);
    repo.git(["commit", "-q", "--allow-empty", "-m", "child"]);
    std::fs::remove_file(forge::loose_file(&repo, &parent)).expect("loose");
    repo.assert_same(["HEAD"]);
}

/// One process, as git's, would say it once.
#[test]
fn complaints_of_many_formats() {
    let files = ["a", "b", "c"].map(|name| (name, &b"$Format:%aN%n%h$ $Format:%aE$\n"[..]));
    let repo = repo(SUBSTITUTED, &files);
    let tree = repo.with(["-c", "mailmap.blob=HEAD^{tree}"]);
    tree.assert_same(["HEAD"]);
}

/// The expansion is appended to the file so far, which some placeholders look at or change.
#[test]
fn formats_that_look_back() {
    let mut files: Vec<(String, String)> = Vec::new();
    let formats = [
        "%-gd",
        "%-s",
        "%-H%-gd",
        "%<|(20)%h|",
        "%>|(20)%h|",
        "%>>(12)%h|",
        "%>>|(20)%h|",
        "%><|(20)%h|",
        "%<|(-5)%h",
        "%>>(40)%h%-gd",
        "%+<|(20)%h|",
        "% >|(20)%h|",
        "%->>|(20)%h|",
        "%+>>(12)%h|",
        "%+<(5)%w(9,1,2)%s|",
    ];
    let before = [
        "",
        "a",
        "\n\n",
        "one\n\n\n",
        "one\ntwo   ",
        "one\n    ",
        "    ",
        "100% %h\t\u{65e5}\u{672c} ",
        "one\n\u{1b}[1mtwo\u{1b}[m  ",
    ];
    for (row, before) in before.iter().enumerate() {
        for (column, format) in formats.iter().enumerate() {
            files.push((
                format!("{row}-{column}"),
                format!("{before}$Format:{format}$after\n"),
            ));
        }
    }
    let text = "one $Format:%h$ \n\n$Format:%-gd$  $Format:%>>(12)%h$\n $Format:%<|(20)%h$";
    files.push(("several".into(), text.into()));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    compare(&repo_to_describe(&files), "HEAD");
}

/// A commit in another encoding has all of the file converted to it, as soon as text from the commit
/// is put in.
#[test]
fn commits_in_another_encoding() {
    let files: Vec<(String, String)> = [
        "%s",
        "%H",
        "%an",
        "%H %h %d",
        "%q",
        "%n",
        "%+h",
        "%+s",
        "%e",
        "%(trailers)",
        "%",
        "%<(3)%h",
        "%w(3)",
        "%G?",
        "%gd",
        "",
        "%x41",
        "%xzz",
    ]
    .iter()
    .enumerate()
    .map(|(number, format)| {
        (
            format!("f{number:02}"),
            format!("\u{e4} $Format:{format}$ \u{f6} $Format:%H$\n"),
        )
    })
    .collect();
    let mut files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    files.push((
        "twice",
        "\u{e4} $Format:%s$ \u{f6} $Format:%s$ \u{fc}\n".as_bytes(),
    ));
    files.push(("plain", "a $Format:%s$ b $Format:%an$ c\n".as_bytes()));
    files.push(("no-utf8", b"\xff $Format:%s$"));
    files.push(("no-latin", "\u{65e5} $Format:%s$".as_bytes()));
    let repo = repo(SUBSTITUTED, &files);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    for (name, encoding) in [
        ("latin", "ISO-8859-1"),
        ("utf", "utf8"),
        ("utf16", "UTF-16LE-BOM"),
        ("unknown", "nonsense"),
        ("latin-1", "latin-1"),
    ] {
        let commit = [
            format!("tree {tree}\nauthor A ").as_bytes(),
            b"\xe4 <a@example.com> 1117231200 +0000\ncommitter C <c@example.com> 1117231200 +0000\n",
            format!("encoding {encoding}\n\nSubject ").as_bytes(),
            b"\xf6\n\nKey: \xfc\n",
        ]
        .concat();
        let id = repo.git_with_input(["hash-object", "-w", "-t", "commit", "--stdin"], commit);
        repo.git(["update-ref", &format!("refs/heads/{name}"), &id]);
        compare(&repo, name);
        repo.assert_same([name]);
    }
}

/// git reads beyond the end of a commit whose header has no end: one that claims to be in UTF-16 and is not, if it has an
/// even number of bytes, or one that is cut. What lies there depends on the run, and never shows.
#[test]
fn commits_whose_header_has_no_end() {
    let formats = "$Format:%s$$Format:%B%b$$Format:%f%an%ct$$Format:%+b%-B$";
    let repo = repo(
        SUBSTITUTED,
        &[("all", formats.as_bytes()), ("one", b"a $Format:%B$")],
    );
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let person = "A <a@example.com> 1117231200 +0000";
    let store = |content: &str| {
        let hash = [
            "hash-object",
            "-w",
            "-t",
            "commit",
            "--literally",
            "--stdin",
        ];
        repo.git_with_input(hash, content)
    };
    let head = format!("tree {tree}\nauthor {person}\ncommitter {person}\n");
    for padding in 0..40 {
        let padding = "x".repeat(padding);
        let commit = format!("{head}encoding UTF-16\n\nSubject{padding}\n");
        let is_even = commit.len() % 2 == 0;
        let commit = store(&commit);
        if !is_even {
            compare(&repo, &commit);
            continue;
        }
        let archive = repo.sluice([&commit]).success();
        let records = tar_listing::records(&archive);
        let data = |name: &str| {
            records
                .iter()
                .find(|record| record.name() == name)
                .map(|it| it.data)
        };
        assert_eq!(data("all"), Some(&b""[..]), "{commit}");
        assert_eq!(data("one"), Some(&b"\xff\xfea\0 \0"[..]), "{commit}");
    }
    let commit = store(&head);
    let archive = repo.sluice([&commit, "one"]).success();
    let record = tar_listing::records(&archive).pop().expect("a file");
    assert_eq!(record.data, b"a ", "no message");
    let commit = store(head.trim_end());
    let output = repo.sluice([&commit, "all"]);
    assert_eq!(output.code(), 128, "{output}");
    let why = "caused by: the header of the commit has no end\n";
    assert!(output.messages().ends_with(why), "{output}");
}

/// In its own zone, the time is one before 1970, which git shows in no form that has a zone.
#[test]
fn formats_and_dates_before_1970() {
    for format in ["%ci", "%cI", "%cs", "%ai", "%aI", "%as"] {
        let repo = repo(
            SUBSTITUTED,
            &[("a", format!("$Format:{format}$").as_bytes())],
        );
        let repo = repo
            .env("GIT_COMMITTER_DATE", "@0 -0730")
            .env("GIT_AUTHOR_DATE", "@0 -0730");
        repo.git(["commit", "-q", "--allow-empty", "-m", "early"]);
        assert_same_failure(&repo, &["HEAD"]);
    }
}

/// What is recorded stays the original id; the rest is the replacement's.
#[test]
fn formats_and_replaced_commits() {
    let text: &[u8] = b"$Format:%H %T %P %s %ct %ci %h %d$ $Format:%H$ $Format:%H %T %ct$\n";
    let repo = repo(SUBSTITUTED, &[("a", text)]);
    commit_files(&repo, SUBSTITUTED, &[("a", text), ("b", b"$Format:%T$")]);
    let other = repo.clone().env("GIT_COMMITTER_DATE", "1217231200 -0330");
    let tree = other.git(["rev-parse", "HEAD~1^{tree}"]);
    let replacement = other.git(["commit-tree", "-m", "Replacement", &tree]);
    repo.git(["replace", "HEAD", &replacement]);
    repo.assert_same(["HEAD"]);
    repo.assert_same([&replacement]);
    repo.env("GIT_NO_REPLACE_OBJECTS", "1")
        .assert_same(["HEAD"]);
}

/// Dates that are not as git writes them.
#[test]
fn formats_and_odd_dates() {
    let text: &[u8] = b"$Format:%at|%ai|%as|%ad|%aI$ $Format:%at$ $Format:%ai$ $Format:%as$\n";
    let repo = repo(SUBSTITUTED, &[("a", text)]);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    for date in [
        "1117231200 +0130",
        "1117231200 -0030",
        "0 +0000",
        "00 -0000",
        "99999999999 +1400",
        "253402300799 +0000",
        "999999999999 +0000",
        "1117231200 +9999",
        "1117231200 +0099",
        "1117231200",
        "-1 +0000",
        "words",
        "",
        "18446744073709551615 +0000",
        "1117231200  +0100",
        "1117231200 +010",
        "1117231200 +01000",
    ] {
        let content = format!(
            "tree {tree}\nauthor A <a@example.com> {date}\ncommitter C <c@example.com> {date}\n\nSubject\n"
        );
        let id = repo.git_with_input(
            [
                "hash-object",
                "-w",
                "-t",
                "commit",
                "--stdin",
                "--literally",
            ],
            content,
        );
        repo.git(["update-ref", "refs/heads/dated", &id]);
        compare(&repo, "dated");
    }
}

/// git before 2.54 left these alone.
#[test]
fn placeholders_of_patch_series() {
    for name in ["%(count)", "%(total)"] {
        let text = format!("$Format:%h {name}$");
        let repo = repo(SUBSTITUTED, &[("a", text.as_bytes())]);
        let output = repo.sluice(["HEAD"]);
        let message = format!("fatal: {name} is not supported by this command\n");
        assert_eq!((output.code(), output.messages()), (128, message));
        if git_version() >= (2, 54) {
            assert_same_failure(&repo, &["HEAD"]);
        }
    }
}

/// Columns are counted as far as the first NUL of the file.
#[test]
fn columns_behind_a_nul() {
    let files: [(&str, &[u8]); 4] = [
        ("a", b"abc\0\nde $Format:%<|(20)%h$|\n"),
        (
            "b",
            b"one\nabc$Format:%x00$ x\ny $Format:%<|(20)%h$|$Format:%>|(30)%h$\n",
        ),
        ("c", b"a\nabc\0   $Format:%>>(60)%h$|$Format:%-N$\n"),
        ("d", b"a\0\n\n$Format:%-N%w(9,1,2)%s$ \n"),
    ];
    let repo = repo_to_describe(&files);
    compare(&repo, "HEAD");
    let both = repo_to_describe(&[("a", b"\0$Format:%<|(9)%h%w(9)%s$")]);
    let output = both.sluice(["HEAD"]);
    assert_eq!(output.code(), 128, "{output}");
    assert!(!tar_listing::is_complete(&output.stdout), "{output}");
}

/// A commit in an encoding with NULs turns all of the file into that.
#[test]
fn columns_of_a_file_in_utf_16() {
    let repo = repo(
        SUBSTITUTED,
        &[("a", b"one\nab $Format:%s$ cd\n $Format:%<|(40)%h$|\n")],
    );
    repo.git(["config", "i18n.commitEncoding", "UTF-16"]);
    repo.git(["commit", "-q", "--allow-empty", "-m", "subject"]);
    repo.assert_same_within(&["1", "8"], &["128m"], ["HEAD"]);
}

/// git wraps all of the file where it takes the start of a padded text for that of the file.
#[test]
fn padded_wrapping_wraps_all_of_the_file() {
    let line = "some words in front of it that are more than twenty columns\n";
    let nul = format!("{line}b\0c\n{line}");
    let formats = [
        "%<(5)%w(20,2,4)%s%w()",
        "%<(5)%w(20,2,4)%s",
        "%>(3) x %% %Cred%w(30)%s %b",
        "%w(12,1,1)%s%w()%<(9)%w(25)%b",
        "%-N%w(10,2,3)%s",
    ];
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (number, format) in formats.iter().enumerate() {
        // Behind a NUL, what is wrapped twice is refused.
        let nul = (!format.starts_with("%w")).then_some(("nul", nul.as_str()));
        for (name, text) in [("text", line)].into_iter().chain(nul) {
            let content = format!("{text}more $Format:{format}$ rest\n{text}$Format:%h$\n");
            files.push((format!("{name}-{number}"), content.into_bytes()));
        }
    }
    let files: Vec<_> = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    compare(&repo_to_describe(&files), "HEAD");
}

/// In git's words, and nothing else.
#[test]
fn formats_that_git_refuses() {
    let repo = repo_to_describe(&[("a", b"$Format:%C(no-such-colour)$")]);
    let (ours, theirs) = (repo.sluice(["HEAD"]), repo.archive(["HEAD"]));
    let said = (ours.code(), ours.messages());
    assert_eq!(said, (theirs.code(), theirs.messages()), "{ours}");
}
