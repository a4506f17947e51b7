//! The repository that the gate measures on: made anew each time, the same to the byte each time.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::pack::{self, Kind, Object};
use crate::corpus::{self, Repository};
use crate::{process, scratch};

/// A bare repository with one pack. Its branch `main` has a long history, the tag `old` is far back in
/// it, and the branch `attributes` is `main` with attributes.
pub(super) struct Fixture {
    directory: TempDir,
    /// Says whether this is the repository that others have measured on.
    pub(super) pack: String,
}

impl Fixture {
    pub(super) fn make(files: u32, commits: u32) -> Result<Self> {
        eprintln!("making a repository of {files} files and {commits} commits");
        let directory = scratch::directory()?;
        let source = directory.path().join("source");
        let source = corpus::unpacked(&source, files, commits)?;
        add_attributes(&source)?;
        let pack = pack::write(&objects(&source, directory.path())?)?;

        let path = repository_path(&directory);
        let repository = Repository::init(&path)?;
        let pack_file = directory.path().join("pack");
        fs::write(&pack_file, pack)?;
        let mut index = repository.git();
        index
            .args(["-c", "pack.writeReverseIndex=false", "index-pack"])
            .args(["--stdin", "--index-version=2"])
            .stdin(File::open(&pack_file)?);
        // It answers `pack`, a tab, and the checksum.
        let answer = process::text(&mut index)?;
        let (_, pack) = answer
            .split_once('\t')
            .with_context(|| format!("git index-pack said '{answer}'"))?;
        for name in ["refs/heads/main", "refs/tags/old", "refs/heads/attributes"] {
            let id = process::text(source.git().args(["rev-parse", name]))?;
            process::run(repository.git().args(["update-ref", name, &id]))?;
        }
        Ok(Fixture {
            pack: pack.to_owned(),
            directory,
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        repository_path(&self.directory)
    }
}

fn repository_path(directory: &TempDir) -> PathBuf {
    directory.path().join("repository")
}

/// Rules at the top and below, under which little is archived: what is counted is the rules.
const ATTRIBUTES: [(&str, &str); 2] = [
    (
        ".gitattributes",
        "*.[ch] export-ignore diff=cpp\n\
         *.png -text\n\
         *.ts export-ignore\n\
         /**/b*/ export-ignore\n\
         /library/**/*.rs export-ignore\n\
         Kconfig whitespace=indent\n",
    ),
    (
        "handler/.gitattributes",
        "*.go export-ignore\n*.h -export-ignore\n",
    ),
];

fn add_attributes(repository: &Repository<'_>) -> Result<()> {
    let mut stream = String::from(
        "commit refs/heads/attributes\n\
         committer A U Thor <author@example.com> 1800000000 +0000\n\
         data 11\nAttributes\n\
         from refs/heads/main^0\n",
    );
    for (path, rules) in ATTRIBUTES {
        let length = rules.len();
        stream += &format!("M 100644 inline {path}\ndata {length}\n{rules}\n");
    }
    let mut import = repository
        .git()
        .args(["fast-import", "--quiet", "--depth=0"])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = import
        .stdin
        .take()
        .context("stdin was asked to be a pipe")?;
    stdin.write_all(stream.as_bytes())?;
    drop(stdin);
    ensure!(import.wait()?.success(), "git fast-import failed");
    Ok(())
}

/// All objects, the newest first.
fn objects(repository: &Repository<'_>, scratch: &Path) -> Result<Vec<Object>> {
    let list = process::text(repository.git().args(["rev-list", "--objects", "--all"]))?;
    let named = list
        .lines()
        .map(|line| line.split_once(' ').unwrap_or((line, "")));
    let (ids, paths): (Vec<&str>, Vec<&str>) = named.unzip();
    let ids_file = scratch.join("ids");
    fs::write(&ids_file, ids.join("\n") + "\n")?;
    let mut read = repository.git();
    read.args(["cat-file", "--batch", "--buffer"])
        .stdin(File::open(&ids_file)?)
        .stdout(Stdio::piped());
    let mut read = read.spawn().context("could not start git cat-file")?;
    let stdout = read
        .stdout
        .take()
        .context("stdout was asked to be a pipe")?;
    let mut stdout = BufReader::with_capacity(1 << 20, stdout);
    let objects: Result<Vec<Object>> = paths
        .into_iter()
        .map(|path| object(path, &mut stdout))
        .collect();
    ensure!(read.wait()?.success(), "git cat-file failed");
    objects
}

/// The next of `git cat-file`: `<id> <type> <size>`, a newline, the bytes, a newline.
fn object(path: &str, stdout: &mut BufReader<ChildStdout>) -> Result<Object> {
    let mut header = String::new();
    stdout.read_line(&mut header)?;
    let mut words = header.split_whitespace().skip(1);
    let kind = match words.next() {
        Some("commit") => Kind::Commit,
        Some("tree") => Kind::Tree,
        Some("blob") => Kind::Blob,
        Some("tag") => Kind::Tag,
        _ => bail!("git cat-file said '{header}'"),
    };
    let size: usize = words.next().context("git cat-file told no size")?.parse()?;
    let mut data = vec![0; size + 1];
    stdout.read_exact(&mut data)?;
    data.truncate(size);
    let path = path.as_bytes().to_owned();
    Ok(Object { kind, path, data })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::Fixture;
    use crate::process;

    /// If this checksum has to change, the baseline has to be renewed.
    #[test]
    fn the_pack_is_sound_and_the_same_on_every_machine() {
        if process::text(Command::new("git").arg("--version")).is_err() {
            eprintln!("SKIP: git is not installed");
            return;
        }
        let fixture = Fixture::make(200, 12).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("--git-dir").arg(fixture.path()).args(arguments);
            process::text(&mut git).unwrap()
        };
        git(&["fsck", "--strict", "--no-progress"]);
        let packed = git(&["count-objects", "-v"]);
        assert!(
            packed.contains("packs: 1") && packed.contains("count: 0"),
            "{packed}"
        );
        assert_eq!(fixture.pack, "8f987ee7b8654f069825dddac102a58647613a1d");
    }
}
