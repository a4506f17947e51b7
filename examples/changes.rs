//! What changed between two tags, and its manifest: the example of `docs/rust.md`.

use std::{env, error::Error, fs::File};

use git_sluice::{CommandLine, Outputs, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::new(env::current_dir()?, |name| env::var_os(name));
    let words = [
        "archive",
        "--profile=zoekt",
        "--manifest=band:4",
        "--base=v1.0",
        "v1.1",
    ];
    let outputs =
        Outputs::new(File::create("changes.tar")?).band(4, File::create("changes.jsonl")?);
    session.answer(CommandLine::new("project.git", words), outputs)?;
    Ok(())
}
