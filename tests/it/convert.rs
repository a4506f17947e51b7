//! What attributes make of content: encodings, filters, `$Format:…$`. The oracle is the installed git;
//! what only a newer one does is skipped by version.
//!
//! Line endings and `$Id$` have fixtures of their own, see `oracle.rs`.

use std::fs;
use std::time::SystemTime;

use crate::support::{Repo, git_version, installed};
use crate::tape;

/// A repository with these attributes and files, committed as they are, with nothing cleaned.
fn repo(attributes: &str, files: &[(&str, &[u8])]) -> Repo {
    let repo = Repo::init();
    commit(&repo, attributes, files);
    repo
}

fn commit(repo: &Repo, attributes: &str, files: &[(&str, &[u8])]) {
    let attributes = (".gitattributes", attributes.as_bytes());
    for (name, content) in files.iter().chain([&attributes]) {
        let id = repo.git_with_input(["hash-object", "-w", "--no-filters", "--stdin"], *content);
        let entry = format!("100644,{id},{name}");
        repo.git(["update-index", "--add", "--cacheinfo", &entry]);
    }
    repo.git([
        "commit",
        "-qm",
        "Subject of it\n\nBody of it.\n\nKey: value",
    ]);
}

// --- working-tree-encoding ---

#[test]
fn encodings() {
    let text = "a\u{e4}\u{65e5}\n";
    for encoding in [
        "UTF-16",
        "utf16",
        "UTF-16LE",
        "UTF-16BE",
        "UTF-16LE-BOM",
        "utf-16be-bom",
        "UTF16LE-BOM",
        "UTF-32",
        "UTF-32LE-BOM",
        "UTF-7",
        "UTF-8",
        "utf8",
        "EUC-JP",
        "ISO-2022-JP",
        "ASCII",
        "ASCII//TRANSLIT",
        "latin-1",
        "Shift_JIS",
        "no-such-encoding",
    ] {
        let repo = repo(
            &format!("* working-tree-encoding={encoding}\n"),
            &[
                ("empty", b""),
                ("latin", "\u{e4}".as_bytes()),
                ("no-utf8", b"one\xfftwo"),
                ("japanese", "\u{65e5}".as_bytes()),
                ("cut", b"one\xc3"),
                ("marked", "\u{feff}one".as_bytes()),
                ("text", text.as_bytes()),
                ("large", text.repeat(30_000).as_bytes()),
            ],
        );
        repo.assert_same(["-v", "HEAD"]);
    }
}

#[test]
fn encodings_without_a_value() {
    let repo = repo(
        "b -working-tree-encoding\nc working-tree-encoding=\n",
        &[("b", b"one"), ("c", b"two")],
    );
    repo.assert_same(["HEAD"]);
    commit(&repo, "b working-tree-encoding\n", &[("b", b"one")]);
    let message = ".gitattributes\nb\nfatal: true/false are no valid working-tree-encodings\n";
    for output in [repo.sluice(["-v", "HEAD"]), repo.archive(["-v", "HEAD"])] {
        assert_eq!(
            (output.code(), output.messages()),
            (128, message.into()),
            "{output}"
        );
    }
}

/// `$Id$` and line endings come first.
#[test]
fn encodings_with_other_conversions() {
    let repo = repo(
        "* ident text eol=crlf working-tree-encoding=UTF-16\n",
        &[("a", b"one\n$Id$\n"), ("b", b"one\n\xff")],
    );
    repo.assert_same(["-v", "--prefix=p/", "HEAD"]);
    repo.with(["-c", "core.bigFileThreshold=7"])
        .assert_same(["HEAD"]);
}

// --- filters ---

const FILTERED: [(&str, &[u8]); 4] = [
    ("a", b"one\n"),
    ("it's !odd", b"two\n"),
    ("plain", b"three\n"),
    ("sub/a", b"four\n"),
];
const ATTRIBUTES: &str = "a filter=f\nit* filter=f\n";

/// Ours says what git says, and fails as it fails; what was written before a failure is not complete.
#[track_caller]
fn assert_same_failure(repo: &Repo, args: &[&str]) {
    let (ours, theirs) = (repo.sluice(args), repo.archive(args));
    assert_eq!(ours.messages(), theirs.messages());
    assert_eq!(ours.code(), theirs.code(), "{ours}");
    assert_eq!(ours.code(), 128, "{ours}");
}

