//! What a reader that knows pax records, and nothing of git-sluice, learns from a delta: which paths are gone, and what became
//! of the others.

use super::History;
use crate::support::import::{file, files};
use crate::support::process::{Output, run_with_input};
use crate::support::{go_environment, installed};

/// Prints a line for each deletion, then a line for each entry with a status.
const PYTHON: &str = "
import io, sys, tarfile
archive = tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()))
number = 1
while path := archive.pax_headers.get(f'GITSLUICE.delete.{number}'):
    print('D', path)
    number += 1
for entry in archive:
    if status := entry.pax_headers.get('GITSLUICE.status'):
        print(status, entry.name)
";

/// The same.
const GO: &str = r#"
package main

import (
	"archive/tar"
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	archive, number := tar.NewReader(os.Stdin), 1
	for {
		entry, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		if entry.Typeflag != tar.TypeXGlobalHeader {
			if status := entry.PAXRecords["GITSLUICE.status"]; status != "" {
				fmt.Println(status, entry.Name)
			}
			continue
		}
		for {
			path, more := entry.PAXRecords[fmt.Sprint("GITSLUICE.delete.", number)]
			if !more {
				break
			}
			fmt.Println("D", path)
			number++
		}
	}
}
"#;

/// More deletions than one global header holds.
const MANY: u32 = 4000;

fn name(number: u32) -> String {
    format!("many/{number:06}-{}", "x".repeat(100))
}

fn history() -> History {
    let many = (0..MANY).map(|number| (name(number), file("")));
    let some = [
        ("kept", "1"),
        ("same", "1"),
        ("turned", "1"),
        ("gone/a", "1"),
    ];
    let some = some.map(|(path, text)| (path.to_owned(), file(text)));
    let old = files(many.chain(some));
    let new = files([
        ("kept", file("2")),
        ("same", file("1")),
        ("turned/f", file("1")),
        ("new", file("1")),
    ]);
    History::new(&old, &new)
}

/// What a reader should print.
fn expected() -> String {
    let many = (0..MANY).map(|number| format!("D {}\n", name(number)));
    let deleted = ["D gone/a\n", "D gone/\n"].map(str::to_owned);
    let entries = "M kept\nA new\nA turned/f\n";
    let deletions = deleted.into_iter().chain(many);
    deletions
        .chain(["D many/\n".to_owned(), "D turned\n".to_owned()])
        .collect::<String>()
        + entries
}

#[track_caller]
fn assert_learns(read: impl FnOnce(&History, Vec<u8>) -> Output) {
    let history = history();
    let delta = history.delta(["old", "new"], &["--pax-notes"]).success();
    let found = read(&history, delta).success();
    let found = String::from_utf8_lossy(&found);
    assert!(found == expected(), "{}", &found[found.len() - 200..]);
}

#[test]
fn python_learns_what_changed() {
    if !installed("python3") {
        return;
    }
    assert_learns(|history, delta| {
        let mut python = history.repo.command("python3");
        run_with_input(python.args(["-c", PYTHON]), delta)
    });
}

#[test]
fn go_learns_what_changed() {
    if !installed("go") {
        return;
    }
    assert_learns(|history, delta| {
        history.repo.write("main.go", GO);
        let mut go = history.repo.command("go");
        go.envs(go_environment()).env("GO111MODULE", "off");
        run_with_input(go.args(["run", "main.go"]), delta)
    });
}
