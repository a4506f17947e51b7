//! Readers that are not ours open what we write, and find in it what git says is in the tree; and
//! they refuse what we cut short.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use crate::support::process::{Output, run, run_with_input};
use crate::support::zip;
use crate::support::{Repo, installed};

/// What is at a path: a file's content and whether it can be executed, a link's target, or a
/// directory.
#[derive(Debug, PartialEq)]
pub(crate) enum Node {
    File(Vec<u8>, bool),
    Link(Vec<u8>),
    Directory,
}

pub(crate) type Contents = BTreeMap<Vec<u8>, Node>;

/// The tree as git shows it, with the directories that hold something.
fn in_tree(repo: &Repo, revision: &str) -> Contents {
    let mut contents = Contents::new();
    let listing = run(repo.command("git").args(["ls-tree", "-rz", revision])).success();
    let lines: Vec<&[u8]> = listing
        .split(|&byte| byte == 0)
        .filter(|line| !line.is_empty())
        .collect();
    let entries = lines.iter().map(|line| {
        let tab = line
            .iter()
            .position(|&byte| byte == b'\t')
            .expect("git writes one");
        let fields = std::str::from_utf8(&line[..tab]).expect("modes, kinds and ids");
        let [mode, _, id] = fields.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a line: {fields}")
        };
        (mode, id, &line[tab + 1..])
    });
    let mut blobs = blobs(
        repo,
        entries
            .clone()
            .filter(|entry| entry.0 != "160000")
            .map(|entry| entry.1),
    );
    for (mode, _, path) in entries {
        for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            contents.insert(path[..slash].to_vec(), Node::Directory);
        }
        let node = match mode {
            "160000" => Node::Directory,
            "120000" => Node::Link(blobs.next().expect("asked for")),
            _ => Node::File(blobs.next().expect("asked for"), mode == "100755"),
        };
        contents.insert(path.to_vec(), node);
    }
    contents
}

/// The contents of these blobs, in their order.
fn blobs<'a>(repo: &Repo, ids: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Vec<u8>> {
    let asked: String = ids.map(|id| format!("{id}\n")).collect();
    let mut batch = repo.command("git");
    let answers =
        run_with_input(batch.args(["cat-file", "--batch=%(objectsize)"]), asked).success();
    let mut rest = std::io::Cursor::new(answers);
    std::iter::from_fn(move || {
        let mut size = String::new();
        rest.read_line(&mut size).expect("it is in memory");
        let mut blob = vec![0; size.trim_end().parse().ok()?];
        rest.read_exact(&mut blob).expect("as large as it says");
        rest.consume(1);
        Some(blob)
    })
}

/// What a reader put below `root`.
pub(crate) fn on_disk(root: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("just extracted") {
            let path = entry.expect("just extracted").path();
            let meta = fs::symlink_metadata(&path).expect("just extracted");
            let node = if meta.is_dir() {
                pending.push(path.clone());
                Node::Directory
            } else if meta.is_symlink() {
                Node::Link(
                    fs::read_link(&path)
                        .expect("it is one")
                        .into_os_string()
                        .into_vec(),
                )
            } else {
                Node::File(
                    fs::read(&path).expect("ours"),
                    meta.permissions().mode() & 0o100 != 0,
                )
            };
            let name = path
                .strip_prefix(root)
                .expect("it is below")
                .as_os_str()
                .as_bytes()
                .to_vec();
            contents.insert(name, node);
        }
    }
    contents
}

/// Names and link targets that a file system takes.
const EXTRACTED: [(&str, &str); 8] = [
    ("basic", "HEAD"),
    ("names-odd", "inner"),
    ("names-odd", "HEAD"),
    ("deltas", "HEAD"),
    ("deep", "HEAD"),
    ("same-blob", "HEAD"),
    ("wide", "HEAD"),
    ("sha256", "HEAD"),
];

/// Extract all of them with `reader` and compare. Everything happens below temporary directories.
#[track_caller]
fn assert_extracts(reader: impl Fn(&Repo, &Path, Vec<u8>)) {
    assert_extracts_from("tar", &EXTRACTED, reader);
}

