//! What an indexer does: sends the files of each repository that are to be indexed, and later only what changed.
//!
//! ```text
//! cargo run --example index <base> <revision> <repository>...
//! ```

use std::{
    env, error,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use git_sluice::{CommandLine, Failure, Outputs, Session};

type Result<T, E = Box<dyn error::Error>> = std::result::Result<T, E>;

const NO_BASE: u8 = 3;
const TOO_MANY_CHANGES: u8 = 5;

fn main() -> Result<ExitCode> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [base, revision, repositories @ ..] = &words[..] else {
        return Err("usage: index <base> <revision> <repository>...".into());
    };
    // One session for all requests: repositories stay open. Threads may share it.
    let session = Session::new(env::current_dir()?, |name| env::var_os(name));
    let base = [&format!("--base={base}"), "--max-changed-ratio=0.5"];
    let mut exit = ExitCode::SUCCESS;
    for repository in repositories {
        let ask = |words: &[&str]| write(&session, repository, &[words, &[revision]].concat());
        let mut answer = ask(&base)?;
        let status = answer.as_ref().err().map(Failure::status);
        // A full archive instead of the changes.
        if matches!(status, Some(NO_BASE | TOO_MANY_CHANGES)) {
            answer = ask(&[])?;
        }
        match answer {
            Ok(()) => writeln!(io::stdout(), "{repository} is complete")?,
            Err(failure) => {
                writeln!(io::stdout(), "{repository}: {failure}")?;
                exit = ExitCode::FAILURE;
            }
        }
    }
    Ok(exit)
}

/// Writes the archive and the manifest of a repository to files that get their names when both are complete.
fn write(session: &Session, repository: &str, words: &[&str]) -> Result<Result<(), Failure>> {
    let name = Path::new(repository).file_name().ok_or("no name")?;
    let files = ["tar", "jsonl"].map(|kind| format!("{}.{kind}", name.display()));
    let parts = files.each_ref().map(|file| format!("{file}.part"));
    let outputs = Outputs::new(File::create(&parts[0])?)
        .band(4, File::create(&parts[1])?)
        .with_messages(io::stderr());
    let words = [&["archive", "--profile=zoekt", "--manifest=band:4"], words].concat();
    let answer = session.answer(CommandLine::new(repository, words), outputs);
    for (part, file) in parts.iter().zip(&files) {
        match answer {
            Ok(()) => fs::rename(part, file)?,
            Err(_) => fs::remove_file(part)?,
        }
    }
    Ok(answer)
}
