//! `cargo xtask measure zoekt`: whether zoekt makes of our archives what it makes of the repository.
//!
//! zoekt's own programs are asked, all by way of their command lines, and only whether two indices
//! hold the same: nothing here knows what should be in one.

mod demo;
pub(super) mod index;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::{binary, process, scratch, size};
use index::{Archive, Index, Options};

/// Compare what zoekt indexes of our archives with what it indexes of the repository
///
/// Asks for zoekt-archive-index, zoekt-git-index and zoekt on PATH, and does nothing if one of them
/// is not there. The plain archive has to give the documents of `git archive`, be it read from a
/// pipe or from a file; that of the profile for zoekt has to give those of zoekt-git-index, and the
/// same reasons for what is not indexed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Bare repository to index [default: a small one with all that is special to zoekt]
    #[arg(long, value_name = "R")]
    repo: Option<PathBuf>,

    /// Revision to index
    #[arg(long, value_name = "V", default_value = "HEAD")]
    rev: String,

    /// Size of the largest file that is indexed
    #[arg(long, value_name = "N[kmg]", value_parser = size::parse, default_value = "1m")]
    limit: u64,

    /// Files that may be larger, as zoekt's `-large_file`; compared with and without [default: those
    /// of the small repository]
    #[arg(long, value_name = "GLOB")]
    large_file: Vec<String>,

    /// Program to ask for archives [default: the release binary, which is built]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for program in index::PROGRAMS {
        if process::find_program(program).is_none() {
            println!("SKIP: {program} is not on PATH");
            return Ok(());
        }
    }
    let program = match &args.program {
        Some(program) => fs::canonicalize(program)?,
        None => binary::build()?.path,
    };
    let scratch = scratch::directory()?;
    let at = |name: &str| scratch.path().join(name);
    let mut exceptions = args.large_file.clone();
    let source = match &args.repo {
        Some(repository) => repository.clone(),
        None => {
            demo::make(&at("demo"), args.limit)?;
            if exceptions.is_empty() {
                exceptions = demo::EXCEPTIONS.map(String::from).to_vec();
            }
            at("demo")
        }
    };
    let trial = Trial {
        program,
        commit: clone(&source, &args.rev, &at("repo"))?,
        repository: at("repo"),
        scratch: scratch.path().to_owned(),
    };
    let options = |exceptions| Options {
        commit: &trial.commit,
        limit: args.limit,
        exceptions,
    };
    trial.plain(&options(&[]))?;
    trial.filtered(&options(&[]), "without")?;
    if !exceptions.is_empty() {
        trial.filtered(&options(&exceptions), "with")?;
    }
    Ok(())
}

/// Clone `repository` so that `revision` is at HEAD, the one name that zoekt takes for anything; says
/// which commit that is.
fn clone(repository: &Path, revision: &str, to: &Path) -> Result<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository);
    let revision = format!("{revision}^{{commit}}");
    let commit = process::text(git.args(["rev-parse", "--verify", &revision]))?;
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--bare"]);
    process::run(git.arg(repository).arg(to))?;
    let mut git = Command::new("git");
    git.arg("-C").arg(to).args(["update-ref", "--no-deref"]);
    process::run(git.args(["HEAD", &commit]))?;
    Ok(commit)
}

/// What all comparisons have in common.
struct Trial {
    program: PathBuf,
    /// Has the revision at HEAD.
    repository: PathBuf,
    commit: String,
    /// Where indices and archives go.
    scratch: PathBuf,
}

impl Trial {
    /// Our archive gives what git's gives, however it is read.
    fn plain(&self, options: &Options<'_>) -> Result<()> {
        let file = self.archive("plain", &mut self.sluice())?;
        let mut git = Command::new("git");
        git.args(["archive", "--format=tar", "HEAD"]);
        git.current_dir(&self.repository);
        let theirs = self.index("git", Archive::From(&mut git), options)?;
        let expected = theirs.documents()?;
        let mut sluice = self.sluice();
        for (from, archive) in [
            ("a pipe", Archive::From(sluice.arg("HEAD"))),
            ("a file", Archive::File(&file)),
        ] {
            let ours = self.index(from, archive, options)?;
            same(&ours.documents()?, &expected, "git archive")?;
        }
        println!(
            "plain archive: {} documents, from a pipe and from a file, as of git archive",
            expected.len()
        );
        Ok(())
    }

    /// Our archive for zoekt gives what zoekt makes of the repository itself.
    fn filtered(&self, options: &Options<'_>, label: &str) -> Result<()> {
        let mut sluice = self.sluice();
        sluice.arg("--profile=zoekt");
        sluice.arg(format!("--max-size={}", options.limit));
        for glob in options.exceptions {
            sluice.arg(format!("--size-exempt={glob}"));
        }
        let file = self.archive(label, &mut sluice)?;
        let ours = self.index(label, Archive::File(&file), options)?;
        let directory = self.scratch.join(format!("{label}-repository"));
        let theirs = Index::of_repository(directory, &self.repository, options)?;
        let (documents, reasons) = (theirs.documents()?, theirs.reasons()?);
        same(&ours.documents()?, &documents, "zoekt-git-index")?;
        same(&ours.reasons()?, &reasons, "zoekt-git-index")?;
        println!(
            "zoekt profile {label} exceptions: {} documents as of zoekt-git-index, {} of them not \
             indexed for the same reasons; {} of {} bytes sent",
            documents.len(),
            reasons.len(),
            fs::metadata(&file)?.len(),
            fs::metadata(self.scratch.join("plain.tar"))?.len(),
        );
        Ok(())
    }

    fn sluice(&self) -> Command {
        let mut sluice = Command::new(&self.program);
        sluice.current_dir(&self.repository);
        sluice
    }

    /// The archive that `sluice` writes, in a file.
    fn archive(&self, label: &str, sluice: &mut Command) -> Result<PathBuf> {
        let path = self.scratch.join(format!("{label}.tar"));
        process::run(sluice.arg("HEAD").stdout(File::create(&path)?))?;
        Ok(path)
    }

    fn index(&self, label: &str, archive: Archive<'_>, options: &Options<'_>) -> Result<Index> {
        Index::of_archive(self.scratch.join(label), archive, options)
    }
}

/// How many differences are shown.
const SHOWN: usize = 20;

/// Fails unless the lines are the same, which are sorted.
fn same(ours: &[String], theirs: &[String], whose: &str) -> Result<()> {
    if ours == theirs {
        return Ok(());
    }
    let missing = theirs
        .iter()
        .filter(|line| ours.binary_search(line).is_err());
    let extra = ours
        .iter()
        .filter(|line| theirs.binary_search(line).is_err());
    let lines = missing.map(|line| format!("-{line}"));
    let lines = lines.chain(extra.map(|line| format!("+{line}")));
    let shown: Vec<String> = lines.take(SHOWN).collect();
    bail!(
        "{} lines of ours are not the {} of {whose}:\n{}",
        ours.len(),
        theirs.len(),
        shown.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn what_differs_is_shown() {
        let lines = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert!(same(&lines("a b"), &lines("a b"), "git").is_ok());
        let error = same(&lines("a c d"), &lines("a b d"), "git").unwrap_err();
        assert_eq!(
            error.to_string(),
            "3 lines of ours are not the 3 of git:\n-b\n+c"
        );
    }
}
