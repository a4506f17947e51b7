//! `cargo xtask check-targets`: whether the Rust code compiles for systems that this machine is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::binary::{self, Workspace};
use crate::process;

/// Check types and names of the Rust code for other systems
///
/// For targets whose standard library is installed; the others are named. Compiles no C: a stand-in for the C compiler
/// writes empty files, which is enough since nothing is linked. So nothing is said about the libraries in C, about
/// linking, or about what the program does there.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this target
    #[arg(long, default_values = TARGETS)]
    target: Vec<String>,
}

const TARGETS: [&str; 3] = [
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
];

/// In the place of a C compiler and of `ar`: makes the file that `-o` names, or the first that ends in `.a`.
const STAND_IN: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) : >"$2" ;;
    *.a) : >"$1" ;;
    esac
    shift
done
"#;

pub(crate) fn run(args: &Args) -> Result<()> {
    let target = Workspace::find()?.target.join("check-targets");
    fs::create_dir_all(&target)?;
    let compiler = target.join("no-compiler");
    fs::write(&compiler, STAND_IN)?;
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755))?;
    let sysroot = process::text(Command::new("rustc").args(["--print", "sysroot"]))?;
    for triple in &args.target {
        let library = Path::new(&sysroot).join("lib/rustlib").join(triple);
        if library.join("lib").is_dir() {
            check(triple, &target, &compiler).with_context(|| format!("not for {triple}"))?;
            println!("{triple}: the Rust code compiles");
        } else {
            println!("SKIP: {triple} is not checked: run 'rustup target add {triple}'");
        }
    }
    Ok(())
}

/// Only the default members, since the others are for this machine. Warnings are errors, as elsewhere.
fn check(triple: &str, target: &Path, compiler: &Path) -> Result<()> {
    let mut cargo = binary::cargo();
    cargo.args(["check", "--quiet", "--locked"]);
    cargo.args(["--lib", "--bins", "--target", triple, "--target-dir"]);
    cargo.arg(target).env("RUSTFLAGS", "-D warnings");
    let key = triple.replace('-', "_");
    for tool in ["CC", "AR"] {
        cargo.env(format!("{tool}_{key}"), compiler);
    }
    // Otherwise the build scripts ask Xcode for it.
    process::run(cargo.env("SDKROOT", "/"))
}
