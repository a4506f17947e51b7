//! Products that run git: with the stand-in, git-sluice writes their archives, and clients get the bytes of git.

mod git_daemon;
mod gitolite;
mod gitweb;
mod gogs;
mod http_backend;
mod server;
mod soft_serve;
mod ssh;

use std::{
    env, fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use crate::commands::stand_in::Place;
use crate::support::{Repo, skip};

/// Clients at once.
const CLIENTS: usize = 20;
/// A server writes a line of its log soon after the client has the archive.
const LOG_LIMIT: Duration = Duration::from_secs(20);

/// A place whose `project.git` is to be served. git-sluice logs the archives of it.
struct Served {
    place: Place,
    log: PathBuf,
}

impl Served {
    /// `None` if git is not in `PATH`, which is reported.
    fn new() -> Option<Served> {
        let place = Place::new()?;
        let served = Served {
            log: place.top.join("log"),
            place,
        };
        served.log_archives_of("project.git");
        Some(served)
    }

    /// Logs the archives of the repository `name`.
    fn log_archives_of(&self, name: &str) {
        let repository = self.place.project.clone().at("..").at(name);
        let log = self.log.to_str().expect("a path in UTF-8");
        repository.git(["config", "sluice.log", log]);
    }

    /// The environment of a host that has the stand-in.
    fn host(&self) -> Repo {
        self.place.with_path(&["first"])
    }

    /// Runs `script` for 20 clients at once, and checks that it prints for each of them `archive`, written by git-sluice.
    #[track_caller]
    fn assert_served(&self, client: &Repo, script: &str, archive: &[u8]) {
        let before = self.logged();
        thread::scope(|scope| {
            let clients = [(); CLIENTS].map(|()| scope.spawn(|| client.shell(script).success()));
            for client in clients {
                let received = client.join().expect("the client succeeds");
                assert!(received == archive, "{script}: other bytes");
            }
        });
        let start = Instant::now();
        while self.logged() < before + CLIENTS && start.elapsed() < LOG_LIMIT {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.logged(), before + CLIENTS, "{script}");
    }

    /// The number of complete archives in the log.
    #[track_caller]
    fn logged(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let is_complete = |line: &&str| line.contains("\"complete\":true");
        log.lines().filter(is_complete).count()
    }

    /// The archive that the real git writes.
    #[track_caller]
    fn archive(&self, words: &str) -> Vec<u8> {
        let script = format!("$REAL archive {words}");
        self.place.project.shell(&script).success()
    }
}

/// The path of a server, which need not be in the `PATH` of an ordinary user.
fn server_program(name: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let others = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let directories = env::split_paths(&paths).chain(others);
    let mut files = directories.map(|directory| directory.join(name));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}
