//! `cargo xtask install`: the program with its manual page and completions, from this source.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{binary, layout};

/// Install the program with its manual page and completions
///
/// Builds it first. Root installs below /usr/local, anybody else below ~/.local.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install below this folder
    #[arg(long)]
    prefix: Option<PathBuf>,

    /// Remove what an installation wrote there
    #[arg(long)]
    uninstall: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let prefix = match &args.prefix {
        Some(prefix) => prefix.clone(),
        None => default_prefix()?,
    };
    if args.uninstall {
        return uninstall(&prefix);
    }
    let program = binary::build()?;
    for file in layout::files(&program, &program)? {
        file.write_below(&prefix)?;
        println!("{}", prefix.join(file.path).display());
    }
    let bin = prefix.join("bin");
    if !is_searched(&bin) {
        println!(
            "git and the shell look in PATH, which lacks {}",
            bin.display()
        );
    }
    Ok(())
}

fn uninstall(prefix: &Path) -> Result<()> {
    let removed = layout::remove_below(prefix)?;
    if removed.is_empty() {
        println!("nothing is installed below {}", prefix.display());
    }
    for path in removed {
        println!("removed {}", path.display());
    }
    Ok(())
}

fn default_prefix() -> Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Ok("/usr/local".into());
    }
    let home = std::env::var_os("HOME").context("HOME is not set: name a folder with --prefix")?;
    Ok(Path::new(&home).join(".local"))
}

/// Whether programs in `directory` are found by name.
fn is_searched(directory: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|searched| searched == directory)
}
