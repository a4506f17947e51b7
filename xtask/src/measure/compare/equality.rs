//! Whether two programs write the same bytes, found while they run and in bounded memory.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::contender::Contender;

/// Compares the output of each contender with that of the first, and returns its length in bytes.
pub(super) fn check(contenders: &[Contender], directory: &Path) -> Result<u64> {
    let (reference, others) = contenders
        .split_first()
        .context("nothing to compare with")?;
    let mut bytes = 0;
    for other in others {
        eprintln!(
            "comparing the bytes of `{}` and `{}`",
            reference.label, other.label
        );
        bytes = check_pair(reference, other, directory)?;
    }
    Ok(bytes)
}

fn check_pair(reference: &Contender, other: &Contender, directory: &Path) -> Result<u64> {
    let mut runs = [
        Run::start(reference, directory)?,
        Run::start(other, directory)?,
    ];
    let [one, two] = &mut runs;
    let outcome = compare(&mut one.stdout, &mut two.stdout)?;
    let [one, two] = runs.map(Run::finish);
    let (one, two) = (one?, two?);
    let (name_one, name_two) = (&reference.label, &other.label);
    match outcome {
        Outcome::Different { offset } => bail!(
            "`{name_one}` and `{name_two}` differ from byte {offset} on (counted from 0), in {}; \
             they ended with {one} and {two}",
            directory.display(),
        ),
        Outcome::Equal { bytes } => {
            ensure!(one.success(), "`{name_one}` failed: {one}");
            ensure!(two.success(), "`{name_two}` failed: {two}");
            ensure!(bytes > 0, "`{name_one}` wrote nothing");
            Ok(bytes)
        }
    }
}

/// A contender at work.
struct Run {
    child: Child,
    stdout: ChildStdout,
}

impl Run {
    fn start(contender: &Contender, directory: &Path) -> Result<Self> {
        let mut command = contender.command(directory);
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        Ok(Run { child, stdout })
    }

    /// Closes the pipe, of which a program that is still writing dies, and waits for the end.
    fn finish(mut self) -> Result<ExitStatus> {
        drop(self.stdout);
        Ok(self.child.wait()?)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Equal {
        bytes: u64,
    },
    /// At `offset`, one has another byte than the other, or has ended.
    Different {
        offset: u64,
    },
}

pub(crate) fn compare(one: &mut impl Read, two: &mut impl Read) -> Result<Outcome> {
    const PIECE: usize = 1 << 20;
    let (mut left, mut right) = (vec![0; PIECE], vec![0; PIECE]);
    let mut offset = 0;
    loop {
        let (left, right) = (fill(one, &mut left)?, fill(two, &mut right)?);
        if left != right {
            let same = left
                .iter()
                .zip(right)
                .take_while(|(one, two)| one == two)
                .count();
            return Ok(Outcome::Different {
                offset: offset + same as u64,
            });
        }
        offset += left.len() as u64;
        if left.len() < PIECE {
            return Ok(Outcome::Equal { bytes: offset });
        }
    }
}

/// Reads until `buffer` is full or the input ends.
fn fill<'a>(input: &mut impl Read, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(&buffer[..filled])
}

#[cfg(test)]
mod tests {
    use super::{Outcome, compare};

    fn outcome(mut one: &[u8], mut two: &[u8]) -> Outcome {
        compare(&mut one, &mut two).unwrap()
    }

    #[test]
    fn the_first_difference_is_found() {
        let long = vec![7; 3 << 20];
        let mut changed = long.clone();
        changed[2_500_000] = 8;
        assert_eq!(outcome(&long, &long), Outcome::Equal { bytes: 3 << 20 });
        assert_eq!(
            outcome(&long, &changed),
            Outcome::Different { offset: 2_500_000 }
        );
        assert_eq!(outcome(&long, &long[..9]), Outcome::Different { offset: 9 });
        assert_eq!(outcome(b"", b"x"), Outcome::Different { offset: 0 });
    }
}
