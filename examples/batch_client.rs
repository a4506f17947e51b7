//! Writes what has changed in repositories since a revision, or all of it: one process answers for all repositories.
//!
//! ```text
//! cargo run --example batch_client <base> <revision> <repository>...
//! ```

use std::{
    env, error,
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

const NO_BASE: u8 = 3;
const TOO_MANY_CHANGES: u8 = 5;

struct Batch {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Batch {
    fn start() -> Result<Self> {
        let mut process = Command::new("git-sluice");
        let process = process.arg("--batch").stdin(Stdio::piped());
        let process = process.stdout(Stdio::piped()).spawn()?;
        let pipes = process.stdin.zip(process.stdout);
        let (requests, answers) = pipes.ok_or("no pipes")?;
        let answers = BufReader::new(answers);
        Ok(Self { requests, answers })
    }

    /// Writes the answer to `output`. Returns the exit status.
    fn ask(&mut self, mut output: impl Write, words: &[&str]) -> Result<u8> {
        let packet = |word: &&str| format!("{:04x}argument {word}", word.len() + 13);
        let request: String = words.iter().map(packet).collect();
        self.requests.write_all((request + "0000").as_bytes())?;
        let agreement = self.packet()?;
        if agreement.as_deref() != Some(b"ACK\n") || self.packet()?.is_some() {
            return Err(format!("no agreement: {agreement:?}").into());
        }
        let mut status = 0;
        while let Some(packet) = self.packet()? {
            match packet.split_first() {
                Some((1, data)) => output.write_all(data)?,
                Some((2, message)) => io::stderr().write_all(message)?,
                _ => {
                    status = str::from_utf8(&packet[1..])?
                        .trim()
                        .replace("status ", "")
                        .parse()?
                }
            }
        }
        Ok(status)
    }

    /// The next packet; `None` for a flush.
    fn packet(&mut self) -> Result<Option<Vec<u8>>> {
        let mut digits = [0; 4];
        self.answers.read_exact(&mut digits)?;
        let size = usize::from_str_radix(str::from_utf8(&digits)?, 16)?;
        let Some(len) = size.checked_sub(digits.len()) else {
            return Ok(None);
        };
        let mut packet = vec![0; len];
        self.answers.read_exact(&mut packet)?;
        Ok(Some(packet))
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [base, revision, repositories @ ..] = &words[..] else {
        return Err("a base, a revision and repositories are wanted".into());
    };
    let mut batch = Batch::start()?;
    let base = format!("--base={base}");
    for repository in repositories {
        let name = Path::new(repository).file_name().ok_or("no name")?;
        let mut archive = File::create(format!("{}.tar", name.display()))?;
        let mut status = batch.ask(&mut archive, &["-C", repository, &base, revision])?;
        if [NO_BASE, TOO_MANY_CHANGES].contains(&status) {
            status = batch.ask(&mut archive, &["-C", repository, revision])?;
        }
        writeln!(io::stdout(), "{repository} {status}")?;
    }
    Ok(())
}