#[test]
fn smudge_commands() {
    let repo = repo(ATTRIBUTES, &FILTERED);
    for command in [
        "tr a-z A-Z",
        "rev",
        "cat",
        "",
        "echo %f %%f %x 100%",
        "printf '%%s|' %f; cat",
        "exit 0",
        "head -c 1",
        // what fails
        "cat; exit 3",
        "false",
        "kill -9 $$",
        "kill -13 $$",
        "no-such-command",
        "no-such command",
        "/dev/null",
        "exit 7 # %f",
    ] {
        let setting = format!("filter.f.smudge={command}");
        let repo = repo.clone().with(["-c", &setting]);
        repo.assert_same(["-v", "--prefix=p/", "HEAD"]);
        repo.assert_same(["HEAD^{tree}"]);
        // Even one that is required is not asked for what is streamed.
        let required = repo.with(["-c", "filter.f.required"]);
        required
            .clone()
            .with(["-c", "core.bigFileThreshold=1"])
            .assert_same(["HEAD"]);
        if required.archive(["HEAD"]).status.success() {
            required.assert_same(["-v", "HEAD"]);
        } else {
            assert_same_failure(&required, &["-v", "HEAD"]);
        }
    }
}

/// An archive that ends in a failure cannot be taken for a complete one.
#[test]
fn required_filters_that_fail() {
    let files: [(&str, &[u8]); 3] = [("a", b"one\n"), ("b", b"two\n"), ("c", b"three\n")];
    let repo = repo("b filter=f\n", &files).with(["-c", "filter.f.required"]);
    assert_same_failure(&repo, &["-v", "HEAD"]);
    let output = repo.sluice(["HEAD"]);
    let message = "fatal: b: smudge filter f failed\n";
    assert_eq!((output.code(), output.messages()), (128, message.into()));
    if installed("tar") {
        let listed =
            crate::process::run_with_input(repo.command("tar").args(["-tf", "-"]), output.stdout);
        assert!(!listed.status.success(), "{listed}");
    }
}

/// Neither side waits for the other, whatever it does first.
#[test]
fn smudge_commands_and_large_files() {
    let large = b"0123456789abcde\n".repeat(1 << 16);
    let repo = repo("* filter=f\n", &[("a", b"small\n"), ("large", &large)]);
    for command in [
        "cat",
        "head -c 100000",
        "head -c 5",
        "exit 0",
        "cat; cat /dev/null",
        "seq 100000; cat",
    ] {
        let setting = format!("filter.f.smudge={command}");
        repo.clone().with(["-c", &setting]).assert_same(["HEAD"]);
    }
}

/// What is set in the environment of a filter, and where it runs.
#[test]
fn surroundings() {
    let command = "filter.f.smudge=pwd; echo prefix=$GIT_PREFIX";
    let files: [(&str, &[u8]); 2] = [("a", b""), ("sub/a", b"")];
    let repo = repo("a filter=f\n", &files);
    fs::create_dir(repo.path().join("sub")).expect("our own");
    let repo = repo.with(["-c", command]);
    repo.assert_same(["HEAD"]);
    repo.clone().at(".git").assert_same(["HEAD"]);
    repo.clone().at(".git/refs").assert_same(["HEAD"]);
    let sub = repo.clone().at("sub").sluice(["HEAD"]).success();
    let expected = format!("{}\nprefix=sub/\n", repo.path().display());
    let records = tape::records(&sub);
    let contents: Vec<_> = records.iter().map(|record| record.data.to_vec()).collect();
    assert!(contents.contains(&expected.into_bytes()));
    let outside = Repo::scratch().env("GIT_DIR", repo.path().join(".git"));
    outside.with(["-c", command]).assert_same(["HEAD"]);
}

/// A filter process that writes down what it is sent, and does to each file what its name says.
const PROCESS: &str = r#"
import os, sys
log = open(sys.argv[1], "ab", buffering=0)
source, sink = sys.stdin.buffer, sys.stdout.buffer

def packets():
    found = []
    while True:
        header = source.read(4)
        if len(header) < 4:
            sys.exit(0)
        length = int(header, 16)
        content = source.read(length - 4) if length else b""
        log.write(header + b" " + content[:200].rstrip(b"\n") + b"\n")
        if not length:
            return found
        found.append(content)

def send(*packets):
    for packet in packets:
        sink.write(b"%04x" % (len(packet) + 4) + packet)
    sink.write(b"0000")
    sink.flush()

