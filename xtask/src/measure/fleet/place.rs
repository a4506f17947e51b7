//! What the machines share: a repository of some commits in a line, a git server, a web server, and directories.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::proxy::Proxy;
use crate::process;

/// Makes the repository: the trees of the last commits, as a history of its own. A bundle of the whole history of a
/// repository would be no fair candidate.
const HISTORY: &str = "\
git init -q --bare origin.git && cd origin.git && git config uploadpack.allowAnySHA1InWant true
echo $SOURCE/objects > objects/info/alternates
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
parent=
for commit in $(git --git-dir=$SOURCE rev-list --first-parent -n $COMMITS HEAD -- | tac); do
    parent=$(git commit-tree ${parent:+-p $parent} -m x $commit^{tree})
    echo $parent
done
git update-ref refs/heads/all $parent
git repack -q -a -d && rm objects/info/alternates && git update-ref -d refs/heads/all
git symbolic-ref HEAD refs/heads/main";

/// Closes the connection after each answer. By default it would let five clients wait, and others for seconds.
const WEB_SERVER: &str = "\
import sys, http.server as web
web.ThreadingHTTPServer.request_queue_size = 1000
address = ('127.0.0.1', int(sys.argv[1]))
web.ThreadingHTTPServer(address, web.SimpleHTTPRequestHandler).serve_forever()";

/// The place of one measurement. Ends its servers.
pub(super) struct Place {
    directory: TempDir,
    sluice: PathBuf,
    servers: Vec<Child>,
    /// In front of the git server, and of the web server.
    pub(super) proxies: [Proxy; 2],
    pub(super) commits: Vec<String>,
}

impl Place {
    pub(super) fn new(below: &Path, repo: &Path, sluice: &Path, commits: usize) -> Result<Place> {
        let directory = tempfile::tempdir_in(below)?;
        let path = directory.path();
        fs::create_dir_all(path.join("www/bucket"))?;
        let mut shell = Command::new("sh");
        let git_dir = process::text(
            Command::new("git")
                .arg("-C")
                .arg(repo)
                .args(["rev-parse", "--absolute-git-dir"]),
        )?;
        shell.args(["-ec", HISTORY]).current_dir(path);
        shell
            .env("SOURCE", git_dir)
            .env("COMMITS", commits.to_string());
        let commits = process::text(&mut shell)?;
        let (git, web) = (free_port()?, free_port()?);
        let servers = vec![
            Command::new("git")
                .args(["daemon", "--export-all", "--base-path=."])
                .args(["--listen=127.0.0.1", &format!("--port={git}")])
                .current_dir(path)
                .stderr(Stdio::null())
                .spawn()
                .context("git daemon")?,
            Command::new("python3")
                .args(["-c", WEB_SERVER, &web.to_string()])
                .current_dir(path.join("www"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .context("python3")?,
        ];
        for port in [git, web] {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(Place {
            directory,
            sluice: sluice.to_owned(),
            servers,
            proxies: [Proxy::start(git)?, Proxy::start(web)?],
            commits: commits.lines().map(ToOwned::to_owned).collect(),
        })
    }

    /// A shell script in `below`, which is made if it is not there.
    pub(super) fn shell(&self, below: &str, script: &str) -> Result<Command> {
        let path = self.directory.path().join(below);
        fs::create_dir_all(&path)?;
        let [git, web] = &self.proxies;
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", script])
            .current_dir(path)
            .env("TOP", self.directory.path())
            .env("SLUICE", &self.sluice)
            .env("GIT", format!("git://127.0.0.1:{}", git.port))
            .env("HTTP", format!("http://127.0.0.1:{}", web.port))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        Ok(shell)
    }

    /// Runs it.
    pub(super) fn run(&self, below: &str, script: &str) -> Result<()> {
        process::quiet(&mut self.shell(below, script)?).map(drop)
    }

    /// Connections and bytes since the last call, of both servers.
    pub(super) fn counted(&self) -> (u64, u64) {
        let [git, web] = self.proxies.each_ref().map(Proxy::counted);
        (git.0 + web.0, git.1 + web.1)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A port that is free until somebody else takes it.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
