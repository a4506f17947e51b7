//! What the program says, whole: a transcript of commands and their outputs, in `messages.txt`.
//!
//! A command stands behind `$`. Its standard output follows as it is, its standard error behind `!`, and its status in
//! brackets if it is not 0. The commands run one after the other in one repository.

use std::{fmt::Write, fs};

use crate::support::Repo;
use crate::support::process::Output;

const TRANSCRIPT: &str = include_str!("messages.txt");

#[test]
fn every_message() {
    let repo = Repo::init();
    let mut told = String::new();
    for line in TRANSCRIPT.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            writeln!(told, "{line}").expect("in memory");
            told += &said(&repo.shell(command));
        } else if line.is_empty() || line.starts_with("# ") {
            writeln!(told, "{line}").expect("in memory");
        }
    }
    if told != TRANSCRIPT {
        let place = concat!(env!("CARGO_TARGET_TMPDIR"), "/messages.txt");
        fs::write(place, &told).expect("ours");
        let lines = told.lines().zip(TRANSCRIPT.lines());
        let other = lines.enumerate().find(|(_, (told, known))| told != known);
        panic!("other than tests/it/messages.txt, see {place}: {other:?}");
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
