//! `cargo xtask dist`: a release, for the machine that it runs on.
//!
//! An archive has the directories of an installation, so that unpacking it below a prefix installs the program. Names
//! are sorted and times fixed: the same program gives the same archive.

mod archive;
mod deb;
mod dependencies;
mod target;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::str::FromStr as _;

use anyhow::{Context, Result, ensure};

use dependencies::Dependencies;

use crate::binary::{self, Workspace};
use crate::{layout, process, scratch};

/// The file of the checksums.
const SUMS: &str = "SHA256SUMS";

/// Make a release into target/dist: an archive for each target, a Debian package, checksums
///
/// On Linux the targets are a static binary (musl) and one for glibc, elsewhere the machine's own. Programs of a release can
/// use object stores. The Debian package has the binary for glibc and needs cargo-deb.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this target, instead of all that the machine can run
    ///
    /// aarch64-unknown-linux-musl runs under qemu elsewhere.
    #[arg(long)]
    target: Vec<String>,
    /// Compile as for tests, which takes half the time
    #[arg(long, requires = "check")]
    dev: bool,
    /// Make the release again from a clone in another directory, and fail if a byte differs
    #[arg(long, conflicts_with = "check")]
    twice: bool,
    /// Run the tests of the command against each binary, as its archive has it
    #[arg(long)]
    check: bool,
    /// With --check: only the tests with one of these words in their names
    #[arg(requires = "check")]
    tests: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let targets = target::select(&args.target)?;
    let workspace = Workspace::find()?;
    let dist = workspace.target.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist)?;
    }
    fs::create_dir_all(&dist)?;
    let time = release_time()?;
    let mut made = Vec::new();
    for target in &targets {
        let program = target.build(&workspace, args.dev)?;
        let runnable = target.runnable(&program, &workspace.target.join("emulated"))?;
        let mut files = layout::files(&program, &runnable)?;
        files.extend(Dependencies::find(&target.triple, target::FEATURES)?.files()?);
        let name = format!("git-sluice-{}-{}", workspace.version, target.triple);
        let path = dist.join(format!("{name}.tar.gz"));
        let file = File::create(&path)?;
        archive::write(file, &name, &files, time)?;
        made.push(path.clone());
        println!("{}: {}", path.display(), target.describe(&program)?);
        if target.is_for_debian() {
            made.extend(deb::make(target, &program, &files, &dist, time)?);
        }
        if args.check {
            let unpacked = archive::unpack(&path, &workspace.target.join("dist-check"))?;
            let program = unpacked.join(&name).join(layout::PROGRAM);
            let runnable = target.runnable(&program, &unpacked.join("emulated"))?;
            test(&runnable, &args.tests)?;
        }
    }
    let sums = archive::write_sums(&dist.join(SUMS), &made)?;
    if args.twice {
        compare_with_another(&args.target, &sums)
    } else {
        Ok(())
    }
}

/// Makes the release again from a clone, and compares it with that of `sums`. Everything is compiled in the clone, so that
/// a path of this machine in a program would show.
fn compare_with_another(targets: &[String], sums: &str) -> Result<()> {
    let root = binary::root();
    let mut status = Command::new("git");
    status.current_dir(&root).args(["status", "--porcelain"]);
    let changed = process::text(&mut status)?;
    ensure!(
        changed.is_empty(),
        "the clone lacks what is not committed:\n{changed}"
    );
    let place = scratch::directory()?;
    let clone = place.path().join("another");
    process::run(
        Command::new("git")
            .args(["clone", "--quiet"])
            .arg(&root)
            .arg(&clone),
    )?;
    let target = clone.join("target");
    let mut cargo = binary::cargo();
    cargo.current_dir(&clone).env("CARGO_TARGET_DIR", &target);
    cargo.args(["xtask", "dist"]);
    process::run(cargo.args(targets.iter().map(|target| format!("--target={target}"))))?;
    let other = fs::read_to_string(target.join("dist").join(SUMS))?;
    ensure!(other == sums, "the second release is another one:\n{other}");
    println!("made twice with equal bytes");
    Ok(())
}

/// The time of all files: that of the commit, or what `SOURCE_DATE_EPOCH` says, as elsewhere.
fn release_time() -> Result<u64> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => process::text(Command::new("git").current_dir(binary::root()).args([
            "log",
            "-1",
            "--format=%ct",
        ]))?,
    };
    u64::from_str(&seconds).with_context(|| format!("'{seconds}' is no time in seconds"))
}

/// Runs the tests of the command against `program`, and tells which were skipped.
fn test(program: &Path, words: &[String]) -> Result<()> {
    println!("tests of {}", program.display());
    refuse_idle_words(words)?;
    let mut cargo = tests_of_command();
    cargo.args(["--package=xtask", "--test=skipped"]);
    cargo.args(["--", "--include-ignored"]);
    process::run(cargo.args(words).env("GIT_SLUICE_BIN", program))
}

/// Refuses a word that selects no test: the tests that it stood for may have other names by now.
fn refuse_idle_words(words: &[String]) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let tests = process::text(tests_of_command().args(["--", "--list"]))?;
    for word in words {
        let is_selected = |line: &str| line.ends_with(": test") && line.contains(word);
        ensure!(
            tests.lines().any(is_selected),
            "no test has '{word}' in its name"
        );
    }
    Ok(())
}

fn tests_of_command() -> Command {
    let mut cargo = binary::cargo();
    cargo.args(["test", "--locked", "--package=git-sluice", "--test=it"]);
    cargo
}
