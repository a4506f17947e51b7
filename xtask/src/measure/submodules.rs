//! `cargo xtask measure submodules`: a tree with submodules of submodules, against git-archive-all.
//!
//! The files and links of both archives are compared by name and content before anything is timed: git-archive-all has
//! no directories, and takes times, owners and permissions from the disk. The figures are medians over rounds in which
//! the candidates take turns.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::median::median;
use crate::{binary, process, scratch};

/// Time submodules of submodules against git-archive-all
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of files in each of the three repositories
    #[arg(long, default_value_t = 330)]
    files: u32,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Fail if the archive takes more than this part of the time of git-archive-all
    #[arg(long)]
    max: Option<f64>,
}

/// The repositories, the innermost first, each with the next one in the directory of this name.
const NAMES: [&str; 3] = ["deep", "lib", "super"];

pub(crate) fn run(args: &Args) -> Result<()> {
    let installed = Command::new("git-archive-all").arg("--version").output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("SKIP: git-archive-all is not installed");
        return Ok(());
    }
    let sluice = binary::build()?;
    let fixture = Fixture::make(args.files)?;
    let mut ours = fixture.command(&sluice.path);
    ours.args(["--submodules=recurse", "--output=../ours.tar", "HEAD"]);
    let mut theirs = fixture.command(Path::new("git-archive-all"));
    theirs.args(["--prefix=", "../theirs.tar"]);
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..args.rounds {
        for (command, seconds) in [&mut theirs, &mut ours].into_iter().zip(&mut seconds) {
            let started = Instant::now();
            process::quiet(command)?;
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    let files = fixture.files("ours.tar")?;
    ensure!(files == fixture.files("theirs.tar")?, "the archives differ");
    let [theirs, ours] = seconds.map(median);
    let ratio = ours / theirs;
    println!(
        "| {} files in {} repositories | ms | ratio |",
        files.len(),
        NAMES.len()
    );
    println!("|---|--:|--:|");
    println!("| git-archive-all | {:.1} | 1 |", theirs * 1e3);
    println!(
        "| {} --submodules=recurse | {:.1} | {ratio:.3} |",
        sluice.version,
        ours * 1e3
    );
    ensure!(args.max.is_none_or(|max| ratio <= max), "too slow");
    Ok(())
}

/// A repository with a submodule that has one.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn make(files: u32) -> Result<Self> {
        let fixture = Self {
            directory: scratch::directory()?,
        };
        let mut inner = None;
        for name in NAMES {
            fixture.repository(name, files, inner)?;
            inner = Some(name);
        }
        let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
        fixture.git("super", &update)?;
        Ok(fixture)
    }

    /// A repository with so many files, one that is left out, and the submodule `inner`.
    fn repository(&self, name: &str, files: u32, inner: Option<&str>) -> Result<()> {
        let top = self.path().join(name);
        fs::create_dir_all(top.join("files"))?;
        for number in 0..files {
            let content = format!("{name} {number}\n").repeat(40);
            fs::write(top.join(format!("files/{number}")), content)?;
        }
        fs::write(top.join(".gitattributes"), "*.secret export-ignore\n")?;
        fs::write(top.join("a.secret"), "left out\n")?;
        self.git(name, &["init", "--quiet", "--initial-branch=main"])?;
        if let Some(inner) = inner {
            let url = format!("../{inner}");
            self.git(name, &["submodule", "--quiet", "add", &url, "sub/module"])?;
        }
        self.git(name, &["add", "."])?;
        self.git(name, &["commit", "--quiet", "--message=files"])
    }

    fn git(&self, repository: &str, words: &[&str]) -> Result<()> {
        let mut git = self.command(Path::new("git"));
        let named = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        git.args(named).args(words);
        process::run(git.current_dir(self.path().join(repository)))
    }

    /// `program` in the outermost repository, out of reach of the user's configuration.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ALLOW_PROTOCOL", "file")
            .current_dir(self.path().join("super"));
        command
    }

    fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// The files and links of an archive, by name.
    fn files(&self, archive: &str) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let archive = fs::File::open(self.path().join(archive))?;
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            if entry.header().entry_type().is_dir()
                || entry.header().entry_type().is_pax_global_extensions()
            {
                continue;
            }
            let path = entry.path()?.into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            let link = entry.link_name_bytes().map(|target| target.into_owned());
            files.insert(path, link.unwrap_or(content));
        }
        Some(files)
            .filter(|files| !files.is_empty())
            .context("an archive is empty")
    }
}
