//! `cargo xtask dist`: a release, for the machine that it runs on.
//!
//! An archive has the directories of an installation, so that unpacking it below a prefix installs the program. Names
//! are sorted and times fixed: the same program gives the same archive.

mod archive;
mod bare;
mod dependencies;
mod package;
mod provenance;
mod target;
mod wheel;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr as _;

use anyhow::{Context, Result, ensure};

use dependencies::Dependencies;
pub(crate) use target::Target;

use crate::binary::{self, Workspace};
use crate::{layout, process, scratch};

/// The file of the checksums.
const SUMS: &str = "SHA256SUMS";

/// Make a release into target/dist: archives, packages, the sources, a list of libraries, provenance, checksums
///
/// On Linux the targets are a static binary (musl) and one for glibc, elsewhere the machine's own. Programs of a release can
/// use object stores. The Debian package has the binary for glibc and needs cargo-deb. The RPM and the wheel have the static one,
/// and the RPM needs cargo-generate-rpm.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this target, instead of all that the machine can run
    ///
    /// aarch64-unknown-linux-musl runs under qemu elsewhere.
    #[arg(long)]
    target: Vec<String>,
    /// Make nothing that needs cargo-deb or cargo-generate-rpm
    #[arg(long)]
    without_packages: bool,
    /// Make the release again from a clone in another directory, and fail if a byte differs
    #[arg(long, conflicts_with_all = ["check", "without_packages"])]
    twice: bool,
    /// Install everything in the bare system below this folder, and archive a repository there
    ///
    /// `debootstrap --variant=minbase --include=git,rpm,python3-venv stable <folder>` makes one. Only root can enter it.
    #[arg(long)]
    bare: Option<PathBuf>,
    /// Run the tests of the command against each binary, as its archive has it
    #[arg(long)]
    check: bool,
    /// With --check: only the quick tests with one of these words in their names
    #[arg(requires = "check")]
    tests: Vec<String>,
}

/// A release that is being made.
struct Release {
    /// The folder of its files.
    dist: PathBuf,
    version: String,
    /// The id of the commit whose program it has.
    commit: String,
    /// The time of all files, in seconds since 1970.
    time: u64,
    /// The files that were made.
    made: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let targets = target::select(&args.target)?;
    let workspace = Workspace::find()?;
    let mut release = Release::begin(&workspace)?;
    let mut last = None;
    for target in &targets {
        let program = target.build(&workspace, &release.commit)?;
        let runnable = target.runnable(&program, &workspace.target.join("emulated"))?;
        println!("{}: {}", target.triple, target.describe(&program)?);
        let archive = release.add(target, &program, &runnable, !args.without_packages)?;
        if args.check {
            let unpacked = archive::unpack(&archive, &workspace.target.join("dist-check"))?;
            let program = unpacked.join(release.name(target)).join(layout::PROGRAM);
            let runnable = target.runnable(&program, &unpacked.join("emulated"))?;
            test(&runnable, &args.tests)?;
        }
        last = Some(runnable);
    }
    if let Some(runnable) = last {
        release.add_sources(&runnable)?;
    }
    let provenance = provenance::write(&release, &target::host()?)?;
    release.made.push(provenance);
    let sums = archive::write_sums(&release.dist.join(SUMS), &release.made)?;
    if let Some(root) = &args.bare {
        bare::install(&release, root)?;
    }
    if args.twice {
        compare_with_another(&args.target, &sums)
    } else {
        Ok(())
    }
}

/// The target of the static program, in whose instructions no library of the machine has a part. An error if a tool is missing.
pub(crate) fn static_target() -> Result<Target> {
    let host = target::host()?;
    let triple = host.replace("-linux-gnu", "-linux-musl");
    let target = target::select(&[triple])?.pop();
    target
        .filter(Target::is_static)
        .context("this system has no static programs")
}

/// Builds the program as a release has it, and returns its path.
pub(crate) fn build(target: &Target) -> Result<PathBuf> {
    target.build(&Workspace::find()?, &head()?)
}

/// The id of the commit that is checked out.
fn head() -> Result<String> {
    let mut git = Command::new("git");
    process::text(git.current_dir(binary::root()).args(["rev-parse", "HEAD"]))
}

impl Release {
    /// An empty folder for the release of the commit that is checked out.
    fn begin(workspace: &Workspace) -> Result<Self> {
        let dist = workspace.target.join("dist");
        if dist.exists() {
            fs::remove_dir_all(&dist)?;
        }
        fs::create_dir_all(&dist)?;
        Ok(Self {
            dist,
            version: workspace.version.clone(),
            commit: head()?,
            time: release_time()?,
            made: Vec::new(),
        })
    }

    /// What the archive for `target` is called, and the folder in it.
    fn name(&self, target: &Target) -> String {
        format!("git-sluice-{}-{}", self.version, target.triple)
    }

    /// Makes everything that contains `program`, with packages if it `is_packaged`. Returns the archive.
    fn add(
        &mut self,
        target: &Target,
        program: &Path,
        runnable: &Path,
        is_packaged: bool,
    ) -> Result<PathBuf> {
        let mut files = layout::files(program, runnable)?;
        files.extend(Dependencies::find(&target.triple, target::FEATURES)?.files()?);
        let name = self.name(target);
        let archive = self.dist.join(format!("{name}.tar.gz"));
        archive::write(File::create(&archive)?, &name, &files, self.time)?;
        let libraries = self.dist.join(format!("{name}.cdx.json"));
        let list = files.iter().find(|file| file.path == dependencies::LIST);
        fs::write(&libraries, &list.context("no list of libraries")?.content)?;
        self.made.extend([archive.clone(), libraries]);
        if is_packaged {
            let package = package::make(target, program, &files, &self.dist, self.time)?;
            self.made.extend(package);
        }
        let wheel = wheel::make(self, target, runnable, &files)?;
        self.made.extend(wheel);
        Ok(archive)
    }

    /// Makes the archive of the sources with the program itself, and has it checked by the program.
    fn add_sources(&mut self, runnable: &Path) -> Result<()> {
        let name = format!("git-sluice-{}", self.version);
        let path = self.dist.join(format!("{name}.tar.gz"));
        let sluice = |arguments: &[&str]| {
            let mut program = Command::new(runnable);
            process::run(program.current_dir(binary::root()).args(arguments))
        };
        let file = path.to_str().context("the path is not UTF-8")?;
        let prefix = format!("--prefix={name}/");
        sluice(&["--stable", &prefix, "-o", file, &self.commit])?;
        sluice(&["compare", file, &self.commit])?;
        self.made.push(path);
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
    cargo.args(["--test=skipped", "--"]);
    if words.is_empty() {
        cargo.arg("--include-ignored");
    }
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

/// Names no package, because for some packages alone libraries have other features, so that everything would be compiled again.
fn tests_of_command() -> Command {
    let mut cargo = binary::cargo();
    cargo.args(["test", "--locked", "--test=it"]);
    cargo
}
