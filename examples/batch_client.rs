//! Writes what has changed in repositories since a revision, or all of it, and a manifest: one process answers for all.
//!
//! ```text
//! cargo run --example batch_client <base> <revision> <repository>...
//! ```

use std::{
    env, error,
    fs::{self, File},
    io::{self, BufReader, Read, Write},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio},
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
        let process = process.arg("batch").stdin(Stdio::piped());
        let process = process.stdout(Stdio::piped()).spawn()?;
        let pipes = process.stdin.zip(process.stdout);
        let (requests, answers) = pipes.ok_or("no pipes")?;
        let answers = BufReader::new(answers);
        Ok(Self { requests, answers })
    }

    /// Writes the answer to `archive` and `manifest`. Returns the exit status.
    fn ask(
        &mut self,
        mut archive: impl Write,
        mut manifest: impl Write,
        words: &[&str],
    ) -> Result<u8> {
        let packet = |word: &&str| format!("{:04x}argument {word}\n", word.len() + 14);
        let request: String = words.iter().map(packet).collect();
        self.requests.write_all((request + "0000").as_bytes())?;
        let (agreement, _flush) = (self.packet()?, self.packet()?);
        if agreement.as_deref() != Some(b"ACK\n") {
            return Err(format!("no agreement: {agreement:?}").into());
        }
        let mut status = 0;
        while let Some(packet) = self.packet()? {
            match packet.split_first() {
                Some((1, data)) => archive.write_all(data)?,
                Some((2, message)) => io::stderr().write_all(message)?,
                Some((3, text)) => {
                    let text = str::from_utf8(text)?.trim();
                    status = text.replace("status ", "").parse()?;
                }
                Some((4, lines)) => manifest.write_all(lines)?,
                _ => return Err("an unexpected band".into()),
            }
        }
        Ok(status)
    }

    /// Writes archive and manifest of a repository to files that get their names when both are complete. Returns the
    /// exit status.
    fn write(&mut self, repository: &str, words: &[&str]) -> Result<u8> {
        let name = Path::new(repository).file_name().ok_or("no name")?;
        let files = ["tar", "jsonl"].map(|kind| format!("{}.{kind}", name.display()));
        let parts = files.each_ref().map(|file| format!("{file}.part"));
        let (archive, manifest) = (File::create(&parts[0])?, File::create(&parts[1])?);
        let words = [&["-C", repository, "archive", "--manifest=band:4"], words].concat();
        let status = self.ask(archive, manifest, &words)?;
        for (part, file) in parts.iter().zip(&files) {
            match status {
                0 => fs::rename(part, file)?,
                _ => fs::remove_file(part)?,
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

fn main() -> Result<ExitCode> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [base, revision, repositories @ ..] = &words[..] else {
        return Err("usage: batch_client <base> <revision> <repository>...".into());
    };
    let mut batch = Batch::start()?;
    let mut exit = ExitCode::SUCCESS;
    let base = format!("--base={base}");
    for repository in repositories {
        let mut status = batch.write(repository, &[&base, "--max-changed-ratio=0.5", revision])?;
        if [NO_BASE, TOO_MANY_CHANGES].contains(&status) {
            status = batch.write(repository, &[revision])?;
        }
        writeln!(io::stdout(), "{repository} {status}")?;
        if status != 0 {
            exit = ExitCode::FAILURE;
        }
    }
    Ok(exit)
}
