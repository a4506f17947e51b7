//! Whose bytes the programs of this machine make, found by asking them: the installed git, the
//! installed gzip, and the zlib that is built in (`--gzip-dialect=probe`).
//!
//! Compresses a sample and compares; what is said of a program is what it did.

use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    process::{Command, Stdio},
    thread,
};

use crate::{
    deflate::{Dialect, Gzip, Level, Settings},
    emit::gzip::ZlibGzip,
    error::{Error, Result},
};

/// As much as it takes for the dialects to part: several windows.
const SAMPLE_LEN: usize = 300_000;
/// The header of a gzip stream without a name, which says nothing of what follows.
const HEADER_LEN: usize = 10;

/// One line a program: its name and version, and its dialect.
pub fn report() -> Result<String> {
    let sample = sample();
    let verdicts = [
        (version("git"), of_git(&sample)),
        (version("gzip"), of_gzip(&sample)),
        (Some("built-in zlib".to_owned()), of_zlib(&sample)),
    ];
    let mut report = String::new();
    for (name, verdict) in verdicts {
        let (Some(name), Ok(verdict)) = (name, verdict) else {
            continue;
        };
        writeln!(report, "{name}: {verdict}")
            .map_err(|error| Error::fatal("cannot say what was found").caused_by(error))?;
    }
    Ok(report)
}

/// Words in an order that looks random, the same each time.
fn sample() -> Vec<u8> {
    let mut state = 1_u64;
    let mut sample = Vec::with_capacity(SAMPLE_LEN + 16);
    while sample.len() < SAMPLE_LEN {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = (state >> 33) % 3000;
        sample.extend_from_slice(
            format!("{word:x}{}", [' ', '\n', ';', '\t'][word as usize % 4]).as_bytes(),
        );
    }
    sample
}

fn of_git(sample: &[u8]) -> io::Result<&'static str> {
    let directory = tempfile::tempdir()?;
    let git = |arguments: &[&str], input: &[u8]| {
        let mut command = Command::new("git");
        command
            .arg("--git-dir")
            .arg(directory.path())
            .args(arguments);
        output(&mut command, input)
    };
    git(&["init", "--quiet", "--bare"], b"")?;
    let head = format!(
        "commit refs/heads/main\ncommitter probe <> 1 +0000\ndata 0\nM 100644 inline sample\ndata {}\n",
        sample.len()
    );
    git(
        &["fast-import", "--quiet"],
        &[head.as_bytes(), sample].concat(),
    )?;
    let tar = git(&["archive", "main"], b"")?;
    let compressed = git(&["archive", "--format=tar.gz", "main"], b"")?;
    verdict(&tar, &compressed)
}

fn of_gzip(sample: &[u8]) -> io::Result<&'static str> {
    let compressed = output(Command::new("gzip").arg("-cn"), sample)?;
    verdict(sample, &compressed)
}

fn of_zlib(sample: &[u8]) -> io::Result<&'static str> {
    let mut compressed = Vec::new();
    let mut zlib = ZlibGzip::new(&mut compressed, Level::DEFAULT);
    zlib.write_all(sample)?;
    zlib.finish()?;
    verdict(sample, &compressed)
}

/// What to ask for to get the stream that `plain` became.
fn verdict(plain: &[u8], compressed: &[u8]) -> io::Result<&'static str> {
    for (dialect, name) in [(Dialect::Zlib, "git"), (Dialect::Gzip, "gnu")] {
        let settings = Settings {
            dialect,
            ..Settings::default()
        };
        let mut gzip = Gzip::new(settings, Vec::new());
        gzip.write_all(plain)?;
        if gzip.finish()?.get(HEADER_LEN..) == compressed.get(HEADER_LEN..) {
            return Ok(name);
        }
    }
    Ok("neither git nor gnu")
}

/// The first line that the program has to say of its version.
fn version(program: &str) -> Option<String> {
    let said = output(Command::new(program).arg("--version"), b"").ok()?;
    let said = String::from_utf8_lossy(&said);
    said.lines().next().map(str::to_owned)
}

/// What `command` writes when it is given `input`, if it ends well.
fn output(command: &mut Command, input: &[u8]) -> io::Result<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut written = Vec::new();
    thread::scope(|scope| {
        // Whoever does not read it all has to answer for it below.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut written))
    })?;
    match child.wait()?.success() {
        true => Ok(written),
        false => Err(io::ErrorKind::Other.into()),
    }
}
