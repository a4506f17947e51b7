//! What the program says, whole: transcripts of commands and their outputs, in `messages.txt` and `usage.txt`.
//!
//! A command stands behind `$`. Its standard output follows as it is, its standard error behind `!`, and its status in
//! brackets if it is not 0. The commands run one after the other in one repository.

use std::{fmt::Write, fs};

use crate::support::Repo;
use crate::support::process::Output;

#[test]
fn every_message() {
    assert_said("messages.txt", include_str!("messages.txt"));
}

/// Command lines that are refused for one of their words.
#[test]
fn usage() {
    assert_said("usage.txt", include_str!("usage.txt"));
}

/// The commands of `transcript`, which is in the file `name`, have its outputs.
#[track_caller]
fn assert_said(name: &str, transcript: &str) {
    let repo = Repo::init();
    let mut told = String::new();
    for line in transcript.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            writeln!(told, "{line}").expect("in memory");
            told += &said(&repo.shell(command));
        } else if line.is_empty() || line.starts_with("# ") {
            writeln!(told, "{line}").expect("in memory");
        }
    }
    if told != transcript {
        let place = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
        fs::write(&place, &told).expect("ours");
        let lines = told.lines().zip(transcript.lines());
        let other = lines.enumerate().find(|(_, (told, known))| told != known);
        panic!("other than tests/it/{name}, see {place}: {other:?}");
    }
}

/// The output as the transcript has it.
fn said(output: &Output) -> String {
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !said.is_empty() && !said.ends_with('\n') {
        said.push('\n');
    }
    for line in output.messages().lines() {
        writeln!(said, "! {line}").expect("in memory");
    }
    if output.code() != 0 {
        writeln!(said, "[{}]", output.code()).expect("in memory");
    }
    said
}
