//! What git's own tests of `git archive` ask, asked of us: one module for each of its test files, the
//! tests named after git's titles, several titles in one where one prepares what the next looks at.
//!
//! They say what users rely on, with real readers; that the bytes are git's is for `oracle.rs` and
//! `formats.rs`.

mod t5000;
mod t5001;
mod t5002;
mod t5003;
mod t5004;

use std::io::Read;
use std::path::Path;
use std::process::Command;

use crate::archive::readers::{Contents, Node, on_disk};
use crate::support::Repo;
use crate::support::forge;
use crate::support::process::{Output, Running, run, run_with_input};

/// Both ways to ask for a remote archive: we ask git, and git asks us.
const SIDES: [fn(&Repo, &[&str]) -> Output; 2] = [
    |repo, args| repo.sluice(args),
    |repo, args| repo.served(args),
];

#[track_caller]
fn untarred(archive: Vec<u8>) -> Contents {
    let target = Repo::scratch();
    let mut tar = target.command("tar");
    let _ = run_with_input(tar.args(["--no-same-owner", "-xf-"]), archive).success();
    on_disk(target.path())
}

/// With `options` for unzip.
#[track_caller]
fn unzipped(options: &[&str], archive: Vec<u8>) -> Contents {
    let target = Repo::scratch();
    target.write("archive.zip", archive);
    let mut unzip = target.command("unzip");
    let _ = run(unzip.arg("-q").args(options).arg("archive.zip")).success();
    let mut contents = on_disk(target.path());
    contents.remove(&b"archive.zip"[..]);
    contents
}

/// What lies in the work tree, and not in its repository.
fn work_tree(repo: &Repo) -> Contents {
    let mut contents = on_disk(repo.path());
    contents.retain(|path, _| !path.starts_with(b".git/") && path != b".git");
    contents
}

/// `contents` below a directory.
fn below(directory: &str, contents: Contents) -> Contents {
    let moved =
        |(path, node): (Vec<u8>, Node)| ([directory.as_bytes(), b"/", &path].concat(), node);
    let mut below: Contents = contents.into_iter().map(moved).collect();
    below.insert(directory.into(), Node::Directory);
    below
}

fn file(content: impl Into<Vec<u8>>) -> Node {
    Node::File(content.into(), false)
}

#[track_caller]
fn assert_same_contents(found: &Contents, expected: &Contents) {
    for (path, node) in expected {
        let same = found.get(path) == Some(node);
        assert!(same, "{} is not as it should be", path.escape_ascii());
    }
    let surplus = found.keys().find(|path| !expected.contains_key(*path));
    assert_eq!(surplus.map(|path| path.escape_ascii().to_string()), None);
}

/// The archive that is in a file of the repository.
#[track_caller]
fn content(repo: &Repo, name: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(repo.path().join(name)).expect("it was written")
}

/// Nobody stores 64 GiB for a test: HEAD has a loose blob that says it is of this size, of which only
/// the first megabytes are there, all noise, so that no compressor holds them back.
fn with_huge_blob(size: u64) -> Repo {
    let repo = Repo::init();
    let id = forge::made_up(0x51);
    let blob = format!("blob {size}\0").into_bytes();
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    forge::loose(
        &repo,
        &id,
        &[blob, noise.take(4_000_000).collect()].concat(),
    );
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

/// The work tree with the placeholder filled in where it is marked.
fn expected(repo: &Repo) -> Contents {
    let mut contents = work_tree(repo);
    let head = repo.git(["rev-parse", "HEAD"]);
    contents.insert(b"a/substfile1".to_vec(), file(format!("A {head}\n O")));
    contents
}
