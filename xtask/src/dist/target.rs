//! The targets of a release, and what their toolchains need.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::binary::{self, Workspace};
use crate::process;

/// What a release can do in addition to `cargo install`: archives in object stores.
pub(super) const FEATURES: &str = "store";

/// A target that this machine can run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) triple: String,
    /// What runs the programs of another processor.
    emulation: Option<&'static Emulation>,
}

/// Another processor, whose programs this machine builds and runs if it has these tools.
#[derive(Debug, PartialEq, Eq)]
struct Emulation {
    triple: &'static str,
    compiler: &'static str,
    emulator: &'static str,
    packages: &'static str,
}

static EMULATIONS: [Emulation; 1] = [Emulation {
    triple: "aarch64-unknown-linux-musl",
    compiler: "aarch64-linux-gnu-gcc",
    emulator: "qemu-aarch64-static",
    packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static",
}];

/// The targets that are `wanted`, or all that the machine can run by itself. An error if a toolchain is not installed.
pub(super) fn select(wanted: &[String]) -> Result<Vec<Target>> {
    let own = runnable_by(&host()?);
    let emulated = |triple: &String| EMULATIONS.iter().find(|it| it.triple == triple);
    for triple in wanted {
        let known = own.join(", ");
        ensure!(
            own.contains(triple) || emulated(triple).is_some(),
            "'{triple}' is none of this machine's targets: {known}"
        );
    }
    let triples = if wanted.is_empty() { &own } else { wanted };
    let targets = triples.iter().map(|triple| Target {
        triple: triple.clone(),
        emulation: emulated(triple).filter(|_| !own.contains(triple)),
    });
    let targets: Vec<_> = targets.collect();
    for target in &targets {
        target.require_toolchain()?;
    }
    Ok(targets)
}

/// The triple of the machine, as the compiler says.
pub(super) fn host() -> Result<String> {
    let version = process::text(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// On Linux a static binary comes first, since it runs everywhere.
fn runnable_by(host: &str) -> Vec<String> {
    match host.split_once("-unknown-linux-") {
        Some((processor, _)) => ["musl", "gnu"]
            .map(|library| format!("{processor}-unknown-linux-{library}"))
            .into(),
        None => vec![host.to_owned()],
    }
}

impl Target {
    pub(super) fn is_static(&self) -> bool {
        self.triple.ends_with("-musl")
    }

    /// Whether the Debian package has this binary.
    pub(super) fn is_for_debian(&self) -> bool {
        self.triple.ends_with("-linux-gnu")
    }

    fn require_toolchain(&self) -> Result<()> {
        let Self { triple, emulation } = self;
        let sysroot = process::text(Command::new("rustc").args(["--print", "sysroot"]))?;
        let library = Path::new(&sysroot).join("lib/rustlib").join(triple);
        ensure!(
            library.join("lib").is_dir(),
            "the standard library of {triple} is missing: run 'rustup target add {triple}', \
             or name other targets with --target"
        );
        let (programs, packages) = match emulation {
            Some(it) => (vec![it.compiler, it.emulator], it.packages),
            None if self.is_static() => (vec!["musl-gcc"], "musl-tools"),
            None => return Ok(()),
        };
        for program in programs {
            ensure!(
                process::find_program(program).is_some(),
                "{triple} needs {program}: run 'apt-get install {packages}', or name other targets with --target"
            );
        }
        Ok(())
    }

    /// What runs `program` on this machine: itself, or a script in `folder` that calls the emulator.
    pub(super) fn runnable(&self, program: &Path, folder: &Path) -> Result<PathBuf> {
        let Some(Emulation { emulator, .. }) = self.emulation else {
            return Ok(program.to_owned());
        };
        fs::create_dir_all(folder)?;
        let script = folder.join("git-sluice");
        let words = [
            *emulator,
            program.to_str().context("the path is not UTF-8")?,
        ];
        let text = format!("#!/bin/sh\nexec {} \"$@\"\n", process::quote(words));
        fs::write(&script, text)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        Ok(script)
    }

    /// Builds the program of `commit`. The paths of this machine do not become part of it.
    pub(super) fn build(&self, workspace: &Workspace, commit: &str) -> Result<PathBuf> {
        let mut cargo = binary::cargo();
        cargo.args(["build", "--release", "--locked", "--package=git-sluice"]);
        cargo.args(["--bin=git-sluice", "--features", FEATURES]);
        cargo.args(["--target", &self.triple]);
        let version = format!("{} ({commit})", workspace.version);
        cargo.env("GIT_SLUICE_VERSION", version);
        let remapped = remapped_paths()?;
        cargo
            .arg("--config")
            .arg(format!("build.rustflags={remapped:?}"));
        let triple = self.triple.replace('-', "_");
        if let Some(Emulation { compiler, .. }) = self.emulation {
            let linker = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase());
            cargo.env(linker, compiler);
            cargo.env(format!("CC_{triple}"), compiler);
        } else if self.is_static() {
            cargo.env(format!("CC_{triple}"), "musl-gcc");
        }
        process::run(&mut cargo)?;
        let directory = workspace.target.join(&self.triple).join("release");
        Ok(directory.join("git-sluice"))
    }

    /// What a user has to know about the program.
    pub(super) fn describe(&self, program: &Path) -> Result<String> {
        let content = std::fs::read(program)?;
        if self.is_static() {
            let is_static = !content.windows(12).any(|bytes| bytes == b"/lib/ld-musl");
            ensure!(is_static, "{} is not static", program.display());
            return Ok("static".into());
        }
        Ok(match newest_glibc(&content) {
            Some(minor) => format!("needs glibc 2.{minor}"),
            None => "for this system".into(),
        })
    }
}

/// Options of the compiler that replace the folders of this machine in messages of panics.
fn remapped_paths() -> Result<Vec<String>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let root = binary::root().canonicalize()?;
    let folders = [(home.as_path(), "cargo"), (&root, "git-sluice")];
    let remap = |(from, to): (&Path, &str)| format!("--remap-path-prefix={}={to}", from.display());
    Ok(folders.map(remap).into())
}

/// The minor version of the newest glibc whose symbols `program` needs.
fn newest_glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"\0GLIBC_2.";
    let marks = program.windows(MARK.len()).enumerate();
    let marks = marks.filter(|(_, bytes)| *bytes == MARK);
    let minor = |at: usize| {
        let digits = &program[at + MARK.len()..];
        let length = digits.iter().position(|byte| !byte.is_ascii_digit())?;
        std::str::from_utf8(&digits[..length]).ok()?.parse().ok()
    };
    marks.filter_map(|(at, _)| minor(at)).max()
}

#[cfg(test)]
mod tests {
    use super::{newest_glibc, runnable_by};

    #[test]
    fn linux_has_two_targets() {
        let two = ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"];
        assert_eq!(runnable_by("x86_64-unknown-linux-gnu"), two);
        assert_eq!(runnable_by("x86_64-unknown-linux-musl"), two);
        assert_eq!(
            runnable_by("aarch64-apple-darwin"),
            ["aarch64-apple-darwin"]
        );
    }

    #[test]
    fn the_newest_version_counts() {
        let program = b"x\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(program), Some(34));
        assert_eq!(newest_glibc(b"\x7fELF"), None);
    }
}
