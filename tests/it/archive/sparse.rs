//! Files of which only the size is told, as readers see them: made by the library, since it is they
//! that decide whether a hole may stand in for what is not sent.

use std::path::Path;
use std::process::Command;

use sluice_format::{
    Format, Layout, Member, MemberKind, Part,
    tar::{Globals, Tar},
};

use crate::archive::readers::{Contents, Node, on_disk};
use crate::support::process::run_with_input;
use crate::support::{Repo, go_environment, installed};

/// One byte above what an indexer takes.
const SIZE: u64 = (1 << 20) + 1;

fn member(name: &[u8], kind: MemberKind) -> Member<'_> {
    Member {
        name,
        kind,
        id: &[7; 20],
        text: None,
        vendor: &[
            ("GITSLUICE.size", b"123456789"),
            ("GITSLUICE.reason", b"exceeds the maximum size limit"),
        ],
    }
}

/// Names that fit into a header, that fit in two parts, that do not fit, and that are no text.
fn holes() -> [Vec<u8>; 5] {
    let deep = |directory: usize, base: usize| {
        let (directory, base) = ("d".repeat(directory), "b".repeat(base));
        format!("d/{directory}/{base}").into_bytes()
    };
    [
        b"hole".to_vec(),
        b"d/hole".to_vec(),
        deep(90, 70),
        deep(200, 200),
        b"d/caf\xe9".to_vec(),
    ]
}

/// All kinds of entries, each with records of ours.
fn archive(holes: &[Vec<u8>]) -> Vec<u8> {
    let tar = Tar {
        mtime: 1_117_231_200,
        umask: 0o002,
        comment: None,
        globals: Globals::default(),
    };
    let mut part = Part::default();
    tar.head(&mut part.bytes);
    tar.directory(&member(b"d/", MemberKind::Directory), &mut part);
    tar.symlink(&member(b"d/link", MemberKind::Symlink), b"hole", &mut part);
    for name in holes {
        tar.sparse_file(&member(name, MemberKind::File), SIZE, &mut part);
    }
    let last = member(b"last", MemberKind::Executable);
    let begun = tar.begin_file(&last, &mut part);
    part.bytes.extend(b"body");
    tar.end_file(&mut (), begun, &last, Layout::Whole, &mut part);
    let mut archive = part.bytes.to_vec();
    tar.end((), archive.len() as u64, &mut |end| {
        archive.extend_from_slice(end);
        Ok(())
    })
    .expect("nothing that could fail");
    archive
}

fn contents(holes: &[Vec<u8>]) -> Contents {
    let mut contents = Contents::new();
    contents.insert(b"d/link".to_vec(), Node::Link(b"hole".to_vec()));
    contents.insert(b"last".to_vec(), Node::File(b"body".to_vec(), true));
    for name in holes {
        for (slash, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            contents.insert(name[..slash].to_vec(), Node::Directory);
        }
        contents.insert(name.clone(), Node::File(vec![0; SIZE as usize], false));
    }
    contents
}

/// What `reader` extracts from the archive on its stdin, given a directory, is what was put in.
#[track_caller]
fn assert_extracts(holes: &[Vec<u8>], reader: impl Fn(&Repo, &Path) -> Command) {
    let (own, target) = (Repo::scratch(), Repo::scratch());
    let output = run_with_input(&mut reader(&own, target.path()), archive(holes));
    assert_eq!(output.messages(), "", "{output}");
    let _ = output.success();
    let (found, expected) = (on_disk(target.path()), contents(holes));
    for (path, node) in &expected {
        assert!(found.get(path) == Some(node), "{}", path.escape_ascii());
    }
    assert_eq!(
        found.len(),
        expected.len(),
        "there is more than there should be"
    );
}

/// It tells of each record that it does not know, but can be asked not to.
#[test]
fn tar_extracts_holes() {
    if !installed("tar") {
        return;
    }
    assert_extracts(&holes(), |repo, target| {
        let mut tar = repo.command("tar");
        tar.args(["--no-same-owner", "--warning=no-unknown-keyword", "-xf-"]);
        tar.arg("-C").arg(target);
        tar
    });
}

#[test]
fn bsdtar_extracts_holes() {
    if !installed("bsdtar") {
        return;
    }
    // It cannot read the name of a hole that is no text.
    assert_extracts(&holes()[..4], |repo, target| {
        let mut bsdtar = repo.command("bsdtar");
        bsdtar.arg("-xf-").arg("-C").arg(target);
        bsdtar
    });
}

const PYTHON: &str = "
import io, sys, tarfile
with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), errors='surrogateescape') as archive:
    for entry in archive:
        assert entry.pax_headers['GITSLUICE.size'] == '123456789', entry
    archive.extractall(sys.argv[1])
";

#[test]
fn python_extracts_holes() {
    if !installed("python3") {
        return;
    }
    assert_extracts(&holes(), |repo, target| {
        let mut python = repo.command("python3");
        python.args(["-W", "ignore", "-c", PYTHON]).arg(target);
        python
    });
}

/// Indexers are written in it.
const GO: &str = r#"
package main

import (
	"archive/tar"
	"io"
	"log"
	"os"
	"path/filepath"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	archive := tar.NewReader(os.Stdin)
	for {
		entry, err := archive.Next()
		if err == io.EOF {
			return
		}
		check(err)
		if entry.PAXRecords["GITSLUICE.size"] != "123456789" {
			log.Fatal(entry.PAXRecords)
		}
		path := filepath.Join(os.Args[1], entry.Name)
		check(os.MkdirAll(filepath.Dir(path), 0o777))
		switch entry.Typeflag {
		case tar.TypeDir:
		case tar.TypeSymlink:
			check(os.Symlink(entry.Linkname, path))
		case tar.TypeReg:
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, os.FileMode(entry.Mode))
			check(err)
			size, err := io.Copy(file, archive)
			check(err)
			if size != entry.Size {
				log.Fatal(entry.Name, " has ", size)
			}
			check(file.Close())
		default:
			log.Fatal(entry)
		}
	}
}
"#;

#[test]
fn go_extracts_holes() {
    if !installed("go") {
        return;
    }
    assert_extracts(&holes(), |repo, target| {
        repo.write("main.go", GO);
        let mut go = repo.command("go");
        go.envs(go_environment()).env("GO111MODULE", "off");
        go.args(["run", "main.go"]).arg(target);
        go
    });
}

/// What does not know of holes meets a small file under a name that nobody else has.
#[test]
fn tar_crate_sees_a_map() {
    let archive = archive(&holes());
    let mut reader = tar::Archive::new(&archive[..]);
    let entries = reader.entries().expect("it begins well");
    let found = entries
        .map(|entry| entry.expect("each entry is well formed"))
        .map(|entry| (entry.path_bytes().into_owned(), entry.size()));
    let found: Vec<(Vec<u8>, u64)> = found.collect();
    assert_eq!(found.len(), 3 + holes().len());
    assert_eq!(found[2], (b"GNUSparseFile.0/hole".to_vec(), 512));
    assert_eq!(found[3], (b"d/GNUSparseFile.0/hole".to_vec(), 512));
}