log.write(b"start\n")
packets()
send(b"git-filter-server\n", b"version=2\n")
packets()
send(b"capability=smudge\n", b"capability=clean\n")
while True:
    headers = dict(header.rstrip(b"\n").split(b"=", 1) for header in packets())
    content = b"".join(packets())
    name = headers[b"pathname"]
    if b"error" in name:
        send(b"status=error\n")
    elif b"abort" in name:
        send(b"status=abort\n")
    elif b"odd" in name:
        send(b"status=what\n")
    elif b"gone" in name:
        sys.exit(1)
    elif b"late" in name:
        send(b"status=success\n")
        send(content)
        send(b"status=error\n")
    else:
        send(b"status=success\n")
        upper = content.upper()
        send(*[upper[at:at + 65516] for at in range(0, len(upper), 65516)])
        send(b"status=success\n") if b"again" in name else send()
"#;

/// Both get the same answers, for they ask the same questions.
#[track_caller]
fn assert_same_questions(repo: &Repo, args: &[&str]) {
    let start = SystemTime::now();
    let ask = |name: &str, threads: Option<&str>| {
        let command = format!(
            "python3 '{}/../process.py' ../{name}",
            repo.path().display()
        );
        let repo = repo
            .clone()
            .with(["-c", &format!("filter.f.process={command}")]);
        let output = match threads {
            None => repo.archive(args),
            Some(threads) => repo.sluice([&["--threads", threads], args].concat()),
        };
        let log = repo.path().join("..").join(name);
        let questions = fs::read_to_string(&log).expect("it was started");
        fs::remove_file(&log).expect("our own");
        let messages = output.messages().replace(name, "LOG");
        let archive = tape::without_clock(&output.stdout, start);
        (questions, messages, output.code(), archive)
    };
    let expected = ask("theirs", None);
    assert!(expected.0.starts_with("start\n"), "{}", expected.0);
    for threads in ["1", "2", "8"] {
        let actual = ask("ours", Some(threads));
        assert_eq!(actual.0, expected.0);
        assert_eq!((&actual.1, actual.2), (&expected.1, expected.2));
        assert!(
            actual.3 == expected.3,
            "another archive with {threads} threads"
        );
    }
}

fn repo_with_process(files: &[(&str, &[u8])]) -> Option<Repo> {
    if !installed("python3") {
        return None;
    }
    let repo = Repo::scratch();
    repo.write("process.py", PROCESS);
    fs::create_dir(repo.path().join("repo")).expect("our own");
    let repo = repo.at("repo");
    repo.git(["init", "-q", "-b", "main"]);
    commit(&repo, "* filter=f\n.gitattributes -filter\n", files);
    Some(repo)
}

#[test]
fn filter_processes() {
    let large = b"0123456789abcde\n".repeat(1 << 15);
    let files: [(&str, &[u8]); 9] = [
        ("a", b"one\n"),
        ("b-error", b"two\n"),
        ("c-odd", b"three\n"),
        ("d-again", b"four\n"),
        ("e-late", b"five\n"),
        ("f", b""),
        ("g", &large),
        ("h-abort", b"eight\n"),
        ("i", b"nine\n"),
    ];
    let Some(repo) = repo_with_process(&files) else {
        return;
    };
    assert_same_questions(&repo, &["-v", "--prefix=p/", "HEAD"]);
    assert_same_questions(&repo, &["HEAD^{tree}"]);
    assert_same_questions(&repo, &["HEAD", "a", "f", "g"]);
}

#[test]
fn refs_told_to_filter_processes() {
    let Some(repo) = repo_with_process(&[("a", b"one\n"), ("sub/a", b"two\n")]) else {
        return;
    };
    let commit = repo.git(["rev-parse", "HEAD"]);
    for reference in [
        "refs/tags/both",
        "refs/heads/both",
        "refs/heads/dir/branch",
        "refs/remotes/o/main",
        "refs/odd",
    ] {
        repo.git(["update-ref", reference, "HEAD"]);
    }
    repo.git(["symbolic-ref", "refs/remotes/o/HEAD", "refs/remotes/o/main"]);
    repo.git(["tag", "-am", "annotated", "tag"]);
    repo.git(["tag", "tree", "HEAD^{tree}"]);
    for name in [
        "HEAD",
        "@",
        "main",
        "both",
        "heads/both",
        "dir/branch",
        "o",
        "o/main",
        "odd",
        "refs/odd",
        "tag",
        "tree",
        "HEAD~0",
        "main:",
        "tag^{}",
        "tag^{tree}",
        &commit,
        &commit[..12],
    ] {
        assert_same_questions(&repo, &[name]);
    }
    repo.git(["checkout", "-q", "--detach"]);
    assert_same_questions(&repo, &["HEAD"]);
    assert_same_questions(&repo, &["@"]);
}

