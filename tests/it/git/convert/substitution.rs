//! `$Format:…$`: what stands for it, how often, and what it does to the text around it.

use std::fs;

use super::{assert_same_failure, commit_files, repo};
use crate::support::{Repo, binary, cases, git_version};
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
    let table = " ; plain ; % ; %% ; 100%% ; %H ; %h ; %T ; %t ; %P ; %p ; %an ; %aN ; %ae ; %aE ; %al ; %aL ; \
         %ad ; %aD ; %at ; %ai ; %as ; %ah ; %cn ; %cN ; %ce ; %cE ; %cl ; %cL ; %cd ; %cD ; %ct ; %ci ; \
         %cI ; %cs ; %aI ; %ch ; %d ; %D ; %e ; %s ; %f ; %b ; %B ; %N ; %S ; %G? ; %GS ; %GK ; %GF ; \
         %GP ; %GT ; %gD ; %gd ; %gn ; %gN ; %ge ; %gE ; %gs ; %gx ; %m ; %n ; %n%n ; %x00 ; %x41%x0a ; \
         %xzz ; %x4 ; %x ; %(describe) ; %(trailers) ; %(trailers:key=Key,valueonly,separator=%x2C) ; \
         %(trailers:only,unfold) ; %(trailers:bad ; %(trailers ; %(decorate ; %(unknown) ; %C(auto)%h ; \
         %Cred%h%Creset ; %C(always,red)%h%C(always,reset) ; %Cno ; %w(20,2,4)%B ; %w(10)%s %h ; \
         %<(20)%s| ; %<(8,trunc)%s| ; %>(20)%h| ; %><(20)%h| ; %<(x)%s ; %< ; %<(3 ; %+s ; % s ; %-s ; \
         %+N ; %+gd ; %-gd ; % gd ; %+ ; %- ; %  ; %q ; %aq ; %a ; %c ; %g ; %G ; %H%n%s%n%b ; \
         two\nlines %h\n ; %ct %H ; %ai %ci ; %<(5)%%%h ; $Id: %h ; caf\u{e9} %s ; '%s' \"%h\" `%H`";
    let formats: Vec<&str> = table.split(" ; ").collect();
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
    for placeholder in ["%h", "%+h"] {
        let long = format!("$Format:{} {placeholder}$", "x".repeat(140_000));
        repo("* export-subst\n", &[("long", long.as_bytes())]).assert_same(["HEAD"]);
    }
}

/// All that git has to know to archive one file for us: where it is, its attributes, and how paths are read.
#[test]
fn files_that_git_expands() {
    let files: [(&str, &[u8]); 4] = [
        ("*", b"$Format:%+s$\n"),
        (":(top)a", b"$Format:%+h$\n"),
        ("d/b[c]", b"$Format:%w(20)%B$\n"),
        ("d/bc", b"$Format:%<(9)%h$|\n"),
    ];
    let repo = repo_to_describe(&files);
    for variable in cases(
        "GIT_GLOB_PATHSPECS | GIT_ICASE_PATHSPECS | GIT_NOGLOB_PATHSPECS | GIT_LITERAL_PATHSPECS",
    ) {
        repo.clone().env(variable, "1").assert_same(["HEAD"]);
    }
    fs::create_dir(repo.path().join("d")).expect("our own");
    repo.clone().at("d").assert_same(["--prefix=p/", "HEAD"]);
    fs::write(repo.path().join(".gitattributes"), "* -export-subst\n").expect("our own");
    repo.assert_same(["--worktree-attributes", "HEAD"]);
    let theirs = repo.archive(["--remote=.", "HEAD"]).success();
    assert!(repo.served(["--remote=.", "HEAD"]).success() == theirs);
    let pathless = repo.shell(&format!("PATH=/nowhere {} HEAD '*'", binary()));
    let missing = "fatal: cannot expand '$Format:…$'\n\
                   hint: this needs git in PATH\n";
    assert_eq!(pathless.messages(), missing);
}

/// git's archive says it in a record of an extended header, whose value has a line feed.
#[test]
fn a_long_name_with_a_line_feed() {
    let path = format!("n\nl/{}/file", "w".repeat(150));
    let repo = repo_to_describe(&[(&path, b"$Format:%+s$\n")]);
    repo.assert_same(["HEAD"]);
}

/// What a filter says about a file that git expands too is said once.
#[test]
fn filters_of_files_that_git_expands() {
    let repo = repo(
        "* export-subst filter=f\n.gitattributes !filter\n",
        &[("a", b"$Format:%+s$\n"), ("b", b"$Format:%+an$\n")],
    );
    repo.with(["-c", "filter.f.smudge=sed s/an/ae/; echo said >&2"])
        .assert_same(["HEAD"]);
}

