//! Repositories for the benches, made by `git fast-import` in a temporary directory, by shape.

use std::{
    ffi::OsString,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use criterion::Throughput;
use sluice_base::pipeline::Source;
use sluice_cli::{OptionTables, RawArgs};
use sluice_core::{
    plan::{Job, Locators, Planner},
    request::{Access, Inputs, Purpose, Request, format::Formats},
};
use sluice_git::{
    config::Config,
    environment::{DiscoveryVariables, Environment},
    objects::repeated::Repeated,
    repository::{Repository, promisor::FetchAccount},
};
use tempfile::TempDir;

/// A repository and what is in it.
pub(crate) struct Shape {
    /// For the bench's name.
    pub(crate) name: &'static str,
    files: u64,
    bytes: u64,
    directory: TempDir,
}

impl Shape {
    /// `files` files of `lines` lines each, `width` to a directory, changed by `commits` commits.
    pub(crate) fn new(
        name: &'static str,
        files: u64,
        lines: u64,
        width: u64,
        commits: u64,
    ) -> Self {
        let directory = tempfile::tempdir().expect("temporary directories can be made");
        git(directory.path(), &["init", "-q", "--bare", "."], &[]);
        let mut stream = Vec::new();
        for commit in 0..commits {
            writeln!(
                stream,
                "commit refs/heads/main\ncommitter C <c@example.com> {commit} +0000"
            )
            .and_then(|()| writeln!(stream, "data 1\nc"))
            .expect("memory takes it");
            for file in (0..files).filter(|file| commit == 0 || file % commits == commit) {
                let body = body(file, lines, commit);
                let path = format!("d{}/f{file}.txt", file / width);
                writeln!(stream, "M 644 inline {path}\ndata {}\n{body}", body.len())
                    .expect("memory takes it");
            }
        }
        git(directory.path(), &["fast-import", "--quiet"], &stream);
        git(directory.path(), &["repack", "-adfq", "--depth=50"], &[]);
        git(
            directory.path(),
            &["symbolic-ref", "HEAD", "refs/heads/main"],
            &[],
        );
        let bytes = files * (512 + body(1, lines, 0).len() as u64);
        Self {
            name,
            files,
            bytes,
            directory,
        }
    }

    /// Files at HEAD, and bytes of archive, roughly.
    pub(crate) fn throughput(&self) -> Throughput {
        Throughput::ElementsAndBytes {
            elements: self.files,
            bytes: self.bytes,
        }
    }

    /// The shapes that tell most: many small files, source code, a few large files, long chains.
    pub(crate) fn all() -> Vec<Self> {
        vec![
            Self::new("small-files", 8000, 2, 200, 1),
            Self::new("source", 2000, 300, 40, 4),
            Self::new("large", 8, 60_000, 8, 2),
            Self::new("chains", 200, 300, 20, 40),
        ]
    }

    /// What `git sluice` with these arguments would be asked here.
    pub(crate) fn request(&self, arguments: &[&str]) -> Request {
        let words = arguments.iter().chain(&["HEAD"]).map(OsString::from);
        let mut tables = OptionTables::default();
        let (archive, extras) = RawArgs::new(&mut tables, words)
            .first_pass(|_| false)
            .and_then(|words| words.second_pass(|_| Ok(Vec::new())))
            .expect("the bench knows the options");
        let args = archive.args(extras, None);
        let environment = Environment {
            cwd: self.directory.path().to_owned(),
            discovery: DiscoveryVariables {
                git_dir: Some(self.directory.path().to_owned()),
                ..DiscoveryVariables::default()
            },
            ..Environment::default()
        };
        let repository = Repository::open(&environment).expect("the configuration is sound");
        let formats =
            Formats::read(&Config::default(), self.directory.path()).expect("there are some");
        let inputs = Inputs {
            args: &args,
            purpose: Purpose::Archive,
            formats: &formats,
            environment: &environment,
            access: Access::Local,
            fetches: &FetchAccount::default(),
        };
        Request::resolve(inputs, repository, &mut std::io::sink()).expect("the repository is sound")
    }

    /// The plan of what these arguments leave of all that is here, not begun.
    #[allow(dead_code, reason = "not every bench plans by itself")]
    pub(crate) fn plan(&self, arguments: &[&str]) -> (Planner, Locators) {
        let request = self.request(arguments);
        let odb = request.content.archived().tree.reader.odb.clone();
        let locators = Locators::new(odb, request.content.blob_policy, Repeated::new(4 << 20));
        let repositories = request.content.repositories.into_iter();
        let trees = repositories.map(|repository| repository.tree);
        (Planner::new(trees, request.content.extras), locators)
    }
}

/// All jobs of a plan.
#[allow(dead_code, reason = "not every bench plans by itself")]
pub(crate) fn jobs((mut planner, locators): (Planner, Locators)) -> Vec<Job> {
    let mut jobs = Vec::new();
    loop {
        let made = planner.next().expect("the repository is sound");
        jobs.extend(locators.jobs(made.batch).expect("the repository is sound"));
        if made.last {
            return jobs;
        }
    }
}

/// Text that compresses like source code: few words, in an order that differs from file to file.
fn body(file: u64, lines: u64, commit: u64) -> String {
    let words = [
        "let ", "mut ", "buffer", " = ", "self.", "next", "()", ";\n    ", "match ", "{ ",
    ];
    let mut state = file.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = format!("// file {file}, commit {commit}\n");
    for line in 0..lines {
        for _ in 0..6 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(words[(state >> 32) as usize % words.len()]);
        }
        text.push_str(&format!("{}\n", (line * 7919) ^ (state & 0xff)));
    }
    text
}

fn git(directory: &Path, arguments: &[&str], input: &[u8]) {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("git is installed");
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(input)
        .expect("git reads it");
    assert!(
        child.wait().expect("git ends").success(),
        "git {arguments:?}"
    );
}