#[track_caller]
fn assert_extracts_from(
    format: &str,
    cases: &[(&str, &str)],
    reader: impl Fn(&Repo, &Path, Vec<u8>),
) {
    for &(fixture, revision) in cases {
        let repo = Repo::from(fixture);
        let format = format!("--format={format}");
        let archive = repo.sluice([&format, revision]).success();
        let target = Repo::scratch();
        reader(&repo, target.path(), archive);
        let (found, expected) = (on_disk(target.path()), in_tree(&repo, revision));
        for (path, node) in &expected {
            assert!(
                found.get(path) == Some(node),
                "{fixture}: {}",
                path.escape_ascii()
            );
        }
        assert_eq!(
            found.len(),
            expected.len(),
            "{fixture}: there is more than there should be"
        );
    }
}

fn gnu_tar(repo: &Repo) -> Command {
    let mut tar = repo.command("tar");
    // Quoting is for people; and what we extract is to be owned by whoever runs this.
    tar.args(["--quoting-style=literal", "--no-same-owner"]);
    tar
}

#[test]
fn tar_extracts() {
    if !installed("tar") {
        return;
    }
    assert_extracts(|repo, target, archive| {
        let output = run_with_input(gnu_tar(repo).arg("-xf-").arg("-C").arg(target), archive);
        assert_eq!(output.messages(), "", "{output}");
        let _ = output.success();
    });
}

#[test]
fn tar_extracts_what_is_compressed() {
    for (format, option, program) in [("tar.gz", "-z", "gzip"), ("tar.zst", "--zstd", "zstd")] {
        if !installed("tar") || !installed(program) {
            continue;
        }
        assert_extracts_from(format, &EXTRACTED, |repo, target, archive| {
            let mut check = repo.command(program);
            let _ = run_with_input(check.arg("-t"), archive.as_slice()).success();
            let mut tar = gnu_tar(repo);
            tar.args([option, "-xf-"]).arg("-C").arg(target);
            let _ = run_with_input(&mut tar, archive).success();
        });
    }
}

/// Those whose names are text: what else there is in a zip file, each reader takes differently.
const UNZIPPED: [(&str, &str); 6] = [
    ("basic", "HEAD"),
    ("deltas", "HEAD"),
    ("deep", "HEAD"),
    ("same-blob", "HEAD"),
    ("wide", "HEAD"),
    ("sha256", "HEAD"),
];

#[test]
fn unzip_extracts() {
    if !installed("unzip") || !installed("zipinfo") {
        return;
    }
    assert_extracts_from("zip", &UNZIPPED, |repo, target, archive| {
        let file = Repo::scratch();
        file.write("archive.zip", &archive);
        let path = file.path().join("archive.zip");
        let _ = run(repo.command("unzip").arg("-tqq").arg(&path)).success();
        let listing = run(repo.command("zipinfo").arg("-1").arg(&path)).success();
        assert_eq!(listing, (zip::names(&archive).join("\n") + "\n").as_bytes());
        let _ = run(repo
            .command("unzip")
            .arg("-qq")
            .arg(&path)
            .arg("-d")
            .arg(target))
        .success();
    });
}

/// The names are not looked at, but all else is.
#[test]
fn unzip_tests_what_is_odd() {
    if !installed("unzip") {
        return;
    }
    for (fixture, revision) in [("names-odd", "HEAD"), ("eol", "HEAD"), ("modes", "group")] {
        let repo = Repo::from(fixture).with(["-c", "core.bigFileThreshold=1k"]);
        let file = Repo::scratch();
        file.write(
            "archive.zip",
            repo.sluice(["--format=zip", revision]).success(),
        );
        let output = run(file.command("unzip").args(["-tqq", "archive.zip"]));
        assert_eq!(output.messages(), "", "{output}");
        let _ = output.success();
    }
}