/// The first in the order of the archive, even if it comes to nothing.
#[test]
fn an_archive_is_described_once() {
    let described: [(&str, &[u8]); 9] = [
        ("a", b"$Format:%%(describe) %h$"),
        (
            "b",
            b"$Format:%(describe:tags=true) %(describe)$ $Format:%(describe)$",
        ),
        ("c", b"$Format:%(describe:match=x) %+(describe)$"),
        ("d/a", b"$Format:%(describe)$"),
        ("e", b"$Format:%<(30)%(describe)|$"),
        ("f", b"$Format:%C(x%(describe)$ $Format:%(describe)$"),
        ("g", b"$Format:%h%+s$"),
        ("h", b"$Format:%(describe)$"),
        ("i", b"$Format:%C(x%(describe)$"),
    ];
    let repo = repo_to_describe(&described);
    repo.assert_same(["HEAD"]);
    for paths in [
        &["c", "d"][..],
        &["d"],
        &["d", "e"],
        &["e"],
        &["f", "h"],
        &["g", "h"],
        &["h", "i"],
        &["i"],
    ] {
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
    let table = "%(trailersX%>|(20)%an ; %(trailersX%(describe:tags) ; %(trailers:separator=%x2C,only) ; \
         %(describeX%(describe:tags) ; %<(5%(describe:tags)x ; %<(0%(describe:tags)x ; \
         %><|( +7%(describe:tags),trunc)%an| ; %<(7%(describe:tags),cut)%an| ; %C(x%(describe:tags) ; \
         %C(x%>|(20)%an ; %+C(x%an)%H";
    let formats: Vec<&str> = table.split(" ; ").collect();
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
    repo.git(["commit", "-q", "--allow-empty", "-m", "child"]);
    forge::lose(&repo, "HEAD~1");
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
    let table = "%-gd ; %-s ; %-H%-gd ; %<|(20)%h| ; %>|(20)%h| ; %>>(12)%h| ; %>>|(20)%h| ; %><|(20)%h| ; \
         %<|(-5)%h ; %>>(40)%h%-gd ; %+<|(20)%h| ; % >|(20)%h| ; %->>|(20)%h| ; %+>>(12)%h| ; \
         %+<(5)%w(9,1,2)%s|";
    let formats: Vec<&str> = table.split(" ; ").collect();
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
#[ignore = "slow"]
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

/// git goes on with the commit as it is, if it is not in the encoding that it claims.
#[test]
fn commits_in_another_encoding_than_they_claim() {
    let formats = "$Format:%s$$Format:%B%b$$Format:%f%an%ct$$Format:%+b%-B$";
    let repo = repo(SUBSTITUTED, &[("all", formats.as_bytes())]);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let person = "A <a@example.com> 1117231200 +0000";
    let head = format!("tree {tree}\nauthor {person}\ncommitter {person}\n");
    let commit = format!("{head}encoding UTF-16\n\nSubject\n");
    // An even number of bytes is in any UTF-16.
    let end = if commit.len() % 2 == 0 { "." } else { "" };
    let hash = ["hash-object", "-w", "-t", "commit", "--stdin"];
    let commit = repo.git_with_input(hash, commit + end);
    compare(&repo, &commit);
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
    for date in cases(
        "1117231200 +0130 | 1117231200 -0030 | 0 +0000 | 00 -0000 | 99999999999 +1400 | \
         253402300799 +0000 | 999999999999 +0000 | 1117231200 +9999 | 1117231200 +0099 | 1117231200 | \
         -1 +0000 | words |  | 18446744073709551615 +0000 | 1117231200  +0100 | 1117231200 +010 | \
         1117231200 +01000",
    ) {
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
        if git_version() >= (2, 54) {
            assert_same_failure(&repo, &["HEAD"]);
        } else {
            repo.assert_same(["HEAD"]);
        }
    }
}

/// Columns are counted as far as the first NUL of the file.
#[test]
fn columns_behind_a_nul() {
    let files: [(&str, &[u8]); 5] = [
        ("a", b"abc\0\nde $Format:%<|(20)%h$|\n"),
        (
            "b",
            b"one\nabc$Format:%x00$ x\ny $Format:%<|(20)%h$|$Format:%>|(30)%h$\n",
        ),
        ("c", b"a\nabc\0   $Format:%>>(60)%h$|$Format:%-N$\n"),
        ("d", b"a\0\n\n$Format:%-N%w(9,1,2)%s$ \n"),
        ("e", b"\0$Format:%<|(9)%h%w(9)%s$"),
    ];
    compare(&repo_to_describe(&files), "HEAD");
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
        for (name, text) in [("text", line), ("nul", &nul)] {
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
