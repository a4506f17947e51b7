//! The rows of the table: who makes the archive, and with which cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// What all contenders are asked for.
pub(super) struct Request {
    pub(super) git_sluice: PathBuf,
    pub(super) repository: PathBuf,
    pub(super) revision: String,
    pub(super) format: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Producer {
    Git,
    Sluice,
    /// git's server, for clients that are `git archive --remote`.
    GitServer,
    /// git-sluice in the place of git's server, for the same clients.
    SluiceServer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cache {
    None,
    /// An empty directory for each turn.
    Cold,
    /// One directory for all turns, format_bytes before the first.
    Warm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contender {
    pub(super) producer: Producer,
    pub(super) cache: Cache,
}

/// The rows of many clients. The ratios refer to the first.
pub(super) const MANY: [Contender; 8] = [
    contender(Producer::Git, Cache::None),
    contender(Producer::Sluice, Cache::None),
    contender(Producer::Sluice, Cache::Cold),
    contender(Producer::Sluice, Cache::Warm),
    contender(Producer::GitServer, Cache::None),
    contender(Producer::SluiceServer, Cache::None),
    contender(Producer::SluiceServer, Cache::Cold),
    contender(Producer::SluiceServer, Cache::Warm),
];

/// The rows of a single client. The ratios refer to the first.
pub(super) const SINGLE: [Contender; 3] = [
    contender(Producer::Sluice, Cache::None),
    contender(Producer::Sluice, Cache::Cold),
    contender(Producer::Sluice, Cache::Warm),
];

const fn contender(producer: Producer, cache: Cache) -> Contender {
    Contender { producer, cache }
}

impl Producer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Producer::Git => "git archive",
            Producer::Sluice => "git sluice",
            Producer::GitServer => "git server",
            Producer::SluiceServer => "git sluice server",
        }
    }
}

impl Cache {
    pub(super) fn name(self) -> &'static str {
        match self {
            Cache::None => "none",
            Cache::Cold => "cold",
            Cache::Warm => "warm",
        }
    }
}

impl Contender {
    pub(super) fn name(self) -> String {
        match self.cache {
            Cache::None => self.producer.name().to_owned(),
            cache => format!("{}, {}", self.producer.name(), cache.name()),
        }
    }

    /// One client. `directory` is the directory of the cache, where the contender has a cache.
    pub(super) fn command(self, request: &Request, directory: &Path) -> Command {
        let mut command = match self.producer {
            Producer::Sluice => Command::new(&request.git_sluice),
            _ => Command::new("git"),
        };
        command
            .current_dir(&request.repository)
            .env_remove("GIT_SLUICE_CACHE");
        match self.producer {
            Producer::Git => command.arg("archive"),
            Producer::Sluice if self.cache == Cache::None => command.arg("--no-cache"),
            Producer::Sluice => command.arg(format!("--cache={}", directory.display())),
            Producer::GitServer => remote(&mut command, request, "git-upload-archive"),
            Producer::SluiceServer => {
                if self.cache != Cache::None {
                    command.env("GIT_SLUICE_CACHE", directory);
                }
                let git_sluice = request.git_sluice.to_string_lossy();
                let server = process::quote([&git_sluice, "upload-archive"]);
                remote(&mut command, request, &server)
            }
        };
        command
            .arg(format!("--format={}", request.format))
            .arg(&request.revision);
        command
    }
}

/// The client of a server that the client starts itself, through a shell.
fn remote<'a>(command: &'a mut Command, request: &Request, server: &str) -> &'a mut Command {
    command
        .arg("archive")
        .arg(format!("--remote={}", request.repository.display()))
        .arg(format!("--exec={server}"))
}