/// The module has no notion of links and modes; the script puts in what it lacks.
const PYTHON_UNZIP: &str = "
import io, os, stat, sys, zipfile
os.chdir(sys.argv[1])
with zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())) as archive:
    assert archive.testzip() is None
    for entry in archive.infolist():
        mode = entry.external_attr >> 16
        if stat.S_ISLNK(mode):
            os.symlink(archive.read(entry), entry.filename)
        else:
            archive.extract(entry)
            if mode & 0o100:
                os.chmod(entry.filename, 0o755)
";

#[test]
fn python_unzips() {
    if !installed("python3") {
        return;
    }
    assert_extracts_from("zip", &UNZIPPED, |repo, target, archive| {
        let mut python = repo.command("python3");
        python.args(["-c", PYTHON_UNZIP]).arg(target);
        let _ = run_with_input(&mut python, archive).success();
    });
}

/// It takes `C:` for a drive and leaves it out, unless names are to be left alone.
fn bsdtar(repo: &Repo, target: &Path, archive: Vec<u8>) {
    let mut bsdtar = repo.command("bsdtar");
    bsdtar.arg("-xPf-").arg("-C").arg(target);
    let _ = run_with_input(&mut bsdtar, archive).success();
}

#[test]
fn bsdtar_extracts() {
    if !installed("bsdtar") {
        return;
    }
    assert_extracts(bsdtar);
    for format in ["tar.gz", "tar.zst"] {
        assert_extracts_from(format, &EXTRACTED, bsdtar);
    }
}

const PYTHON_EXTRACT: &str = "
import sys, tarfile
sys.setrecursionlimit(5000)
with tarfile.open(fileobj=sys.stdin.buffer, mode='r|', errors='surrogateescape') as archive:
    archive.extractall(sys.argv[1])
";

#[test]
fn python_extracts() {
    if !installed("python3") {
        return;
    }
    assert_extracts(|repo, target, archive| {
        let mut python = repo.command("python3");
        python
            .args(["-W", "ignore", "-c", PYTHON_EXTRACT])
            .arg(target);
        let _ = run_with_input(&mut python, archive).success();
    });
}

#[test]
fn tar_crate_reads() {
    for (fixture, revision) in EXTRACTED.into_iter().chain([("names-long", "HEAD")]) {
        let repo = Repo::from(fixture);
        let archive = repo.sluice([revision]).success();
        let mut found = Contents::new();
        let mut reader = tar::Archive::new(&archive[..]);
        for entry in reader.entries().expect("it begins well") {
            let mut entry = entry.expect("each entry is well formed");
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("it is whole");
            let node = match entry.header().entry_type() {
                tar::EntryType::Directory => Node::Directory,
                tar::EntryType::Symlink => {
                    Node::Link(entry.link_name_bytes().expect("links have one").into())
                }
                tar::EntryType::Regular => Node::File(
                    content,
                    entry.header().mode().expect("all have one") & 0o100 != 0,
                ),
                // The global header, which this reader hands on.
                _ => continue,
            };
            let path = entry.path_bytes();
            found.insert(path.strip_suffix(b"/").unwrap_or(&path).to_vec(), node);
        }
        assert!(found == in_tree(&repo, revision), "{fixture}");
    }
}

/// `names-long` has names that no file system takes, but any reader can list them.
#[test]
fn long_names_are_listed() {
    let repo = Repo::from("names-long");
    let archive = repo.sluice(["HEAD"]).success();
    let mut expected: Vec<Vec<u8>> = in_tree(&repo, "HEAD").into_keys().collect();
    expected.sort();
    let names = |listing: Output| {
        let listing = listing.success();
        let lines = listing
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut names: Vec<Vec<u8>> = lines
            .map(|line| line.strip_suffix(b"/").unwrap_or(line).to_vec())
            .collect();
        names.sort();
        names
    };
    if installed("tar") {
        assert!(
            names(run_with_input(
                gnu_tar(&repo).arg("-tf-"),
                archive.as_slice()
            )) == expected
        );
    }
    if installed("bsdtar") {
        assert!(
            names(run_with_input(
                repo.command("bsdtar").arg("-tf-"),
                archive.as_slice()
            )) == expected
        );
    }
    if installed("python3") {
        let list = "import sys, tarfile\n\
            for entry in tarfile.open(fileobj=sys.stdin.buffer, mode='r|'): print(entry.name)";
        assert!(
            names(run_with_input(
                repo.command("python3").args(["-c", list]),
                archive
            )) == expected
        );
    }
}