/// Replaced content is filtered under the id that the tree has.
#[test]
fn filter_processes_and_replacements() {
    let Some(repo) = repo_with_process(&[("a", b"one\n"), ("b", b"two\n")]) else {
        return;
    };
    repo.git(["replace", "HEAD:a", "HEAD:b"]);
    assert_same_questions(&repo, &["HEAD"]);
}

/// What does not speak the protocol.
#[test]
fn broken_filter_processes() {
    let repo = repo(
        "* filter=f\n.gitattributes -filter\n",
        &[("a", b"one\n"), ("b", b"two\n")],
    );
    let hello = r"printf '0016git-filter-server\n000eversion=2\n0000'; cat >/dev/null";
    let welcome = r"printf '0016git-filter-server\n000eversion=2\n00000016capability=smudge\n0000'";
    for command in [
        "no-such-command".into(),
        r"printf '0008what'; cat >/dev/null".into(),
        r"printf '0000'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n0008what'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n000eversion=3\n0000'; cat >/dev/null".into(),
        r"printf '0016git-filter-server\n000eversion=2\n0008what'; cat >/dev/null".into(),
        hello.replace("cat", "printf '00000000'; cat"),
        hello.replace("cat", r"printf '0015capability=clean\n0000'; cat"),
        hello.replace("cat", r"printf '0013capability=foo\n0000'; cat"),
        hello.replace("cat", "printf 'zzzz'; cat"),
        hello.replace("cat", "printf '0003'; cat"),
        format!("{welcome}; printf '0013status=success\\nzzzz'; cat >/dev/null"),
        format!("{welcome}; printf '0000'; cat >/dev/null"),
        format!("{welcome}; exec 1>&-; cat >/dev/null"),
    ] {
        let repo = repo
            .clone()
            .with(["-c", &format!("filter.f.process={command}")]);
        let expected = repo.archive(["-v", "HEAD"]);
        if expected.status.success() {
            repo.assert_same(["-v", "HEAD"]);
        } else {
            assert_same_failure(&repo, &["-v", "HEAD"]);
        }
        assert_same_failure(&repo.with(["-c", "filter.f.required"]), &["HEAD"]);
    }
    let unused = ["-c", "filter.f.process=", "-c", "filter.f.smudge=rev"];
    repo.with(unused).assert_same(["HEAD"]);
}

// --- export-subst ---

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
    let (ours, theirs) = (tape::records(&ours), tape::records(&theirs));
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

/// What is recorded stays the original id; the rest is the replacement's.
#[test]
fn formats_and_replaced_commits() {
    let text: &[u8] = b"$Format:%H %T %P %s %ct %ci %h %d$ $Format:%H$ $Format:%H %T %ct$\n";
    let repo = repo(SUBSTITUTED, &[("a", text)]);
    commit(&repo, SUBSTITUTED, &[("a", text), ("b", b"$Format:%T$")]);
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

/// All of it at once, below the top of the work tree: export-subst is asked by the path from the root,
/// everything else by the path from there.
#[test]
fn conversions_in_a_sub_directory() {
    let repo = repo(
        "sub/a export-subst\n/b export-subst\na ident\nb text eol=crlf\n",
        &[
            ("sub/a", b"$Id$ $Format:%T$\n"),
            ("sub/b", b"$Format:%T$\n"),
        ],
    );
    fs::create_dir(repo.path().join("sub")).expect("our own");
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let id = repo.git(["rev-parse", "HEAD:sub/a"]);
    let sub = repo.at("sub");
    let archive = sub.sluice(["HEAD"]).success();
    let contents = tape::records(&archive)
        .into_iter()
        .map(|record| String::from_utf8_lossy(record.data).into_owned());
    let contents: Vec<_> = contents.skip(1).collect();
    assert_eq!(
        contents,
        [format!("$Id: {id} $ {tree}\n"), "$Format:%T$\r\n".into()]
    );
    if git_version() >= (2, 41) {
        sub.assert_same(["HEAD"]);
    }
}

/// Many files of which some are done in order: the others lose nothing by it.
#[test]
fn a_mixture_in_order() {
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..60 {
        let text = format!("{number} $Format:%h %s$ $Id$ \u{e4}\n").repeat(number * 10 + 1);
        files.push((format!("f{number:02}"), text));
    }
    let attributes = "* ident\n*3 export-subst\n*5 filter=f\n*7 working-tree-encoding=ASCII\n*9 export-subst filter=f\n";
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let repo = repo(attributes, &files).with(["-c", "filter.f.smudge=rev; echo said >&2"]);
    repo.assert_same(["-v", "HEAD"]);
}
