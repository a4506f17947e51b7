//! What an indexer does: sends the files of each repository that are to be indexed, and later only what changed.
//!
//! ```text
//! cargo run --example index <base> <revision> <repository>...
//! ```

use std::{
    env, error,
    fs::File,
    io::{self, Write},
    path::Path,
};

use git_sluice::{CommandLine, Session, Sinks};

const NO_BASE: u8 = 3;
const TOO_MANY_CHANGES: u8 = 5;

fn main() -> Result<(), Box<dyn error::Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [base, revision, repositories @ ..] = &words[..] else {
        return Err("a base, a revision and repositories are wanted".into());
    };
    // One session for all requests: repositories stay open. Threads may share it.
    let session = Session::new(env::current_dir()?, |name| env::var_os(name));
    let common = ["--profile=zoekt", "--manifest=band:4"];
    let base = [&format!("--base={base}"), "--max-changed-ratio=0.5"];
    for repository in repositories {
        let name = Path::new(repository).file_name().ok_or("no name")?;
        let ask = |words: &[&str]| {
            let archive = File::create(format!("{}.tar", name.display()))?;
            let manifest = File::create(format!("{}.jsonl", name.display()))?;
            let sinks = Sinks::new(archive).band(4, manifest);
            let sinks = sinks.with_messages(io::stderr());
            let words = [&common, words, &[revision]].concat();
            io::Result::Ok(session.answer(CommandLine::new(repository, words), sinks))
        };
        let mut answer = ask(&base)?;
        let status = answer.as_ref().err().map(|failure| failure.status());
        // The whole in place of the changes.
        if matches!(status, Some(NO_BASE | TOO_MANY_CHANGES)) {
            answer = ask(&[])?;
        }
        match answer {
            Ok(()) => writeln!(io::stdout(), "{repository} is complete")?,
            Err(failure) => writeln!(io::stdout(), "{repository}: {failure}")?,
        }
    }
    Ok(())
}
