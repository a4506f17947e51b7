//! Mirrors a directory as slow storage, for `cargo xtask measure cold`.
//!
//! `cold-mirror <directory> <mount point> <microseconds> [<reads>]` mounts a mirror whose reads wait for so long and, if
//! the number is given, fail after so many. It prints an empty line once the mirror is mounted. When its input ends, it
//! unmounts the mirror and prints the counted requests as JSON. A measurement that is killed closes the input as well, so
//! nothing stays mounted.

#[cfg(target_os = "linux")]
mod counters;
#[cfg(target_os = "linux")]
mod delay;
#[cfg(target_os = "linux")]
mod filesystem;
#[cfg(target_os = "linux")]
mod mount;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            // One line, because `cargo xtask measure cold` prints it as the reason for skipping.
            eprintln!("{error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run() -> anyhow::Result<()> {
    use std::io::{self, Read as _};

    use anyhow::Context as _;

    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let number = |at: usize| -> anyhow::Result<Option<u64>> {
        let word = words.get(at).map(|word| word.to_string_lossy());
        let number = word.map(|word| word.parse()).transpose();
        number.context("the wait and the reads are numbers")
    };
    let [directory, point, ..] = words.as_slice() else {
        anyhow::bail!("usage: cold-mirror <directory> <mount point> <microseconds> [<reads>]");
    };
    let behavior = filesystem::Behavior {
        latency: std::time::Duration::from_micros(number(2)?.unwrap_or_default()),
        fail_after: number(3)?,
    };
    let mount = mount::Mount::new(directory.as_ref(), point.as_ref(), behavior)?;
    println!();
    io::stdin().read_to_end(&mut Vec::new())?;
    println!("{}", mount.finish()?);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("only Linux has what this program needs");
    std::process::exit(1);
}