#[test]
fn the_commit_is_found_again() {
    for (fixture, name) in [
        ("basic", "HEAD"),
        ("sha256", "HEAD"),
        ("dates", "far-future"),
        ("replace", "HEAD~2"),
    ] {
        let repo = Repo::from(fixture);
        let archive = repo.sluice([name]).success();
        let mut command = repo.command("git");
        let found = run_with_input(command.arg("get-tar-commit-id"), archive).success();
        let commit = repo.git(["rev-parse", &format!("{name}^{{commit}}")]);
        assert_eq!(String::from_utf8_lossy(&found).trim_end(), commit);
    }
}

const PYTHON_LIST: &str = "
import io, sys, tarfile
for entry in tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), mode='r:'):
    pass
";

/// No reader takes this for a complete archive. What is empty does not pass for one anywhere. Damage cuts many archives to the
/// same bytes, and readers see those once.
#[track_caller]
pub(crate) fn assert_rejected(cut: &[u8]) {
    static REJECTED: LazyLock<Mutex<HashSet<Vec<u8>>>> = LazyLock::new(Mutex::default);
    let is_known = || REJECTED.lock().expect("no test fails here").contains(cut);
    if cut.is_empty() || is_known() {
        return;
    }
    let repo = Repo::scratch();
    if installed("tar") {
        let output = run_with_input(gnu_tar(&repo).arg("-tf-"), cut);
        assert_ne!(
            output.code(),
            0,
            "tar takes {} bytes for an archive",
            cut.len()
        );
    }
    if installed("python3") {
        let output = run_with_input(repo.command("python3").args(["-c", PYTHON_LIST]), cut);
        assert_ne!(
            output.code(),
            0,
            "python takes {} bytes for an archive",
            cut.len()
        );
    }
    // Large ones are rare, and would stay in memory.
    if cut.len() < 1 << 20 {
        let mut rejected = REJECTED.lock().expect("no test fails here");
        rejected.insert(cut.to_vec());
    }
}

/// The line of the documents, pasted into a shell: what is at the limit is indexed, what is above it is
/// there by name and with the right reason.
#[test]
fn zoekt_as_the_documents_have_it() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/code-search.md");
    let page = fs::read_to_string(page).expect("it is text");
    let mut blocks = page.split("```").skip(1).step_by(2);
    let line = blocks.find(|block| block.contains("| zoekt-archive-index"));
    let line = line.expect("the page tells how").trim_start_matches("sh\n");
    // The two limits are one.
    assert!(
        line.contains(" --max-size=2m ") && line.contains(" -file_limit=2097152 "),
        "{line}"
    );
    if !installed("zoekt-archive-index") || !installed("zoekt") {
        return;
    }
    let repo = Repo::init();
    let text = b"needle\n".repeat(300_000);
    repo.write("at.txt", &text[..2_097_152]);
    repo.write("above.txt", &text[..2_097_153]);
    repo.git(["add", "."]);
    repo.git(["commit", "-q", "-m", "limits"]);
    let repo = repo.clone().env("HOME", repo.path().join(".git"));
    let _ = repo.shell(&format!("set -eu; {line}")).success();
    let names = repo.shell("zoekt -l needle").success();
    assert_eq!(String::from_utf8_lossy(&names), "at.txt\n");
    let reasons = repo.shell("zoekt content:NOT-INDEXED:").success();
    let reasons = String::from_utf8_lossy(&reasons);
    assert_eq!(
        reasons,
        "above.txt:1:NOT-INDEXED: exceeds the maximum size limit\n"
    );
}
